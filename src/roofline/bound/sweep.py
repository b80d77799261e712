"""Many steps at once: a curve over batch for each model, machine, format and context."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

from ..count.group import Group
from ..count.step import Step
from ..errors import InputError
from ..files.written import json_text
from ..record import record
from ..units import parse_count
from .arrays import Bounds, Table
from .case import Case
from .outcomes import Climb, Fit

if TYPE_CHECKING:
    from .hold import Holding

BLOCK = 65_536
"""Steps evaluated and written at a time: memory stays bounded however long the sweep."""

_RANGE = re.compile(r"([^:]+):([^:]+)(?::([^:]+))?\Z")
_PLACES = re.compile(r"%(?:%|d|s|\.9g)")
_GROUP = re.compile(r"0\d\d\Z")
"""What is left of a group of thousands, where a comma sets numbers apart: ``2,048``."""


@record
class IntRange:
    """Whole numbers: a list, or start, start+step … end."""

    values: tuple[int, ...] | range

    def __len__(self) -> int:
        return len(self.values)

    @property
    def smallest(self) -> int:
        """The smallest of them."""
        v = self.values
        return v[0] if isinstance(v, range) else min(v)

    def largest(self, most: int | None) -> int | None:
        """The largest of them that is at most ``most`` (any, if that is ``None``)."""
        v = self.values
        if most is None:
            return v[-1] if isinstance(v, range) else max(v)
        if isinstance(v, range):
            return v[(min(most, v[-1]) - v.start) // v.step] if most >= v.start else None
        return max((x for x in v if x <= most), default=None)

    def blocks(self) -> Iterator[Any]:
        """The numbers as int64 arrays of at most :data:`BLOCK`."""
        import numpy as np

        v = self.values
        for i in range(0, len(v), BLOCK):
            part = v[i : i + BLOCK]
            if isinstance(part, range):
                yield np.arange(part.start, part.stop, part.step, dtype=np.int64)
            else:
                yield np.array(part, dtype=np.int64)


def span(text: str, what: str) -> IntRange:
    """``1,8,64``; ``1:1024`` (doubling); ``1:1024:1`` (every one), ``1:1024:64``; ``2k,8k``.

    Raises:
        InputError: not such a list.
    """
    result: list[int] = []
    for item in text.split(","):
        match = _RANGE.match(item.strip())
        if _GROUP.match(item.strip()):
            raise InputError(
                f"{what} takes a list, in which a comma sets numbers apart: write thousands "
                f"without one (2048), not '{text[:40]}'"
            )
        if not match:
            result.append(parse_count(item, what))
            continue
        low, high = parse_count(match[1], what), parse_count(match[2], what)
        if low < 1 or high < low:
            raise InputError(f"{what}: a range goes upwards from at least 1, not '{item[:40]}'")
        if match[3] is not None:
            step = parse_count(match[3], what)
            if step < 1:
                raise InputError(f"{what}: a range's step must be at least 1, not '{item[:40]}'")
            if item.strip() == text.strip():
                return IntRange(range(low, high + 1, step))
            if (high - low) // step > 1_000_000:
                raise InputError(f"{what}: a range that long must stand alone")
            result += range(low, high + 1, step)
        else:
            while low < high:
                result.append(low)
                low *= 2
            result.append(high)
    if min(result) < 1:
        raise InputError(f"{what} must be at least 1")
    return IntRange(tuple(dict.fromkeys(result)))


@record
class Curve:
    """One model in its formats on one machine at one context, over batch.

    Attributes:
        case: model, formats, roof.
        phase: ``decode``, ``prefill``, ``verify`` or ``encode``.
        context: of decode and verify, the prompt of a prefill, or a sequence of an encode.
        batches: over which it goes.
        drafted: for verify.
    """

    case: Case
    phase: str
    context: int
    batches: IntRange
    drafted: int = 4

    def step(self, batch: Any) -> Step:
        """The step at a batch, or at an array of them."""
        if self.phase == "prefill":
            return Step.prefill(batch, self.context)
        if self.phase == "encode":
            return Step.encode(batch, self.context)
        if self.phase == "verify":
            return Step.verify(batch, self.drafted, self.context)
        return Step.decode(batch, self.context)

    @property
    def machine(self) -> str:
        """The machine's id; of several, how many and how they are laid out."""
        layout = self.case.parallel
        if layout.single:
            return self.case.machine.id
        return f"{layout.devices}× {self.case.machine.id} {layout.name}"

    @property
    def climb(self) -> Climb:
        """Where it ends."""
        return self.case.climb(self.step(1))

    @property
    def fit(self) -> Fit:
        """What fits."""
        return self.case.fit(self.step(1))

    def held_by(self, batch: int) -> Holding | None:
        """The fewest devices that would hold so many sequences, ``None`` where none would."""
        from .hold import held_by

        return next(iter(held_by(self.case, self.step(batch))), None)

    def bounds(self) -> Iterator[tuple[Any, Bounds]]:
        """Batches and their bounds, block by block."""
        table = Table(self.case)
        for batches in self.batches.blocks():
            yield batches, table.bounds(self.step(batches))

    def at(self, batch: int) -> Any:
        """The bound at one batch."""
        g = self.step(1).groups[0]
        group = Group(batch, g.new_tokens, g.past, g.all_logits)
        return self.case.bound(Step(self.phase, (group,)))


