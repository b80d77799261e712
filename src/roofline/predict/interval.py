"""Intervals from residuals: split conformal, by group.

A prediction p for a measurement y has the score log(y/p). If the scores of past cases and of
the next one are exchangeable, the next score lies between the ⌊(n+1)·α/2⌋-th smallest and
the ⌈(n+1)·(1-α/2)⌉-th with probability at least 1-α, whatever their distribution (Vovk,
Gammerman, Shafer 2005). What must be exchangeable is the *case*: for a machine that was
never seen, the scores are those of machines left out of the fit, so the residuals are kept by
likeness (``seen``, ``machine``, ``model``, ``both``: what of the case was never fitted).
Cases of one group count together: weights 1/size make groups, not rows, exchangeable.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LEVEL = 0.9
"""Nominal coverage."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A prediction with its interval.

    Attributes:
        value: expected.
        low, high: the interval.
        level: its nominal coverage.
    """

    value: float
    low: float
    high: float
    level: float = LEVEL

    def to_json(self) -> dict[str, float]:
        """Value and interval."""
        return {"value": self.value, "low": self.low, "high": self.high, "level": self.level}

    def inverse(self, numerator: float = 1.0) -> Interval:
        """The interval of ``numerator / value``: a speed from a time."""
        return Interval(
            numerator / self.value, numerator / self.high, numerator / self.low, self.level
        )


def quantiles(scores: Sequence[float], level: float = LEVEL) -> tuple[float, float]:
    """The scores between which the next one falls with probability ``level``.

    Args:
        scores: log(measured / predicted), at least one.
        level: nominal coverage.

    Returns:
        Lower and upper score. Where there are too few scores for the level, the extreme ones
        widened by half their spread: a finite answer that is said to be weak elsewhere.
    """
    ordered = sorted(scores)
    n = len(ordered)
    tail = (1 - level) / 2
    below = math.floor((n + 1) * tail)
    above = math.ceil((n + 1) * (1 - tail))
    spread = ordered[-1] - ordered[0]
    low = ordered[below - 1] if below >= 1 else ordered[0] - spread / 2
    high = ordered[above - 1] if above <= n else ordered[-1] + spread / 2
    return low, high


def weighted_quantiles(
    scores: Sequence[float], weights: Sequence[float], level: float = LEVEL
) -> tuple[float, float]:
    """As :func:`quantiles`, each score counting by its weight (1/size of its group)."""
    order = sorted(range(len(scores)), key=scores.__getitem__)
    total = sum(weights)
    tail = (1 - level) / 2
    low = high = scores[order[0]]
    passed = 0.0
    for i in order:
        if passed <= tail * total:
            low = scores[i]
        high = scores[i]
        passed += weights[i]
        if passed >= (1 - tail) * total:
            break
    return low, high


def few(groups: int) -> float:
    """How much wider an interval must be that rests on so few groups: 1 + 1/groups.

    Conformal intervals hold for cases that are exchangeable, and it is whole machines (or
    models) that are: from two of them nobody knows how far a third lies. With one the interval
    doubles, with ten it grows by a tenth.
    """
    return 1 + 1 / max(1, groups)


def around(value: float, residuals: Mapping[str, Any], widen: float = 1.0) -> Interval:
    """The interval around a prediction from kept residuals ``{"low", "high"}`` (log scores)."""
    low, high = min(residuals["low"], 0.0), max(residuals["high"], 0.0)
    return Interval(value, value * math.exp(widen * low), value * math.exp(widen * high))
