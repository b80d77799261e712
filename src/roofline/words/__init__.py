"""Words: a language is the files with its name; code hands over codes and numbers.

``xx.json`` here holds what the command line says, ``xx.notes.json`` the notes of data files,
``page/web/xx.json`` and ``page/web/live/xx.json`` what the page alone says. English is the one
that the others are held against: a language that lacks a file, a text or a place to fill is
refused by name, and the others go on.
"""

from __future__ import annotations

import functools
import json
import os

from ..errors import InputError
from ..pattern import pattern

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

SOURCE = "en"
"""The language that texts are written in first."""

FILES = ("words/{}.json", "words/{}.notes.json", "page/web/{}.json", "page/web/live/{}.json")
"""What a language consists of."""

ROOTS = [os.path.dirname(os.path.dirname(__file__))]
"""Folders that hold the files of languages; what is added comes after the package's own."""

_NAME = pattern(r"[a-z]{2,8}\Z")
_PLACE = pattern(r"\{(\w*)")


class Words:
    """The words of one language.

    Raises:
        InputError: there is no such language, or it is incomplete; which file lacks what.

    >>> Words("en")("label.memory")
    'memory-bound'
    """

    def __init__(self, language: str) -> None:
        if language not in languages():
            known = ", ".join(complete())
            raise InputError(f"no words for the language '{language[:20]}' (known: {known})")
        if lacking := lacks(language):
            raise InputError(f"the language '{language}' is incomplete: {lacking}")
        self.language = language
        self.texts = texts(FILES[0], language)

    def __call__(self, key: str, **values: Any) -> str:
        """The text of a key with its values filled in."""
        return self.texts[key].format(**values)

    def has(self, key: str) -> bool:
        """Whether there is a text of that key."""
        return key in self.texts

    def joined(self, parts: Any, joint: str = "list") -> str:
        """Parts in a row: a ``list`` of things, ``clauses`` of a sentence, its ``sides``, whole
        ``sentences``, or what stands ``apart`` in one line."""
        return self.texts[f"joint.{joint}"].join(parts)


def languages() -> tuple[str, ...]:
    """The languages that have a file here, complete or not."""
    result = set()
    for root in ROOTS:
        folder = os.path.join(root, "words")
        names = os.listdir(folder) if os.path.isdir(folder) else []
        result |= {name[:-5] for name in names if name.endswith(".json")}
    return tuple(sorted(name for name in result if _NAME.match(name)))


def complete() -> tuple[str, ...]:
    """The languages that can be spoken."""
    return tuple(name for name in languages() if not lacks(name))


def lacks(language: str) -> str:
    """The first thing that a language lacks, and where; empty where it is complete."""
    return "" if language == SOURCE else _lacks(language, tuple(ROOTS))


@functools.cache
def _lacks(language: str, roots: tuple[str, ...]) -> str:
    for form in FILES:
        name = form.format(language)
        try:
            own = texts(form, language)
        except FileNotFoundError:
            return f"there is no {name}"
        except ValueError as error:
            return f"{name} is no JSON object of texts ({error})"
        english = texts(form, SOURCE)
        if missing := [key for key in english if key not in own]:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            return f"{name} has no '{missing[0]}'{more}"
        for key, text in english.items():
            if set(_PLACE.findall(own[key])) != set(_PLACE.findall(text)):
                return f"{name}: '{key}' has other places to fill than English"
    return ""


def texts(form: str, language: str) -> Mapping[str, str]:
    """The texts of one of a language's files, read once.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it holds something else than texts.
    """
    return _texts(form.format(language), tuple(ROOTS))


@functools.cache
def _texts(name: str, roots: tuple[str, ...]) -> Mapping[str, str]:
    path = next((p for p in (os.path.join(r, name) for r in roots) if os.path.isfile(p)), None)
    if path is None:
        raise FileNotFoundError(name)
    with open(path, encoding="utf-8") as file:
        result = json.load(file)
    if not isinstance(result, dict) or not all(isinstance(text, str) for text in result.values()):
        raise ValueError("a text is something else")
    return result


def choose(given: str | None = None) -> Words:
    """The words of the language asked for, else of the locale, else English."""
    if given:
        return Words(given.lower().replace("_", "-").split("-")[0])
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := os.environ.get(name):
            language = value.split("_")[0].split(".")[0].lower()
            return Words(language if language in languages() and not lacks(language) else SOURCE)
    return Words(SOURCE)
