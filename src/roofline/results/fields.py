"""Typed access to the fields of a foreign record: numbers that are numbers, or a clear refusal."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from ..errors import InputError, plain
from ..limits import NAME_CHARACTERS

Record = Mapping[str, Any]

LONG = 64
"""Lists longer than this (per-request samples, texts) are not kept as extra fields."""

_UNITS = {
    **{"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40},
    **{"KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12},
    **{"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12},
}
_LEADING = re.compile(r"^[\s*`~≈]*([+-]?\d{1,18}(?:\.\d{1,18})?(?:[eE][+-]?\d{1,2})?)")
_PM = re.compile(r"\s*(?:±|\+/-|\+-)\s*")


def number(record: Record, *names: str) -> float | None:
    """The first of `names` that the record has, as a float; `None` where it has none.

    Infinity and NaN count as not there.

    Raises:
        InputError: the field is there and is no number.
    """
    for name in names:
        value = record.get(name)
        if value is None or value == "":
            continue
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise InputError(f"field {name} is {_short(value)}, not a number")
        try:
            result = float(value)
        except (ValueError, OverflowError):
            raise InputError(f"field {name} is {_short(value)}, not a number") from None
        if math.isfinite(result):  # "inf" is how tools write no limit, NaN no measurement
            return result
    return None


def need(record: Record, *names: str) -> float:
    """As `number`, but positive and there.

    Raises:
        InputError: the record has none of `names`, or its value is not above zero.
    """
    value = number(record, *names)
    if value is None:
        raise InputError(f"field {names[0]} is missing")
    if value <= 0:
        raise InputError(f"field {names[0]} is {value:g}, it must be above 0")
    return value


def count(record: Record, *names: str) -> int | None:
    """As `number`, as a whole number."""
    value = number(record, *names)
    if value is None:
        return None
    if value < 0 or value > 1e15:
        raise InputError(f"field {names[0]} is {value:g}, which is no count")
    return int(value)


def samples(record: Record, name: str) -> list[float]:
    """Finite, positive numbers of a list; others in it are passed over."""
    values = record.get(name)
    if not isinstance(values, list):
        return []
    kinds = set(map(type, values))
    if kinds == {int} and min(values) > 0 and max(values) < 1e30:  # the usual, and long
        return values
    if not kinds <= {int, float}:
        values = [value for value in values if type(value) in (int, float)]
    return [value for value in values if 0 < value < 1e30]


def text(record: Record, *names: str) -> str | None:
    """The first of `names` that holds a string with something in it."""
    for name in names:
        value = record.get(name)
        if isinstance(value, str) and value.strip():
            return plain(value.strip(), NAME_CHARACTERS)
    return None


def inside(record: Record, *path: str) -> Record:
    """A nested object, empty where it is not there or no object."""
    for name in path:
        value = record.get(name)
        if not isinstance(value, Mapping):
            return {}
        record = value
    return record


def plus_minus(value: str) -> tuple[float, float | None]:
    """The mean and deviation of a cell such as `131.42 ± 0.59`.

    Raises:
        InputError: there is no number in it.
    """
    parts = _PM.split(value.strip().strip("*` "))
    try:
        numbers = [float(part.replace(",", "")) for part in parts[:2]]
    except ValueError:
        raise InputError(f"{_short(value)} is not a number") from None
    if not all(math.isfinite(n) for n in numbers):
        raise InputError(f"{_short(value)} is not a finite number")
    return numbers[0], numbers[1] if len(numbers) > 1 else None


def amount(cell: str | None) -> float | None:
    """The number of a cell with its unit: bytes of `3.56 GiB`, parameters of `6.74 B`."""
    words = (cell or "").replace(",", "").split()
    if len(words) != 2 or words[1] not in _UNITS:
        return None
    try:
        value = float(words[0])
    except ValueError:
        return None
    return value * _UNITS[words[1]] if 0 < value < 1e9 else None


def leading(cell: Any) -> float | None:
    """The number that a cell begins with, its unit left aside: `12300.2 ms`, `41.6 token/s`."""
    results = _LEADING.match(str(cell).replace(",", "")) if cell is not None else None
    value = float(results.group(1)) if results else math.nan
    return value if math.isfinite(value) else None


def rest(record: Record, used: frozenset[str] | set[str]) -> dict[str, Any]:
    """Fields that the importer did not use, to be kept; long lists only by their length."""
    kept: dict[str, Any] = {}
    for key, value in record.items():
        if key in used or value is None or value == "":
            continue
        if isinstance(value, list) and len(value) > LONG:
            kept[key] = {"items": len(value)}
        else:
            kept[key] = value
    return kept


def relative(deviation: float | None, mean: float) -> float | None:
    """A spread relative to its mean; `None` where it is not known or makes no sense."""
    if deviation is None or mean <= 0 or deviation < 0:
        return None
    return deviation / mean


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 40 else f"{shown[:40]}…"
