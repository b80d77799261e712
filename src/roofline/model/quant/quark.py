"""AMD Quark: one config for all layers, others for named ones, an exclusion list of globs."""

from __future__ import annotations

import re
from typing import Any

from ...errors import InputError, UnsupportedError
from .. import formats
from ..config import Config, short
from ..formats import Format
from . import layouts
from .names import InOrder, Names, experts
from .rules import AllBut, First, Quantised, Rules

_WIDE = ("bfloat16", "float16", "bf16", "fp16")


def read(c: Config, plain: Format) -> Quantised:
    """The checkpoint's configs."""
    where = f"{c.where}: exclude"
    kept = Names(c.get("exclude"), "glob", where)
    usual = _layer(c.sub("global_quant_config"), plain) if c.has("global_quant_config") else None
    rules: list[tuple[Names, Format | None]] = []
    special = c.get("layer_quant_config") or {}
    if not isinstance(special, dict):
        raise InputError(f"{c.where}: layer_quant_config must be an object")
    for name in special:
        result = _layer(Config(special, f"{c.where}: layer_quant_config").sub(name), plain)
        rules.append((Names([name], "glob", where), result))
    types = c.get("layer_type_quant_config")
    if types:
        raise UnsupportedError(f"{c.where}: layer_type_quant_config is not counted")
    choose = AllBut(kept, First(InOrder(rules), usual))
    kinds = dict.fromkeys(f.name for f in [*(f for _, f in rules), usual] if f)
    scheme = Rules(f"{', '.join(kinds)} (quark)", plain, choose, head=True)
    return Quantised("quark", scheme, _cache(c, plain), experts=experts(kept))


def _cache(c: Config, plain: Format) -> Format | None:
    value = c.get("kv_cache_quant_config") or {}
    if not isinstance(value, dict) or not value:
        return None
    first = Config(value, f"{c.where}: kv_cache_quant_config").sub(next(iter(value)))
    if not first.has("output_tensors"):
        return None
    dtype = first.sub("output_tensors").word("dtype")
    name = {"fp8_e4m3": "fp8", "fp8_e5m2": "fp8", "int8": "int8"}.get(dtype)
    if name is None:
        raise UnsupportedError(f"{first.where}: a cache in {short(dtype)} is not counted")
    return formats.parse(name)


def _layer(c: Config, plain: Format) -> Format | None:
    weight = c.get("weight")
    if weight is None:
        return None
    acts = c.sub("input_tensors") if c.has("input_tensors") else None
    if isinstance(weight, list):
        return _stages(c, weight, acts, plain)
    w = c.sub("weight")
    acts = c.sub("input_tensors") if c.has("input_tensors") else None
    compute = plain.compute if acts is None else _precision(acts, plain)
    fixed = 0 if acts is None or acts.get("is_dynamic") else 4
    return _format(w, compute, fixed)


def _stages(c: Config, weight: list[Any], acts: Config | None, plain: Format) -> Format:
    # Weights quantised twice (INT4 of FP8): stored in the narrower, multiplied in the wider, its
    # scale of 4 bytes a matrix kept beside.
    if len(weight) != 2 or not all(isinstance(w, dict) for w in weight):
        raise UnsupportedError(f"{c.where}: weights quantised in {len(weight)} stages")
    narrow = Config(weight[1], f"{c.where}: weight")
    return _format(narrow, plain.compute if acts is None else _precision(acts, plain), 4)


def _precision(acts: Config, plain: Format) -> str:
    dtype = acts.word("dtype")
    if dtype in _WIDE:
        return plain.compute
    name = re.sub(r"_e\dm\d\Z", "", dtype)
    if name == "mx":
        name = re.sub(r"_e\dm\d\Z", "", acts.word("mx_element_dtype"))
    if name not in formats.PRECISIONS:
        raise UnsupportedError(f"{acts.where}: activations in {short(dtype)} are not counted")
    return name


def _format(w: Config, compute: str, fixed: int) -> Format:
    dtype = w.word("dtype")
    scheme = w.word("qscheme", default="per_group" if dtype == "mx" else "per_tensor")
    size = w.integer("group_size", default=32 if dtype == "mx" else 0, least=-1)
    group = {"per_group": size, "per_channel": 0, "per_tensor": 0}.get(scheme)
    if group is None or (scheme == "per_group" and size < 1):
        raise UnsupportedError(f"{w.where}: {short(scheme)} weights in groups of {size}")
    rows = 0 if scheme == "per_tensor" else 1
    powers = w.get("scale_format") == "e8m0" or dtype == "mx"
    if dtype == "mx":
        dtype = w.word("mx_element_dtype")
    if match := re.fullmatch(r"(u?)int([2-8])", dtype):
        if rows == 0 and int(match[2]) < 8:
            raise UnsupportedError(f"{w.where}: {dtype} with one scale a matrix")
        bits = int(match[2])
        zero = 0 if w.flag("symmetric", default=not match[1]) else bits
        return layouts.integer(bits, group, compute, zero=zero, fixed=fixed)
    if match := re.fullmatch(r"fp([468])(_e\dm\d)?", dtype):
        bits = int(match[1])
        if powers and group:
            return layouts.mx(bits, compute, group=group, fixed=fixed)
        if bits == 4 and group:
            return layouts.nvfp4(compute, group=group, fixed=4 + fixed)
        if bits == 8:
            return layouts.fp8(group, rows, compute=compute, fixed=fixed)
    raise UnsupportedError(f"{w.where}: weights in {short(dtype)} are not counted")
