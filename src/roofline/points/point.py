"""One measured point and its JSON form, `roofline.points/1`.

A point is a list of steps and the seconds they took together. Everything else (model, formats,
machine, engine) is there to rebuild the work of those steps, and may be missing: what a result
file does not say stays `None` until somebody says it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ..count.group import Group
from ..errors import InputError, plain
from ..limits import NAME_CHARACTERS
from ..parallel.layout import Parallel
from ..record import replace

SCHEMA = "roofline.points/1"

BASES = ("steps", "token", "first", "run")
"""What the seconds of a point cover.

`steps`  exactly the steps listed, timed as such;
`token`  the mean time between two tokens of a request on a server: other requests' prefill,
         scheduling and the network are in it;
`first`  the time to a request's first token: queueing and the network are in it;
`run`    wall clock of a whole run: prefill, decode, scheduling, start and tail are in it.

Only `steps` gives a percentage of the roof; the others give a lower bound of it.
"""

UNSAID = "batch-unsaid"
"""The note on a point of a whole run whose batch nobody said: its steps are written for one
sequence at a time, and to be taken as for any batch (the work of the tokens is the same)."""

NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Part:
    """`count` steps over the same groups; `past` of the groups is that of the first step.

    With `grows`, every step adds its new tokens to the cache, as decode does: step i sees
    `past + i * new_tokens`. Without, all steps see the same cache. A `count` that is no whole
    number is a mean (a server's waves, an acceptance length).
    """

    groups: tuple[Group, ...]
    count: float = 1
    grows: bool = False

    @property
    def tokens(self) -> float:
        """New tokens of all steps of this part."""
        each: float = sum(group.batch * group.new_tokens for group in self.groups)
        return self.count * each


@dataclass(frozen=True, slots=True)
class Seconds:
    """How long all parts took together, in seconds.

    `spread` is relative to the median: half the distance of the 10th and 90th percentile where
    the samples were kept, the standard deviation where a tool gives only that.
    """

    median: float
    best: float | None = None
    spread: float | None = None
    samples: int | None = None


@dataclass(frozen=True, slots=True)
class MeasuredRoof:
    """Ceilings of this machine in the minutes of the point: bytes/s, and FLOP/s by precision.

    `overhead` holds fixed costs in seconds, such as one kernel launch (`launch`).
    """

    bandwidth: float | None = None
    compute: Mapping[str, float] = field(default_factory=lambda: NOTHING)
    overhead: Mapping[str, float] = field(default_factory=lambda: NOTHING)
    spread: float | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """Where a point was read: the file, the format it was taken for, the record (from 1)."""

    format: str
    file: str
    record: int


@dataclass(frozen=True, slots=True)
class Point:
    """One measurement. SI units; `None` is unknown.

    `model` and `machine` are names or paths, as `roofline explain` takes them; `layers` is set
    where an engine ran a shortened model. `tokens` counts what the engine gave out, which is
    less than the new tokens of the steps where prompts are among them. `layout` says how the
    model lay over the devices, where that is known. `parameters` is the model's size as a file
    says it, by which a row of another model is told. `accept` is the mean number of tokens that a
    step with drafts yields, `cached` the share of prompt tokens that a prefix cache held.
    """

    parts: tuple[Part, ...]
    seconds: Seconds
    basis: str = "steps"
    phase: str = "decode"
    model: str | None = None
    layers: int | None = None
    weights: str | None = None
    kv: str | None = None
    compute: str | None = None
    weight_bytes: float | None = None
    parameters: float | None = None
    accept: float | None = None
    cached: float | None = None
    machine: str | None = None
    devices: int = 1
    layout: Parallel | None = None
    engine: str | None = None
    engine_version: str | None = None
    settings: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    tokens: float | None = None
    roof: MeasuredRoof | None = None
    load: float | None = None
    time: str | None = None
    run: str | None = None
    notes: tuple[str, ...] = ()
    source: Source | None = None
    extra: Mapping[str, Any] = field(default_factory=lambda: NOTHING)

    @property
    def batch(self) -> float:
        """Sequences in the largest part (by steps): the batch people mean."""
        part = max(self.parts, key=lambda part: part.count)
        batch: float = sum(group.batch for group in part.groups)
        return batch

    @property
    def context(self) -> float:
        """Mean tokens the last new token of the largest part attends to, itself included."""
        part = max(self.parts, key=lambda part: part.count)
        total = 0.0
        for group in part.groups:
            grown = (part.count - 1) / 2 * group.new_tokens if part.grows else 0.0
            total += group.batch * (group.past + group.new_tokens + grown)
        return total / self.batch

    @property
    def tokens_per_s(self) -> float:
        """Tokens given out per second; of a prefill, tokens taken in."""
        tokens = self.tokens if self.tokens is not None else sum(p.tokens for p in self.parts)
        return tokens / self.seconds.median

    @property
    def step_seconds(self) -> float:
        """Median seconds of one step (of all parts together)."""
        return self.seconds.median / sum(part.count for part in self.parts)

    def filled(self, **answers: Any) -> Point:
        """The point with what it leaves open taken from `answers`; what it says stays."""
        new = {k: v for k, v in answers.items() if v is not None and getattr(self, k) is None}
        return replace(self, **new) if new else self

    def to_json(self) -> dict[str, Any]:
        """The line that goes into a points file."""
        line: dict[str, Any] = {"schema": SCHEMA}
        for name in _TEXT:
            if (value := getattr(self, name)) is not None:
                line[name] = value
        for name in _NUMBERS:
            if (value := getattr(self, name)) is not None:
                line[name] = value
        line["devices"] = self.devices
        if self.layout is not None:
            line["layout"] = _present(self.layout, LAYOUT)
        line["parts"] = [_part_json(part) for part in self.parts]
        line["seconds"] = _present(self.seconds, ("median", "best", "spread", "samples"))
        if self.roof is not None:
            roof = _present(self.roof, ("bandwidth", "spread"))
            roof["compute"] = dict(self.roof.compute)
            roof["overhead"] = dict(self.roof.overhead)
            line["roof"] = roof
        if self.source is not None:
            line["source"] = _present(self.source, ("format", "file", "record"))
        if self.settings:
            line["settings"] = dict(self.settings)
        if self.notes:
            line["notes"] = list(self.notes)
        if self.extra:
            line["extra"] = dict(self.extra)
        return line


_TEXT = (
    *("basis", "phase", "model", "weights", "kv", "compute", "machine"),
    *("engine", "engine_version", "time", "run"),
)
LAYOUT = ("tp", "pp", "dp", "ep", "microbatches")
_NUMBERS = ("layers", "weight_bytes", "parameters", "accept", "cached", "tokens", "load")
LARGEST = 1e30
"""No number of a point is beyond this: products stay finite."""

SECONDS = (1e-9, 1e9)
"""A measured time is from a nanosecond to thirty years."""

CEILING = (1e3, 1e21)
"""Bytes/s and FLOP/s of a machine's ceilings: more than an abacus, less than a city of them."""

_KNOWN = {
    *("schema", "devices", "layout", "parts", "seconds", "roof", "source", "settings", "notes"),
    *("extra", *_TEXT),
    *_NUMBERS,
}


def _present(thing: Any, names: Iterable[str]) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(thing, name)) is not None}


