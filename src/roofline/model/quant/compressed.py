"""compressed-tensors (llm-compressor): groups of modules, each with weights and activations.

W4A16, W8A8 (INT8 or FP8), W4A8, FP8 in blocks, NVFP4, MXFP4, and mixtures of them: the
config says for each group which modules it holds (a class or names), how many bits weights
and activations have, and how weights share scales.
"""

from __future__ import annotations

from ...errors import InputError, UnsupportedError
from ...words.note import Note
from .. import formats
from ..config import Config, short
from ..formats import Format
from . import layouts
from .names import Names, canonical, experts
from .rules import TABLE, AllBut, Quantised, Rules

_CLASSES = {
    "Linear": "linear", "LinearBase": "linear", "ParallelLinear": "linear",
    "ColumnParallelLinear": "linear", "RowParallelLinear": "linear", "FusedMoE": "experts",
    "Embedding": "table", "VocabParallelEmbedding": "table", "ParallelLMHead": "head",
}  # fmt: skip
"""Classes that a target may name, and what of a model is of them."""

_ATTENTION = ("Attention", "self_attn", "self_attn$", "attn", "attn$")

_PACKINGS = (
    "pack-quantized", "int-quantized", "float-quantized", "naive-quantized",
    "nvfp4-pack-quantized", "mxfp4-pack-quantized", "mxfp6-pack-quantized", "mxfp8-quantized",
    "mixed-precision", "dense",
)  # fmt: skip


def read(c: Config, plain: Format) -> Quantised:
    """The checkpoint's groups."""
    sparse = c.get("sparsity_config") or {}
    if isinstance(sparse, dict) and sparse.get("format") not in (None, "dense"):
        raise UnsupportedError(f"{c.where}: sparse weights ({short(sparse.get('format'))})")
    packing(c)
    ignore = Names(c.get("ignore"), "exact", f"{c.where}: ignore")
    groups = c.get("config_groups")
    if not isinstance(groups, dict) or not groups:
        raise InputError(f"{c.where}: config_groups is missing or empty")
    rules = Targets(f"{c.where}: config_groups")
    kv = cache(c, "kv_cache_scheme")
    for key in groups:
        group = Config(groups, c.where).sub(key)
        packing(group)
        named = group.get("targets") or ["Linear"]
        if not isinstance(named, list) or not all(isinstance(t, str) for t in named):
            raise InputError(f"{group.where}: targets must be a list of names")
        if not group.has("weights") and all(t.endswith(_ATTENTION) for t in named):
            kv = kv or cache(group, "input_activations")  # what attention multiplies, its cache
            continue
        rules.add(named, group_format(group, plain), f"{group.where}: targets")
    choose = AllBut(ignore, rules.choose)
    kinds = ", ".join(dict.fromkeys(f.name for f in rules.formats))
    table = rules.choose(TABLE) is not None and not ignore.matches(TABLE)
    scheme = Rules(f"{kinds} (compressed-tensors)", plain, choose, table=table, head=True)
    notes: tuple[str, ...] = ()
    if c.data.get("format") == "int-quantized" and any(f.size < 0.9 for f in rules.formats):
        notes = (Note("packed"),)
    return Quantised("compressed-tensors", scheme, kv, notes, experts(ignore, *rules.lists))


class Targets:
    """The groups' targets, in the order in which the library holds a module against them.

    A module that several name is in the first: names first, then ``re:`` patterns, then classes,
    each in the order of the config. (That is vLLM's order, too; compressed-tensors itself sorts
    patterns by their spelling, which a checkpoint that both can load does not depend on.)

    Args:
        where: for messages.
    """

    def __init__(self, where: str) -> None:
        self.where = where
        self.formats: list[Format] = []
        self._names: list[tuple[Names, Format]] = []
        self._patterns: list[tuple[Names, Format]] = []
        self._classes: dict[str, Format] = {}

    @property
    def lists(self) -> tuple[Names, ...]:
        """What names modules."""
        return tuple(named for named, _ in (*self._names, *self._patterns))

    def add(self, targets: list[str], stored: Format, where: str) -> None:
        """A group.

        Raises:
            UnsupportedError: a class that is not known.
        """
        self.formats.append(stored)
        names = []
        for target in targets:
            if target.startswith("re:"):
                self._patterns.append((Names([target], "exact", where), stored))
            elif target in _CLASSES:
                self._classes.setdefault(_CLASSES[target], stored)
            elif "." not in target and target[:1].isupper():
                raise UnsupportedError(f"{where}: modules of the class {short(target)}")
            else:
                names.append(target)
        if names:
            self._names.append((Names(names, "exact", where), stored))

    def choose(self, path: str) -> Format | None:
        """The format of the matrix at ``path``, ``None`` where no group has it."""
        for named, stored in (*self._names, *self._patterns):
            if named.matches(path):
                return stored
        kind = "linear"
        if path == TABLE:
            kind = "table"
        elif canonical(path) == "lm_head" and "head" in self._classes:
            kind = "head"
        elif ".experts." in path and "experts" in self._classes:
            kind = "experts"
        return self._classes.get(kind)


def packing(c: Config) -> None:
    """Refuse a file format whose bytes are not known."""
    name = c.word("format", default="dense")
    if name not in _PACKINGS:
        raise UnsupportedError(f"{c.where}: the format '{name[:40]}' is not counted")


