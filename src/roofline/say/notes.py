"""Notes in words: those that code makes by their codes, those of data files by their sentence.

Data files are written in English. A language knows their notes by these sentences, digits left
open (``{0}``, ``{1}`` …); what it does not know, such as a note in a person's own file, is said
as it stands.
"""

from __future__ import annotations

import functools
import re

from ..words import FILES, SOURCE, Words, texts
from ..words.note import Note, listed

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from ..machine.machine import Figure

NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NAMED = re.compile(r"\\\{([a-z]\w*)\\\}")


def sentence(note: str, words: Words) -> str:
    """A note in a language."""
    if isinstance(note, Note):
        values = {name: _value(value, words) for name, value in note.values.items()}
        return words(f"note.{note.code}", **values)
    if words.language == SOURCE:
        return note
    said = texts(FILES[1], words.language)
    numbers = NUMBER.findall(note)
    if key := _plain().get(_opened(note)):
        return said[key].format(*numbers)
    for pattern, key in _open():
        if result := pattern.fullmatch(note):
            return said[key].format(*numbers, **result.groupdict())
    return note


def sentences(notes: Iterable[str], words: Words) -> list[str]:
    """Several."""
    return [sentence(note, words) for note in notes]


def of(figure: Figure, words: Words) -> list[str]:
    """What a figure is taken with: its accumulation, its note."""
    result = [sentence(figure.note, words)] if figure.note else []
    if figure.accumulate:
        result.append(words("machine.accumulate", what=figure.accumulate))
    return result


def caveat(figure: Figure, words: Words) -> str:
    """The same in brackets after a sentence; empty where there is nothing."""
    notes = of(figure, words)
    return words("why.note", notes=words.joined(notes, "sides")) if notes else ""


def dated(figure: Figure, words: Words) -> str:
    """The day of a figure, after its source."""
    return words("why.date", date=figure.date) if figure.date else ""


def _value(value: Any, words: Words) -> Any:
    if isinstance(value, str):
        return sentence(value, words) if isinstance(value, Note) else value
    if isinstance(value, (tuple, list)):
        return listed([_value(part, words) for part in value], words.texts)
    return value


def _opened(note: str) -> str:
    count = iter(range(len(note)))
    return NUMBER.sub(lambda _: f"{{{next(count)}}}", note)


@functools.cache
def _plain() -> Mapping[str, str]:
    return {text: key for key, text in texts(FILES[1], SOURCE).items()}


@functools.cache
def _open() -> list[tuple[re.Pattern[str], str]]:
    # Sentences that names stand in, not numbers alone.
    result = []
    for key, text in texts(FILES[1], SOURCE).items():
        pattern = _NAMED.sub(r"(?P<\1>.+)", re.escape(text))
        if "(?P<" in pattern:
            result.append((re.compile(pattern), key))
    return result