def _part_json(part: Part) -> dict[str, Any]:
    groups = [{"batch": g.batch, "new_tokens": g.new_tokens, "past": g.past} for g in part.groups]
    return {"count": part.count, "grows": part.grows, "groups": groups}


def point_from_json(line: Any, where: str) -> Point:
    """The point of one line. Fields that this version does not know go to `extra`.

    Raises:
        InputError: what is wrong with the line, with `where` and the field's name.
    """
    if not isinstance(line, dict):
        raise InputError(f"{where}: a point is a JSON object, this is {_kind(line)}")
    schema = line.get("schema")
    if schema != SCHEMA:
        raise InputError(f"{where}: schema is {_short(schema)}, this version reads {SCHEMA!r}")
    texts = {name: _text(line.get(name), f"{where}: {name}") for name in _TEXT}
    basis, phase = texts.pop("basis") or "steps", texts.pop("phase") or "decode"
    if basis not in BASES:
        raise InputError(f"{where}: basis is {_short(basis)}, not one of {', '.join(BASES)}")
    layers = _whole(line.get("layers"), f"{where}: layers", least=1)
    devices = _whole(line.get("devices", 1), f"{where}: devices", least=1)
    layout = _layout(line.get("layout"), f"{where}: layout")
    if layout is not None and layout.devices != devices:
        raise InputError(f"{where}: layout is of {layout.devices} devices, devices is {devices}")
    extra = dict(_object(line.get("extra", {}), f"{where}: extra"))
    extra.update({key: value for key, value in line.items() if key not in _KNOWN})
    notes = line.get("notes", [])
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        raise InputError(f"{where}: notes must be a list of strings")
    return Point(
        parts=_parts(line.get("parts"), f"{where}: parts"),
        seconds=_seconds(line.get("seconds"), f"{where}: seconds"),
        basis=basis,
        phase=phase,
        layers=layers,
        devices=devices or 1,
        layout=layout,
        weight_bytes=_number(line.get("weight_bytes"), f"{where}: weight_bytes"),
        parameters=_number(line.get("parameters"), f"{where}: parameters"),
        accept=_number(line.get("accept"), f"{where}: accept"),
        cached=_number(line.get("cached"), f"{where}: cached", zero=True),
        tokens=_number(line.get("tokens"), f"{where}: tokens"),
        load=_number(line.get("load"), f"{where}: load", zero=True),
        roof=_roof(line.get("roof"), f"{where}: roof"),
        source=_source(line.get("source"), f"{where}: source"),
        settings=_object(line.get("settings", {}), f"{where}: settings"),
        notes=tuple(plain(note, NAME_CHARACTERS) for note in notes),
        extra=extra,
        **texts,
    )


