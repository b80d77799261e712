"""Scores of a suite: errors of several predictors, coverage of intervals, breakdowns."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..predicting.interval import quantiles
from .suite import Suite

ABOVE = 1.001
"""A row counts as above the roof where the roof is longer by this factor."""


@dataclass(slots=True)
class Score:
    """A suite, scored. Predictions are arrays of seconds, NaN where there is none.

    Attributes:
        suite: what was scored.
        predictions: by predictor: ``roof``, ``constant``, ``fitted`` (each row left out with
            a fifth of the rows), ``machine`` and ``model`` (all rows of its machine or model
            left out), ``shipped``.
        coverage: of 90 % intervals, and their width (high/low): ``rows`` from the other half of
            the rows left out; ``machine`` and ``model`` pooled over other ones (``spread.py``).
        above: rows faster than the roof.
    """

    suite: Suite
    predictions: dict[str, Any]
    coverage: dict[str, tuple[float, float]] = field(default_factory=dict)
    above: int = 0

    def errors(self, predictor: str, rows: Any = None) -> Any:
        """|predicted/measured - 1| of the scored rows."""
        import numpy as np

        kept = self.suite.scored if rows is None else self.suite.scored & rows
        result = self.predictions[predictor][kept] / self.suite.measured[kept] - 1
        return np.abs(result[np.isfinite(result)])

    def error(self, predictor: str, rows: Any = None) -> float | None:
        """The median of :meth:`errors`, ``None`` where there is none."""
        import numpy as np

        if predictor not in self.predictions:
            return None
        result = self.errors(predictor, rows)
        return float(np.median(result)) if len(result) else None

    def best(self) -> str:
        """The strictest predictor that there is: unseen machine, unseen model, fitted."""
        for name in ("machine", "model", "shipped", "fitted"):
            if self.error(name) is not None:
                return name
        return "roof"

    def by(self, attribute: str) -> Iterable[tuple[str, int, float, float | None]]:
        """For each value of an attribute: rows, error fitted, error of its left-out fit."""
        import numpy as np

        values = np.array(self.suite.column(attribute), object)
        left = "model" if attribute == "model" else "machine"
        for value in sorted(set(values)):
            own = values == value
            count = int((own & self.suite.scored).sum())
            known = "fitted" if self.error("fitted") is not None else self.best()
            error = self.error(known, own)
            if count and error is not None:
                yield value, count, error, self.error(left, own)

    def worst(self, count: int = 5) -> list[tuple[float, dict[str, Any]]]:
        """The rows farthest from the strictest prediction: measured/predicted, row."""
        import numpy as np

        ratio = self.suite.measured / self.predictions[self.best()]
        ratio = np.where(self.suite.scored & np.isfinite(ratio), ratio, 1.0)
        order = np.argsort(-np.abs(np.log(ratio)))[:count]
        return [(float(ratio[i]), self.suite.rows[i]) for i in order]


def score(suite: Suite, shipped: dict[str, float] | None = None, *, fit: bool = True) -> Score:
    """Score a suite.

    Args:
        suite: what to score.
        shipped: coefficients of the package to predict with as well.
        fit: whether to fit on the suite itself, leaving out folds, machines and models.
    """
    import numpy as np

    result: dict[str, Any] = {"roof": suite.bound}
    kept = suite.scored
    if shipped is not None:
        result["shipped"] = suite.predict({**suite.fixed, **shipped})
    if fit:
        result["constant"] = suite.constant("machine")
        if not np.isfinite(result["constant"][kept]).all():
            result["constant"] = suite.constant()
        if suite.priors:
            result["fitted"] = suite.folds()
            for by in ("machine", "model"):
                left = suite.left_out(by)
                if np.isfinite(left[kept]).any():
                    result[by] = left
    out = Score(suite, result)
    if "fitted" in result:
        out.coverage["rows"] = covered(suite, result["fitted"])
    out.above = int((suite.measured[kept] * ABOVE < suite.bound[kept]).sum())
    return out


def covered(suite: Suite, predicted: Any) -> tuple[float, float]:
    """Coverage of 90 % intervals on half of the left-out rows, from the scores of the other half
    (rows are exchangeable, as conformal intervals ask), and their median width, high/low."""
    import numpy as np

    kept = suite.scored & np.isfinite(predicted)
    scores = np.log(suite.measured[kept] / predicted[kept])
    rng = np.random.default_rng(0)
    inside, widths = [], []
    for _ in range(20):
        half = rng.permutation(len(scores)) < len(scores) // 2
        low, high = quantiles(scores[half].tolist())
        inside.append(float(((scores[~half] >= low) & (scores[~half] <= high)).mean()))
        widths.append(math.exp(high - low))
    return float(np.mean(inside)), float(np.median(widths))
