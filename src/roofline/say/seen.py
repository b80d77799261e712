"""What somebody measured of a step, in words."""

from __future__ import annotations

from ..place.seen import Seen
from ..words import Words
from .answer import counted, measured
from .placed import explain


def rows(seen: Seen, words: Words) -> list[tuple[str, str]]:
    """Labelled sentences: the speed and where it went, or what a counter says."""
    if seen.counter is not None:
        return [counted(seen.counter, seen.answer, words)]
    assert seen.speed is not None and seen.placed is not None and seen.gap is not None
    first, *rest = explain(seen.placed, seen.gap, words)
    return [measured(seen.speed, words), *(row for row in rest if row != first)]
