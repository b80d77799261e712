"""A machine by name or from a file (JSON or TOML), every value checked."""

from __future__ import annotations

import json
import os

from .. import catalogue
from ..errors import InputError, NotFound
from ..files.checked import Checked
from ..files.description import parse_json, short
from ..limits import DEVICES, MACHINE_BYTES
from ..model.formats import PRECISIONS
from ..record import replace
from ..spelled import spelled
from .machine import Ceilings, Figure, Link, Machine

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from typing import Any

_FOLDER = os.path.join(os.path.dirname(__file__), "catalogue")

RANGES = {
    "bandwidth": (1e6, 1e16, "bytes per second"),
    "compute": (1e6, 1e19, "FLOP per second, dense"),
    "capacity": (1e6, 1e16, "bytes"),
    "latency": (1e-10, 10.0, "seconds"),
    "overhead": (1e-10, 1e4, "seconds"),
    "power": (1e-2, 1e6, "watts"),
}
"""What a figure may be, in SI base units: outside it, a unit was mistaken."""


def is_here(name: str) -> bool:
    """Whether a machine's name means this machine, or one device of it."""
    return name.lower() == "here" or name.lower().startswith("here:")


def load(name: str) -> Machine:
    """The machine of that name in the catalogue, or of a machine file.

    ``here`` is this machine as ``roofline measure`` stored it; ``here:cpu``, ``here:cuda:1``
    one device of it.

    >>> load("h100-sxm").roof().ridge("bf16")
    295.2...

    Raises:
        NotFound: no such name or file, or one of several; near misses are in the message.
        InputError: the file is not a machine, or has impossible values.
    """
    if os.path.isfile(name) or name.endswith((".json", ".toml")):
        return from_file(name)
    if is_here(name):
        from .here import path_of_here

        result = from_file(path_of_here(name))
        known = result.measured.bandwidth or result.measured.compute
        return replace(result, prefers="measured") if known else result
    entry, said = _named(name), tuple[str, ...]()
    if entry is None:
        entry, said = find(name)
    machine = from_data(entry, entry["id"], entry["sources"])
    return replace(machine, assumed=(*machine.assumed, *said)) if said else machine


def taken(machine: Machine | str | os.PathLike[str]) -> Machine:
    """A machine that is handed over: itself, or by its name or path.

    Raises:
        NotFound, InputError: as :func:`load`.
    """
    if isinstance(machine, Machine):
        return machine
    return load(machine) if isinstance(machine, str) else from_file(os.fspath(machine))


@spelled(name=("a machine's name or a path", "str", "PathLike", "Machine"))
def load_machine(name: str | os.PathLike[str] | Machine) -> Machine:
    """The machine of that name or path, to be asked about as often as one likes.

    >>> load_machine("h100-sxm").memory.value
    8...

    Raises:
        NotFound, InputError: as for :func:`load`.
        TypeError: an unknown keyword, or a value of another kind.
    """
    return taken(name)


