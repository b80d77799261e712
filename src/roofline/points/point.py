"""One measured point and its JSON form, `roofline.points/1`.

A point is a list of steps and the seconds they took together. Everything else (model, formats,
machine, engine) is there to rebuild the work of those steps, and may be missing: what a result
file does not say stays `None` until somebody says it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ..count.group import Group
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
        for name in TEXTS:
            if (value := getattr(self, name)) is not None:
                line[name] = value
        for name in NUMBERS:
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


TEXTS = (
    *("basis", "phase", "model", "weights", "kv", "compute", "machine"),
    *("engine", "engine_version", "time", "run"),
)
LAYOUT = ("tp", "pp", "dp", "ep", "microbatches")
NUMBERS = ("layers", "weight_bytes", "parameters", "accept", "cached", "tokens", "load")


def _present(thing: Any, names: Iterable[str]) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(thing, name)) is not None}


def _part_json(part: Part) -> dict[str, Any]:
    groups = [{"batch": g.batch, "new_tokens": g.new_tokens, "past": g.past} for g in part.groups]
    return {"count": part.count, "grows": part.grows, "groups": groups}
