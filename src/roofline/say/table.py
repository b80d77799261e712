"""Aligned tables for a terminal, wide characters counted as two columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..chart.terminal import width_of


def render(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """A table: the first ``left`` columns flush left, the others flush right; a head of empty
    texts is left out."""
    cells = [list(head), *(list(r) for r in rows)]
    widths = [max(width_of(r[i]) for r in cells) for i in range(len(head))]

    def line(row: Sequence[str]) -> str:
        result = []
        for i, (text, width) in enumerate(zip(row, widths, strict=True)):
            gap = " " * (width - width_of(text))
            result.append(text + gap if i < left else gap + text)
        return "  ".join(result).rstrip()

    lines = [line(r) for r in cells]
    if any(head):
        lines.insert(1, "  ".join("-" * w for w in widths))
    else:
        del lines[0]
    return "\n".join(lines)
