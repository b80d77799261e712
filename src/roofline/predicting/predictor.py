"""A model on a machine under an engine, ready to be asked how long things take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..bound.arrays import Table
from ..bound.case import Case
from ..bound.hold import NoRoom
from ..count.group import Group
from ..count.number import Number, is_array, length
from ..count.step import Step
from ..engines.known import check
from ..parallel.split import split
from ..record import replace
from .device import Device, device
from .kernel import KernelPlan
from .profile import Profile, Resolved
from .steptime import ZERO, Parts, Rates, step_time

# Gauss-Legendre nodes and weights on [0, 1]: a decode of many tokens is summed over its
# growing context by three steps, exact for times up to the fifth power of the context.
NODES = ((0.1127016653792583, 5 / 18), (0.5, 8 / 18), (0.8872983346207417, 5 / 18))


ABOVE = 1 + 1e-12
"""So that sums of what was drawn out to a bound round to no less."""

CHUNK = 8192
"""Steps priced at once: their intermediate results stay in a core's cache."""


def _cut(x: Number, part: slice) -> Number:
    return x[part] if getattr(x, "ndim", 0) else x


class Predictor:
    """Times of steps: a case (model, machine, formats, layout) under a profile.

    Attributes:
        case: what is run on what; its bound is the roof that no prediction beats.
        profile, device: where the coefficients come from, what they are applied to.
        resolved: the coefficients with their origins.
    """

    def __init__(self, case: Case, profile: Profile, on: Device | None = None) -> None:
        """Apply a profile to a case.

        Args:
            case: what is run on what.
            profile: how the engine spends its time.
            on: the machine's numbers, by default as its file and generation say.

        Raises:
            UnsupportedError: the engine does not run on such a machine, or no ceiling is known.
        """
        check(profile.engine, case.machine)
        self.case, self.profile = case, profile
        self.device = on or device(case.machine)
        self.resolved: Resolved = profile.resolve(self.device, case.kv)
        self.rates = Rates(self.device, self.resolved.values)
        layout = case.parallel
        works = [case.work]
        if layout.pp > 1:
            works += split(case.model, layout, case.formats).rounds
        self._table: Table | None = None
        self._plans = tuple(KernelPlan(work, case.interconnect, layout.dp) for work in works)

    @property
    def apart(self) -> int:
        """Replicas that tell each other nothing: those of a model without experts, which each
        take their own steps. 1 where experts are spread over replicas: these step together."""
        experts = any(op.kind == "experts" for op in self.case.work.operators)
        return 1 if experts else self.case.parallel.dp

    @property
    def replica(self) -> Predictor:
        """One of the replicas that run apart, by itself."""
        layout = replace(self.case.parallel, dp=1)
        alone = self.case.using(parallel=None if layout.single else layout)
        return Predictor(alone, self.profile, self.device)

    def step(self, step: Step) -> Parts:
        """Seconds of one step of all replicas, by cause; numbers or arrays.

        Through several stages a step takes as long as the way through them, or as the
        busiest stage, whichever is longer. No step is faster than its bound: where coefficients
        would have it so, its parts are drawn out to it.
        """
        first, *others = self._plans
        longest = step_time(first(step), self.rates)
        for plan in others:
            longest = longest.longer(step_time(plan(step), self.rates))
        return self._bounded(step, longest)

    def _bounded(self, step: Step, parts: Parts) -> Parts:
        total = parts.total
        if not is_array(total):
            least = self.roof(step)
            return parts if total >= least else parts.times(least / total * ABOVE)
        import numpy as np

        if self._table is None:
            self._table = Table(self.case)
        factor = self._table.bounds(step).overlapped_s / total
        if not (factor > 1).any():
            return parts
        return parts.times(np.where(factor > 1, factor * ABOVE, 1.0))

    def seconds(self, step: Step) -> Any:
        """Seconds of many steps, an array: as :meth:`step` without the parts, and faster.

        The step's numbers are arrays of one length, or numbers; chunks of them stay in a
        core's cache.
        """
        import numpy as np

        steps = length(*(x for g in step.groups for x in (g.batch, g.new_tokens, g.past)))
        out = np.empty(steps)
        for start in range(0, steps, CHUNK):
            part = slice(start, min(start + CHUNK, steps))
            groups = tuple(
                Group(
                    _cut(g.batch, part),
                    _cut(g.new_tokens, part),
                    _cut(g.past, part),
                    g.all_logits,
                )
                for g in step.groups
            )
            out[part] = self.step(Step(step.phase, groups)).total
        return out

    def decode(self, batch: Number, past: Number, tokens: Number) -> Parts:
        """Seconds of the *mean* step while ``tokens`` are decoded after ``past`` cached ones."""
        total = ZERO
        for node, weight in NODES:
            context = past + node * tokens
            whole = context.astype(int) if hasattr(context, "astype") else int(context)
            total = total.plus(self.step(Step.decode(batch, whole + 1)), weight)
        return total

    def roof_decode(self, batch: int, past: int, tokens: int) -> float:
        """Bound of the same mean step as :meth:`decode`'s, seconds."""
        contexts = (int(past + node * tokens) + 1 for node, _ in NODES)
        bounds = (self.roof(Step.decode(batch, context)) for context in contexts)
        return sum(weight * bound for (_, weight), bound in zip(NODES, bounds, strict=True))

    def prefill(self, batch: Number, prompt: Number, past: Number = 0) -> Parts:
        """Seconds of one prefill of a whole batch of prompts."""
        return self.step(Step.prefill(batch, prompt, past))

    def places(self, tokens: int) -> int | None:
        """Sequences of ``tokens`` tokens that memory holds at once, ``None`` where unknown."""
        return self.case.fit(Step.decode(1, tokens)).max_batch

    def no_room(self, tokens: int) -> NoRoom:
        """The refusal of a server that has no room for one sequence of so many tokens."""
        return NoRoom(self.case, Step.decode(1, tokens))

    def roof(self, step: Step) -> float:
        """The bound of a step, seconds."""
        return float(self.case.bound(step).overlapped_s)

    def families(self) -> Iterator[Mapping[str, Any]]:
        """What machines like this one were fitted on, of the profile and those it extends."""
        return (one.family(self.device.labels) for one in self.profile.chain())

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for the answer: of the model, the machine, and the engine on its like."""
        family = self.profile.family(self.device.labels)
        return (*self.case.model.notes, *self.case.notes, *family.get("notes", ()))

    def origins(self) -> list[tuple[str, float, str, str]]:
        """Coefficients in use: name, value, profile, source; sorted."""
        return [
            (name, c.value, f"{c.profile}:{c.name}", c.source)
            for name, c in sorted(self.resolved.origins.items())
        ]
