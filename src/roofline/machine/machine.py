"""A machine: its ceilings, its memory, its links, each figure with its source."""

from __future__ import annotations

from ..errors import UnsupportedError
from ..record import field, record
from ..rows import Rows

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# What runs a product where the machine has no unit for its format: 8- and 4-bit weights are
# widened as they are read, bf16 runs as fp16 on a machine that has only that, and so on.
WIDER = {
    "fp4": ("bf16", "fp16", "fp32"),
    "int4": ("bf16", "fp16", "fp32"),
    "fp6": ("bf16", "fp16", "fp32"),
    "fp8": ("bf16", "fp16", "fp32"),
    "int8": ("bf16", "fp16", "fp32"),
    "bf16": ("fp16", "fp32"),
    "fp16": ("bf16", "fp32"),
    "tf32": ("fp32",),
    "fp32": ("tf32",),
    "fp64": (),
}


@record
class Figure:
    """One number about a machine, and where it comes from.

    Attributes:
        value: in SI base units: bytes, bytes/s, FLOP/s, seconds, watts.
        kind: ``datasheet`` or ``measured``.
        source: title of the source; empty where the file gives none.
        url, date: where and when it was published or measured.
        accumulate: what the products are summed in, ``fp32`` or ``fp16``, where known.
        note: a caveat.
        spread: relative spread of a measurement, where known.
    """

    value: float
    kind: str = "datasheet"
    source: str = ""
    url: str = ""
    date: str = ""
    accumulate: str = ""
    note: str = ""
    spread: float | None = None

    def to_json(self) -> dict[str, Any]:
        """The figure as JSON, empty parts left out."""
        result = {name: getattr(self, name) for name in type(self).__match_args__}
        return {k: v for k, v in result.items() if v not in ("", None)}


@record
class Link:
    """A connection to other devices.

    Attributes:
        name: ``NVLink 4``.
        bandwidth: bytes/s of one device in one direction.
        latency: seconds a message, or ``None`` where unknown.
        devices: how many devices it joins, this one included.
        scope: ``node``, ``rack`` or ``cluster``; ``host`` for one to the host's processor, which
            joins no devices to each other.
        topology: ``mesh`` where every pair of devices has wires of its own, so that few of them
            have only their share of the bandwidth; else empty.
    """

    name: str
    bandwidth: Figure
    latency: Figure | None
    devices: int
    scope: str
    topology: str = ""

    def to_json(self) -> dict[str, Any]:
        """The link as JSON, each figure with its source; ``None`` where it is unknown."""
        return {
            "name": self.name,
            "bandwidth": self.bandwidth.to_json(),
            "latency": self.latency.to_json() if self.latency else None,
            "devices": self.devices,
            "scope": self.scope,
            "topology": self.topology or None,
        }


