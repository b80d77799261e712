"""Integer weights in groups: AWQ (arXiv 2306.00978), GPTQ (arXiv 2210.17323), AutoRound, MLX.

GPTQ files of symmetric weights also hold constant zero points, and all hold the group of
each input; engines drop both at load (the latter unless ``desc_act``), so neither is counted.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from ...errors import InputError, UnsupportedError
from ..config import Config, short
from ..formats import PRECISIONS, Format
from . import layouts
from .names import InOrder, Names, canonical, experts
from .rules import AllBut, First, Quantised, Rules


def group_of(c: Config, default: int = 128) -> int:
    """The group size; -1 and null stand for whole channels."""
    value = c.integer("group_size", "q_group_size", default=default, least=-1)
    return max(value, 0)


def bits_of(c: Config, *names: str, default: Any = None) -> int:
    """Bits a weight, 2 to 8."""
    if default is None:
        return c.integer(*names, least=2, most=8)
    return c.integer(*names, default=default, least=2, most=8)


def awq(c: Config, plain: Format) -> Quantised:
    """AWQ: 4 bits with a zero point and a 16-bit scale a group; never the head."""
    bits, group = bits_of(c, "bits", "w_bit", default=4), group_of(c)
    zero = bits if c.flag("zero_point", default=True) else 0
    stored = layouts.integer(bits, group, plain.compute, zero=zero)
    kept = Names(c.get("modules_to_not_convert"), "part", f"{c.where}: modules_to_not_convert")
    scheme = Rules(
        f"int{bits}, {_groups(group)} (AWQ)",
        plain,
        AllBut(kept, stored),
    )
    return Quantised("awq", scheme, experts=experts(kept))


def gptq(c: Config, plain: Format) -> Quantised:
    """GPTQ, with GPTQModel's overrides by module (``dynamic``)."""

    def stored(bits: int, group: int, symmetric: bool, ordered: bool) -> Format:
        return layouts.integer(
            bits,
            group,
            plain.compute,
            zero=0 if symmetric else bits,
            per_input=4 if ordered else 0,
        )

    bits, group = bits_of(c, "bits"), group_of(c)
    symmetric = c.flag("sym", default=True)
    ordered = c.flag("desc_act", default=False)
    usual = stored(bits, group, symmetric, ordered)
    where = f"{c.where}: modules_to_not_convert"
    kept = Names(c.get("modules_to_not_convert"), "part", where)
    rules: list[tuple[Names, Format | None]] = []
    for pattern, change in _objects(c, "dynamic"):
        named = Names([f"re:{pattern.removeprefix('-:').removeprefix('+:')}"], "exact", where)
        if pattern.startswith("-:"):
            rules.append((named, None))
        else:
            b = bits_of(change, "bits", default=bits)
            rules.append((named, stored(b, group_of(change, group or -1), symmetric, ordered)))
    only = c.get("modules_in_block_to_quantize")
    inside: Names | None = None
    if only is not None:
        flat = [n for part in only for n in part] if _nested(only) else only
        inside = Names(flat, "part", f"{c.where}: modules_in_block_to_quantize")

    choose = partial(_gptq, usual, kept, inside, First(InOrder(rules), usual))
    head = c.flag("lm_head", default=False)
    scheme = Rules(f"int{bits}, {_groups(group)} (GPTQ)", plain, choose, head=head)
    return Quantised("gptq", scheme, experts=experts(kept))


def _gptq(
    usual: Format, kept: Names, inside: Names | None, rules: First, path: str
) -> Format | None:
    if path == "lm_head":
        return usual
    if kept.matches(path) or (inside is not None and not inside.matches(path)):
        return None
    return rules(path)


