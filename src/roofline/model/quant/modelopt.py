"""NVIDIA Model Optimizer: FP8, NVFP4, INT4 AWQ and their kin, one for all or by module.

Read from ``hf_quant_config.json`` beside the config, or from ``quantization_config`` in it
(nested under ``quantization``, or flat in the style of compressed-tensors).
"""

from __future__ import annotations

from collections.abc import Callable

from ...errors import InputError, UnsupportedError
from ..config import Config, short
from ..formats import Format
from . import layouts
from .compressed import Targets, cache, group_format
from .names import Names, canonical, experts
from .rules import AllBut, ByModule, Quantised, Rules

# For each algorithm, its format by group size (0: its usual) and the 16-bit arithmetic.
_ALGORITHMS: dict[str, Callable[[int, str], Format]] = {
    "FP8": lambda g, a: layouts.fp8(fixed=8, scale=0),
    "FP8_PER_CHANNEL_PER_TOKEN": lambda g, a: layouts.fp8(0, 1),
    "FP8_PC_PT": lambda g, a: layouts.fp8(0, 1),
    "FP8_PB_WO": lambda g, a: layouts.fp8(g or 128, g or 128, compute=a),
    "FP8_PB_REAL": lambda g, a: layouts.fp8(g or 128, g or 128),
    "NVFP4": lambda g, a: layouts.nvfp4(group=g or 16),
    "NVFP4_AWQ": lambda g, a: layouts.nvfp4(group=g or 16, per_input=2),
    "W4A16_NVFP4": lambda g, a: layouts.nvfp4(a, group=g or 16, fixed=4),
    "W4A8_NVFP4_FP8": lambda g, a: layouts.nvfp4("fp8", group=g or 16),
    "MXFP4": lambda g, a: layouts.mx(4, "fp4", group=g or 32),
    "W4A8_MXFP4_FP8": lambda g, a: layouts.mx(4, "fp8", group=g or 32),
    "MXFP8": lambda g, a: layouts.mx(8, "fp8", group=g or 32),
    "W4A16_AWQ": lambda g, a: layouts.integer(4, g or 128, a, per_input=2),
    "INT4_AWQ": lambda g, a: layouts.integer(4, g or 128, a, per_input=2),
    "W4A8_AWQ": lambda g, a: layouts.integer(4, g or 128, "fp8", fixed=8, per_input=2),
    "W8A16": lambda g, a: layouts.integer(8, 0, a),
    "INT8_WO": lambda g, a: layouts.integer(8, 0, a),
    "W8A8_SQ_PER_CHANNEL": lambda g, a: layouts.integer(8, 0, "int8", scale=4, fixed=4),
    "INT8_SQ": lambda g, a: layouts.integer(8, 0, "int8", scale=4, fixed=4),
}


def read(c: Config, plain: Format) -> Quantised:
    """The checkpoint's algorithm, or one for each module."""
    if c.has("quantization"):
        c = c.sub("quantization")
    algorithm = c.word("quant_algo", default="").upper()
    listed = "exclude_modules" if c.has("exclude_modules") else "ignore"
    kept = Names(c.get(listed), "glob", f"{c.where}: {listed}")
    kv = cache(c, "kv_cache_quant_algo") or cache(c, "kv_cache_scheme")
    if algorithm in ("MIXED_PRECISION", "") and c.has("quantized_layers"):
        return _mixed(c, plain, kept, kv)
    if not algorithm and c.has("config_groups"):
        groups = c.sub("config_groups")
        if len(groups.data) != 1:
            return _grouped(groups, plain, kept, kv)
        stored = group_format(groups.sub(next(iter(groups.data))), plain)
    else:
        stored = _format(c, algorithm, plain)
    scheme = Rules(
        f"{stored.name} (modelopt)",
        plain,
        AllBut(kept, stored),
        head=True,
    )
    return Quantised("modelopt", scheme, kv, experts=experts(kept))


def _grouped(groups: Config, plain: Format, kept: Names, kv: Format | None) -> Quantised:
    # Groups with targets of their own, in the style of compressed-tensors.
    rules = Targets(groups.where)
    for key in groups.data:
        group = groups.sub(key)
        targets = group.get("targets") or ["Linear"]
        if not isinstance(targets, list) or not all(isinstance(t, str) for t in targets):
            raise InputError(f"{group.where}: targets must be a list of names")
        rules.add(targets, group_format(group, plain), f"{group.where}: targets")
    kinds = ", ".join(dict.fromkeys(f.name for f in rules.formats))
    scheme = Rules(
        f"{kinds} by group (modelopt)",
        plain,
        AllBut(kept, rules.choose),
        head=True,
    )
    return Quantised("modelopt", scheme, kv, experts=experts(kept, *rules.lists))


def _format(c: Config, algorithm: str, plain: Format) -> Format:
    make = _ALGORITHMS.get(algorithm)
    if make is None:
        raise UnsupportedError(
            f"{c.where}: modelopt's quant_algo {short(algorithm)} is not counted; known are "
            + ", ".join(_ALGORITHMS)
        )
    group = c.integer("group_size", default=0, least=-1, most=1 << 16)
    return make(max(group, 0), plain.compute)


def _mixed(c: Config, plain: Format, kept: Names, kv: Format | None) -> Quantised:
    layers = c.get("quantized_layers")
    if not isinstance(layers, dict) or not layers:
        raise InputError(f"{c.where}: quantized_layers must be an object of modules")
    result: dict[str, Format] = {}
    for name, entry in layers.items():
        if not isinstance(entry, dict):
            raise InputError(f"{c.where}: quantized_layers: {name[:60]} must be an object")
        part = Config(entry, f"{c.where}: quantized_layers: {name[:60]}")
        stored = _format(part, part.word("quant_algo").upper(), plain)
        if result.setdefault(canonical(name), stored) != stored:
            raise UnsupportedError(f"{part.where}: experts of one layer in different formats")
    named = Names(list(layers), "exact", f"{c.where}: quantized_layers")
    choose = AllBut(kept, ByModule(result))
    kinds = ", ".join(dict.fromkeys(f.name for f in result.values()))
    scheme = Rules(f"{kinds} by module (modelopt)", plain, choose, head=True)
    return Quantised("modelopt", scheme, kv, experts=experts(kept, named))
