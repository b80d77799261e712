"""Methods whose files say of each module how it is stored: VPTQ, SpQR, Ascend, Gemma's own.

VPTQ (arXiv 2409.17066) stores an index of log2(k) bits for each vector of v weights, and of the
residual likewise, with 16-bit codebooks, and beside each input a 16-bit scale and bias (where
normed) and its place (where permuted). SpQR (arXiv 2306.03078) keeps outliers apart: how many is
in ``shapes``, and so is the size of all else. msmodelslim's ``quant_model_description.json``
names a type for each tensor. Gemma's own checkpoints have bits by expression.
"""

from __future__ import annotations

import math
import re
from functools import partial
from typing import Any

from ...errors import InputError, UnsupportedError
from ...record import record
from ..config import Config, short
from ..formats import Format, Layout
from . import layouts
from .expressions import Effort, compiled, effort
from .names import Names, canonical
from .rules import TABLE, AllBut, ByModule, Quantised, Rules


@record
class Vectors(Layout):
    """Indices into codebooks.

    Attributes:
        books: bytes of the codebooks.
    """

    books: int = 0

    def stored(self, inputs: int, outputs: int) -> int:
        """Bytes of a matrix."""
        return math.ceil(inputs * outputs * self.bits / 8) + self.books + self.per_input * inputs


def vptq(c: Config, plain: Format) -> Quantised:
    """VPTQ, module by module."""
    layers = c.get("config_for_layers") or {}
    shared = c.get("shared_layer_config") or {}
    if not isinstance(layers, dict) or not isinstance(shared, dict) or not {**layers, **shared}:
        raise InputError(f"{c.where}: config_for_layers must be an object of modules")
    found = _each(c, layers, "config_for_layers", lambda part: _vectors(part, plain))
    alike = _each(c, shared, "shared_layer_config", lambda part: _vectors(part, plain))
    kept = Names(c.get("modules_to_not_convert"), "module", f"{c.where}: modules_to_not_convert")
    choose = AllBut(kept, partial(_own_or_alike, ByModule(found), alike))
    return Quantised("vptq", Rules(_title(found or alike, "VPTQ"), plain, choose, head=True))


def _own_or_alike(own: ByModule, alike: dict[str, Format], path: str) -> Format | None:
    return own(path) or next((f for name, f in alike.items() if f".{name}." in path), None)


def _vectors(part: Config, plain: Format) -> Format:
    def pair(name: str) -> int:
        value = part.get(name)
        ok = isinstance(value, list) and len(value) == 2 and all(type(v) is int for v in value)
        if not ok or not -1 <= value[1] <= 1 << 24:
            raise InputError(f"{part.where}: {name} must be two numbers, not {short(value)}")
        return int(value[1])

    length, main, residual = pair("vector_lens"), pair("num_centroids"), pair("num_res_centroids")
    if length < 1 or main < 2:
        raise InputError(f"{part.where}: vectors of {length} weights from {main} centroids")
    groups = part.integer("group_num", default=1, most=1 << 16)
    index = math.ceil(math.log2(main)) + (math.ceil(math.log2(residual)) if residual > 1 else 0)
    books = groups * 2 * length * (main + max(residual, 0))
    beside = 4 * part.flag("enable_norm", default=True) + 2 * part.flag("enable_perm", default=True)
    bits = index / length
    layout = Vectors(bits, per_input=beside, books=books)
    return Format(f"vptq {bits:.3g} bits", bits / 8, plain.compute, "", layout)


def spqr(c: Config, plain: Format) -> Quantised:
    """SpQR: as many bytes as its shapes give."""
    shapes = c.get("shapes")
    if not isinstance(shapes, dict) or not shapes:
        raise UnsupportedError(
            f"{c.where}: spqr without 'shapes' does not say how many outliers it keeps; "
            "--weights 4bits counts its usual average"
        )
    sizes = {"dense_weights": 8, "row_offsets": 4, "col_vals": 4, "in_perm": 2}
    total: dict[str, int] = {}
    for key, value in shapes.items():
        name, _, part = key.removesuffix(".shape").rpartition(".")
        count = value[0] if isinstance(value, list) and value else value
        if part not in sizes or type(count) is not int or not 0 <= count < 1 << 40:
            raise InputError(f"{c.where}: shapes: {key[:60]} is {short(value)}")
        path = canonical(name)
        total[path] = total.get(path, 0) + sizes[part] * count
    size = (3 + 1) / 8
    found = {
        path: Format("spqr", size, plain.compute, "", Layout(0, fixed=n))
        for path, n in total.items()
    }

    choose = partial(_at, found)
    return Quantised("spqr", Rules("3 bits and outliers (SpQR)", plain, choose, head=True))


def _at(found: dict[str, Format], path: str) -> Format | None:
    return found.get(canonical(path))


_ASCEND = re.compile(r"W(4|8)A(4|8|16)(S|_\w+)?\Z")