def auto_round(c: Config, plain: Format) -> Quantised:
    """AutoRound: integers in groups, with ``extra_config`` by module."""
    kind = c.word("data_type", default="int")
    act = c.integer("act_bits", default=16, least=1, most=32)
    wide = "fp" if "fp" in (c.get("act_data_type") or kind) else "int"
    compute = plain.compute if act >= 16 else f"{wide}{act}"
    if compute not in PRECISIONS:
        raise UnsupportedError(f"{c.where}: auto-round with {act}-bit activations is not counted")

    def stored(bits: int, group: int, symmetric: bool) -> Format:
        if kind.startswith("int"):
            return layouts.integer(bits, group, compute, zero=0 if symmetric else bits)
        if kind.startswith("mx_fp") and bits in (4, 6, 8):
            return layouts.mx(bits, compute, group=group or 32)
        if kind.startswith(("nv_fp", "fp4_v2")) and bits == 4:
            return layouts.nvfp4(compute, group=group or 16)
        if kind.startswith("fp") and bits == 8:
            return layouts.fp8(group, 1, compute=compute)
        raise UnsupportedError(f"{c.where}: auto-round's data_type '{kind[:40]}' is not counted")

    bits, group = bits_of(c, "bits"), group_of(c)
    symmetric = c.flag("sym", default=True)
    usual = stored(bits, group, symmetric)
    rules: list[tuple[Names, Format | None]] = []
    for module, change in _objects(c, "extra_config"):
        literal = re.fullmatch(r"[\w.\-]+", module) is not None
        named = Names([module if literal else f"re:{module}"], "exact", change.where)
        b = change.integer("bits", default=bits, least=1, most=32)
        if b >= 16:
            rules.append((named, None))
        else:
            rules.append((named, stored(b, group_of(change, group or -1), symmetric)))
    blocks = c.get("to_quant_block_names") or c.get("block_name_to_quantize")
    if isinstance(blocks, str):
        blocks = [b.strip() for b in blocks.split(",")]
    listed = Names(blocks, "module", f"{c.where}: block_name_to_quantize")
    choose = First(InOrder(rules), partial(_in_blocks, usual, listed))
    title = f"int{bits}, {_groups(group)}" if kind.startswith("int") else usual.name
    scheme = Rules(f"{title} (AutoRound)", plain, choose, head=True)
    return Quantised("auto-round", scheme)


def _in_blocks(usual: Format, listed: Names, path: str) -> Format | None:
    if path == "lm_head" or (not listed.empty and not listed.matches(path + ".")):
        return None
    return usual


def mlx(c: Config, plain: Format) -> Quantised:
    """MLX: every matrix and the table, in groups with a 16-bit scale and bias, or MXFP4."""
    where = c.where

    def stored(part: Config, bits: int, group: int, mode: str) -> Format:
        bits, mode = bits_of(part, "bits", default=bits), part.word("mode", default=mode)
        group = part.integer("group_size", default=group, least=8)
        if mode == "affine":
            return layouts.integer(bits, group, plain.compute, zero=16)
        if mode in ("mxfp4", "mxfp8"):
            return layouts.mx(int(mode[4:]), plain.compute, group=group)
        if mode == "nvfp4":
            return layouts.nvfp4(plain.compute, group=group, fixed=0)
        raise UnsupportedError(f"{where}: MLX's mode '{mode[:40]}' is not counted")

    bits, group = bits_of(c, "bits"), c.integer("group_size", default=64, least=8)
    mode = c.word("mode", default="affine")
    usual = stored(c, bits, group, mode)
    special: dict[str, Format | None] = {}
    for key, value in c.data.items():
        if value is False:
            special[canonical(key)] = None
        elif isinstance(value, dict):
            special[canonical(key)] = stored(Config(value, f"{where}: {key}"), bits, group, mode)

    choose = partial(_mlx, special, usual)
    scheme = Rules(
        f"{usual.name} (MLX)", plain, choose, table=True, head=True, routers=mode == "affine"
    )
    return Quantised("mlx", scheme)


def _mlx(special: dict[str, Format | None], usual: Format, path: str) -> Format | None:
    name = canonical(path)
    stem = name.replace(".experts.*.", ".switch_mlp.")
    return special.get(name, special.get(stem, usual))


def _groups(group: int) -> str:
    return f"groups of {group}" if group else "per channel"


def _nested(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, list) for v in value)


def _objects(c: Config, key: str) -> list[tuple[str, Config]]:
    value = c.get(key)
    if value is None:
        return []
    if not isinstance(value, dict) or not all(isinstance(v, dict) for v in value.values()):
        raise InputError(f"{c.where}: {key} must be an object of objects, not {short(value)}")
    return [(k, Config(v, f"{c.where}: {key}: {k[:60]}")) for k, v in value.items()]
