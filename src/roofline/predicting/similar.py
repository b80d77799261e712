"""How alike a case is to what a profile was fitted on; it decides the interval's width."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..record import replace
from .interval import Interval, around, few
from .predictor import Predictor

FAR = {"low": -1.2, "high": 1.2}
"""log scores assumed where a profile holds no residuals at all: a factor of 3.3 either way."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """What of a case was among the rows that the profile was fitted on.

    Attributes:
        machine, generation, model, precision: whether it, or one of its kind, was.
        batch: whether the batch lies within the range seen (four times beyond is allowed).
        rows: fitted, 0 where the profile has no data.
        machines: that were left out of the fit in turn, to see how far the next one lies.
    """

    machine: bool
    generation: bool
    model: bool
    precision: bool
    batch: bool
    rows: int
    machines: int = 1

    @property
    def kind(self) -> str:
        """``seen``, or what was never fitted: ``machine``, ``model`` or ``both``."""
        if self.machine:
            return "seen" if self.model else "model"
        return "machine" if self.model else "both"

    @property
    def widen(self) -> float:
        """Times the interval of that kind: half as much again for a weight format or a batch
        never fitted, and 1 + 1/machines for a generation never fitted."""
        if not self.rows:
            return 1.0
        result: float = 1.5 ** ((not self.precision) + (not self.batch))
        return result if self.generation else result * few(self.machines)

    def to_json(self) -> dict[str, Any]:
        """As data."""
        result: dict[str, Any] = {name: getattr(self, name) for name in self.__slots__}
        return {**result, "kind": self.kind, "widen": self.widen}


def likeness(p: Predictor, batch: int) -> Likeness:
    """How alike a predictor's case is to what its profile was fitted on."""
    fitted = _fitted(p)
    machines = set(fitted.get("machines", ()))
    generations = {_generation(m) for m in machines}
    low, high = fitted.get("batch", (1, 1))
    return Likeness(
        machine=p.device.id in machines,
        generation=bool(p.device.generation) and p.device.generation in generations,
        model=p.case.model.name in fitted.get("models", ()),
        precision=p.case.weights in fitted.get("precisions", ()),
        batch=low / 4 <= batch <= 4 * high,
        rows=int(fitted.get("rows", 0)),
        machines=len(machines),
    )


def _fitted(p: Predictor) -> Mapping[str, Any]:
    return next((f["fitted"] for f in p.families() if f.get("fitted")), {})


def _generation(machine: str) -> str:
    # Of the catalogue alone: a profile's names are not read as paths.
    from ..errors import NotFound
    from ..machine.load import find

    try:
        entry, _ = find(machine)
    except NotFound:
        return ""
    return str(entry.get("generation", ""))


def interval(
    p: Predictor, like: Likeness, value: float, roof: float = 0.0, *, first: bool = False
) -> Interval:
    """The interval around a predicted time; it ends at the roof, which nothing beats.

    Args:
        first: the time to a served request's first token, with residuals of its own.
    """
    result = around(value, FAR)
    kind = f"ttft:{like.kind}" if first else like.kind
    for one in p.families():
        if kind in one.get("residuals", {}):
            result = around(value, one["residuals"][kind], like.widen)
            break
    return replace(result, low=min(value, max(result.low, roof)))
