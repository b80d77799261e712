"""torchao: a serialised config object for all linear layers, or one for each name."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from ...errors import InputError, UnsupportedError
from ..config import Config, short
from ..formats import Format
from . import layouts
from .names import InOrder, Names
from .rules import AllBut, First, Quantised, Rules

_OLD = {
    "int4_weight_only": "Int4WeightOnlyConfig",
    "int8_weight_only": "Int8WeightOnlyConfig",
    "int8_dynamic_activation_int8_weight": "Int8DynamicActivationInt8WeightConfig",
    "int8_dynamic_activation_int4_weight": "Int8DynamicActivationInt4WeightConfig",
    "float8_weight_only": "Float8WeightOnlyConfig",
    "float8_dynamic_activation_float8_weight": "Float8DynamicActivationFloat8WeightConfig",
}


def read(c: Config, plain: Format) -> Quantised:
    """The checkpoint's config object."""
    kind = c.get("quant_type")
    if isinstance(kind, str):
        if kind not in _OLD:
            raise UnsupportedError(f"{c.where}: torchao's quant_type {short(kind)} is not counted")
        data = c.sub("quant_type_kwargs").data if c.has("quant_type_kwargs") else {}
        kind = {"_type": _OLD[kind], "_data": data}
    elif isinstance(kind, dict):
        kind = kind.get("default", kind)
    where = f"{c.where}: quant_type"
    name, data = _object(kind, where)
    kept = Names(c.get("modules_to_not_convert"), "module", f"{c.where}: modules_to_not_convert")
    tables = c.flag("include_input_output_embeddings", default=False)
    if name in ("FqnToConfig", "ModuleFqnToConfig"):
        return _by_name(data, plain, kept, where)
    stored = _format(name, data, plain, where)
    scheme = Rules(
        f"{stored.name} (torchao)",
        plain,
        AllBut(kept, stored),
        table=tables,
        head=tables,
    )
    return Quantised("torchao", scheme)


def _by_name(data: dict[str, Any], plain: Format, kept: Names, where: str) -> Quantised:
    entries = data.get("fqn_to_config") or data.get("module_fqn_to_config")
    if not isinstance(entries, dict):
        raise InputError(f"{where}: a mapping from names to configs is missing")
    usual: Format | None = None
    exact: list[tuple[Names, Format | None]] = []
    expressions: list[tuple[Names, Format | None]] = []
    for name, value in entries.items():
        stored = None if value is None else _format(*_object(value, where), plain, where)
        if name == "_default":
            usual = stored
        elif name.startswith("re:"):
            expression = "re:(?:" + name[3:] + r")\Z"
            expressions.append((Names([expression], "exact", where), stored))
        else:
            exact.append((Names([name.removesuffix(".weight")], "exact", where), stored))
    said = InOrder((*exact, *expressions))
    choose = First(said, AllBut(kept, partial(_not_the_head, usual)))
    kinds = dict.fromkeys(f.name for f in [*(s for _, s in exact + expressions), usual] if f)
    embedded = any(named.matches("model.embed_tokens") for named, _ in exact)
    title = f"{', '.join(kinds)} (torchao)"
    return Quantised("torchao", Rules(title, plain, choose, table=embedded, head=True))


def _not_the_head(usual: Format | None, path: str) -> Format | None:
    return None if path == "lm_head" else usual


def _object(value: Any, where: str) -> tuple[str, dict[str, Any]]:
    if not isinstance(value, dict) or not isinstance(value.get("_type"), str):
        raise InputError(f"{where}: not a serialised torchao config: {short(value)}")
    data = value.get("_data")
    return value["_type"], data if isinstance(data, dict) else {}


def _format(name: str, data: dict[str, Any], plain: Format, where: str) -> Format:
    c = Config(data, f"{where}: {name[:60]}")
    if name == "Int4WeightOnlyConfig":
        return layouts.integer(4, c.integer("group_size", default=128), plain.compute, zero=16)
    if name == "Int8WeightOnlyConfig":
        group = c.integer("group_size", default=0) if c.has("group_size") else _group(c, 0)
        return layouts.integer(8, group, plain.compute, scale=4)
    if name == "Int8DynamicActivationInt8WeightConfig":
        return layouts.integer(8, 0, "int8", scale=4)
    if name == "Int8DynamicActivationInt4WeightConfig":
        return layouts.integer(4, c.integer("group_size", default=32), "int8")
    if name in ("Int8DynamicActivationIntxWeightConfig", "IntxWeightOnlyConfig"):
        key = "weight_granularity" if name.startswith("Int8") else "granularity"
        group = _group(c, 32 if name.startswith("Int8") else 0, key)
        compute = "int8" if name.startswith("Int8") else plain.compute
        return layouts.integer(_bits(c), group, compute)
    if name == "Float8WeightOnlyConfig":
        return layouts.fp8(0, 1, compute=plain.compute)
    if name == "Float8DynamicActivationFloat8WeightConfig":
        return layouts.fp8(0, 1 if "PerRow" in repr(data.get("granularity")) else 0)
    if name == "Float8DynamicActivationInt4WeightConfig":
        return layouts.integer(4, c.integer("group_size", default=128), "fp8")
    raise UnsupportedError(f"{where}: torchao's {short(name)} is not counted")


def _group(c: Config, default: int, key: str = "granularity") -> int:
    value = c.get(key)
    if value is None:
        return default
    name, data = _object(value, f"{c.where}: {key}")
    if name == "PerGroup":
        return Config(data, c.where).integer("group_size")
    if name in ("PerRow", "PerAxis"):
        return 0
    raise UnsupportedError(f"{c.where}: scales by {short(name)} are not counted")


def _bits(c: Config) -> int:
    value = c.get("weight_dtype")
    if value is None:
        return 8
    name = value.get("_data") if isinstance(value, dict) else value
    match = re.fullmatch(r"(?:torch\.)?u?int([2-8])", str(name))
    if match is None:
        raise UnsupportedError(f"{c.where}: weights in {short(name)} are not counted")
    return int(match[1])
