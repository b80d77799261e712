"""Finding a name in a catalogue: forgiving about case, punctuation and the org's prefix."""

from __future__ import annotations

import json
import os
import re
from functools import lru_cache

from .errors import NotFound

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_SKIP = re.compile(r"[^a-z0-9.]+")


@lru_cache(1 << 13)
def key(name: str) -> str:
    """A name as it is compared: lower case, words joined by single hyphens, + spelled out."""
    return _SKIP.sub("-", name.lower().replace("+", " plus ")).strip("-")


def read(path: str) -> dict[str, Any]:
    """A catalogue file of the package."""
    data: dict[str, Any] = json.loads(text_of(path))
    return data


def pick(text: str, name: str) -> dict[str, Any] | None:
    """The entry of a catalogue's text whose id or alias is spelled just so, without parsing the
    others; ``None`` if there is none."""
    at = text.find(f'"{name}"')
    while at >= 0:
        start = text.rfind("{", 0, text.rfind('"id": "', 0, at + 1) + 1)
        if start >= 0:
            entry: dict[str, Any] = json.JSONDecoder().raw_decode(text, start)[0]
            if name == entry.get("id") or name in entry.get("aliases", ()):
                return entry
        at = text.find(f'"{name}"', at + 1)
    return None


def text_of(path: str) -> str:
    """A catalogue file of the package, as text."""
    with open(os.path.join(os.path.dirname(__file__), path), encoding="utf-8") as file:
        return file.read()


def find(name: str, entries: Iterable[dict[str, Any]], what: str) -> dict[str, Any]:
    """The entry of that id, alias or name.

    Raises:
        NotFound: none, or several that fit; the message lists the nearest.
    """
    names = _names(entries)
    wanted = key(name)
    bare = key(name.rsplit("/", 1)[-1])
    for candidate in (wanted, bare):
        if candidate in names:
            return names[candidate]
    squeezed = {n.replace("-", ""): e for n, e in names.items()}
    for candidate in (wanted, bare):
        if candidate.replace("-", "") in squeezed:
            return squeezed[candidate.replace("-", "")]
    raise NotFound(_none(name, bare, names, what))


def nearest(name: str, known: Iterable[str], most: int = 3) -> list[str]:
    """The known names that are spelled most like one, for a message, the nearest first."""
    import difflib

    return difflib.get_close_matches(name, list(known), most)


def missing(name: str, bare: str, entries: Iterable[dict[str, Any]], what: str) -> str:
    """The sentence that no entry is called so, with the nearest to its ``bare`` name."""
    return _none(name, key(bare), _names(entries), what)


def _names(entries: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    names: dict[str, dict[str, Any]] = {}
    for entry in entries:
        for label in (entry["id"], entry["name"], *entry.get("aliases", ())):
            names.setdefault(key(label), entry)
    return names


def _none(name: str, bare: str, names: dict[str, dict[str, Any]], what: str) -> str:
    parts = bare.split("-")
    within = [e["id"] for n, e in names.items() if all(p in n for p in parts)] if bare else []
    near = [names[n]["id"] for n in nearest(bare, names, 6)]
    result = list(dict.fromkeys([*within, *near]))[:8]
    hint = f" (did you mean {', '.join(result)}?)" if result else ""
    return f"no {what} '{name[:80]}' in the catalogue{hint}; 'roofline {what}s' lists them all"
