"""What would hold a step that does not fit: the fewest devices, and how to lay the model over
them.

A layout holds a step if the fullest of its devices does, by the same sums as everywhere
(:meth:`roofline.bound.Case.fit`): what does not divide is on each of them, replicas repeat the
weights, few key-value heads repeat the cache, stages differ. Dividing never lessens what there is
to hold, so the search begins at bytes needed / bytes a device; and the fullest stage holds at
least the mean of them, which leaves few layouts to be made in full.

Of layouts of equally many devices those with the fewest stages are taken, and of these the one
whose serial bound is shortest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

from ..count.step import Step
from ..errors import InputError, RooflineError
from ..machine.links import divisors
from ..model.ffn import Experts
from ..model.model import Uniform
from ..parallel.layout import Parallel
from ..parallel.shard import divided, stages
from ..record import record, replace
from .case import Case
from .outcomes import Fit

MOST = 256
"""Devices tried."""

MOST_IN_STEPS = 128
"""Devices tried by tensor parallelism alone: doublings up to this, those that the page shows."""


@record
class Holding:
    """A layout that holds a step.

    Attributes:
        layout: tp, pp, dp, ep.
        max_batch: sequences that it holds.
        joined: whether a link that joins them is known, or was given.
        tokens_per_s: at best; over a perfect link where none is known.
    """

    layout: Parallel
    max_batch: int
    joined: bool
    tokens_per_s: float

    @property
    def options(self) -> str:
        """As typed: ``--tp 8 --pp 2``."""
        names = ("tp", "dp", "ep", "pp")
        found = [f"--{n} {value}" for n in names if (value := getattr(self.layout, n)) > 1]
        return " ".join(found)

    def to_json(self) -> dict[str, Any]:
        """As data."""
        layout = self.layout
        return {
            "devices": layout.devices,
            **{name: getattr(layout, name) for name in ("tp", "pp", "dp", "ep")},
            "max_batch": self.max_batch,
            "link_known": self.joined,
            "tokens_per_s": self.tokens_per_s,
        }


def held_by(case: Case, step: Step) -> tuple[Holding, ...]:
    """The layouts that would hold a step: the fewest devices first, and, where that is another
    one, the first doubling of tensor parallelism alone that does.

    Empty where memory is unknown, or no layout of up to :data:`MOST` devices holds it.
    """
    if case.machine.memory is None:
        return ()
    kept: dict[Any, tuple[Holding, ...]] = vars(case).setdefault("_held_by", {})
    key = step.groups
    if key not in kept:
        if len(kept) > 64:
            kept.clear()
        kept[key] = _Search(case, step).found()
    return kept[key]


def doubled(case: Case, step: Step) -> Holding | None:
    """The first doubling of tensor parallelism alone that holds a step, what the page looks for."""
    return _Search(case, step).doubled() if case.machine.memory is not None else None


class _Share(NamedTuple):
    """What one device has to hold where nothing is piped, bytes: weights; cache and activations
    of a sequence; weights and cache of the lightest layer."""

    weights: float
    held: float
    workspace: float
    lightest: float
    leanest: float


class _Search:
    def __init__(self, case: Case, step: Step) -> None:
        self.case, self.step = case, step
        self.room = case.fit(step).room or 0.0
        self.parts = {part for layer in case.model.layers for part in layer.parts}
        self.experts = any(isinstance(part, Experts) for part in self.parts)
        self.shared = any(layer.runs > 1 for layer in case.model.layers)
        self.kept: dict[Parallel, _Share | None] = {}

    def found(self) -> tuple[Holding, ...]:
        first = self._first()
        if first > MOST:
            return ()
        own = self.case.options["link"]
        fewest = self._fewest(first, self._reach(own), own) or self._fewest(first, MOST, math.inf)
        if fewest is None:
            return ()
        layout = fewest.layout
        if layout.tp == layout.devices and math.log2(layout.tp).is_integer():
            return (fewest,)
        alone = self.doubled()
        return (fewest, alone) if alone and alone.joined >= fewest.joined else (fewest,)

    def _first(self) -> int:
        # No layout has less to hold than one device would have.
        alone = self.case.using(parallel=None).work
        needed = alone.resident + alone.total("held", self.step)
        # (a file's own size may differ a little from that of its matrices)
        return max(1, math.ceil(0.97 * needed / self.room)) if self.room else MOST + 1

    def _fewest(self, first: int, reach: int, link: Any) -> Holding | None:
        # Only replicas that tell each other nothing go beyond what links join.
        alone = 1 if self.experts else int(self.step.batch)
        for n in range(first, min(MOST, reach * alone) + 1):
            for _, layouts in groupby(self._layouts(n, reach), key=lambda layout: layout.pp):
                made = [self._made(layout, link) for layout in layouts]
                fits = [after for after in made if after is not None]
                if fits:
                    best = min(fits, key=lambda after: after.bound(self.step).serial_s)
                    return self._holding(best, link)
        return None

    def doubled(self) -> Holding | None:
        """The first doubling of tensor parallelism alone that holds it."""
        own = self.case.options["link"]
        return self._doubled(self._reach(own), own) or self._doubled(MOST, math.inf)

    def _doubled(self, reach: int, link: Any) -> Holding | None:
        n = 1
        while n <= min(MOST_IN_STEPS, reach):
            layout = Parallel(tp=n)
            if self._might(layout) and (after := self._made(layout, link)) is not None:
                return self._holding(after, link)
            n *= 2
        return None

    def _reach(self, link: Any) -> int:
        # How many devices links join.
        if link is not None:
            return MOST
        return max((x.devices for x in self.case.machine.links if x.scope != "host"), default=1)

    def _holding(self, case: Case, link: Any) -> Holding:
        bound, fit = case.bound(self.step), case.fit(self.step)
        communicates = bound.messages > 0
        joined = not communicates or not isinstance(link, float) or math.isfinite(link)
        return Holding(case.parallel, int(fit.max_batch or 0), joined, bound.tokens_per_s)

    def _layouts(self, n: int, reach: int) -> Iterator[Parallel]:
        # Those that might hold it, the fewest stages first.
        depth, batch = self.case.model.depth, int(self.step.batch)
        for pp in divisors(n):
            if pp > depth or (pp > 1 and (self.shared or n > reach)):
                return
            for tp in divisors(n // pp):
                dp = n // pp // tp
                if dp > batch:
                    continue
                width = tp * dp
                if (width if self.experts else tp) > reach:
                    continue  # no link joins those that exchange with each other
                shares = [1]
                if self.experts and width > 1:
                    shares = [width, 1] if dp > 1 else [1, width]
                for ep in shares:
                    layout = Parallel(tp, pp, ep, dp)
                    if self._share(layout) is not None:
                        if self._might(layout):
                            yield layout
                        break  # the other division of the experts holds as much

    def _might(self, layout: Parallel) -> bool:
        # Whether the mean stage fits, and one with the most layers, were they the lightest.
        share = self._share(layout)
        if share is None:
            return False
        depth, pp = self.case.model.depth, layout.pp
        batch, most = -(-int(self.step.batch) // layout.dp), -(-depth // pp)
        needed = (share.weights + batch * share.held) / pp
        needed = max(needed, most * (share.lightest + batch * share.leanest))
        return needed + batch * share.workspace / pp <= self.room

    def _share(self, layout: Parallel) -> _Share | None:
        # What one device has to hold where nothing is piped.
        one = Parallel(layout.tp, 1, layout.ep, layout.dp if self.experts else 1)
        if one not in self.kept:
            self.kept[one] = None
            try:
                for part in self.parts:
                    divided(part, one)
            except RooflineError:
                return None
            after = self._case(one, math.inf)
            if after is not None:
                fit = after.fit(self.step)
                self.kept[one] = _Share(
                    fit.weight_bytes,
                    fit.kv_bytes_per_sequence,
                    fit.workspace_per_sequence,
                    *self._lightest(one),
                )
        return self.kept[one]

    def _lightest(self, one: Parallel) -> tuple[float, float]:
        # Of each the lightest layer (whose it is in a mix of formats is not looked for).
        ((_, stage),) = stages(self.case.model, one)
        bare = stage.altered(layers=(), tables=0, tied=True, outer=(), vectors=0)
        formats = self.case.formats
        first = self.step.with_batch(1).groups[0]
        alone = Step(self.step.phase, (first,))
        works = [
            bare.altered(layers=(replace(layer, indices=layer.indices[:1]),)).work_in(formats)
            for layer in stage.layers
        ]
        uniform = isinstance(formats.scheme, Uniform)
        return (
            min((work.resident for work in works), default=0.0) if uniform else 0.0,
            min((work.total("held", alone) for work in works), default=0.0),
        )

    def _made(self, layout: Parallel, link: Any) -> Case | None:
        after = self._case(layout, link)
        return after if after is not None and after.fit(self.step).holds(self.step.batch) else None

    def _case(self, layout: Parallel, link: Any) -> Case | None:
        parallel = None if layout.single else layout
        try:
            return self.case.using(parallel=parallel, link=link)
        except InputError:
            return None  # no link joins them, or the model does not divide so


class NoRoom(InputError):
    """A step that does not fit in memory; in words: why not, and what would hold it."""

    def __init__(self, case: Case, step: Step) -> None:
        super().__init__()
        self.case, self.step = case, step

    def __str__(self) -> str:
        from ..say.capacity import refused

        return refused(self.case, self.step)


def to_json(case: Case, step: Step, fit: Fit) -> dict[str, Any]:
    """``step``: whether it fits (``None``: unknown); ``held_by``: what would hold one that does
    not, fewest devices first."""
    fits = fit.holds(step.batch)
    if fits is not False:
        return {"step": fits, "held_by": []}
    return {"step": fits, "held_by": [one.to_json() for one in held_by(case, step)]}
