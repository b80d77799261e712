"""bitsandbytes: LLM.int8() (arXiv 2208.07339) and NF4/FP4 (QLoRA, arXiv 2305.14314).

A 4-bit matrix has one fp32 maximum per 64 weights, counted over the whole matrix; double
quantisation keeps these in a byte each, with an fp32 per 256 of them, and tables of 16 and
256 fp32 values a matrix (the mean of the maxima is in a note of a few bytes).
"""

from __future__ import annotations

from ...errors import UnsupportedError
from ...record import record
from ..config import Config
from ..formats import Format, Layout
from . import layouts
from .names import Names, experts
from .rules import AllBut, Quantised, Rules

BLOCK = 64
NESTED = 256


@record
class Blocks(Layout):
    """Blocks of 64 weights over the flattened matrix, their maxima nested or not."""

    double: bool = False

    def stored(self, inputs: int, outputs: int) -> int:
        """Bytes of a matrix."""
        weights = inputs * outputs
        blocks = -(-weights // BLOCK)
        packed = -(-weights // 2) + 16 * 4
        if self.double:
            return packed + blocks + -(-blocks // NESTED) * 4 + 256 * 4
        return packed + blocks * 4


def read(c: Config, plain: Format) -> Quantised:
    """4 or 8 bits; the head stays."""
    eight = c.flag("load_in_8bit", "_load_in_8bit", default=False)
    four = c.flag("load_in_4bit", "_load_in_4bit", default=False)
    where = f"{c.where}: llm_int8_skip_modules"
    kept = Names(c.get("llm_int8_skip_modules"), "module", where)
    if eight == four:
        raise UnsupportedError(f"{c.where}: bitsandbytes with neither or both of 4 and 8 bits")
    if eight:
        stored = layouts.integer(8, 0, "int8", scale=4)
        title = "int8 (bitsandbytes)"
    else:
        kind = c.word("bnb_4bit_quant_type", default="fp4")
        if kind not in ("nf4", "fp4"):
            raise UnsupportedError(f"{c.where}: the 4-bit type '{kind[:20]}' is not counted")
        double = c.flag("bnb_4bit_use_double_quant", default=False)
        scales = 1 / BLOCK + 4 / (BLOCK * NESTED) if double else 4 / BLOCK
        name = f"{'nf4' if kind == 'nf4' else 'bnb-fp4'}{'-double' if double else ''}"
        stored = Format(name, 0.5 + scales, plain.compute, "", Blocks(4, double=double))
        title = f"{kind}{' with double quantisation' if double else ''} (bitsandbytes)"
    scheme = Rules(title, plain, AllBut(kept, stored))
    return Quantised("bitsandbytes", scheme, experts=experts(kept))
