"""Experts read: what even routing is expected to touch, and what no routing goes below.

With N tokens of k experts each, independent and even routing touches E·(1-(1-k/E)^N) of E in a
layer: an expectation, not a bound. Real routers are uneven, and tokens of one batch alike, so
fewer may be read. All tokens choosing the same k is the least there is. Between the two a
measurement can be turned round: bandwidth × time is the most that can have been read, and what is
left of it after everything else says how many experts a layer that was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..bound.case import Case
from ..count.quantity import Quantity
from ..count.step import Step


@dataclass(frozen=True, slots=True)
class PointRouting:
    """Experts of all steps of a point, on one device as everything else.

    Attributes:
        experts, active: of a layer, and of a token.
        touched: a layer and pass, as even routing is expected to touch them, on average.
        bytes: read for that.
        least: read if all tokens of a pass chose the same.
    """

    experts: int
    active: int
    touched: float
    bytes: float
    least: float

    @property
    def decides(self) -> bool:
        """Whether how tokens are routed makes a difference."""
        return self.least < 0.99 * self.bytes

    def touched_by(self, bytes_: float) -> float:
        """Experts a layer that these bytes are."""
        return self.touched * bytes_ / self.bytes

    def to_json(self) -> dict[str, Any]:
        """As data."""
        return {
            "experts": self.experts,
            "active": self.active,
            "expected": self.touched,
            "expected_bytes": self.bytes,
            "least_bytes": self.least,
        }


class Tally:
    """The experts of steps, added up."""

    def __init__(self, case: Case) -> None:
        """Find the terms of the case that depend on routing."""
        work = case.work
        self._terms = [
            (q, op.count, op.count * c) for op in work.operators for q, c in op.weights
            if q.q == "touched"
        ]  # fmt: skip
        self._layers = self._touched = self._bytes = self._least = 0.0

    def add(self, count: float, step: Step) -> None:
        """So many steps like this."""
        for q, layers, coefficient in self._terms:
            touched = float(q.value(step.groups))
            passes = float(Quantity("passes", over=q.over, most=q.most).value(step.groups))
            self._layers += count * layers * passes
            self._touched += count * layers * touched
            self._bytes += count * coefficient * touched
            self._least += count * coefficient * min(touched, passes * q.active)

    def found(self) -> PointRouting | None:
        """The sum, ``None`` for a model without experts."""
        if not self._bytes:
            return None
        q = self._terms[0][0]
        return PointRouting(
            q.experts, q.active, self._touched / self._layers, self._bytes, self._least
        )
