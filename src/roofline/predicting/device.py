"""What prediction needs to know of a machine, as plain numbers.

A long matrix product does not reach the datasheet's peak: the clock falls under load. What
it can hope for is measured where the machine file has it (``measured.compute``); else it is
the datasheet's peak times the fraction that parts of its generation reach.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from .. import catalogue
from ..errors import UnsupportedError
from ..machine.machine import WIDER, Machine


@dataclass(frozen=True, slots=True)
class Device:
    """One device of a machine.

    Attributes:
        id, name: of the machine.
        vendor: ``nvidia``, ``amd``, ….
        generation: parts alike, ``hopper``; empty where the machine is in none.
        memory_class: ``hbm``, ``gddr``, ``lpddr`` or ``other``.
        bandwidth: of its memory, bytes/s.
        peaks: FLOP/s by precision that a long matrix product can hope for.
        measured: whether that is measured on this machine.
        scale: those peaks over the datasheet's.
        memory: bytes that programs can have, or ``None``.
        labels: whose coefficients hold for it, the most specific first.
        native: precisions that it has a unit for; others run in a wider one.
        vector: FLOP/s of its vector units in fp32, infinite where unknown.
    """

    id: str
    name: str
    vendor: str
    generation: str
    memory_class: str
    bandwidth: Any
    peaks: Mapping[str, Any]
    measured: bool = False
    scale: float = 1.0
    memory: float | None = None
    labels: tuple[str, ...] = ()
    native: frozenset[str] = field(default=frozenset())
    vector: Any = math.inf

    def peak(self, precision: str) -> Any:
        """FLOP/s that products of this precision can hope for, wider where it has no unit.

        Raises:
            UnsupportedError: neither it nor a wider one is known.
        """
        for candidate in (precision, *WIDER.get(precision, ())):
            if candidate in self.peaks:
                return self.peaks[candidate]
        known = ", ".join(self.peaks) or "none"
        raise UnsupportedError(f"{self.name}: no {precision} compute ceiling (known: {known})")


@lru_cache(maxsize=1)
def _generations() -> dict[str, Any]:
    return catalogue.read("predicting/profiles/generations.json")


def attainable(name: str, vendor: str) -> float:
    """The fraction of its datasheet's peak that a long product reaches on such a part."""
    data = _generations()
    entry = data["generations"].get(name, {})
    value = entry.get("attainable", data["attainable"].get(vendor, data["attainable"]["other"]))
    return float(value["value"])


def device(machine: Machine) -> Device:
    """The numbers of a machine.

    Raises:
        UnsupportedError: its memory bandwidth or every peak is unknown.
    """
    roof = machine.roof("datasheet" if machine.datasheet.bandwidth else None)
    vendor = machine.vendor.lower()
    group = machine.generation
    measured = machine.measured.compute
    sheet = machine.datasheet.compute
    scale = attainable(group, vendor)
    known = next((p for p in ("bf16", "fp16", "fp32") if p in measured and p in sheet), None)
    if known:
        scale = measured[known].value / sheet[known].value
    elif not sheet:
        scale = 1.0
    peaks = {p: f.value * scale for p, f in sheet.items()}
    peaks.update({p: f.value for p, f in measured.items()})
    memory = machine.memory_type.lower()
    kind = next((k for k in ("hbm", "gddr", "lpddr") if memory.startswith(k)), "other")
    return Device(
        machine.id,
        machine.name,
        vendor,
        group,
        kind,
        roof.bandwidth.value,
        peaks,
        bool(measured),
        scale,
        machine.memory.value if machine.memory else None,
        tuple(x for x in (group, f"{vendor}-{kind}", vendor) if x),
        frozenset(peaks),
        sheet["fp32"].value if "fp32" in sheet else math.inf,
    )
