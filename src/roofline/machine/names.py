"""Machines by the names that operating systems, tools and clouds print.

A printed name has more in it than a name: ``Intel(R) Xeon(R) Platinum 8480+``, ``AMD Ryzen 9
7950X 16-Core Processor``, ``AMD Radeon RX 7900 XTX (RADV NAVI31)``, ``8x H100 SXM``. What is not
part of the name is taken off, a piece at a time, and each result looked up as it is spelled; a
word that tells parts apart (Laptop, PCIe, Ti) is never taken off. Names that do not say all, such
as ``Apple M3 Max`` or ``p5.48xlarge``, stand in ``names.json`` with what is said of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from .. import catalogue
from ..errors import NotFound
from ..record import record

_TAKEN_OFF = (
    re.compile(r"\((?:R|TM|C)\)|[®™©]", re.IGNORECASE),
    re.compile(r"\s*\([^()]*\)\s*\Z"),  # a driver: (RADV NAVI31), (DG2)
    re.compile(r"\s*,?\s*compute capability.*\Z", re.IGNORECASE),
    re.compile(r"\s*@\s*[\d.]+\s*GHz\s*\Z", re.IGNORECASE),
    re.compile(r"\s+(?:w/|with)\s+.*\Z", re.IGNORECASE),
    re.compile(r"\A\d+th\s+Gen\s+", re.IGNORECASE),
    re.compile(r"\s+\d+-Core(?:s)?\b", re.IGNORECASE),
    re.compile(r"\s+(?:Processor|CPU|GPU|Graphics|Series|OAM|Developer Kit)\b", re.IGNORECASE),
    re.compile(r"\bGPU\s+\d+\s*:\s*", re.IGNORECASE),
    re.compile(r"\A(?:NVIDIA|AMD|ATI|Intel|Apple|Google|Huawei|AWS)\s+", re.IGNORECASE),
    re.compile(r"\A(?:Tesla|GeForce|Radeon|Instinct|Xeon|Core|DCU)\s+", re.IGNORECASE),
)
_COUNT = re.compile(
    r"\A\s*(\d{1,4})\s*[x×*]\s+(?=\D)|\A\s*(\d{1,4})[x×](?=[A-Za-z])", re.IGNORECASE
)


@record
class Named:
    """What a printed name means.

    Attributes:
        id: of the catalogue's entry.
        note: what the name leaves open, or how many it means; empty where it says all.
    """

    id: str
    note: str = ""


def spellings(name: str) -> Iterator[str]:
    """A printed name, then with ever more taken off that is no part of it.

    >>> list(spellings("AMD Ryzen 9 7950X 16-Core Processor"))[-1]
    'Ryzen 9 7950X'
    """
    seen = dict.fromkeys([" ".join(name.split())])
    for pattern in _TAKEN_OFF:
        for text in tuple(seen):
            shorter = " ".join(pattern.sub(" ", text).split())
            if shorter:
                seen.setdefault(shorter)
    yield from seen


def printed(name: str, known: dict[str, str]) -> Named | None:
    """The entry that a printed name means, ``None`` if it is none that is known.

    Args:
        name: as it was printed.
        known: every id, name and alias of the catalogue, squeezed → id.

    Raises:
        NotFound: it means one of several; they are named.
    """
    count = _COUNT.match(name)
    rest = name[count.end() :] if count else name
    how_many = int(count[1] or count[2]) if count else 1
    for text in spellings(rest):
        key = squeezed(text)
        entry = _data()["taken"].get(key)
        if entry is not None:
            said = entry.get("note", "")
            return Named(entry["id"], _joined(said, name, how_many * entry.get("count", 1)))
        if key in known:
            return Named(known[key], _joined("", name, how_many))
        if key in _data()["of"]:
            of = ", ".join(_data()["of"][key])
            raise NotFound(f"'{name[:80]}' may be any of {of}: name one of them")
    return None


def squeezed(name: str) -> str:
    """A name as it is compared: case, spaces and punctuation do not count."""
    return catalogue.key(name).replace("-", "")


def _joined(note: str, name: str, count: int) -> str:
    many = (
        f"{name} is {count} of them: one is counted, --tp {count} counts all" if count > 1 else ""
    )
    return "; ".join(part for part in (note, many) if part)


@lru_cache(maxsize=1)
def _data() -> dict[str, dict[str, Any]]:
    data = catalogue.read("machine/names.json")
    return {part: {squeezed(k): v for k, v in data[part].items()} for part in ("taken", "of")}
