"""Number formats: bytes an element, scales and zero points included, and what computes them.

Sizes follow the block layouts: int4 in groups of 128 with an fp16 scale is (64 + 2)/128
bytes; FP8 in 128×128 blocks has one fp32 scale a block; MXFP4 (OCP microscaling v1.0) one
byte per 32, NVFP4 one byte per 16; nf4 (QLoRA, arXiv 2305.14314) one fp32 per 64, or with
double quantisation one byte per 64 and an fp32 per 64·256; GGUF types as in llama.cpp's
``ggml-common.h``, the mixes (``q4_k_m``) at the average that llama.cpp's quantize page
lists for Llama-3.1-8B.
"""

from __future__ import annotations

import math

from ..errors import UnsupportedError
from ..files.gguf_types import TYPES
from ..pattern import pattern
from ..record import record
from ..words.note import Note


@record
class Layout:
    """How a matrix of ``inputs × outputs`` weights lies in memory, to the byte.

    Attributes:
        bits: of one weight.
        group: inputs that share a scale; 0 for all of them.
        rows: outputs that share a scale; 0 for all of them.
        scale: bytes of one scale.
        zero: bits of the zero point beside each scale.
        fixed: bytes a matrix: scales of the whole matrix, of its input, tables of values.
        per_input: bytes beside each input (the order in which they were grouped).
    """

    bits: float
    group: int = 0
    rows: int = 1
    scale: int = 0
    zero: int = 0
    fixed: int = 0
    per_input: int = 0

    def stored(self, inputs: int, outputs: int) -> int:
        """Bytes of a matrix, partial blocks at the edges included."""
        groups = -(-inputs // self.group) if self.group else 1
        blocks = groups * (-(-outputs // self.rows) if self.rows else 1)
        return (
            math.ceil(inputs * outputs * self.bits / 8)
            + blocks * self.scale
            + -(-blocks * self.zero // 8)
            + self.per_input * inputs
            + self.fixed
        )


@record
class Share(Layout):
    """A matrix in tensors whose bytes are known from a file: its share of them.

    Attributes:
        size: bytes of the tensors.
        weights: numbers in them.
    """

    size: int = 0
    weights: int = 1

    def stored(self, inputs: int, outputs: int) -> int:
        """Its share of these bytes."""
        return self.size * inputs * outputs // self.weights


@record
class Format:
    """How one kind of number is stored.

    Attributes:
        name: as typed, ``int4:128``.
        size: bytes an element, scales and zero points included.
        compute: the arithmetic that matrix products of it run in by default.
        note: an assumption behind the size, or empty.
        layout: how a matrix lies in memory, where its shape decides beside ``size``.
    """

    name: str
    size: float
    compute: str
    note: str = ""
    layout: Layout | None = None

    def stored(self, inputs: int, outputs: int) -> float:
        """Bytes of a matrix ``inputs → outputs``: exact by its layout, else by ``size``."""
        if self.layout is not None:
            return self.layout.stored(inputs, outputs)
        return inputs * outputs * self.size

    @property
    def bits(self) -> float:
        """Bits an element."""
        return 8 * self.size


def _plain(name: str, size: int, compute: str | None = None) -> Format:
    return Format(name, size, compute or name)


_FIXED = {
    f.name: f
    for f in (
        _plain("fp64", 8),
        _plain("fp32", 4),
        _plain("tf32", 4),
        _plain("bf16", 2),
        _plain("fp16", 2),
        _plain("fp8", 1),
        Format("fp8-block128", 1 + 4 / 128**2, "fp8"),
        _plain("int8", 1),
        Format("int8-g64", 1 + 2 / 64, "bf16"),
        Format("w8a16", 1, "bf16", "8-bit weights, 16-bit activations"),
        Format("nf4", 0.5 + 4 / 64, "bf16"),
        Format("nf4-double", 0.5 + 1 / 64 + 4 / (64 * 256), "bf16"),
        Format("mxfp4", 0.5 + 1 / 32, "bf16"),
        Format("mxfp8", 1 + 1 / 32, "fp8"),
        Format("nvfp4", 0.5 + 1 / 16, "fp4"),
    )
}

# Bytes and elements of one block.
_GGUF_BLOCKS = {
    name: (size, elements)
    for name, elements, size in TYPES.values()
    if elements > 1 and name not in _FIXED
}

# Bits a weight of the mixes on Llama-3.1-8B (llama.cpp, tools/quantize/README.md).
_GGUF_MIXES = {
    "q2_k_s": 2.97, "q3_k_s": 3.64, "q3_k_m": 4.00, "q3_k_l": 4.30, "q4_k_s": 4.67,
    "q4_k_m": 4.89, "q5_k_s": 5.57, "q5_k_m": 5.70,
}  # fmt: skip

_ALIASES = {
    "float32": "fp32", "float": "fp32", "f32": "fp32", "float16": "fp16", "f16": "fp16",
    "half": "fp16", "bfloat16": "bf16", "float64": "fp64", "f64": "fp64", "fp8_e4m3": "fp8",
    "fp8_e5m2": "fp8", "float8_e4m3fn": "fp8", "float8_e5m2": "fp8", "e4m3": "fp8",
    "fp8-block": "fp8-block128", "i8": "int8", "w8a8": "int8", "w4a16": "int4:128",
    "awq": "int4:128", "gptq": "int4:128", "int4": "int4:128", "fp4": "nvfp4",
    "w8a16": "w8a16", "nf4-dq": "nf4-double",
}  # fmt: skip

PRECISIONS = (
    "fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8", "fp6", "fp4", "int4",
)  # fmt: skip
"""Arithmetic a machine may have a compute ceiling for."""

MULTIPLIED = {"nvfp4": "fp4", "mxfp4": "fp4", "int4:128": "int4"}
"""The arithmetic that a format's name means where one is asked for."""

_INT = pattern(r"(int|uint)([2-8])(?:(?:[:\-_]g?|g)(\d{1,6}))?(z|-z|-asym)?\Z")
_BITS = pattern(r"(\d{1,2}(?:\.\d{1,6})?)[-_ ]?(?:bits?|bpw)\Z")


def names() -> list[str]:
    """Every format that can be typed; ``intB:GROUP`` and ``N.NNbits`` besides."""
    return sorted({*_FIXED, *_GGUF_BLOCKS, *_GGUF_MIXES, "int4:128", "int4", "4.85bits"})


def aliases() -> dict[str, str]:
    """Other names of formats, each with the one that it stands for."""
    return {alias: name for alias, name in _ALIASES.items() if alias != name}


def parse(text: str) -> Format:
    """The format of that name.

    ``bf16``, ``fp8``, ``int4`` (groups of 128), ``int4:64``, ``int4:128z`` (with zero
    points), ``nf4``, ``mxfp4``, ``nvfp4``, GGUF types (``q4_k``, ``q8_0``) and mixes
    (``q4_k_m``), or an average such as ``4.85bits``.

    Raises:
        UnsupportedError: no such format.
    """
    name = text.strip().lower()
    name = _ALIASES.get(name, name)
    if name in _FIXED:
        return _FIXED[name]
    if name in _GGUF_BLOCKS:
        size, elements = _GGUF_BLOCKS[name]
        return Format(name, size / elements, "bf16")
    if name in _GGUF_MIXES:
        mixed = _GGUF_MIXES[name]
        note = Note("format.mix", bits=mixed)
        return Format(name, mixed / 8, "bf16", note)
    if match := _INT.match(name):
        bits, group = int(match[2]), int(match[3] or 128)
        if group < 8:
            raise UnsupportedError(f"groups of {group} in '{text}': a group has at least 8")
        zero = bits / (8 * group) if match[4] else 0.0
        stored = bits / 8 + 2 / group + zero
        return Format(f"int{bits}:{group}{'z' if zero else ''}", stored, "bf16")
    if match := _BITS.match(name):
        bits_a_weight = float(match[1])
        if not 0.5 <= bits_a_weight <= 64:
            raise UnsupportedError(f"'{text}': between 0.5 and 64 bits a weight")
        return Format(f"{match[1]}bits", bits_a_weight / 8, "bf16", "an average over all weights")
    from ..catalogue import nearest

    near = nearest(name, names())
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    raise UnsupportedError(
        f"no format '{text}'{hint} Known: {', '.join(names())}, intB:GROUP, N.NNbits"
    )


def precision(text: str) -> str:
    """A precision of arithmetic, checked.

    Raises:
        UnsupportedError: no such precision.
    """
    name = text.strip().lower()
    if name not in PRECISIONS:
        name = _ALIASES.get(name, name)
        name = MULTIPLIED.get(name, name)
    if name not in PRECISIONS:
        raise UnsupportedError(f"no arithmetic '{text}'. Known: {', '.join(PRECISIONS)}")
    return name


BF16 = _FIXED["bf16"]
FP32 = _FIXED["fp32"]
