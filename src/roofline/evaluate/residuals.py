"""How far left-out measurements lay from predictions, as profiles keep it for their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..predicting.interval import quantiles
from .spread import groups, interval
from .suite import Suite


def scores(suite: Suite, predicted: Any) -> list[float]:
    """log(measured / predicted) of the scored rows."""
    import numpy as np

    kept = suite.scored & np.isfinite(predicted)
    return [float(x) for x in np.log(suite.measured[kept] / predicted[kept])]


def residuals(suites: Sequence[Suite], alike: Sequence[Suite]) -> dict[str, Any]:
    """For each likeness, the interval of scores that left-out rows fell into.

    Args:
        suites: of the engine.
        alike: suites of the same kind under all engines: what is never seen is pooled over them.
    """
    seen = [x for suite in suites for x in scores(suite, suite.folds())]
    result: dict[str, Any] = {"seen": {"rows": len(seen), **_interval(quantiles(seen))}}
    result["seen"]["median_error"] = short(_median([abs(math.exp(x) - 1) for x in seen]))
    for by in ("machine", "model"):
        pool = [g for suite in alike for g in groups(suite, suite.left_out(by), by)]
        names = {g.name for g in pool}
        if len(names) < 2:
            low, high = result["seen"]["low"], result["seen"]["high"]
            result[by] = {**_interval((2 * low, 2 * high)), "note": "none left out: doubled"}
            continue
        result[by] = {
            "rows": sum(len(g.scores) for g in pool),
            "groups": len(names),
            **_interval(interval(pool)),
        }
        own = [x for g in pool if g.suite in {s.name for s in suites} for x in g.scores]
        if own:
            result[by]["median_error"] = short(_median([abs(math.exp(x) - 1) for x in own]))
        for end, best in (("low", min), ("high", max)):
            result[by][end] = best(result[by][end], result["seen"][end])
    machine, model = result["machine"], result["model"]
    result["both"] = {
        "low": short(-((machine["low"] ** 2 + model["low"] ** 2) ** 0.5)),
        "high": short((machine["high"] ** 2 + model["high"] ** 2) ** 0.5),
        "note": "both left out: the two added in quadrature",
    }
    return result


def _interval(ends: tuple[float, float]) -> dict[str, float]:
    return {"low": short(ends[0]), "high": short(ends[1])}


def _median(values: list[float]) -> float:
    ordered = sorted(values)
    return ordered[len(ordered) // 2]


def short(x: float) -> float:
    """Four digits: no more is known."""
    return float(f"{x:.4g}")
