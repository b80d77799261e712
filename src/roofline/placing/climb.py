"""What a growing batch really did: how far it climbed, where it went flat, under which roof.

Ideal decode at a short context gives N times the tokens at N times the batch. A real engine does
so up to a batch of its own, usually far below the hardware's ridge. A step that takes a fixed time
and so much for each sequence shows in a line through the batches; a rate that falls with the batch,
or grows faster than it, is nothing that a roof does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ..count.step import Step
from .cause import Cause
from .gap import WALL, weighted_line
from .placed import Placed

FULL = 0.8
"""A batch still climbs fully where it gives this much of batch × the rate at batch 1."""

FLAT = 1.2
"""The climb is over where doubling the batch gives less than this."""

FALLS = 0.95
"""A rate below this times that of a smaller batch has fallen."""

BEYOND = 1.02
"""A rate over this times the batch's own factor has grown faster than the batch."""

STRAIGHT = 0.1
"""The median relative error up to which points are on a line of time over batch."""


@dataclass(frozen=True, slots=True)
class Line:
    """Step time over batch: a fixed part, and one for each sequence. Seconds.

    Attributes:
        fixed, each: of the time measured.
        roof_fixed, roof_each: of the bound of the same steps.
        points: how many it goes through.
    """

    fixed: float
    each: float
    roof_fixed: float
    roof_each: float
    points: int


@dataclass(frozen=True, slots=True)
class Climbed:
    """The climb of one engine, model and context.

    Attributes:
        first: the point of the smallest batch.
        best: the point of the highest rate.
        gain: tokens/s of the best over the first.
        full_until: the largest batch that still climbs fully; ``None`` where none does.
        flat_from: the batch at which doubling stops paying; ``None`` where the climb goes on.
        against: what it went flat against: ``memory:weights``, ``memory:kv``, ``compute``,
            ``prefill`` (the engine's own matrix products in prefill), ``capacity`` (more
            sequences than memory holds were never in flight), ``above`` (the best point is above
            its roof), ``engine`` (none of these: below every roof).
        prefill: FLOP/s of the engine's own prefill, where it was measured.
        fits: sequences that memory holds at the end of the climb, where known.
        path: one point a batch, the fastest, smallest batch first.
        line: step time over batch, where the points are on one.
    """

    first: Placed
    best: Placed
    gain: float
    full_until: int | None
    flat_from: int | None
    against: str
    prefill: float | None
    fits: int | None
    path: tuple[Placed, ...]
    line: Line | None

    @property
    def last(self) -> int:
        """The largest batch."""
        return round(self.path[-1].point.batch)

    @property
    def falls(self) -> tuple[Placed, Placed] | None:
        """The first fall: the fastest point before it, and the one that is slower."""
        best = self.path[0]
        for item in self.path[1:]:
            if item.point.tokens_per_s < FALLS * best.point.tokens_per_s:
                return best, item
            best = max(best, item, key=lambda p: p.point.tokens_per_s)
        return None

    @property
    def superlinear(self) -> Placed | None:
        """The point whose rate is most above the first's times the batch's factor."""
        result = max(self.path[1:], key=self._beyond)
        return result if self._beyond(result) > BEYOND else None

    def _beyond(self, item: Placed) -> float:
        ideal = item.point.batch / self.first.point.batch
        return item.point.tokens_per_s / self.first.point.tokens_per_s / ideal

    def facts(self) -> Iterator[tuple[Placed, Cause]]:
        """What is to be said of single points."""
        if self.falls:
            before, after = self.falls
            values = {
                "batch": round(after.point.batch),
                "tokens_per_s": after.point.tokens_per_s,
                "before_batch": round(before.point.batch),
                "before_tokens_per_s": before.point.tokens_per_s,
            }
            yield after, Cause("series.falls", values)
        if above := self.superlinear:
            values = {
                "gain": above.point.tokens_per_s / self.first.point.tokens_per_s,
                "ideal": above.point.batch / self.first.point.batch,
                "first_batch": round(self.first.point.batch),
            }
            yield above, Cause("series.superlinear", values)
        if self.line:
            values = {
                "fixed_s": self.line.fixed,
                "each_s": self.line.each,
                "roof_fixed_s": self.line.roof_fixed,
                "roof_each_s": self.line.roof_each,
                "points": self.line.points,
            }
            for item in self.path:
                yield item, Cause("series.line", values)

    def to_json(self) -> dict[str, Any]:
        """The climb as data."""
        return {
            "first_batch": round(self.first.point.batch),
            "first_share": self.first.share,
            "best_batch": round(self.best.point.batch),
            "best_tokens_per_s": self.best.point.tokens_per_s,
            "gain": self.gain,
            "full_until": self.full_until,
            "flat_from": self.flat_from,
            "against": self.against,
            "prefill_flops_per_s": self.prefill,
            "fits": self.fits,
            "falls_from": round(self.falls[1].point.batch) if self.falls else None,
            "superlinear": self.superlinear is not None,
        }


