"""What a growing batch really did: how far it climbed, where it went flat, under which roof.

Ideal decode at a short context gives N times the tokens at N times the batch. A real engine does
so up to a batch of its own, usually far below the hardware's ridge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from .placed import Placed

FULL = 0.8
"""A batch still climbs fully where it gives this much of batch × the rate at batch 1."""

FLAT = 1.2
"""The climb is over where doubling the batch gives less than this."""


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
            ``prefill`` (the engine's own matrix products in prefill), ``engine`` (none of
            these: below every roof).
        prefill: FLOP/s of the engine's own prefill, where it was measured.
        falls_from: the batch from which the rate falls by over 10 %, or ``None``.
        last: the largest batch.
    """

    first: Placed
    best: Placed
    gain: float
    full_until: int | None
    flat_from: int | None
    against: str
    prefill: float | None
    falls_from: int | None
    last: int

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
            "falls_from": self.falls_from,
        }


def climbs(placed: Sequence[Placed]) -> list[Climbed]:
    """One climb for each engine, model, format and prompt with at least two batches."""
    groups: dict[Any, list[Placed]] = {}
    prefills: dict[Any, list[Placed]] = {}
    for item in placed:
        point = item.point
        engine = (point.engine, point.model, point.layers, point.weights, point.kv, item.machine)
        if point.phase == "decode":
            past = point.parts[0].groups[0].past
            context = past if point.basis == "steps" else "served"
            groups.setdefault((engine, context, point.basis), []).append(item)
        elif point.phase == "prefill":
            prefills.setdefault(engine, []).append(item)
    found = []
    for (engine, _, _), items in groups.items():
        batches = {round(item.point.batch) for item in items}
        if len(batches) >= 2:
            own = max((p.speed for p in prefills.get(engine, ())), default=None)
            found.append(_climb(items, own))
    return found


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
    for before, after in pairwise(path):
        # over the same factor as one doubling
        doublings = max(1e-9, (after.point.batch / before.point.batch - 1))
        gained = (after.point.tokens_per_s / before.point.tokens_per_s - 1) / doublings
        if 1 + gained < FLAT:
            flat_from = round(before.point.batch)
            break
    falls = [
        round(item.point.batch)
        for item in path
        if item.point.batch > best.point.batch
        and item.point.tokens_per_s < 0.9 * best.point.tokens_per_s
    ]
    return Climbed(
        first=first,
        best=best,
        gain=best.point.tokens_per_s / base,
        full_until=full_until,
        flat_from=flat_from,
        against=_against(best, prefill),
        prefill=prefill,
        falls_from=min(falls, default=None),
        last=round(path[-1].point.batch),
    )


def _against(best: Placed, prefill: float | None) -> str:
    from .gap import WALL

    if best.share >= WALL.get(best.kind, 0.7):
        return best.binding
    if prefill and best.speed >= 0.7 * prefill:
        return "prefill"
    return "engine"
