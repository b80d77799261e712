"""Methods that store weights as codes: ExLlama's EXL2 and EXL3, AQLM, HIGGS, HQQ, Quanto, BitNet.

EXL2 and EXL3 configs give an average over the layers' matrices; which matrix has how many bits is
in the files alone, so each is counted at the average. EXL3 (QTIP's trellis, arXiv 2406.11235)
keeps a 16-bit sign-and-scale beside each input and each output. AQLM (arXiv 2401.06118) stores
``num_codebooks`` codes for each ``in_group × out_group`` weights, 16-bit codebooks of its own a
matrix, and a 16-bit scale an output. HQQ (github.com/mobiusml/hqq) has a 16-bit scale and a 16-bit
zero a group; Quanto a 16-bit scale a channel, and for 2 and 4 bits also a shift, in groups.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ...errors import InputError, UnsupportedError
from ...words.note import Note
from ..config import Config
from ..formats import Format, Layout
from . import layouts
from .names import Names, canonical, experts
from .rules import AllBut, Quantised, Rules


def exl(c: Config, plain: Format) -> Quantised:
    """EXL2 and EXL3: so many bits on average, the head in bits of its own."""
    method = c.word("quant_method")
    bits, head = _bits(c, "bits"), _bits(c, "head_bits", 6.0)

    def stored(width: float) -> Format:
        beside = 2 if method == "exl3" else 0  # bytes an input and an output
        layout = Layout(width, 0, 1, beside, 0, 0, beside)
        return Format(f"{method} {width:g} bits", width / 8, plain.compute, "", layout)

    layers, last = stored(bits), stored(head)
    scheme = Rules(
        f"{bits:g} bits, head {head:g} ({method.upper()})",
        plain,
        partial(_head_apart, last, layers),
        head=True,
    )
    note = Note("mixed.bits", method=method.upper(), bits=f"{bits:g}")
    return Quantised(method, scheme, notes=(note,))


def _head_apart(head: Format, layers: Format, path: str) -> Format:
    return head if path == "lm_head" else layers


def aqlm(c: Config, plain: Format) -> Quantised:
    """AQLM: codes into codebooks of the matrix's own."""
    inputs = c.integer("in_group_size", default=8)
    outputs = c.integer("out_group_size", default=1)
    books = c.integer("num_codebooks", default=1)
    width = c.integer("nbits_per_codebook", default=16, most=24)
    bits = books * width / (inputs * outputs)
    tables = books * 2**width * inputs * outputs * 2
    layout = Layout(bits, 0, outputs, 2, 0, tables)
    stored = Format(f"aqlm {books}x{width}", bits / 8, plain.compute, "", layout)
    title = f"{bits:g} bits (AQLM {books}×{width})"
    return _listed(c, plain, title, stored, key="linear_weights_not_to_quantize")


def higgs(c: Config, plain: Format) -> Quantised:
    """HIGGS (arXiv 2411.17525): grid points of p weights at once, a 16-bit scale a group."""
    bits = c.integer("bits", default=4, least=2, most=8)
    group = c.integer("group_size", default=256, least=8)
    together = c.integer("p", default=2, most=8)
    tables = 2 ** (bits * together) * together * 2
    stored = layouts.integer(bits, group, plain.compute, fixed=tables)
    return _listed(c, plain, f"int{bits}, groups of {group} (HIGGS)", stored)


def hqq(c: Config, plain: Format) -> Quantised:
    """HQQ: integers in groups with a 16-bit scale and zero; never the head."""
    config = c.get("quant_config")
    given = config if isinstance(config, dict) else c.data
    if (
        given is config
        and "weight_quant_params" not in given
        and all(isinstance(v, dict) for v in given.values())
    ):
        return _by_module(c, given, plain)
    stored = _hqq(given, f"{c.where}: quant_config", plain)
    title = f"{stored.name.removeprefix('hqq ').replace(':', ', groups of ')} (HQQ)"
    return _listed(c, plain, title, stored, key="skip_modules")


def _by_module(c: Config, given: dict[str, Any], plain: Format) -> Quantised:
    # A config for each kind of module, by the end of its name; the others stay.
    found = {
        canonical(name): _hqq(value, f"{c.where}: quant_config: {name[:40]}", plain)
        for name, value in given.items()
    }
    choose = partial(_by_ending, found)
    kinds = ", ".join(dict.fromkeys(f.name for f in found.values()))
    return Quantised("hqq", Rules(f"{kinds} by module (HQQ)", plain, choose))


def _by_ending(found: dict[str, Format], path: str) -> Format | None:
    name = canonical(path)
    return next((f for key, f in found.items() if name.endswith(f".{key}")), None)


