"""Work with formats and devices left open: the table that the page evaluates.

A :class:`~roofline.count.work.Work` is made for chosen formats. Its coefficients are affine in the
bytes an element of the weights (w), the cache (c) and the activations (a), so one table
serves every choice: a term ``[quantity, coefficient, "w"]`` stands for coefficient·w. The
factors are not a second model: they are read off ``model.work`` itself at four probe formats
and checked at a fifth, which also refuses a model whose work is not affine.

The number of devices is open, too: the work of one of n tensor-parallel devices
(``parallel/split.py``) has the same operators for every n and other coefficients, most of which
are halved whenever n is doubled, or stay. A term ``[quantity, coefficient, "w", i]`` stands for
coefficient·w·scales[i][k], k being the place of n among ``devices``. Exchanges between devices
have the scale 0 for one device alone. The scales are quotients of the core's own coefficients.

The arithmetic is open likewise: ``compute`` is a precision, ``@w`` (the weight format's, or
the one chosen), ``@a`` (attention's: the one chosen where it has 16 bits or more, else the
activations') or ``@d`` (the activations', whatever is chosen).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from ..count.work import BYTES, Operator, Work
from ..errors import InputError, UnsupportedError
from ..model import Model
from ..model.formats import Format
from ..model.model import Uniform
from ..parallel.layout import Parallel
from ..parallel.split import split
from ..record import replace

# Sizes (w, c, a) at which work is looked at. The first four give the factors, the last checks.
_PROBES = ((1, 1, 1), (2, 1, 1), (1, 2, 1), (1, 1, 2), (3, 5, 7))

MOST_DEVICES = 256
"""Tables are made for powers of two up to this: the page offers half of it, and the lever of
twice the devices needs the double."""

_FACTORS = ("", "w", "c", "a")

Table = dict[str, Any]


def tables(model: Model, most: int = MOST_DEVICES) -> list[Table]:
    """The open tables of a model, for one device and for so many as divide it.

    Args:
        model: the model.
        most: devices at most.

    Returns:
        Tables, each with its ``devices``; seldom more than one: where a split makes two kinds
        of operators alike, the table of more devices has fewer of them. In each ``uniform``:
        every matrix in one format, w open. Where the checkpoint itself mixes formats also
        ``own``: as it stores them, and ``cast``: the same with one arithmetic chosen for all
        (operators that differ only in arithmetic are then one).
    """
    result: list[tuple[list[int], list[dict[str, Table]]]] = []
    for n in (1 << k for k in range(most.bit_length())):
        try:
            one = _kinds(model, Parallel(tp=n))
        except (InputError, UnsupportedError):
            break
        if result and _shape(result[-1][1][-1]) == _shape(one):
            result[-1][0].append(n)
            result[-1][1].append(one)
        else:
            result.append(([n], [one]))
    return [
        {"devices": devices, **{kind: _woven([one[kind] for one in of]) for kind in of[0]}}
        for devices, of in result
    ]


def _kinds(model: Model, layout: Parallel) -> dict[str, Table]:
    kinds = {"uniform": _open(model, layout, own=False, override=None)}
    if not isinstance(model.scheme, Uniform):
        kinds["own"] = _open(model, layout, own=True, override=None)
        kinds["cast"] = _open(model, layout, own=True, override="fp8")
    return kinds


def _shape(kinds: dict[str, Table]) -> list[Any]:
    # What tables must have in common to be one with scales.
    return [
        (op["name"], op["kind"], op["count"], op["compute"])
        for table in kinds.values()
        for op in table["operators"]
        if "collective" not in op
    ]


def _woven(of: list[Table]) -> Table:
    """Tables of more and more devices as one, whose terms have scales."""
    quantities: list[dict[str, Any]] = []
    scales: list[list[float]] = []

    def scaled(columns: list[dict[Any, float]]) -> list[list[Any]]:
        # columns: for each number of devices (quantity, factor) → coefficient.
        result = []
        for key in dict.fromkeys(key for column in columns for key in column):
            values = [column.get(key, 0) for column in columns]
            base = next(v for v in values if v)
            scale = [_plain(v / base) for v in values]
            term = [*([] if key[0] is None else [key[0]]), base, key[1]]
            if any(x != 1 for x in scale):
                if scale not in scales:
                    scales.append(scale)
                term.append(scales.index(scale))
            elif not key[1]:
                term.pop()
            result.append(term)
        return result

    def number(table: Table, terms: list[list[Any]]) -> dict[Any, float]:
        result: dict[Any, float] = {}
        for q, c, *factor in terms:
            at, times = _numbered(table["quantities"][q], quantities)
            result[at, *(factor or [""])] = c * times
        return result

    operators = []
    longest = of[-1]["operators"]
    for i, last in enumerate(longest):
        # One device alone has no exchanges, which come last.
        column = [table["operators"][i] if i < len(table["operators"]) else None for table in of]

        def terms(kind: str, column: list[Any] = column) -> list[list[Any]]:
            rows = [
                number(table, op["flops"] if kind == "flops" else op["bytes"].get(kind, []))
                if op
                else {}
                for table, op in zip(of, column, strict=True)
            ]
            return scaled(rows)

        sizes = {kind: terms(kind) for kind in last["bytes"]}
        operators.append({**last, "flops": terms("flops"), "bytes": sizes})
    resident = [{(None, *(factor or [""])): c for c, *factor in table["resident"]} for table in of]
    held = scaled(resident)
    return {"resident": held, "quantities": quantities, "operators": operators, "scales": scales}


def _numbered(q: dict[str, Any], known: list[dict[str, Any]]) -> tuple[int, float]:
    # The place of a quantity, and what to multiply it by. The costs of latent attention are
    # those of a device's heads: the same quantity, a part of it.
    costs = q.get("costs")
    for at, other in enumerate(known):
        if other == q:
            return at, 1
        if costs and {**other, "costs": costs} == q:
            part = Fraction(costs[0], other["costs"][0])
            if costs == [part * theirs for theirs in other["costs"]]:
                return at, float(part)
    known.append(q)
    return len(known) - 1, 1


def _plain(value: float) -> float:
    return int(value) if value == int(value) else value


def probed(
    model: Model, layout: Parallel, sizes: tuple[int, int, int], own: bool, override: str | None
) -> Work:
    """Work at chosen sizes of an element of weights, cache and activations."""
    w, c, a = sizes
    sized = replace(model, dtype=Format("probe", a, "@a"))
    weights = None if own else Format("probe", w, "@w")
    formats = sized.formats(weights, Format("probe", c, "@c"), override)
    return sized.work_in(formats) if layout.single else split(sized, layout, formats).path


def _open(model: Model, layout: Parallel, *, own: bool, override: str | None) -> Table:
    # As the checkpoint stores them, weights do not follow w.
    seen = [sizes if not own else (1, *sizes[1:]) for sizes in _PROBES]
    known = {sizes: probed(model, layout, sizes, own, override) for sizes in dict.fromkeys(seen)}
    probes = [known[sizes] for sizes in seen]
    wide: dict[str, str] = {}
    if any(op.compute == "@a" for op in probes[0].operators):
        # Under an override of 16 bits or more attention follows it, too.
        asked = probed(model, layout, _PROBES[0], own, "fp64")
        wide = {op.name: op.compute for op in asked.operators}
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
        result = []
        lists = [getattr(op, kind) for op in row]
        for column in zip(*lists, strict=True):
            quantity = column[0][0]
            at = index.setdefault(quantity, len(index))
            for c, factor in _affine([c for _, c in column]):
                result.append([at, c, factor] if factor else [at, c])
        return result

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
    result = []
    for value, factor in zip((constant, *slopes), _FACTORS, strict=True):
        # What is left of a cancelled sum of floats is not a coefficient.
        if abs(value) > 1e-9 * max(abs(base), 1e-300):
            result.append((_plain(value), factor))
    return result
