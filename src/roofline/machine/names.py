"""Machines by the names that operating systems, tools and clouds print.

A printed name is looked up as it is spelled, then with what is no part of it taken off
(``spelling.py``). Names that do not say all, such as ``Apple M3 Max`` or ``p5.48xlarge``, stand in
``names.json`` with what is said of them. A name that fits several machines is none of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from .. import catalogue
from ..errors import NotFound
from ..record import record
from ..words.note import Note
from .spelling import counted, detailed, spellings

_MAKERS = frozenset(
    "nvidia amd ati intel apple google huawei aws geforce radeon tesla instinct gpu cpu".split()
)
_GFX = re.compile(r"\bgfx\d{3,4}[a-z]?\b", re.IGNORECASE)
MOST_NAMED = 8


@record
class NamedMachine:
    """What a printed name means.

    Attributes:
        id: of the catalogue's entry.
        notes: what the name leaves open, and how many it means.
        count: how many it means.
    """

    id: str
    notes: tuple[str, ...] = ()
    count: int = 1


@record
class Known:
    """The catalogue's names.

    Attributes:
        entries: by id.
        spelled: every id, name and alias, squeezed → id.
        worded: the words of each in order of the alphabet, makers' left out → id; empty where
            they are those of several.
    """

    entries: Mapping[str, Mapping[str, Any]]
    spelled: Mapping[str, str]
    worded: Mapping[tuple[str, ...], str]

    @classmethod
    def of(cls, entries: Iterable[Mapping[str, Any]]) -> Known:
        """The names of these entries."""
        listed = {e["id"]: e for e in entries}
        spelled: dict[str, str] = {}
        worded: dict[tuple[str, ...], str] = {}
        for e in listed.values():
            for label in (e["id"], e["name"], *e.get("aliases", ())):
                spelled.setdefault(squeezed(label), e["id"])
                words = _words(label)
                worded[words] = e["id"] if worded.get(words, e["id"]) == e["id"] else ""
        return cls(listed, spelled, worded)

    def one(self, text: str) -> NamedMachine | None:
        """The entry of a name that is spelled just so, in any order of its words."""
        entry = _data()["taken"].get(squeezed(text))
        if entry is not None:
            return NamedMachine(entry["id"], _notes(entry), entry.get("count", 1))
        found = self.spelled.get(squeezed(text)) or self.worded.get(_words(text) or ("",))
        return NamedMachine(found) if found else None

    def several(self, text: str) -> list[str]:
        """The ids of entries that have all words of a name."""
        of: list[str] | None = _data()["of"].get(squeezed(text))
        words = _words(text)
        if of is None and words:
            these = frozenset(words)
            of = list(dict.fromkeys(i for w, i in self.worded.items() if i and these <= {*w}))
        return of or []


def printed(name: str, known: Known) -> NamedMachine | None:
    """The entry that a printed name means, ``None`` if it is none that is known.

    Args:
        name: as it was printed.
        known: the catalogue's names.

    Raises:
        NotFound: it means one of several, which are named, or a part with another memory.
    """
    found = _plain(name, known) or _listed(name, known) or _with_details(name, known)
    if found is not None:
        return found
    for code in _GFX.findall(name):
        if code.lower() != name.lower() and (found := printed(code, known)):
            return found
    for _, rest in counted(name):
        for text in reversed(list(spellings(rest))):
            if len(of := known.several(text)) > 1:
                raise NotFound(_any_of(name, of))
        without, said = detailed(rest)
        for text in reversed(list(spellings(without)) if said else []):
            of = [i for i in known.several(text) if _has(known.entries[i], said)]
            if len(of) > 1:
                raise NotFound(_any_of(name, of))
    return None


def squeezed(name: str) -> str:
    """A name as it is compared: case, spaces and punctuation do not count."""
    return catalogue.key(name).replace("-", "")


def _words(name: str) -> tuple[str, ...]:
    return tuple(sorted(w for w in catalogue.key(name).split("-") if w and w not in _MAKERS))


def _plain(name: str, known: Known) -> NamedMachine | None:
    # A name, or a number of them; 'H100s' are several of one, where no part is called so.
    for count, rest in counted(name):
        for text in spellings(rest):
            found = known.one(text)
            if count > 1 and text.endswith("s") and text[:-1] != text[:-1].lower():
                single = known.one(text[:-1])
                if found and (of := [single.id] if single else known.several(text[:-1])):
                    raise NotFound(_any_of(name, list(dict.fromkeys((found.id, *of)))))
                found = found or single
            if found is not None:
                return _many(found, count, name, known)
    return None


def _notes(entry: Mapping[str, Any]) -> tuple[str, ...]:
    return (entry["note"],) if entry.get("note") else ()


def _many(found: NamedMachine, count: int, name: str, known: Known) -> NamedMachine:
    entry = known.entries[found.id]
    if entry["kind"] == "cpu":
        both = f"{found.id}-2s"
        if count == 2 and both in known.entries:
            return NamedMachine(both, found.notes)
        many = Note("machine.sockets", name=name, count=count)
    else:
        count *= found.count
        many = Note("machine.several", name=name, count=count)
    notes = (*found.notes, many) if count > 1 else found.notes
    return NamedMachine(found.id, notes, count)


def _listed(name: str, known: Known) -> NamedMachine | None:
    # 'RTX 4090, RTX 4090' is two of one; 'RX 7900 XT/7900 XTX' is one of two.
    parts = [part.strip() for part in re.split(r"\s*[,+]\s+", name) if part.strip()]
    if len(parts) > 1:
        found = [_plain(part, known) for part in parts]
        ids = [part.id for part in found if part]
        if len(ids) == len(parts):
            if len(set(ids)) > 1:
                of = ", ".join(dict.fromkeys(ids))
                raise NotFound(f"'{name[:80]}' names several machines ({of}): give one of them")
            return _many(NamedMachine(ids[0]), len(ids), name, known)
    text = min(spellings(name), key=len, default="")
    head, *rest = [part.strip() for part in text.split("/")]
    if rest and head:
        words = head.split()
        meant = [_plain(head, known)]
        for part in rest:
            tries = (" ".join((*words[:n], part)) for n in range(len(words)))
            meant.append(next((x for x in (_plain(t, known) for t in tries) if x), None))
        ids = list(dict.fromkeys(x.id for x in meant if x))
        if len(ids) > 1:
            raise NotFound(_any_of(name, ids))
    return None


def _with_details(name: str, known: Known) -> NamedMachine | None:
    # 'RTX 4090 24GB GDDR6X': what a name says of the part has to be so.
    for count, full in reversed(list(counted(name))):
        rest, said = detailed(full)
        found = _plain(rest, known) if said and rest else None
        if found is None:
            continue
        entry = known.entries[found.id]
        memory, size = entry["memory"], said.get("capacity")
        if "memory" in said and said["memory"].lower() != memory["type"].lower():
            raise NotFound(f"'{name[:80]}': {found.id} has {memory['type']}, not {said['memory']}")
        if "bus" in said and not _on_pcie(entry):
            raise NotFound(f"'{name[:80]}': {found.id} is no PCIe card, and no other is known")
        if size and not _has(entry, said):
            raise NotFound(
                f"'{name[:80]}': {found.id} has {memory['capacity']['value'] / 2**30:.4g} GB of "
                f"memory; --on {found.id} --memory {size}GB counts one that has {size}"
            )
        if size and ("capacity" not in memory or memory["unified"]):
            note = Note("machine.memory", size=size)
            found = NamedMachine(found.id, (*found.notes, note), found.count)
        return _many(found, count, name, known)
    return None


def _has(entry: Mapping[str, Any], said: Mapping[str, str]) -> bool:
    # Whether a part has, or can be bought with, the memory that a name says.
    memory, size = entry["memory"], float(said.get("capacity", 0))
    capacity = memory.get("capacity", {}).get("value", 0)
    if not (size and capacity) or memory["unified"]:
        return True
    return any(abs(capacity / unit / size - 1) < 0.02 for unit in (1e9, 2**30))


def _on_pcie(entry: Mapping[str, Any]) -> bool:
    # Cards may have bridges between two to four; a fabric of eight is a board's.
    links = [x for x in entry.get("links", ()) if x["scope"] == "node"]
    return any("PCIe" in x["name"] for x in links) and not any(
        x["devices"] >= 8 and "PCIe" not in x["name"] for x in links
    )


def _any_of(name: str, ids: list[str]) -> str:
    more = f" and {len(ids) - MOST_NAMED} more" if len(ids) > MOST_NAMED else ""
    of = ", ".join(ids[:MOST_NAMED])
    return f"'{name[:80]}' may be any of {of}{more}: name one of them"


@lru_cache(maxsize=1)
def _data() -> dict[str, dict[str, Any]]:
    data = catalogue.read("machine/names.json")
    return {part: {squeezed(k): v for k, v in data[part].items()} for part in ("taken", "of")}
