"""Floating-point checkpoints with a config of a few keys: FP8, FBGEMM FP8, MXFP4.

DeepSeek-V3's FP8 (arXiv 2412.19437): weights in 128×128 blocks with an fp32 scale each,
activations in FP8 per token and 128 channels; embedding, head, norms and routers in bf16.
DeepSeek-V4: the same, its routed experts in FP4 (Flash), its compressors and indexers' head
weights in bf16, its hyper-connections in fp32.
gpt-oss (arXiv 2508.10925): the experts alone in MXFP4, biases in bf16.
"""

from __future__ import annotations

from functools import partial

from ...errors import InputError, UnsupportedError
from ...record import replace
from .. import formats
from ..config import Config, short
from ..formats import Format
from . import layouts
from .names import Names, experts
from .rules import AllBut, Quantised, Rules


def fp8(c: Config, plain: Format) -> Quantised:
    """FP8 weights and activations, per matrix or in blocks."""
    fmt = c.word("fmt", default="e4m3")
    if not any(known in fmt for known in ("e4m3", "e5m2")):
        raise UnsupportedError(f"{c.where}: the FP8 format '{fmt[:40]}' is not known")
    static = c.word("activation_scheme", default="dynamic") == "static"
    size = c.integers("weight_block_size", least=1)
    if size is None:
        stored = layouts.fp8(fixed=8 if static else 4, scale=0)
        title = "fp8 (per tensor)"
    elif len(size) == 2:
        rows, group = size
        scale = 1 if c.data.get("expert_dtype") else 4
        stored = layouts.fp8(group, rows, scale=scale)
        title = f"fp8 ({rows}×{group} blocks)"
    else:
        raise InputError(f"{c.where}: weight_block_size must be two numbers, not {short(size)}")
    where = f"{c.where}: modules_to_not_convert"
    kept = Names(_either(c, "modules_to_not_convert", "ignored_layers"), "module", where)
    expert = _experts(c, stored)
    if expert is not stored:
        title = f"{expert.name} experts, {title}"

    wide = replace(formats.FP32, compute=plain.compute)

    choose = AllBut(kept, partial(_matrix, stored, expert, wide))
    return Quantised("fp8", Rules(title, plain, choose), experts=experts(kept))


def _matrix(stored: Format, expert: Format, wide: Format, path: str) -> Format | None:
    if ".compressor." in path and path.endswith((".kv_proj", ".gate_proj")):
        return None  # DeepSeek-V4: what makes the compressed cache stays in bf16,
    if path.endswith((".fn", ".hc_fn")):
        return wide  # and what mixes its streams in fp32
    return expert if ".experts." in path else stored


def _experts(c: Config, stored: Format) -> Format:
    # DeepSeek-V4 keeps its routed experts in FP4 with a scale byte per 32, read by FP8
    # activations; its config says so beside the quantisation config.
    kind = c.data.get("expert_dtype")
    if kind in (None, "fp8"):
        return stored
    if kind == "fp4":
        return layouts.mx(4, "fp8")
    raise UnsupportedError(f"{c.where}: experts in {short(kind)} are not counted")


def fbgemm_fp8(c: Config, plain: Format) -> Quantised:
    """FBGEMM FP8 (Llama-3.1-405B-FP8): an fp32 scale a channel."""
    stored = layouts.fp8(0, 1)
    kept = Names(c.get("modules_to_not_convert"), "module", f"{c.where}: modules_to_not_convert")
    scheme = Rules("fp8 (per channel)", plain, AllBut(kept, stored))
    return Quantised("fbgemm_fp8", scheme, experts=experts(kept))


def mxfp4(c: Config, plain: Format) -> Quantised:
    """MXFP4 weights of experts; everything else stays in 16 bits."""
    kept = Names(c.get("modules_to_not_convert"), "module", f"{c.where}: modules_to_not_convert")
    stored = layouts.mx(4, plain.compute)
    choose = AllBut(kept, partial(_of_experts, stored))
    return Quantised("mxfp4", Rules("mxfp4 experts", plain, choose), experts=experts(kept))


def _of_experts(stored: Format, path: str) -> Format | None:
    return stored if ".experts." in path else None


def _either(c: Config, *names: str) -> object:
    return next((c.get(n) for n in names if c.has(n)), None)
