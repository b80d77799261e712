"""Lines of server logs that say the same step: of as many running requests, at like contexts.

A log has thousands of lines; each is a sample of the rate at which so many requests got tokens. The
median stands for all of them: the first line after an idle time, and lines with a prefill in them,
are slower than the step.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import Any

from .reading import UNKNOWN, Reading

MOST = 512
"""Different steps of one log; more are folded into the nearest by running requests."""

KEPT = 10_000


@dataclass(slots=True)
class _Step:
    running: int
    rates: list[float] = field(default_factory=list)
    contexts: list[float] = field(default_factory=list)
    rest: dict[str, Any] = field(default_factory=dict)


class RateSamples:
    """Rates by running requests and, within a factor of √2, context."""

    def __init__(self) -> None:
        """Start without any."""
        self._steps: dict[tuple[int, int | None], _Step] = {}

    def add(self, running: int, context: float | None, rate: float, rest: dict[str, Any]) -> None:
        """One line: tokens/s of all `running` requests together."""
        bin_ = None if context is None else round(2 * math.log2(max(1.0, context)))
        key = (running, bin_)
        if key not in self._steps and len(self._steps) >= MOST:
            key = min(self._steps, key=lambda other: abs(other[0] - running))
        step = self._steps.setdefault(key, _Step(running))
        if len(step.rates) < KEPT:
            step.rates.append(rate)
            if context is not None:
                step.contexts.append(context)
        step.rest = rest

    def readings(self, **more: Any) -> Iterator[Reading]:
        """One reading for each step, in the order in which they were first seen."""
        for step in self._steps.values():
            known = bool(step.contexts)
            yield Reading(
                kind="token",
                seconds=step.running / median(step.rates),
                best=step.running / max(step.rates) if len(step.rates) > 1 else None,
                samples=len(step.rates),
                batch=step.running,
                context=fmean(step.contexts) if known else None,
                notes=() if known else (UNKNOWN,),
                **step.rest,
                **more,
            )
