"""Words: one file per language, the same keys in each; code hands over codes and numbers.

To add a language, add ``xx.json`` here with every key of ``en.json`` (a test checks).
"""

from __future__ import annotations

import json
import os
from typing import Any

from ..errors import InputError

_FOLDER = os.path.dirname(__file__)


class Words:
    """The words of one language.

    >>> Words("en")("label.memory")
    'memory-bound'
    """

    def __init__(self, language: str) -> None:
        if language not in languages():
            known = ", ".join(languages())
            raise InputError(f"no words for the language '{language[:20]}' (known: {known})")
        self.language = language
        with open(os.path.join(_FOLDER, f"{language}.json"), encoding="utf-8") as file:
            self._texts: dict[str, str] = json.load(file)

    def __call__(self, key: str, **values: Any) -> str:
        """The text of a key with its values filled in."""
        return self._texts[key].format(**values)

    def has(self, key: str) -> bool:
        """Whether there is a text of that key."""
        return key in self._texts


def languages() -> tuple[str, ...]:
    """The languages there are words for."""
    return tuple(sorted(f[:-5] for f in os.listdir(_FOLDER) if f.endswith(".json")))


def choose(given: str | None = None) -> Words:
    """The words of the language asked for, else of the locale, else English."""
    if given:
        return Words(given.lower().replace("_", "-").split("-")[0])
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := os.environ.get(name):
            language = value.split("_")[0].split(".")[0].lower()
            return Words(language if language in languages() else "en")
    return Words("en")
