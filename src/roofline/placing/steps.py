"""The steps of a point: each with how many times it is run, and what a pipeline's stage does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..bound.case import Case
from ..count.group import Group
from ..count.step import Step
from ..points import Part, Point
from ..record import replace

MOST_TOGETHER = 1 << 20
"""Sequences of a rate whose batch nobody said: so many that what they share costs nothing."""

SEGMENTS = 8
"""Pieces into which a growing decode is cut where an attention window bends its cost."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What one stage of a pipeline does in all steps: an even share of what all of them do.

    Attributes:
        flops: arithmetic; weights: bytes of weights; own: bytes of cache and state.
    """

    flops: float
    weights: float
    own: float


def stage_of(case: Case, flops: float, weights: float, own: float) -> Stage | None:
    """An even share of what one microbatch takes through all stages, for as many microbatches as
    there are; ``None`` without a pipeline."""
    layout = case.parallel
    if layout.pp == 1:
        return None
    each = layout.waves / layout.pp
    return Stage(flops * each, weights * each, own * each)


def together(point: Point) -> Point:
    """A whole run whose batch nobody said, all of it together: no batch reads less for the same
    tokens, so the share is a lower bound. Of a rate any number can be under way."""
    batch = MOST_TOGETHER if point.seconds.median == 1 else max(1, round(point.parts[0].count))
    parts = tuple(
        Part(tuple(replace(g, batch=batch) for g in part.groups), part.count / batch, part.grows)
        for part in point.parts
    )
    return replace(point, parts=parts)


def steps(point: Point, case: Case) -> Iterator[tuple[float, Step]]:
    """Steps with how many times each is run.

    A step's cost is linear in the cache's length, so growing steps cost what their first and
    last do on average; windows bend the line, so there it is cut into pieces.
    """
    for part in point.parts:
        if not part.grows or part.count <= 1:
            yield part.count, Step(point.phase, part.groups)
            continue
        bent = any(q.window or q.stride > 1 for q in case.work.plan()[0])
        pieces = min(SEGMENTS, int(part.count)) if bent else 1
        size = part.count / pieces
        for piece in range(pieces):
            first, last = round(piece * size), max(round((piece + 1) * size) - 1, 0)
            yield size / 2, _later(point, part, first)
            yield size / 2, _later(point, part, last)


def _later(point: Point, part: Part, index: int) -> Step:
    groups = tuple(
        Group(g.batch, g.new_tokens, g.past + index * g.new_tokens, g.all_logits)
        for g in part.groups
    )
    return Step(point.phase, groups)
