"""How llama.cpp's tools write formats, settings and layouts, whichever of them speaks."""

from __future__ import annotations

import re
from typing import Any

from ..errors import InputError
from ..parallel.layout import Parallel
from . import fields
from .fields import Record

_QUANT = re.compile(r"\b(I?Q\d(?:_[A-Z0-9]+)*|F16|F32|BF16|MXFP4|all F32|mostly F16)\b", re.I)
_MIX = {"small": "_s", "medium": "_m", "large": "_l"}
_SETTINGS = {
    "n_gpu_layers": ("n_gpu_layers", "ngl"),
    "n_ubatch": ("n_ubatch",),
    "n_batch": ("n_batch",),
    "threads": ("n_threads", "threads"),
    "n_cpu_moe": ("n_cpu_moe", "ncmoe"),
}


def quantisation(model: str) -> str | None:
    """The GGUF type that a model description names: `Q4_K - Medium` is `q4_k_m`."""
    result = _QUANT.search(model)
    if not result:
        return None
    name = result.group(1).lower().replace("all ", "").replace("mostly ", "")
    name = {"f16": "fp16", "f32": "fp32"}.get(name, name)
    for word, ending in _MIX.items():
        if re.search(rf"-\s*{word}", model, re.I) and name.endswith("_k"):
            return name + ending
    return name


def cache(key: str | None, value: str | None) -> str | None:
    """The format of the cache, from `type_k` and `type_v`; `None` where they differ."""
    if key is None or (value is not None and value != key):
        return None
    return {"f16": "fp16", "f32": "fp32"}.get(key, key)


def settings(record: Record) -> dict[str, Any]:
    """What llama.cpp ran with, by the names of its JSON."""
    said: dict[str, Any] = {}
    for name, spellings in _SETTINGS.items():
        value = fields.number(record, *spellings)
        if value is not None:
            said[name] = int(value)
    if fields.text(record, "backend", "backends") in ("CPU", "BLAS"):
        said["n_gpu_layers"] = 0
    if (mode := fields.text(record, "split_mode", "sm")) is not None:
        said["split_mode"] = mode
    if str(record.get("no_kv_offload", record.get("nkvo"))).lower() in ("1", "true"):
        said["kv_on_host"] = True
    return said


def laid(count: int, mode: Any) -> dict[str, Any]:
    """`devices` and `layout` of a llama.cpp run over `count` devices in a split mode."""
    if count < 2 or mode == "none":
        return {}
    try:
        over = Parallel(tp=count) if mode in ("row", "tensor", "graph") else None
        return {"devices": count, "layout": over or Parallel(pp=count, microbatches=1)}
    except InputError:
        return {}