FIELDS = (
    "model", "machine", "devices", "layout", "weights", "kv", "phase", "context", "batch",
    "intensity", "ridge", "memory_bound", "fits", "seconds", "tokens_per_s", "serial_seconds",
    "communication_seconds", "max_batch", "held_by_devices", "held_by_layout",
)  # fmt: skip
"""Columns of a row, SI base units. ``seconds`` is the overlapped bound, ``serial_seconds`` that of
kernels and exchanges one after another, of which ``communication_seconds`` are exchanges. Times
and speeds of a row that does not fit are those if it fitted; the last two columns say what would
hold it (in sweeps of up to :data:`MOST_HELD` batches)."""

MOST_HELD = 64
"""Batches of a curve for which it is looked for what would hold them."""


def csv(curves: Sequence[Curve], write: Callable[[str], Any]) -> None:
    """Rows as CSV, streamed."""
    write(",".join(FIELDS) + "\n")
    for c in curves:
        head = ",".join([*(_quoted(x) for x in _labels(c)), c.phase, str(c.context)]).replace(
            "%", "%%"
        )
        room = c.fit.max_batch
        row = head + ",%d,%.9g," + f"{c.climb.ridge:.9g}" + ",%s,%s,%.9g,%.9g,%.9g,%.9g,"
        row += f"{'' if room is None else room},%s,%s\n"
        _stream(c, row, write)


def jsonl(curves: Sequence[Curve], write: Callable[[str], Any]) -> None:
    """Rows as JSON Lines, streamed."""
    import json

    for c in curves:
        names = ("model", "machine", "devices", "layout", "weights", "kv")
        labels: dict[str, Any] = dict(zip(names, _labels(c), strict=True))
        labels |= {"devices": c.case.parallel.devices, "phase": c.phase}
        head = json_text(labels)[:-1].replace("%", "%%")
        row = (
            head
            + f', "context": {c.context}, "batch": %d, "intensity": %.9g, "ridge": '
            + f'{c.climb.ridge:.9g}, "memory_bound": %s, "fits": %s, "seconds": %.9g, '
            + '"tokens_per_s": %.9g, "serial_seconds": %.9g, "communication_seconds": %.9g, '
            + f'"max_batch": {json.dumps(c.fit.max_batch)}, '
            + '"held_by_devices": %s, "held_by_layout": %s}\n'
        )
        _stream(c, row, write)


