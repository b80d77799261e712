"""The frame of the suites of single kernels: what their kernels do, as arrays, one number a row.

Each kind of kernel is a module of its own (``products``, ``attention``, ``experts``,
``messages``): it reads its file, says what a row's kernel computes and moves, and what is fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..errors import RooflineError
from ..machine.load import load as load_machine
from ..predicting.device import Device, device
from ..predicting.fit import Prior
from ..predicting.kernel import Load, Loads
from ..predicting.stack import Piece, Stack
from .data import MACHINES, Row, column
from .suite import Suite

FREE = {
    "layer.floor": 0.0,
    "step.floor": 0.0,
    "step.sequence": 0.0,
    "passes": 0.0,
    "experts.passes": 0.0,
    "quantise": 0.0,
    "ramp": 0.0,
    "linear.compute": 1.0,
    "linear.bandwidth": 0.87,
    "linear.floor": 3e-6,
    "collective.floor": 5e-6,
    "collective.bandwidth": 0.7,
}
"""A kernel by itself: none of a step's other costs."""

OVER = 20e-6
"""Seconds: kernels whose roof is shorter are launch and little else, and are not scored."""

Told = Callable[[Row], tuple[str, int, str]]
"""What a row's shape, batch and regime are called in the tables."""


@lru_cache(maxsize=64)
def on(name: str) -> tuple[Device, float]:
    """A machine of the files: its numbers, and its last-level cache in bytes."""
    machine = load_machine(MACHINES.get(name, name))
    return device(machine), machine.cache.value if machine.cache else 0.0


@lru_cache(maxsize=64)
def sheet(name: str) -> Any:
    """The datasheet's roof of a machine of the files."""
    return load_machine(MACHINES.get(name, name)).roof("datasheet")


def known(rows: Iterable[Row]) -> list[Row]:
    """Rows whose machine is in the catalogue."""

    @lru_cache(maxsize=64)
    def good(name: str) -> bool:
        try:
            on(name)
        except RooflineError:
            return False
        return True

    return [r for r in rows if good(r["system"])]


def apart(
    priors: Mapping[str, Prior], rows: Iterable[Row], spread: float = 0.15
) -> dict[str, Prior]:
    """The priors, and for each generation in the rows a factor on each, near 1.

    A generation that a fit does not see keeps the factor 1: it gets what the others have in
    common.
    """
    found = dict(priors)
    for label in sorted({on(r["system"])[0].labels[0] for r in rows}):
        for name, prior in priors.items():
            wide = spread if name.endswith(("compute", "bandwidth")) else 2 * spread
            reach = prior.high / prior.value
            found[f"{name}*{label}"] = Prior(1.0, min(wide, prior.spread), 1 / 30, max(1.0, reach))
    return found


@dataclass(frozen=True, slots=True)
class Kernels:
    """Rows that are one kernel each. FLOPs and bytes are arrays, as in :class:`Load`.

    Attributes:
        rows: with ``system``.
        kind, compute: of the kernel, and of its arithmetic.
        flops, stored, moved, inputs, queries: what it computes and moves.
    """

    rows: list[Row]
    kind: str
    compute: str
    flops: Any
    stored: Any
    moved: Any
    inputs: Any
    queries: Any = 1.0

    def stack(self) -> Stack:
        """All rows, machine by machine, ready to be priced."""
        import numpy as np

        systems = np.array([r["system"] for r in self.rows])
        queries = np.broadcast_to(self.queries, self.flops.shape)
        pieces = []
        for name in sorted(set(systems)):
            at = np.flatnonzero(systems == name)
            numbers = (self.flops, self.stored, self.moved, self.inputs, queries)
            load = Load(self.kind, 1, self.compute, *(x[at] for x in numbers))
            found, _ = on(name)
            zero = np.zeros(len(at))
            pieces.append(Piece(at, Loads((load,), (), zero, zero), found, found.labels))
        return Stack(pieces, len(self.rows))

    def computing(self) -> Any:
        """Seconds of the arithmetic at the datasheet's peak."""
        return self.flops / self._of(lambda roof: roof.arithmetic(self.compute)[1].value)

    def reading(self, moved: Any) -> Any:
        """Seconds of so many bytes at the datasheet's bandwidth."""
        return moved / self._of(lambda roof: roof.bandwidth.value)

    def roof(self, moved: Any) -> Any:
        """The plain roof with so many bytes: the longer of the two."""
        import numpy as np

        return np.maximum(self.computing(), self.reading(moved))

    def cache(self) -> Any:
        """Bytes of the last-level cache of each row's machine."""
        import numpy as np

        return np.array([on(r["system"])[1] for r in self.rows])

    def _of(self, get: Callable[[Any], float]) -> Any:
        import numpy as np

        return np.array([get(sheet(r["system"])) for r in self.rows])

    def suite(
        self,
        name: str,
        priors: Mapping[str, Prior],
        *,
        bound: Any,
        precision: str,
        told: Told,
        seconds: str = "latency_ms",
        scored: Any = None,
        aside: Mapping[str, int] | None = None,
    ) -> Suite:
        """The suite of these rows: ``NAME PRECISION ENGINE``.

        Args:
            name: of the kind of kernel.
            priors: of what is fitted, for all generations together.
            bound: the plain roof, seconds.
            precision: as the file calls it.
            told: names of a row's shape, batch and regime.
            seconds: the column with the measured time, in milliseconds.
            scored, aside: as of a :class:`Suite`.
        """
        engine = self.rows[0]["framework"]
        tell(self.rows, engine, precision, told)
        return Suite(
            f"{name} {precision} {engine}",
            self.rows,
            column(self.rows, seconds) * 1e-3,
            self.stack(),
            FREE,
            apart(priors, self.rows),
            bound,
            aside=dict(aside or {}),
            scored=scored,
        )


def tell(rows: Iterable[Row], engine: str, precision: str, told: Told) -> None:
    """Write into each row what the tables call it."""
    for row in rows:
        model, batch, regime = told(row)
        row.update(
            machine=MACHINES.get(row["system"], row["system"]),
            model=model,
            engine=engine,
            precision=precision,
            batch=batch,
            regime=regime,
        )