def climbs(placed: Sequence[Placed]) -> list[Climbed]:
    """One climb for each engine, model, format and prompt with at least two batches."""
    groups: dict[Any, list[Placed]] = {}
    prefills: dict[Any, list[Placed]] = {}
    for item in placed:
        point = item.point
        over = item.case.parallel if item.case else point.devices
        engine = (
            point.engine,
            point.model,
            point.layers,
            point.weights,
            point.kv,
            item.machine,
            over,
        )
        if point.phase == "decode":
            past = point.parts[0].groups[0].past
            context = past if point.basis == "steps" else "served"
            groups.setdefault((engine, context, point.basis), []).append(item)
        elif point.phase == "prefill":
            prefills.setdefault(engine, []).append(item)
    result = []
    for (engine, _, _), items in groups.items():
        batches = {round(item.point.batch) for item in items}
        if len(batches) >= 2:
            own = max((p.speed for p in prefills.get(engine, ())), default=None)
            result.append(_climb(items, own))
    return result


def _climb(items: list[Placed], prefill: float | None) -> Climbed:
    by_batch: dict[int, Placed] = {}
    for item in items:
        batch = round(item.point.batch)
        kept = by_batch.get(batch)
        if kept is None or item.point.tokens_per_s > kept.point.tokens_per_s:
            by_batch[batch] = item
    path = [by_batch[batch] for batch in sorted(by_batch)]
    first = path[0]
    best = max(path, key=lambda item: item.point.tokens_per_s)
    base, base_batch = first.point.tokens_per_s, round(first.point.batch)
    full_until = flat_from = None
    for item in path[1:]:
        ratio = item.point.batch / base_batch
        if item.point.tokens_per_s / base < FULL * ratio:
            break
        full_until = round(item.point.batch)
    knee = None
    for before, after in pairwise(path):
        doublings = math.log2(after.point.batch / before.point.batch)
        gained = after.point.tokens_per_s / before.point.tokens_per_s
        if gained ** (1 / doublings) < FLAT:
            flat_from, knee = round(before.point.batch), after
            break
    fits = _fits(path[-1])
    return Climbed(
        first=first,
        best=best,
        gain=best.point.tokens_per_s / base,
        full_until=full_until,
        flat_from=flat_from,
        against=_against(best, knee, prefill),
        prefill=prefill,
        fits=fits,
        path=tuple(path),
        line=_line(path),
    )


def _against(best: Placed, knee: Placed | None, prefill: float | None) -> str:
    if best.share > 1.02:
        return "above"
    if best.share >= WALL.get(best.kind, 0.7):
        return best.binding
    if knee is not None and (fits := _fits(knee)) is not None and fits < round(knee.point.batch):
        return "capacity"
    if prefill and best.speed >= 0.7 * prefill:
        return "prefill"
    return "engine"


def _fits(item: Placed) -> int | None:
    """Sequences like the point's that memory holds."""
    if item.case is None:
        return None
    part = max(item.point.parts, key=lambda part: part.count)
    return item.case.fit(Step("decode", part.groups)).max_batch


def _line(path: Sequence[Placed]) -> Line | None:
    """The line of step time over batch, where the points are on one that starts above zero."""
    times = [(item.point.batch, item.point.step_seconds) for item in path]
    bounds = [
        (item.point.batch, item.overlapped_s / sum(part.count for part in item.point.parts))
        for item in path
    ]
    fixed, each = weighted_line(times)
    if fixed < 0 or each < 0:
        return None
    errors = sorted(abs(fixed + each * x - y) / y for x, y in times)
    if errors[len(errors) // 2] > STRAIGHT or errors[-1] > 3 * STRAIGHT:
        return None
    return Line(fixed, each, *weighted_line(bounds), len(path))
