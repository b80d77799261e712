"""Which layers each operator runs in, so that the page can price the first layers of a model.

An engine may have run a model cut to fewer layers; a measured point says to how many. What such
a model does is the table of the whole one with the counts of the layers left out taken off.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from ..count.work import Operator
from ..model import Model
from ..model.model import Uniform
from ..parallel.layout import Parallel
from ..record import replace
from .factors import probed

TABLES = {"uniform": (False, None), "own": (True, None), "cast": (True, "fp8")}
"""The open tables of a model: as the checkpoint stores it or not, the arithmetic chosen."""


def pattern(model: Model) -> str:
    """A letter for each layer, first to last: layers of one letter do the same in all formats.

    >>> from roofline.model.load import load
    >>> pattern(load("gemma-3-27b"))[:12]
    'aaaaabaaaaab'
    """
    letters: dict[Any, str] = {}
    return "".join(
        letters.setdefault(_kind(model, i), _letter(len(letters))) for i in _indices(model)
    )


def kinds(model: Model) -> dict[str, int]:
    """The letters of a model's layers, each with the first layer of its kind."""
    first: dict[str, int] = {}
    for i, letter in zip(_indices(model), pattern(model), strict=True):
        first.setdefault(letter, i)
    return first


def _letter(n: int) -> str:
    return chr(ord("a") + n) if n < 26 else chr(ord("À") + n)


def parameters(model: Model, first: Mapping[str, int]) -> dict[str, int]:
    """Parameters of one layer of each kind."""
    return {
        letter: sum(layer.parameters for layer in model.layers if i in layer.indices)
        for letter, i in first.items()
    }


def mark(model: Model, tables: dict[str, Any]) -> None:
    """Says in a model's open tables how often each operator runs ``in`` one layer of each kind.

    Args:
        tables: as ``factors.tables`` gives them; for one device, or for it among others.
    """
    first = kinds(model)
    for name, (own, override) in TABLES.items():
        if name not in tables:
            continue
        operators = tables[name]["operators"]
        whole = _operators(model, own, override)
        outside = Counter(dict(_counted(model.altered(layers=()), own, override)))
        inside = {k: dict(_counted(_only(model, i), own, override)) for k, i in first.items()}
        for data, op in zip(operators, whole, strict=False):
            if data["name"] != op.name:
                raise ValueError(f"{model.name}: {data['name']} is not {op.name}")
            key = replace(op, count=1)
            each = {k: counts.get(key, 0) - outside[key] for k, counts in inside.items()}
            if any(each.values()):
                data["in"] = {k: n for k, n in each.items() if n}


def _operators(model: Model, own: bool, override: str | None) -> tuple[Operator, ...]:
    return probed(model, Parallel(), (1, 1, 1), own, override).operators


def _counted(model: Model, own: bool, override: str | None) -> Iterator[tuple[Operator, int]]:
    for op in _operators(model.altered(file=None), own, override):
        yield replace(op, count=1), op.count


def _only(model: Model, i: int) -> Model:
    layers = (replace(layer, indices=(i,)) for layer in model.layers if i in layer.indices)
    return model.altered(layers=tuple(layers))


def _indices(model: Model) -> list[int]:
    return sorted({i for layer in model.layers for i in layer.indices})


def _kind(model: Model, i: int) -> Any:
    here = [(n, layer) for n, layer in enumerate(model.layers) if i in layer.indices]
    if isinstance(model.scheme, Uniform):
        return tuple(n for n, _ in here)
    scheme = model.scheme
    return tuple(
        (n, scheme.weight(path), scheme.compute(path))
        for n, layer in here
        for part in layer.parts
        for path in (f"{layer.prefix}.{i}.{m.path}" for m in part.linears())
    ) + tuple(n for n, _ in here)