def find(name: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The catalogue's entry of a name, also one that a system or tool prints, and what such a
    name leaves open.

    Raises:
        NotFound: no such name, or one of several; near misses are in the message.
    """
    from .names import Known, printed
    from .spelling import spellings

    every = entries()
    meant = printed(name, Known.of(every))
    if meant is not None:
        return next(e for e in every if e["id"] == meant.id), meant.notes
    bare = min(spellings(name), key=len, default="")
    missing = catalogue.missing(name, bare, every, "machine")
    raise NotFound(
        f"{missing}; or give its figures: --bandwidth 400GB/s --peak 28TFLOP/s --memory 64GB"
    )


def vendors() -> list[str]:
    """The catalogue's files by name, processors and what is of no vendor of its own last."""
    stems = [name.removesuffix(".json") for name in os.listdir(_FOLDER) if name.endswith(".json")]
    return sorted(stems, key=lambda stem: (stem in ("cpu", "other"), stem))


def entries() -> list[dict[str, Any]]:
    """The catalogue's entries, each with the sources of its file."""
    result = []
    for vendor in vendors():
        data = catalogue.read(f"machine/catalogue/{vendor}.json")
        result += [{**m, "sources": data["sources"]} for m in data["machines"]]
    return result


def _named(name: str) -> dict[str, Any] | None:
    # The usual case, an id or alias as it is spelled: only its own entry is parsed.
    for vendor in sorted(vendors(), key=lambda stem: stem != "nvidia"):  # most are asked for there
        text = catalogue.text_of(f"machine/catalogue/{vendor}.json")
        if entry := catalogue.pick(text, name):
            start = text.index("{", text.index('"sources":'))
            return {**entry, "sources": json.JSONDecoder().raw_decode(text, start)[0]}
    return None


def from_file(path: str) -> Machine:
    """The machine of a file, ``.toml`` or JSON."""
    if not os.path.isfile(path):
        raise NotFound(f"{path}: no such file")
    try:
        if os.path.getsize(path) > MACHINE_BYTES:
            raise InputError(f"{path}: too large for a machine file")
        with open(path, "rb") as file:
            text = file.read(MACHINE_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    data: Any
    if path.endswith(".toml"):
        import tomllib

        try:
            data = tomllib.loads(text.decode())
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}: not TOML: {error}") from None
    else:
        data = parse_json(text, path)
    return from_data(data, path)


def from_data(data: Any, where: str, sources: Any = None) -> Machine:
    """The machine of a parsed file.

    Raises:
        InputError: what is missing or impossible, and where.
    """
    return _Reader(where, data, sources).machine()


class _Reader(Checked):
    def __init__(self, where: str, data: Any, sources: Any) -> None:
        super().__init__(where)
        self.data = self.table(data, "the file")
        self.sources = sources or self.section(self.data, "sources")

    def section(self, of: dict[str, Any], name: str) -> dict[str, Any]:
        return {} if of.get(name) is None else self.table(of[name], name)

    def sentences(self, name: str) -> tuple[str, ...]:
        value = self.data.get(name)
        if value is None:
            return ()
        return tuple(self.texts(value, name))

    def preferred(self) -> str:
        value = self.said(self.data, "ceilings")
        if value not in ("", "datasheet", "measured"):
            raise self.wrong(f"ceilings must be datasheet or measured, not {short(value)}")
        return value

    def said(self, of: dict[str, Any], name: str, default: str = "") -> str:
        return self.text(of.get(name, default), name)

    def figure(self, value: Any, what: str, unit: str, kind: str = "datasheet") -> Figure:
        given = value if isinstance(value, dict) else {"value": value}
        number = self.number(given.get("value"), what, *RANGES[unit])
        key = self.said(given, "source")
        source = self.table(self.sources.get(key, {"title": key}), f"source {short(key)}")
        spread = given.get("spread")
        if spread is not None and not (isinstance(spread, (int, float)) and 0 <= spread < 10):
            raise self.wrong(f"{what}: spread must be a fraction, not {short(spread)}")
        return Figure(
            value=number,
            kind=kind,
            source=self.said(source, "title"),
            url=self.said(source, "url"),
            date=self.said(given, "date") or self.said(source, "date"),
            accumulate=self.said(given, "accumulate"),
            note=self.said(given, "note"),
            spread=spread,
        )

    def optional(self, of: dict[str, Any], name: str, unit: str) -> Figure | None:
        value = of.get(name)
        return None if value is None else self.figure(value, name, unit)

    def ceilings(self, kind: str) -> Ceilings:
        section = self.section(self.data, kind)
        result: dict[str, dict[str, Figure]] = {}
        for unit in ("bandwidth", "compute", "overhead"):
            table = self.section(section, unit)
            result[unit] = {
                name: self.figure(value, f"{kind}.{unit}.{name}", unit, kind)
                for name, value in table.items()
                if value is not None
            }
        for name in result["compute"]:
            if name not in PRECISIONS:
                known = ", ".join(PRECISIONS)
                raise self.wrong(f"{kind}.compute.{name[:30]}: no such precision (known: {known})")
        return Ceilings(**result)

    def links(self) -> tuple[Link, ...]:
        given = self.data.get("links")
        if given is None:
            return ()
        if not isinstance(given, list):
            raise self.wrong("links must be a list")
        result = []
        for item in given:
            link = self.table(item, "each link")
            devices = link.get("devices", 2)
            if type(devices) is not int or not 1 <= devices <= DEVICES:
                raise self.wrong(f"links: devices must be a whole number, not {short(devices)}")
            result.append(
                Link(
                    self.said(link, "name", "link"),
                    self.figure(link.get("bandwidth"), "links: bandwidth", "bandwidth"),
                    self.optional(link, "latency", "latency"),
                    devices,
                    self.said(link, "scope", "node"),
                    self.said(link, "topology"),
                )
            )
        return tuple(result)

    def doubts(self) -> tuple[str, ...]:
        """Codes of what `roofline measure` would have refused to keep, had it not been forced."""
        measurement = self.section(self.data, "measurement")
        findings = measurement.get("findings")
        result = [
            str(finding["code"])[:30]
            for finding in (findings if isinstance(findings, list) else [])
            if isinstance(finding, dict) and finding.get("level") == "refuse" and "code" in finding
        ]
        return tuple(dict.fromkeys(result))

    def machine(self) -> Machine:
        data = self.data
        name = self.said(data, "name")
        if not name:
            raise self.wrong(
                "name is missing: is this a machine file? 'roofline machines --template' shows one"
            )
        memory = self.section(data, "memory")
        cache = self.section(data, "cache")
        unified = memory.get("unified", False)
        if not isinstance(unified, bool):
            raise self.wrong(f"memory.unified must be true or false, not {short(unified)}")
        machine = Machine(
            id=self.said(data, "id") or catalogue.key(name),
            name=name,
            vendor=self.said(data, "vendor"),
            kind=self.said(data, "kind", "gpu"),
            generation=self.said(data, "generation"),
            released=self.said(data, "released"),
            capacity=self.optional(memory, "capacity", "capacity"),
            usable=self.optional(memory, "usable", "capacity"),
            memory_type=self.said(memory, "type"),
            unified=unified,
            cache_level=self.said(cache, "level"),
            cache=self.optional(cache, "capacity", "capacity"),
            datasheet=self.ceilings("datasheet"),
            measured=self.ceilings("measured"),
            links=self.links(),
            power=self.optional(data, "power", "power"),
            prefers=self.preferred(),
            notes=self.sentences("notes"),
            assumed=self.sentences("assumed"),
            doubts=self.doubts(),
            aliases=self.sentences("aliases"),
        )
        machine.roof()  # a machine without any ceiling is no machine
        return machine