def _hqq(given: dict[str, Any], where: str, plain: Format) -> Format:
    weights = given.get("weight_quant_params", given)
    if not isinstance(weights, dict):
        raise InputError(f"{where}: weight_quant_params must be an object")
    part = Config(weights, f"{where}: weight_quant_params")
    bits = part.integer("nbits", "bits", default=4, least=1, most=8)
    group = part.integer("group_size", default=64, least=8)
    packed = 3.2 if bits == 3 else bits  # ten 3-bit weights in 32 bits
    layout = Layout(packed, group, 1, 2, 16)
    return Format(f"hqq int{bits}:{group}", packed / 8 + 4 / group, plain.compute, "", layout)


def quanto(c: Config, plain: Format) -> Quantised:
    """Optimum Quanto: int8 and float8 by channel, 2 and 4 bits in groups of 128."""
    kind = c.word("weights", default="int8").removeprefix("q")
    narrow = c.get("activations") in ("int8", "float8", "qint8", "qfloat8")
    if kind == "int8":
        stored = layouts.integer(8, 0, "int8" if narrow else plain.compute)
    elif kind.startswith("float8"):
        stored = layouts.fp8(0, 1, compute="fp8" if narrow else plain.compute, scale=2)
    elif kind in ("int4", "int2"):
        stored = layouts.integer(int(kind[3:]), 128, plain.compute, zero=16)
    else:
        raise UnsupportedError(f"{c.where}: quanto's weights '{kind[:20]}' are not counted")
    return _listed(c, plain, f"{kind} (Quanto)", stored)


def eetq(c: Config, plain: Format) -> Quantised:
    """EETQ: int8 by channel, 16-bit activations."""
    stored = layouts.integer(8, 0, plain.compute)
    return _listed(c, plain, "int8 (EETQ)", stored)


def bitnet(c: Config, plain: Format) -> Quantised:
    """BitNet b1.58 (arXiv 2402.17764): four ternary weights a byte, 8-bit activations."""
    if c.word("quantization_mode", default="offline") == "online":
        stored = plain
    else:
        stored = Format("ternary", 0.25, "int8", "", Layout(2, 0, 0, 2))
    return _listed(c, plain, "ternary (BitNet)", stored)


def fp_quant(c: Config, plain: Format) -> Quantised:
    """FP-Quant (arXiv 2509.23202): MXFP4 or NVFP4 on both sides of the product."""
    kind = c.word("forward_dtype", default="mxfp4")
    if kind not in ("mxfp4", "nvfp4"):
        raise UnsupportedError(f"{c.where}: fp_quant's forward_dtype '{kind[:20]}' is not counted")
    stored = layouts.nvfp4() if kind == "nvfp4" else layouts.mx(4, "fp4")
    return _listed(c, plain, f"{kind} (FP-Quant)", stored)


def ascend(c: Config, plain: Format) -> Quantised:
    """Ascend's msmodelslim (``quantize: w8a8_dynamic``): int8 or int4 by channel."""
    kind = c.word("quantize", "quant_type", default="w8a8").lower().replace("-", "_")
    bits = {"w8a8": 8, "w8a16": 8, "w4a8": 4, "w4a16": 4}.get(kind.split("_")[0].rstrip("s"))
    if bits is None:
        raise UnsupportedError(
            f"{c.where}: Ascend's '{kind[:30]}' is not counted; --weights int8 counts it as int8"
        )
    compute = "int8" if "a8" in kind else plain.compute
    stored = layouts.integer(bits, 0, compute, scale=8)  # a scale and an offset of fp32 an output
    scheme = Rules(f"{kind} (Ascend)", plain, AllBut(Names(None, "exact", ""), stored))
    return Quantised("ascend", scheme, notes=(Note("ascend"),))


def by_channel(c: Config, plain: Format) -> Quantised:
    """SGLang's and vLLM's own names of 8-bit checkpoints: one scale an output."""
    method = c.word("quant_method")
    stored = layouts.fp8(0, 1) if method.endswith("fp8") else layouts.integer(8, 0, "int8", scale=4)
    return _listed(c, plain, f"{stored.name} ({method})", stored)


def _bits(c: Config, name: str, default: float | None = None) -> float:
    value = c.get(name)
    if value is None and default is not None:
        return default
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.5 <= value <= 16:
        raise UnsupportedError(f"{c.where}: {name} must be from 0.5 to 16 bits, not {value!r:.30}")
    return float(value)


def _listed(
    c: Config, plain: Format, title: str, stored: Format, *, key: str = "modules_to_not_convert"
) -> Quantised:
    # One format for all matrices but those that a list excludes.
    kept = Names(c.get(key), "part", f"{c.where}: {key}")
    scheme = Rules(title, plain, AllBut(kept, stored))
    return Quantised(c.word("quant_method"), scheme, experts=experts(kept))
