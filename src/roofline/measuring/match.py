"""Which part of the catalogue a driver's device name means, or none.

``NVIDIA A100-SXM4-80GB`` and ``NVIDIA H100 80GB HBM3`` are names drivers give;
the sheet's roof may only be drawn beside the measured one when chip, form and
memory size all fit exactly one entry. Nothing is guessed.
"""

from __future__ import annotations

import re
from typing import Any

Entry = dict[str, Any]

_FORMS = {"sxm", "pcie", "nvl"}
_NOISE = {
    "nvidia",
    "tesla",
    "geforce",
    "quadro",
    "amd",
    "instinct",
    "radeon",
    "intel",
    "apple",
    "gpu",
    "graphics",
    "r",
    "tm",
    "generation",
    "accelerator",
    "data",
    "center",
    "max-q",
    "rx",
    "oam",
    "xeon",
    "cpu",
    "processor",
    "with",
}
_SIZE = re.compile(r"\d+gb")
_MEMORY_TYPE = re.compile(r"(hbm|gddr|lpddr)\w*")
_LEAST, _MOST = 0.85, 1.03  # of the sheet's capacity, what a driver reports as total


def tokens(name: str) -> set[str]:
    """The words of a name, forms spelled alike, sizes and memory types left out."""
    words = set(re.findall(r"[a-z0-9+]+", name.lower()))
    out = {re.sub(r"^sxm\d$", "sxm", word) for word in words}
    return {w for w in out if not (_SIZE.fullmatch(w) or _MEMORY_TYPE.fullmatch(w))}


def part(name: str, memory: int | None, entries: list[Entry]) -> Entry | None:
    """The one entry that ``name`` with ``memory`` bytes means, or None."""
    wanted = tokens(name)
    form = wanted & _FORMS
    core = wanted - _FORMS - _NOISE
    if not core:
        return None
    fits = [e for e in entries if _core(e) == core and _holds(e, memory)]
    if form:
        fits = [e for e in fits if _forms(e) == form] or [e for e in fits if not _forms(e)]
    elif len(fits) > 1:
        # drivers name the form only of the lesser ones: "NVIDIA H200" is the SXM part
        fits = [e for e in fits if _forms(e) <= {"sxm"}]
    return fits[0] if len(fits) == 1 else None


def _core(entry: Entry) -> set[str]:
    return tokens(entry["id"].replace("-", " ")) - _FORMS - _NOISE


def _forms(entry: Entry) -> set[str]:
    return tokens(entry["id"].replace("-", " ")) & _FORMS


def _holds(entry: Entry, memory: int | None) -> bool:
    capacity = entry.get("memory", {}).get("capacity")
    value = capacity.get("value") if isinstance(capacity, dict) else capacity
    return memory is None or value is None or _LEAST * value <= memory <= _MOST * value
