"""A personal profile: the same fit on the user's own measurements.

Points are measured steps of one's own engine on one's own machine, from ``roofline bench`` or
``roofline place``. The coefficients are drawn to the public profile's: with no points they
are the public ones, with a few the costs that differ most (fixed costs, then how much of
bandwidth and peak is reached) move to where the points are, and with many they are one's own.

How strongly they are drawn is chosen by leaving each point out in turn; where the public profile
predicts the points left out better than any fit on the others does, it stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..bound.case import Case
from ..count.step import Step
from ..errors import InputError
from ..parallel import Parallel
from ..points import Point as Measured
from ..record import replace
from .fit import Prior, fit
from .interval import quantiles
from .kernel import KernelPlan
from .predictor import NODES, Predictor
from .profile import Profile
from .stack import Piece, Total

FREE = {
    "linear.bandwidth": 0.15,
    "decode.bandwidth": 0.15,
    "linear.compute": 0.3,
    "prefill.compute": 0.3,
    "decode.compute": 1.0,
    "layer.floor": 1.0,
    "step.floor": 1.5,
    "step.sequence": 1.5,
    "experts.bandwidth": 0.15,
    "experts.floor": 0.7,
    "collective.floor": 0.7,
}
"""Coefficients that move, and how far at ease (standard deviation of the logarithm)."""

STRENGTHS = (0.3, 3.0)
"""How many points' worth the draw to the public profile is; the better one is kept."""

LIMITS = {"compute": (1e-4, 1.2), "bandwidth": (0.02, 1.0)}


@dataclass(frozen=True, slots=True)
class CalibrationPoint:
    """Measured steps.

    Attributes:
        predictor: of their model, machine and formats under the public profile.
        steps: what ran, and how often.
        seconds: how long all of it took.
    """

    predictor: Predictor
    steps: tuple[tuple[Step, float], ...]
    seconds: float


def growing(step: Step, count: float) -> tuple[tuple[Step, float], ...]:
    """``count`` steps, each one token further, as three steps with their weights."""
    if count < len(NODES):
        return ((step, count),)
    found = []
    for node, weight in NODES:
        further = tuple(
            replace(g, past=g.past + int(node * count * g.new_tokens)) for g in step.groups
        )
        found.append((Step(step.phase, further), weight * count))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Checked:
    """A point, and how it is predicted.

    Attributes:
        point: what was measured.
        public: seconds under the public profile.
        left_out: seconds under a fit on the other points.
    """

    point: CalibrationPoint
    public: float
    left_out: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """A personal profile, and how good it became.

    Attributes:
        profile: to save, and to predict with.
        points: used.
        before: mean error of the public profile on them, ``None`` without points.
        after: mean error with each point left out of the fit in turn, ``None`` for fewer than
            three points.
        moved: coefficients that changed by over 2 %: public value, own value.
        checks: each point left out; none for fewer than three.
    """

    profile: Profile
    points: int
    before: float | None
    after: float | None
    moved: Mapping[str, tuple[float, float]]
    checks: tuple[Checked, ...] = ()


def point(measured: Measured, case: Case, base: Profile) -> CalibrationPoint | None:
    """A point of a points file; ``None`` where its time covers more than its steps.

    Time between tokens on a server is taken for a decode step: other requests' prefill and the
    network are in it, as they are in what will be predicted.
    """
    if measured.basis not in ("steps", "token", "run") or not measured.parts:
        return None
    if measured.devices > 1 and case.parallel.single:
        case = case.using(parallel=Parallel(tp=measured.devices))
    steps: list[tuple[Step, float]] = []
    for part in measured.parts:
        step = Step(measured.phase, part.groups)
        steps += growing(step, part.count) if part.grows else ((step, part.count),)
    return CalibrationPoint(Predictor(case, base), tuple(steps), measured.seconds.median)


