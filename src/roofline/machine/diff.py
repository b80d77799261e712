"""Two machines side by side, figure by figure: two runs, or a run and a datasheet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..record import record
from .machine import Ceilings, Figure, Machine

UNITS = {"bandwidth": "B/s", "compute": "FLOP/s", "overhead": "s"}


@record
class Difference:
    """One figure of two machines.

    Attributes:
        kind: ``datasheet`` or ``measured``; what: ``bandwidth``, ``compute``, ``overhead``.
        name: ``memory``, ``bf16``, ``launch``.
        a, b: the figures, ``None`` where that machine has none.
        ratio: b ÷ a, or ``None``.
        noise: the two spreads together: a ratio within 1 ± noise says nothing.
    """

    kind: str
    what: str
    name: str
    a: Figure | None
    b: Figure | None

    @property
    def ratio(self) -> float | None:
        """b ÷ a."""
        return self.b.value / self.a.value if self.a and self.b else None

    @property
    def noise(self) -> float:
        """The stated spreads of both, added."""
        return sum(f.spread or 0.0 for f in (self.a, self.b) if f)

    @property
    def differs(self) -> bool:
        """Whether the ratio is beyond what the spreads explain."""
        return self.ratio is not None and abs(self.ratio - 1) > self.noise

    def to_json(self) -> dict[str, Any]:
        """The row as data, SI base units."""
        return {
            "kind": self.kind,
            "what": self.what,
            "name": self.name,
            "unit": UNITS[self.what],
            "a": self.a.value if self.a else None,
            "b": self.b.value if self.b else None,
            "ratio": self.ratio,
            "noise": self.noise,
            "differs": self.differs,
        }


def diff(a: Machine, b: Machine) -> list[Difference]:
    """Every figure that either machine has, datasheet's first."""
    return [
        *_section("datasheet", a.datasheet, b.datasheet),
        *_section("measured", a.measured, b.measured),
    ]


def _section(kind: str, a: Ceilings, b: Ceilings) -> Iterator[Difference]:
    for what in UNITS:
        left, right = getattr(a, what), getattr(b, what)
        for name in dict.fromkeys((*left, *right)):
            yield Difference(kind, what, name, left.get(name), right.get(name))
