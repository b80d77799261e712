"""The one layout of an answer: labels on the left, sentences wrapped on the right.

A line is ``(label, sentence)``; an empty label continues the one before.
"""

from __future__ import annotations

from ..chart.terminal import width_of

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Line = tuple[str, str]

LEAST = 30
"""Columns that a sentence has at least, however narrow the terminal is."""


def labelled(label: str, sentences: Iterable[str]) -> list[Line]:
    """Sentences under one label."""
    return [(label if i == 0 else "", text) for i, text in enumerate(sentences)]


def laid_out(lines: Sequence[Line], columns: int) -> str:
    """The lines for a terminal, labels flush left in a margin as wide as the widest."""
    margin = max((width_of(label) for label, _ in lines), default=0) + 2
    out = []
    for label, sentence in lines:
        for i, line in enumerate(wrap(sentence, max(LEAST, columns - margin - 2))):
            head = label if i == 0 else ""
            out.append("  " + head + " " * (margin - width_of(head)) + line)
    return "\n".join(out)


def wrap(text: str, width: int) -> list[str]:
    """Lines no wider than ``width`` columns, broken at spaces or between wide characters."""
    out, line = [], ""
    for word in _pieces(text):
        if line and width_of(line) + width_of(word.rstrip()) > width:
            out.append(line.rstrip())
            line = ""
        line += word if line else word.lstrip()
    return [*out, line.rstrip()] if line.strip() else out or [""]


def _pieces(text: str) -> list[str]:
    result, word = [], ""
    for char in text:
        word += char
        if char == " " or width_of(char) == 2:
            result.append(word)
            word = ""
    return [*result, word] if word else result
