"""A calibration in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..units import percent, seconds
from ..words import Words
from . import table
from .predicted import number
from .titles import step_words

if TYPE_CHECKING:
    from ..predicting.calibrate import Calibration


def text(found: Calibration, path: str, skipped: int, words: Words) -> str:
    """How far the public profile and the own one are off, and what moved."""
    lines = []
    if found.before is None:
        lines.append(words("calibrate.none"))
    else:
        key = "calibrate.done" if found.after is not None else "calibrate.few"
        after = percent(found.after) if found.after is not None else ""
        lines.append(words(key, points=found.points, before=percent(found.before), after=after))
    if skipped:
        lines.append(words("calibrate.skipped", count=skipped))
    if found.checks:
        lines += ["", _checks(found, words)]
    if found.moved:
        head = [words(f"calibrate.{k}") for k in ("name", "public", "own")]
        rows = [(n, number(n, a), number(n, b)) for n, (a, b) in sorted(found.moved.items())]
        lines += ["", table.render(head, rows)]
    elif found.points:
        lines += ["", words("calibrate.same")]
    return "\n".join([*lines, "", words("calibrate.saved", path=path)])


def _checks(found: Calibration, words: Words) -> str:
    """Each point left out: measured, under the public profile, under a fit on the others."""
    head = [words(f"calibrate.{k}") for k in ("point", "measured", "public", "left_out")]
    rows = []
    for c in found.checks:
        step, _ = c.point.steps[0]
        said = [
            f"{seconds(t)} ({'+' if t >= c.point.seconds else '-'}"
            f"{percent(abs(t / c.point.seconds - 1))})"
            for t in (c.public, c.left_out)
        ]
        rows.append((step_words(step, words), seconds(c.point.seconds), *said))
    return table.render(head, rows)