@record
class Ceilings:
    """Ceilings of one kind, datasheet's or measured.

    Attributes:
        bandwidth: bytes/s by level: ``memory``, and where measured ``L1``, ``L2``, ….
        compute: dense FLOP/s by precision.
        overhead: seconds by what: ``launch``, ….
    """

    bandwidth: Mapping[str, Figure] = field(default_factory=dict)
    compute: Mapping[str, Figure] = field(default_factory=dict)
    overhead: Mapping[str, Figure] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The ceilings as JSON, each with its source."""
        return {
            what: {name: figure.to_json() for name, figure in getattr(self, what).items()}
            for what in type(self).__match_args__
        }


@record
class Roof:
    """The two ceilings that a step is held against.

    Attributes:
        kind: ``datasheet`` or ``measured``: what was asked for.
        bandwidth: of the memory.
        compute: by precision.
    """

    machine: str
    kind: str
    bandwidth: Figure
    compute: Mapping[str, Figure]

    def peak(self, precision: str) -> Figure:
        """The dense compute ceiling of exactly this precision.

        Raises:
            UnsupportedError: it is not known.
        """
        if precision in self.compute:
            return self.compute[precision]
        known = ", ".join(self.compute) or "none"
        raise UnsupportedError(
            f"{self.machine}: no {precision} compute ceiling is known (known: {known}); choose "
            f"another with --compute, or give a machine file that has it"
        )

    def arithmetic(self, precision: str) -> tuple[str, Figure]:
        """The precision that products run in: this one, or the next wider that is known.

        Raises:
            UnsupportedError: neither it nor a wider one is known.
        """
        for candidate in (precision, *WIDER.get(precision, ())):
            if candidate in self.compute:
                return candidate, self.compute[candidate]
        return precision, self.peak(precision)

    def ridge(self, precision: str) -> float:
        """peak / bandwidth, FLOP/byte."""
        return self.peak(precision).value / self.bandwidth.value


@record
class Machine(Rows):
    """One device (a GPU, an accelerator, a chip or a CPU socket).

    Attributes:
        id, name, vendor, kind: how it is called; ``kind`` is gpu, accelerator, soc or cpu.
        generation: parts alike in what they reach of their figures, ``hopper``; empty where
            none is known (``predicting/profiles/generations.json`` lists them).
        capacity, usable: bytes of memory, and what of it programs can have; or ``None``.
        memory_type: ``HBM3``.
        unified: whether the memory is shared with the host's programs.
        cache_level, cache: its last level of cache, or ``None`` where unknown.
        datasheet, measured: its ceilings, of either kind.
        links: connections to other devices.
        power: watts, or ``None``.
        prefers: the ceilings that hold where none are asked for: ``measured`` for this machine
            and for files that say so, else empty.
        notes: caveats.
        assumed: what is taken of a machine whose name or make leaves it open: which bin, one of
            several devices, both dies of a package. Said with every answer.
        doubts: what made its measured ceilings doubtful while they were taken: codes such as
            ``busy`` or ``steal``.
    """

    id: str
    name: str
    vendor: str = ""
    kind: str = "gpu"
    generation: str = ""
    released: str = ""
    capacity: Figure | None = None
    usable: Figure | None = None
    memory_type: str = ""
    unified: bool = False
    cache_level: str = ""
    cache: Figure | None = None
    datasheet: Ceilings = field(default_factory=Ceilings)
    measured: Ceilings = field(default_factory=Ceilings)
    links: tuple[Link, ...] = ()
    power: Figure | None = None
    prefers: str = ""
    notes: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()

    @property
    def memory(self) -> Figure | None:
        """Bytes of memory that programs can have: ``usable`` where known, else all."""
        return self.usable or self.capacity

    def rows(self) -> list[dict[str, Any]]:
        """A row for each ceiling: its kind (datasheet or measured), what it bounds (bandwidth,
        compute, overhead), name, value in B/s, FLOP/s or s, source, date and relative spread."""
        units = {"bandwidth": "B/s", "compute": "FLOP/s", "overhead": "s"}
        return [
            {
                "machine": self.id, "kind": kind, "what": what, "name": name,
                "value": figure.value, "unit": unit, "source": figure.source or None,
                "date": figure.date or None, "spread": figure.spread,
            }
            for kind, ceilings in (("datasheet", self.datasheet), ("measured", self.measured))
            for what, unit in units.items()
            for name, figure in getattr(ceilings, what).items()
        ]  # fmt: skip

    @property
    def default_ceilings(self) -> str:
        """The ceilings that hold where none are asked for: ``datasheet`` or ``measured``."""
        if self.prefers:
            return self.prefers
        only = "memory" not in self.datasheet.bandwidth and "memory" in self.measured.bandwidth
        return "measured" if only else "datasheet"

    def roof(self, kind: str | None = None) -> Roof:
        """The ceilings to hold a step against.

        Args:
            kind: ``datasheet`` or ``measured``; by default :attr:`default_ceilings`. Single
                figures that are missing come from the other kind, each saying so itself.

        Raises:
            UnsupportedError: neither has a memory bandwidth or a compute ceiling.
        """
        kind = kind or self.default_ceilings
        first, second = (
            (self.datasheet, self.measured)
            if kind == "datasheet"
            else (self.measured, self.datasheet)
        )
        if not (first.bandwidth or first.compute):
            raise UnsupportedError(f"{self.name}: no {kind} ceilings are known")
        bandwidth = first.bandwidth.get("memory") or second.bandwidth.get("memory")
        compute = {**second.compute, **first.compute}
        if bandwidth is None or not compute:
            what = "memory bandwidth" if bandwidth is None else "compute ceiling"
            raise UnsupportedError(f"{self.name}: no {what} is known")
        return Roof(self.name, kind, bandwidth, compute)

    def to_json(self) -> dict[str, Any]:
        """The machine as JSON, each figure with its source; the ridge per precision beside it."""
        roof = self.roof()
        return {
            "id": self.id,
            "name": self.name,
            "vendor": self.vendor,
            "kind": self.kind,
            "generation": self.generation or None,
            "released": self.released or None,
            "aliases": list(self.aliases),
            "memory": {
                "type": self.memory_type or None,
                "unified": self.unified,
                "capacity": self.capacity.to_json() if self.capacity else None,
                "usable": self.usable.to_json() if self.usable else None,
            },
            "cache": (
                {"level": self.cache_level, "capacity": self.cache.to_json()}
                if self.cache
                else None
            ),
            "datasheet": self.datasheet.to_json(),
            "measured": self.measured.to_json(),
            "ridge": {precision: roof.ridge(precision) for precision in roof.compute},
            "links": [link.to_json() for link in self.links],
            "power": self.power.to_json() if self.power else None,
            "notes": list(self.notes),
        }