def described(c: Config, plain: Format) -> Quantised:
    """Ascend: a type for each tensor, as msmodelslim describes them."""
    said = c.sub("description")
    group = said.integer("group_size", default=0, least=-1, most=1 << 16)
    found: dict[str, Format] = {}
    for name, kind in said.data.items():
        if not name.endswith(".weight") or kind in ("FLOAT", "BF16", "FP16"):
            continue
        stored = _ascend(kind, group, plain, said.where)
        path = canonical(name.removesuffix(".weight"))
        if found.setdefault(path, stored) != stored:
            raise UnsupportedError(f"{said.where}: {path}: experts of one layer in several types")
    if not found:
        raise InputError(f"{said.where}: no tensor is described as quantised")

    choose = ByModule(found)
    cache = layouts.integer(8, 0, "int8") if "C8" in said.data.values() else None
    return Quantised("ascend", Rules(_title(found, "Ascend"), plain, choose, head=True), cache)


def _ascend(kind: Any, group: int, plain: Format, where: str) -> Format:
    match = _ASCEND.match(kind) if isinstance(kind, str) else None
    if match is None:
        raise UnsupportedError(f"{where}: the type {short(kind)} is not counted")
    bits, acts = int(match[1]), int(match[2])
    if "MXFP" in kind:
        return layouts.mx(bits, "fp4" if acts == 4 else "fp8")
    compute = plain.compute if acts == 16 else f"int{acts}"
    wide = 4 if group > 0 and bits == 4 else 8  # a scale and an offset of fp32 an output
    return layouts.integer(bits, max(group, 0) if bits == 4 else 0, compute, scale=wide)


def gemma(c: Config, plain: Format) -> Quantised:
    """Gemma's own: integers by channel, bits by the first expression found in a module's name."""
    usual = c.integer("num_bits", default=4, least=2, most=8)
    rules: list[tuple[re.Pattern[str], int]] = []
    cost = effort()
    for text, part in _parts(c, c.get("module_quant_configs") or {}, "module_quant_configs"):
        bits = part.integer("num_bits", default=usual, least=2, most=8)
        rules.append((compiled(text, c.where, cost, anywhere=True), bits))
    kept = Names(c.get("modules_to_not_convert"), "module", f"{c.where}: modules_to_not_convert")
    tables = c.flag("quantize_embeddings")
    choose = AllBut(kept, _Expressed(tuple(rules), usual, tables, plain.compute, cost, c.where))
    named = ", ".join(f"int{b}" for b in dict.fromkeys([*(b for _, b in rules), usual]))
    scheme = Rules(f"{named} by channel (Gemma)", plain, choose, table=tables, head=True)
    return Quantised("gemma", scheme)


@record
class _Expressed:
    rules: tuple[tuple[re.Pattern[str], int], ...]
    usual: int
    tables: bool
    compute: str
    cost: Effort
    where: str

    def __call__(self, path: str) -> Format | None:
        if path == TABLE and not self.tables:
            return None
        bits = self.cost.spend(self._bits, path, self.where)
        return layouts.integer(bits, 0, self.compute, scale=4, fixed=8)

    def _bits(self, path: str) -> int:
        return next((b for rule, b in self.rules if rule.search(path)), self.usual)


def simple(c: Config, plain: Format) -> Quantised:
    """Methods with one format for all modules but those excluded."""
    method = c.word("quant_method")
    kept = Names(c.get("modules_to_not_convert"), "module", f"{c.where}: modules_to_not_convert")
    bits = c.integer("bits", "wbits", "nbits", default=4, least=2, most=8)
    group = max(c.integer("group_size", default=64 if method != "qqq" else 128, least=-1), 0)
    if method == "metal":  # MLX's affine groups
        stored = layouts.integer(bits, group, plain.compute, zero=16)
    elif method == "sinq":  # arXiv 2509.22944: scales along both axes
        stored = layouts.integer(bits, group, plain.compute, zero=16, per_input=2)
    elif method == "qqq":  # arXiv 2406.09904: W4A8
        stored = layouts.integer(bits, group, "int8", scale=2 if group else 4)
    elif method == "mxfp8":
        stored = layouts.mx(8, "fp8")
    else:  # NVFP4 and Four Over Six (arXiv 2512.02010)
        kind = c.word("weight_dtype", "dtype", default="nvfp4")
        stored = layouts.mx(4, "fp4") if kind == "mxfp4" else layouts.nvfp4()
        if c.flag("keep_master_weights"):
            stored = Format(plain.name, plain.size, stored.compute)
    scheme = Rules(f"{stored.name} ({method})", plain, AllBut(kept, stored))
    return Quantised(method, scheme)


def _parts(c: Config, value: Any, key: str) -> list[tuple[str, Config]]:
    if not isinstance(value, dict) or not all(isinstance(v, dict) for v in value.values()):
        raise InputError(f"{c.where}: {key} must be an object of objects, not {short(value)}")
    return [(k, Config(v, f"{c.where}: {key}: {k[:60]}")) for k, v in value.items()]


def _each(c: Config, value: Any, key: str, make: Any) -> dict[str, Format]:
    found: dict[str, Format] = {}
    for name, part in _parts(c, value, key):
        stored = make(part)
        if found.setdefault(canonical(name), stored) != stored:
            raise UnsupportedError(f"{part.where}: experts of one layer in different formats")
    return found


def _title(found: dict[str, Format], method: str) -> str:
    kinds = ", ".join(dict.fromkeys(f.name for f in found.values()))
    return f"{kinds} by module ({method})"
