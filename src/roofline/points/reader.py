"""A line of a points file as a point, every value checked."""

from __future__ import annotations

from typing import Any

from ..count.group import Group
from ..errors import InputError
from ..files.checked import Checked
from ..files.description import short
from ..parallel.layout import Parallel
from .point import BASES, LAYOUT, NUMBERS, SCHEMA, TEXTS, MeasuredRoof, Part, Point, Seconds, Source

LARGEST, TINIEST = 1e30, 5e-324
"""Numbers of a point are between these: products stay finite."""

MOST_COUNT = 10**15
Range = tuple[float, float]

SECONDS = (1e-9, 1e9)
"""A measured time is from a nanosecond to thirty years."""

CEILING = (1e3, 1e21)
"""Bytes/s and FLOP/s of a machine's ceilings: more than an abacus, less than a city of them."""

_KNOWN = {
    *("schema", "devices", "layout", "parts", "seconds", "roof", "source", "settings", "notes"),
    *("extra", *TEXTS),
    *NUMBERS,
}


def point_from_json(line: Any, where: str) -> Point:
    """The point in a parsed line of a points file.

    Raises:
        InputError: what is wrong with the line, with `where` and the field's name.
    """
    return _Reader(where).point(line)


class _Reader(Checked):
    """Reads a line of a points file."""

    def point(self, line: Any) -> Point:
        """The point."""
        if not isinstance(line, dict):
            raise self.wrong(f"a point is a JSON object, not {short(line)}")
        if line.get("schema") != SCHEMA:
            raise self.wrong(
                f"schema is {short(line.get('schema'))}, this version reads {SCHEMA!r}"
            )
        texts: dict[str, Any] = {name: self.said(line.get(name), name) for name in TEXTS}
        basis, phase = texts.pop("basis") or "steps", texts.pop("phase") or "decode"
        if basis not in BASES:
            raise self.wrong(f"basis is {short(basis)}, not one of {', '.join(BASES)}")
        devices = self.count(line.get("devices", 1), "devices") or 1
        layout = self.layout(line.get("layout"))
        if layout is not None and layout.devices != devices:
            raise self.wrong(f"layout is of {layout.devices} devices, devices is {devices}")
        numbers: dict[str, Any] = {
            name: self.amount(line.get(name), name, zero=name in ("cached", "load"))
            for name in NUMBERS
            if name != "layers"
        }
        extra = dict(self.table(line.get("extra", {}), "extra"))
        extra.update({key: value for key, value in line.items() if key not in _KNOWN})
        return Point(
            parts=self.parts(line.get("parts")),
            seconds=self.seconds(line.get("seconds")),
            basis=basis,
            phase=phase,
            layers=self.count(line.get("layers"), "layers"),
            devices=devices,
            layout=layout,
            **numbers,
            roof=self.roof(line.get("roof")),
            source=self.source(line.get("source")),
            settings=self.table(line.get("settings", {}), "settings"),
            notes=tuple(self.texts(line.get("notes", []), "notes")),
            extra=extra,
            **texts,
        )

    def said(self, value: Any, what: str) -> str | None:
        return None if value is None else self.text(value, what)

    def amount(
        self, value: Any, what: str, within: Range = (TINIEST, LARGEST), *, zero: bool = False
    ) -> float | None:
        return None if value is None else self.number(value, what, *within, zero=zero)

    def count(self, value: Any, what: str, least: int = 1) -> int | None:
        return None if value is None else self.whole(value, what, least, MOST_COUNT)

    def layout(self, value: Any) -> Parallel | None:
        if value is None:
            return None
        said = self.table(value, "layout")
        sizes = {name: self.count(said.get(name), f"layout.{name}") for name in LAYOUT}
        given: dict[str, Any] = {name: size for name, size in sizes.items() if size is not None}
        try:
            return Parallel(**given)
        except InputError as error:
            raise self.wrong(f"layout: {error}") from None

    def parts(self, value: Any) -> tuple[Part, ...]:
        if not isinstance(value, list) or not value:
            raise self.wrong("parts must be a list with at least one part")
        return tuple(self.part(item, f"parts[{i}]") for i, item in enumerate(value))

    def part(self, value: Any, what: str) -> Part:
        part = self.table(value, what)
        grows = part.get("grows", False)
        if not isinstance(grows, bool):
            raise self.wrong(f"{what}.grows must be true or false")
        groups = part.get("groups")
        if not isinstance(groups, list) or not groups:
            raise self.wrong(f"{what}.groups must be a list with at least one group")
        count = self.amount(part.get("count", 1), f"{what}.count") or 1
        return Part(tuple(self.group(g, f"{what}.groups") for g in groups), count, grows)

    def group(self, value: Any, what: str) -> Group:
        group = self.table(value, what)
        batch = self.count(group.get("batch"), f"{what}: batch")
        new = self.count(group.get("new_tokens"), f"{what}: new_tokens")
        past = self.count(group.get("past"), f"{what}: past", 0)
        if batch is None or new is None or past is None:
            raise self.wrong(f"{what}: a group has batch, new_tokens and past")
        return Group(batch, new, past)

    def seconds(self, value: Any) -> Seconds:
        seconds = self.table(value, "seconds")
        median = self.amount(seconds.get("median"), "seconds.median", SECONDS)
        if median is None:
            raise self.wrong("seconds.median is missing: the seconds all parts took together")
        best = self.amount(seconds.get("best"), "seconds.best", SECONDS)
        if best is not None and best > median:
            raise self.wrong(f"seconds.best is {best:g}, slower than the median {median:g}")
        spread = self.amount(seconds.get("spread"), "seconds.spread", zero=True)
        samples = self.count(seconds.get("samples"), "seconds.samples")
        return Seconds(median, best, spread, samples)

    def roof(self, value: Any) -> MeasuredRoof | None:
        if value is None:
            return None
        roof = self.table(value, "roof")
        return MeasuredRoof(
            self.amount(roof.get("bandwidth"), "roof.bandwidth", CEILING),
            self.amounts(roof.get("compute", {}), "roof.compute", CEILING),
            self.amounts(roof.get("overhead", {}), "roof.overhead"),
            self.amount(roof.get("spread"), "roof.spread", (TINIEST, 1.0), zero=True),
        )

    def amounts(
        self, value: Any, what: str, within: Range = (TINIEST, LARGEST)
    ) -> dict[str, float]:
        given = self.table(value, what).items()
        found = {name: self.amount(number, f"{what}.{name}", within) for name, number in given}
        return {name: number for name, number in found.items() if number is not None}

    def source(self, value: Any) -> Source | None:
        if value is None:
            return None
        source = self.table(value, "source")
        record = self.count(source.get("record", 1), "source.record")
        name = self.said(source.get("format"), "source.format")
        file = self.said(source.get("file"), "source.file")
        return Source(name or "?", file or "?", record or 1)
