"""One judgement of many points: what those of one engine show together, used for each of them.

Text and JSON both come from here. Points are judged as they are read, in blocks, so that a file of
any size takes bounded memory; only points of one block are seen together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from ..record import replace
from .climb import climbs
from .gap import Gap, fixed_time, judge, least_beside
from .placed import Placed

BLOCK = 2000
"""Points that are judged together."""

Judged = tuple[Placed, Gap]


def judgements(items: Iterable[Placed]) -> Iterator[Judged]:
    """Each point with its verdict, in order."""
    rest = iter(items)
    while block := list(islice(rest, BLOCK)):
        yield from judged(block)


def judged(items: Sequence[Placed]) -> list[Judged]:
    """Each point's verdict, with the fixed time that points of one engine show together, and what
    is to be said of the series that it is in."""
    engines: dict[Any, list[Placed]] = {}
    for item in items:
        engines.setdefault(engine(item), []).append(item)
    shown = {}
    for key, group in engines.items():
        decode = [p for p in group if p.point.phase == "decode"]
        shown[key] = (fixed_time(decode), least_beside(decode))
    verdicts = [judge(item, *shown[engine(item)]) for item in items]
    place_of = {id(item): index for index, item in enumerate(items)}
    for climbed in climbs(items):
        for item, fact in climbed.facts():
            index = place_of[id(item)]
            verdicts[index] = replace(verdicts[index], facts=(*verdicts[index].facts, fact))
    return list(zip(items, verdicts, strict=True))


def engine(item: Placed) -> Any:
    """What points have in common that are judged together: engine, model, formats, machine."""
    point = item.point
    model = item.case.model.name if item.case else point.model
    return (point.engine, model, point.layers, point.weights, point.kv, item.machine)