def _labels(c: Curve) -> tuple[str, ...]:
    case, layout = c.case, c.case.parallel
    name = "" if layout.single else layout.name
    return (case.model.name, case.machine.id, str(layout.devices), name, case.weights, case.kv)


FORMULA = ("=", "+", "-", "@")
"""A cell that begins so is computed by spreadsheets."""


def _quoted(text: str) -> str:
    if text.startswith(FORMULA):
        text = "'" + text
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\n') else text


def rows(c: Curve) -> list[dict[str, Any]]:
    """A dictionary a step, named by :data:`FIELDS`; ``None`` is unknown."""
    case = c.case
    same = dict(zip(FIELDS[:6], _labels(c), strict=True)) | {
        "devices": case.parallel.devices, "phase": c.phase, "context": c.context,
        "ridge": c.climb.ridge, "max_batch": c.fit.max_batch,
    }  # fmt: skip
    result = []
    for batches, b in c.bounds():
        fits, holdings = _held(c, batches)
        columns = {
            "batch": batches, "intensity": b.intensity, "memory_bound": b.memory_bound,
            "seconds": b.overlapped_s, "tokens_per_s": b.tokens_per_s,
            "serial_seconds": b.serial_s, "communication_seconds": b.communication_s,
        }  # fmt: skip
        held = [(x.layout.devices, x.layout.name) if x else (None, None) for x in holdings]
        listed = {name: column.tolist() for name, column in columns.items()} | {
            "fits": fits, "held_by_devices": [n for n, _ in held],
            "held_by_layout": [name for _, name in held],
        }  # fmt: skip
        cells = [listed.get(name) or repeat(same[name]) for name in FIELDS]
        result += [dict(zip(FIELDS, row, strict=True)) for row in zip(*cells, strict=False)]
    return result


def _held(c: Curve, batches: Any) -> tuple[list[bool | None], list[Holding | None]]:
    # Whether each batch fits, and what would hold it where that is looked for.
    room = c.fit.max_batch
    if room is None:
        return [None] * len(batches), [None] * len(batches)
    fits: list[bool | None] = (batches <= room).tolist()
    if len(c.batches) > MOST_HELD or all(fits):
        return fits, [None] * len(batches)
    return fits, [None if n <= room else c.held_by(n) for n in batches.tolist()]


def _stream(c: Curve, row: str, write: Callable[[str], Any]) -> None:
    as_json = row.startswith("{")
    unknown, mark = ("null", '"') if as_json else ("", "")
    said = {True: "true", False: "false", None: unknown}
    for batches, b in c.bounds():
        fits, holdings = _held(c, batches)
        columns: list[list[Any]] = [
            batches.tolist(),
            b.intensity.tolist(),
            [said[m] for m in b.memory_bound.tolist()],
            [said[fit] for fit in fits],
            b.overlapped_s.tolist(),
            b.tokens_per_s.tolist(),
            b.serial_s.tolist(),
            b.communication_s.tolist(),
            [str(x.layout.devices) if x else unknown for x in holdings],
            [f"{mark}{x.layout.name}{mark}" if x else unknown for x in holdings],
        ]
        block, varying = _without_constants(row, columns)
        cells = chain.from_iterable(zip(*varying, strict=True))
        write(block * len(batches) % tuple(cells))  # one format, one pass


def _without_constants(row: str, columns: list[list[Any]]) -> tuple[str, list[list[Any]]]:
    # What is the same in all rows of a block is formatted once; the first column stays.
    left = iter(columns)
    varying: list[list[Any]] = []

    def filled(place: re.Match[str]) -> str:
        if place[0] == "%%":
            return "%%"
        column = next(left)
        if varying and column[0] == column[-1] and column.count(column[0]) == len(column):
            return str(place[0] % column[0]).replace("%", "%%")
        varying.append(column)
        return place[0]

    return _PLACES.sub(filled, row), varying
