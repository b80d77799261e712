"""A suite: rows of one kind, how to predict them, and what to fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..predicting.fit import Prior, fit, leave_out
from .data import Row, by, in_known_formats

LEAST = 0.2
"""A group is left out only where at least this share of the rows is left to fit on."""

ATTRIBUTES = ("machine", "model", "engine", "precision", "batch", "regime")


@dataclass(slots=True)
class Suite:
    """Measurements of one kind on one engine.

    Attributes:
        name: ``gemm bf16``, for tables.
        rows: with ``machine``, ``model``, ``engine``, ``precision``, ``batch``, ``regime``.
        measured: seconds, an array.
        predict: from coefficients to seconds, an array.
        fixed: coefficients that are not fitted here.
        priors: those that are.
        bound: the plain roof's seconds, an array.
        aside: rows set aside by rule.
        scored: which rows count, for the error and for the fit.
        beside: suites whose rows inform the fit too, of the same coefficients.
        lent: what a row of theirs weighs in it, a row of its own being 1.
        under: the suite whose coefficients, fitted on all of its rows, count as ``fixed``.
    """

    name: str
    rows: list[Row]
    measured: Any
    predict: Callable[[Mapping[str, float]], Any]
    fixed: Mapping[str, float]
    priors: Mapping[str, Prior]
    bound: Any
    aside: dict[str, int] = field(default_factory=dict)
    scored: Any = None
    beside: tuple[Suite, ...] = ()
    lent: float = 1.0
    under: Suite | None = None
    _found: dict[bytes, dict[str, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """By default every row is scored."""
        if self.scored is None:
            import numpy as np

            self.scored = np.ones(len(self.rows), bool)

    def column(self, name: str) -> list[str]:
        """An attribute of every row, as text."""
        return [str(row[name]) for row in self.rows]

    @property
    def names(self) -> tuple[str, ...]:
        """The coefficients that were fitted, here and under it."""
        return (*(self.under.names if self.under else ()), *self.priors)

    def coefficients(self, rows: Any = None, by: str = "", left: Any = ()) -> dict[str, float]:
        """All coefficients, fitted on the rows of a mask (by default those scored).

        Args:
            rows: weights of the rows.
            by, left: suites beside lend no row whose ``by`` is one of these.
        """
        import numpy as np

        weights = [self.scored.astype(float) if rows is None else np.asarray(rows, float)]
        for other in self.beside:
            away = np.isin(other.column(by), list(left)) if by else False
            weights.append(self.lent * (other.scored & ~np.asarray(away)))
        key = b"".join(w.tobytes() for w in weights)
        if key not in self._found:
            self._found[key] = self._fit(np.concatenate(weights))
        return self._found[key]

    def _fit(self, weights: Any) -> dict[str, float]:
        import numpy as np

        fixed = self.under.coefficients() if self.under else self.fixed
        every = (self, *self.beside)

        def predict(c: Mapping[str, float]) -> Any:
            held = {**fixed, **c}
            return np.concatenate([suite.predict(held) for suite in every])

        measured = np.concatenate([suite.measured for suite in every])
        return {**fixed, **fit(predict, measured, self.priors, weights)}

    def left_out(self, by: str) -> Any:
        """Predictions for each row from a fit without the rows that share its ``by``."""
        import numpy as np

        out = np.full(len(self.rows), np.nan)
        groups = np.array(self.column(by), object)
        if len(set(groups)) < 2:
            return out
        for _, others, own in leave_out(groups.tolist()):
            if not (own & self.scored).any():
                continue
            mask = (others & self.scored).astype(float)
            if mask.sum() >= LEAST * self.scored.sum():
                result = self.coefficients(mask, by, set(groups[own]))
                out[own] = self.predict(result)[own]
        return out

    def folds(self, count: int = 5) -> Any:
        """Predictions for each row from a fit without a fifth of the rows."""
        import numpy as np

        out = np.empty(len(self.rows))
        fold = np.arange(len(self.rows)) * 7919 % count
        for i in range(count):
            mask = (fold != i) & self.scored
            out[fold == i] = self.predict(self.coefficients(mask.astype(float)))[fold == i]
        return out

    def constant(self, by: str | None = None) -> Any:
        """The baseline of one constant: measured ≈ k · bound, k fitted on the others' median."""
        import numpy as np

        ratio = self.measured / self.bound
        if by is None:
            return self.bound * np.median(ratio[self.scored])
        out = np.full(len(self.rows), np.nan)
        if len(set(self.column(by))) < 2:
            return out
        for _, others, own in leave_out(self.column(by)):
            if (others & self.scored).any():
                out[own] = self.bound[own] * np.median(ratio[others & self.scored])
        return out


def of_formats(
    rows: Iterable[Row], name: str, suite: Callable[[list[Row], str], Suite]
) -> list[Suite]:
    """A suite for each engine and number format, which is in that column."""
    kept, aside = in_known_formats(rows, name)
    groups = by(kept, "framework", name)
    return first_with([suite(group, dtype) for (_, dtype), group in groups], aside)


def first_with(suites: list[Suite], aside: Mapping[str, int]) -> list[Suite]:
    """The suites, of which the first tells what was set aside of all."""
    if suites:
        suites[0].aside = {**suites[0].aside, **aside}
    return suites