def _layout(value: Any, where: str) -> Parallel | None:
    if value is None:
        return None
    said = _object(value, where)
    sizes: dict[str, Any] = {
        name: _whole(said.get(name), f"{where}.{name}", least=1) for name in LAYOUT
    }
    try:
        return Parallel(**{name: size for name, size in sizes.items() if size is not None})
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _parts(value: Any, where: str) -> tuple[Part, ...]:
    if not isinstance(value, list) or not value:
        raise InputError(f"{where} must be a list with at least one part")
    parts = []
    for index, item in enumerate(value):
        here = f"{where}[{index}]"
        part = _object(item, here)
        count = _number(part.get("count", 1), f"{here}.count")
        grows = part.get("grows", False)
        if not isinstance(grows, bool):
            raise InputError(f"{here}.grows must be true or false")
        groups = part.get("groups")
        if not isinstance(groups, list) or not groups:
            raise InputError(f"{here}.groups must be a list with at least one group")
        parts.append(Part(tuple(_group(g, f"{here}.groups") for g in groups), count or 1, grows))
    return tuple(parts)


def _group(value: Any, where: str) -> Group:
    group = _object(value, where)
    batch = _whole(group.get("batch"), f"{where}: batch", least=1)
    new = _whole(group.get("new_tokens"), f"{where}: new_tokens", least=1)
    past = _whole(group.get("past"), f"{where}: past", least=0)
    if batch is None or new is None or past is None:
        raise InputError(f"{where}: a group has batch, new_tokens and past")
    return Group(batch, new, past)


def _seconds(value: Any, where: str) -> Seconds:
    seconds = _object(value, where)
    median = _number(seconds.get("median"), f"{where}.median", within=SECONDS)
    if median is None:
        raise InputError(f"{where}.median is missing: the seconds all parts took together")
    best = _number(seconds.get("best"), f"{where}.best", within=SECONDS)
    if best is not None and best > median:
        raise InputError(f"{where}.best is {best:g}, slower than the median {median:g}")
    return Seconds(
        median,
        best,
        _number(seconds.get("spread"), f"{where}.spread", zero=True),
        _whole(seconds.get("samples"), f"{where}.samples", least=1),
    )


def _roof(value: Any, where: str) -> MeasuredRoof | None:
    if value is None:
        return None
    roof = _object(value, where)
    return MeasuredRoof(
        _number(roof.get("bandwidth"), f"{where}.bandwidth", within=CEILING),
        _numbers(roof.get("compute", {}), f"{where}.compute", within=CEILING),
        _numbers(roof.get("overhead", {}), f"{where}.overhead"),
        _number(roof.get("spread"), f"{where}.spread", zero=True, within=(0.0, 1.0)),
    )


def _source(value: Any, where: str) -> Source | None:
    if value is None:
        return None
    source = _object(value, where)
    record = _whole(source.get("record", 1), f"{where}.record", least=1)
    name = _text(source.get("format"), f"{where}.format")
    file = _text(source.get("file"), f"{where}.file")
    return Source(name or "?", file or "?", record or 1)


def _numbers(
    value: Any, where: str, within: tuple[float, float] = (0.0, LARGEST)
) -> dict[str, float]:
    numbers = {}
    for name, number in _object(value, where).items():
        checked = _number(number, f"{where}.{name}", within=within)
        if checked is not None:
            numbers[name] = checked
    return numbers


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{where} must be an object, this is {_kind(value)}")
    return value


def _text(value: Any, where: str) -> str | None:
    if value is None or isinstance(value, str):
        return plain(value, NAME_CHARACTERS) if value else value
    raise InputError(f"{where} must be a string, this is {_kind(value)}")


def _number(
    value: Any,
    where: str,
    *,
    zero: bool = False,
    within: tuple[float, float] = (0.0, LARGEST),
) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{where} must be a number, this is {_kind(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or number < 0 or (number == 0 and not zero):
        raise InputError(f"{where} is {_short(value)}: it must be finite and positive")
    least, most = within
    if number and not least <= number <= most:
        raise InputError(f"{where} is {_short(value)}: it must be from {least:g} to {most:g}")
    return value


def _whole(value: Any, where: str, *, least: int) -> int | None:
    number = _number(value, where, zero=least == 0)
    if number is None:
        return None
    if number != int(number) or number < least or number > 1e15:
        raise InputError(f"{where} is {_short(value)}: it must be a whole number from {least}")
    return int(number)


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean"}
    return "null" if value is None else names.get(type(value), "a number")


def _short(value: Any, limit: int = 40) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}…"