def cache(c: Config, key: str) -> Format | None:
    """The cache's format: ``kv_cache_scheme`` or a name such as ``FP8``."""
    value = c.get(key)
    if value is None:
        return None
    if isinstance(value, str):
        known = {"fp8": "fp8", "nvfp4": "nvfp4", "int8": "int8", "none": ""}
        name = known.get(value.lower())
        if name is None:
            raise UnsupportedError(f"{c.where}: the cache format '{value[:40]}' is not counted")
        return formats.parse(name) if name else None
    scheme = c.sub(key)
    bits = scheme.integer("num_bits", default=8, most=16)
    kind = scheme.word("type", default="float")
    result = {(8, "float"): "fp8", (8, "int"): "int8", (4, "float"): "nvfp4"}.get((bits, kind))
    if result is None:
        raise UnsupportedError(f"{scheme.where}: a cache of {bits}-bit {kind[:20]}")
    return formats.parse(result)


def group_format(group: Config, plain: Format) -> Format:
    """The format of one group's matrices."""
    if not group.has("weights"):
        raise UnsupportedError(f"{group.where}: a group that quantises no weights")
    weights = group.sub("weights")
    acts = group.sub("input_activations") if group.has("input_activations") else None
    return weight_format(weights, arithmetic(weights, acts, plain), _static(acts))


def arithmetic(weights: Config, acts: Config | None, plain: Format) -> str:
    """The precision of the products: the wider of the two operands."""
    if acts is None:
        return plain.compute
    bits = acts.integer("num_bits", default=8, most=16)
    kind = acts.word("type", default="int")
    if bits >= 16:
        return plain.compute
    if bits < weights.integer("num_bits", default=8, most=16):
        raise UnsupportedError(f"{acts.where}: activations in fewer bits than weights")
    name = {"float": f"fp{bits}", "int": f"int{bits}"}.get(kind)
    if name not in formats.PRECISIONS:
        raise UnsupportedError(f"{acts.where}: {bits}-bit {kind[:20]} activations")
    return name


def _static(acts: Config | None) -> int:
    # Bytes of a scale of the input kept beside the weights, one a matrix: FP4's is fp32 and
    # always there, the others' is in 16 bits and there where it is not found at run time.
    if acts is None:
        return 0
    if acts.data.get("num_bits") == 4:
        return 4
    return 0 if acts.get("dynamic") else 2


def weight_format(w: Config, compute: str, fixed: int) -> Format:
    """The format of weights by their ``QuantizationArgs``."""
    bits = w.integer("num_bits", default=8, least=2, most=8)
    kind = w.word("type", default="int")
    if kind not in ("int", "float"):
        raise UnsupportedError(f"{w.where}: weights of type '{kind[:20]}'")
    size = w.integer("group_size", default=-1, least=-1)
    inferred = "group" if size > 0 else "channel" if w.has("group_size") else "tensor"
    strategy = w.word("strategy", default=inferred)
    group, rows = _sharing(w, strategy, size)
    if kind == "float":
        return _floats(w, bits, (group, rows), compute, fixed)
    zero = 0 if w.flag("symmetric", default=True) else (bits if bits < 8 else 8)
    ordered = 4 if w.data.get("actorder") in ("group", "dynamic", True) else 0
    if rows != 1:
        raise UnsupportedError(f"{w.where}: integers with a scale per {strategy}")
    return layouts.integer(bits, group, compute, zero=zero, fixed=fixed, per_input=ordered)


def _sharing(w: Config, strategy: str, size: int) -> tuple[int, int]:
    # Inputs and outputs that share one scale; 0 stands for all.
    if strategy in ("group", "tensor_group"):
        if size < 1:
            raise InputError(f"{w.where}: strategy {strategy} needs a group_size")
        return size, 1
    if strategy == "channel":
        return 0, 1
    if strategy == "tensor":
        return 0, 0
    if strategy == "block":
        block = w.get("block_structure")
        if isinstance(block, str):
            block = [int(n) if n.isascii() and n.isdigit() else n for n in block.split("x")]
        if (
            not isinstance(block, list)
            or len(block) != 2
            or not all(type(n) is int and 1 <= n <= 1 << 20 for n in block)
        ):
            raise InputError(f"{w.where}: block_structure must be two numbers")
        return block[1], block[0]
    raise UnsupportedError(f"{w.where}: scales per '{strategy[:20]}' are not counted")


def _floats(w: Config, bits: int, sharing: tuple[int, int], compute: str, fixed: int) -> Format:
    group, rows = sharing
    if bits == 8 and group == 32 and rows == 1:
        return layouts.mx(8, compute, fixed=fixed)
    if bits == 8:
        return layouts.fp8(group, rows, compute=compute, scale=2, fixed=fixed)
    if bits == 4 and group == 32:
        return layouts.mx(4, compute)
    if bits == 4 and group:
        return layouts.nvfp4(compute, group=group, fixed=4 + fixed)
    if bits == 6 and group:
        return layouts.mx(6, compute, group=group, fixed=fixed)
    raise UnsupportedError(f"{w.where}: {bits}-bit floats with these scales are not counted")
