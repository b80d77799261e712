"""Work with the formats left open: the table that the page evaluates.

A :class:`~roofline.work.Work` is made for chosen formats. Its coefficients are affine in the
bytes an element of the weights (w), the cache (c) and the activations (a), so one table
serves every choice: a term ``[quantity, coefficient, "w"]`` stands for coefficient·w. The
factors are not a second model: they are read off ``model.work`` itself at four probe formats
and checked at a fifth, which also refuses a model whose work is not affine.

The arithmetic is open likewise: ``compute`` is a precision, ``@w`` (the weight format's, or
the one chosen), ``@a`` (attention's: the one chosen where it has 16 bits or more, else the
activations') or ``@d`` (the activations', whatever is chosen).
"""

from __future__ import annotations

from typing import Any

from ..model import Model
from ..model.formats import Format
from ..model.model import Uniform
from ..parallel.layout import Parallel
from ..parallel.split import split
from ..record import replace
from ..work import BYTES, Operator, Work

# Sizes (w, c, a) at which work is looked at. The first four give the factors, the last checks.
_PROBES = ((1, 1, 1), (2, 1, 1), (1, 2, 1), (1, 1, 2), (3, 5, 7))

ALONE = Parallel()

_FACTORS = ("", "w", "c", "a")


def tables(model: Model, layout: Parallel = ALONE) -> dict[str, Any]:
    """The open tables of a model, or of what one device does of it.

    Args:
        model: the model.
        layout: over devices of one stage.

    Returns:
        ``uniform``: every matrix in one format, w open. Where the checkpoint itself mixes
        formats also ``own``: as it stores them, and ``cast``: the same with one arithmetic
        chosen for all (operators that differ only in arithmetic are then one).
    """
    uniform = _open(model, layout, own=False, override=None)
    if isinstance(model.scheme, Uniform):
        return {"uniform": uniform}
    own = _open(model, layout, own=True, override=None)
    cast = _open(model, layout, own=True, override="fp8")
    return {"uniform": uniform, "own": own, "cast": cast}


def _work(
    model: Model, layout: Parallel, sizes: tuple[int, int, int], own: bool, override: str | None
) -> Work:
    w, c, a = sizes
    probed = replace(model, dtype=Format("probe", a, "@a"))
    formats: dict[str, Any] = {
        "weights": None if own else Format("probe", w, "@w"),
        "kv": Format("probe", c, "@c"),
        "compute": override,
    }
    if layout.single:
        return probed.work(**formats)
    return split(probed, layout, **formats).path


def _open(model: Model, layout: Parallel, *, own: bool, override: str | None) -> dict[str, Any]:
    probes = [_work(model, layout, sizes, own, override) for sizes in _PROBES]
    # Under an override of 16 bits or more attention follows it, too.
    wide = {op.name: op.compute for op in _work(model, layout, _PROBES[0], own, "fp64").operators}
    index: dict[Any, int] = {}
    operators = []
    for row in zip(*(p.operators for p in probes), strict=True):
        operators.append(_operator(row, index, override, wide))
    return {
        "resident": [[c, f] if f else [c] for c, f in _affine([p.resident for p in probes])],
        "quantities": [q.to_json() for q in index],
        "operators": operators,
    }


def _operator(
    row: tuple[Operator, ...], index: dict[Any, int], override: str | None, wide: dict[str, str]
) -> Any:
    first = row[0]
    for other in row[1:]:
        if (other.name, other.count, other.compute) != (first.name, first.count, first.compute):
            raise ValueError(f"{first.name}: a model's operators must not depend on sizes")

    def terms(kind: str) -> list[list[Any]]:
        found = []
        lists = [getattr(op, kind) for op in row]
        for column in zip(*lists, strict=True):
            quantity = column[0][0]
            at = index.setdefault(quantity, len(index))
            for c, factor in _affine([c for _, c in column]):
                found.append([at, c, factor] if factor else [at, c])
        return found

    # Under an override of 8 bits matrix products follow it and attention does not.
    compute = "@w" if override is not None and first.compute == override else first.compute
    if compute == "@a" and wide.get(first.name) != "fp64":
        compute = "@d"
    sizes = {kind: terms(kind) for kind in BYTES}
    data = {
        "name": first.name,
        "kind": first.kind,
        "count": first.count,
        "compute": compute,
        "flops": terms("flops"),
        "bytes": {kind: of for kind, of in sizes.items() if of},
    }
    return data | {"collective": first.collective} if first.collective else data


def _affine(values: list[float]) -> list[tuple[float, str]]:
    base, w2, c2, a2, check = values
    slopes = (w2 - base, c2 - base, a2 - base)
    constant = base - sum(slopes)
    expected = constant + sum(s * k for s, k in zip(slopes, _PROBES[-1], strict=True))
    if abs(expected - check) > 1e-9 * abs(check):
        raise ValueError("a model's bytes must be affine in the bytes an element")
    found = []
    for value, factor in zip((constant, *slopes), _FACTORS, strict=True):
        # What is left of a cancelled sum of floats is not a coefficient.
        if abs(value) > 1e-9 * max(abs(base), 1e-300):
            found.append((int(value) if value == int(value) else value, factor))
    return found