def calibrate(points: Sequence[CalibrationPoint], base: Profile, name: str = "mine") -> Calibration:
    """The profile that fits the points, drawn to ``base``; without points it is ``base``.

    Raises:
        InputError: times that are not over 0.
    """
    import numpy as np

    if not points:
        return Calibration(
            replace(base, id=name, extends=base.id, coefficients={}), 0, None, None, {}
        )
    if any(not p.seconds > 0 for p in points):
        raise InputError("a point must take longer than 0 seconds")
    measured = np.array([p.seconds for p in points])
    start = dict(points[0].predictor.resolved.values)
    stack = _total(points)
    priors = {n: _prior(n, start[n], s) for n, s in FREE.items() if n in start}

    def found(strength: float, rows: Any = None) -> dict[str, float]:
        pull = strength / len(points)
        return fit(lambda c: stack({**start, **c}), measured, priors, rows, strength=pull)

    public = stack(start)
    before, after = _mean_error(public, measured), None
    strength, keep = STRENGTHS[0], False
    checks: tuple[Checked, ...] = ()
    if len(points) >= 3:
        tries = [(k, _left_out(stack, start, found, k, len(points))) for k in STRENGTHS]
        strength, left = min(tries, key=lambda t: _mean_error(t[1], measured))
        after = _mean_error(left, measured)
        checks = tuple(
            Checked(*row) for row in zip(points, public.tolist(), left.tolist(), strict=True)
        )
        keep = after > before  # so few or so scattered: the public profile predicts better
    own = {} if keep else found(strength)
    moved = {n: (start[n], v) for n, v in own.items() if abs(v / start[n] - 1) > 0.02}
    scores = np.log(measured / stack({**start, **own})).tolist()
    made = _profile(points, base, name, own, scores)
    return Calibration(made, len(points), before, after, moved, checks)


def _mean_error(predicted: Any, measured: Any) -> float:
    """The factor that predictions are off by, geometric mean, less one."""
    import numpy as np

    return float(np.expm1(np.abs(np.log(predicted / measured)).mean()))


def _prior(name: str, value: float, spread: float) -> Prior:
    low, high = LIMITS.get(name.rsplit(".", 1)[-1], (value / 1e4, value * 1e4))
    return Prior(min(max(value, low), high), spread, low, max(high, value))


def _total(points: Sequence[CalibrationPoint]) -> Total:
    import numpy as np

    pieces, times = [], []
    for i, point in enumerate(points):
        case = point.predictor.case
        plan = KernelPlan(case.work, case.interconnect, case.parallel.dp)
        for step, often in point.steps:
            groups = tuple(
                replace(g, batch=np.array([g.batch]), past=np.array([g.past])) for g in step.groups
            )
            loads = plan(Step(step.phase, groups))
            pieces.append(Piece(np.array([i]), loads, point.predictor.device))
            times.append(np.array([often]))
    return Total(pieces, times, len(points))


def _left_out(
    stack: Total, start: Mapping[str, float], found: Any, strength: float, count: int
) -> Any:
    import numpy as np

    out = np.empty(count)
    for i in range(count):
        rows = np.ones(count)
        rows[i] = 0
        out[i] = stack({**start, **found(strength, rows)})[i]
    return out


def _profile(
    points: Sequence[CalibrationPoint],
    base: Profile,
    name: str,
    own: Mapping[str, float],
    scores: Sequence[float],
) -> Profile:
    cases = [p.predictor.case for p in points]
    batches = [int(step.batch) for p in points for step, _ in p.steps]
    seen = quantiles(scores) if len(scores) >= 3 else (-0.3, 0.3)
    families = points[0].predictor.families()
    public: Mapping[str, Any] = next((f["residuals"] for f in families if f.get("residuals")), {})
    residuals = {kind: dict(entry) for kind, entry in public.items()}
    wide = (min(seen[0], -0.02), max(seen[1], 0.02))
    residuals["seen"] = {"rows": len(scores), "low": wide[0], "high": wide[1]}
    made = base.with_values(
        own,
        "own",
        id=name,
        extends=base.id,
        title=f"{base.title or base.id}, calibrated on {len(points)} own points",
        sources={"own": _source(cases)},
        residuals=residuals,
        families={},
        fitted={
            "machines": sorted({c.machine.id for c in cases}),
            "models": sorted({c.model.name for c in cases}),
            "precisions": sorted({c.weights for c in cases}),
            "rows": len(points),
            "batch": [min(batches), max(batches)],
        },
    )
    kept = {n: made.coefficients[n] for n in own}
    return replace(made, coefficients=kept)


def _source(cases: Sequence[Case]) -> dict[str, str]:
    from datetime import date

    models = ", ".join(sorted({c.model.name for c in cases}))
    machines = ", ".join(sorted({c.machine.name for c in cases}))
    title = f"{len(cases)} own measurements of {models} on {machines}"
    return {"title": title, "url": "", "date": date.today().isoformat()}
