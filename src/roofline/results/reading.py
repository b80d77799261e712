"""What one record of a result file says, and how it becomes a point once the rest is known.

Each importer turns its tool's fields into a `Reading`: the shape of the run (batch, prompt,
output) and its time, with `None` for what the tool does not write down. `Reading.point` then
either makes the steps, or names the options that have to be given. Nothing is assumed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..count.group import Group
from ..errors import InputError
from ..limits import POINT_GROUPS, POINT_PARTS
from ..parallel.layout import Parallel
from ..points.foreign import NAMES, clean, kept
from ..points.point import (
    NOTHING,
    UNSAID,
    Part,
    Point,
    Seconds,
    Source,
)
from ..record import replace

_BASES = {"token": "token", "first": "first", "run": "run", "rate": "run"}
_PHASES = {"prefill": "prefill", "first": "prefill", "run": "run", "rate": "run"}

_ZERO = ("prompt", "output", "depth", "drafted", "cached")
_CHECKED = ("seconds", "best", "batch", "context", "accept", "requests", "parameters", *_ZERO)

UNKNOWN = "context-unknown"
"""The note on a decode whose context nobody said: its cache is left out, so that its share of the
roof is a lower bound."""


class Incomplete(InputError):
    """A reading that lacks something; `options` are the command line options that supply it."""

    def __init__(self, message: str, options: tuple[str, ...]) -> None:
        """Keep the option names beside the sentence."""
        super().__init__(message)
        self.options = options


@dataclass(frozen=True, slots=True)
class Reading:
    """One measurement as its tool wrote it. Seconds and token counts; `None` is not said.

    `kind` says what took `seconds`. `decode`: `output` steps after `prompt` tokens of cache;
    `step`: one of them, at `context` or half way through `output`; `prefill`: `prompt` tokens
    after `depth`; `token`: the mean time between tokens of a request; `first`: the time to the
    first token; `run`: `requests` whole requests, prefill and decode and all between; `rate`:
    `requests` of them done a second, `batch` at a time, with `seconds` 1.

    `batch` is the number of sequences decoded or prefilled together, `prompt` and `output` are
    tokens per sequence, `depth` what the cache held before a prefill, `chunk` the most tokens the
    engine takes in one step, `accept` the tokens a step with drafts yields and `drafted` the tokens
    drafted for it, `concurrency` the most requests a client keeps open. `total` is prompt and
    output together, where only that is said; `sums` has prompt or output of all sequences
    together, of which a length follows with the batch. `context` is what the last new token of a
    decode step attends to, where a tool says that and no lengths; `cached` the share of prompt
    tokens that a prefix cache held; `parameters` the model's, as the tool says; `settings` what the
    engine ran with.
    """

    format: str
    kind: str
    seconds: float
    batch: float | None = None
    prompt: float | None = None
    output: float | None = None
    depth: float = 0
    chunk: int | None = None
    context: float | None = None
    accept: float = 1
    drafted: float | None = None
    sums: Mapping[str, float] = field(default_factory=lambda: NOTHING)
    cached: float | None = None
    requests: float | None = None
    total: float | None = None
    concurrency: float | None = None
    best: float | None = None
    spread: float | None = None
    samples: int | None = None
    model: str | None = None
    weights: str | None = None
    kv: str | None = None
    compute: str | None = None
    weight_bytes: float | None = None
    parameters: float | None = None
    machine: str | None = None
    devices: int | None = None
    layout: Parallel | None = None
    engine: str | None = None
    engine_version: str | None = None
    time: str | None = None
    settings: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    notes: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    source: Source | None = None

    def missing(self) -> tuple[str, ...]:
        """Options that have to be given before this reading has steps.

        Requests done in a time are work whatever the batch; without either there is none.
        """
        need = {
            "decode": ("batch", "prompt", "output"),
            "step": ("batch", "prompt"),
            "prefill": ("batch", "prompt"),
            "token": ("batch", "prompt", "output"),
            "first": ("prompt",),
            "run": ("prompt", "output") if self.requests else ("batch", "prompt", "output"),
            "rate": ("prompt", "output"),
        }[self.kind]
        if self.kind in ("step", "token"):
            if self.context is not None or UNKNOWN in self.notes:
                need = ("batch",)
            elif self.prompt is None and self.output is None:
                need = ("batch", "context")
        return tuple(f"--{name}" for name in need if getattr(self, name) is None)

    def with_answers(self, **answers: float | str | None) -> Reading:
        """The reading with gaps filled from the command line; what the file says stays.

        Of prompt and output one follows from the other where the file says their sum.

        Raises:
            InputError: a length that was given is not below that sum.
        """
        new: dict[str, Any] = {
            name: value
            for name, value in answers.items()
            if value is not None and getattr(self, name) is None
        }
        if "context" in new or {"prompt", "output"} <= new.keys():
            new["notes"] = tuple(note for note in self.notes if note != UNKNOWN)
        result = replace(self, **new) if new else self
        result = result._shared()
        if result.total is None or (result.prompt is None) == (result.output is None):
            return result
        said, other = ("prompt", "output") if result.output is None else ("output", "prompt")
        left = result.total - getattr(result, said)
        if left <= 0:
            raise InputError(
                f"{self.where()}: a request has {result.total:.6g} tokens, prompt and output "
                f"together, so --{said} must be below that"
            )
        return replace(result, **{other: left})

    def _shared(self) -> Reading:
        """The lengths of a sequence that follow from those of all, or the batch from both."""
        new: dict[str, float] = {}
        batch, whole = self.batch, self.sums.get("prompt")
        if batch is None and self.prompt and whole:
            new["batch"] = batch = max(1.0, round(whole / self.prompt))
        for name, tokens in self.sums.items():
            if batch and getattr(self, name) is None:
                new[name] = round(tokens / batch)
        return replace(self, **new) if new else self

    def point(self) -> Point:
        """The point of this reading.

        Raises:
            Incomplete: the file does not say what the steps were; the options are named.
            InputError: a number cannot be (zero tokens, negative time).
        """
        if missing := self.missing():
            raise Incomplete(
                f"{self.where()}: {self.format} does not say {_spoken(missing)}; "
                f"give {' '.join(missing)}",
                missing,
            )
        for name in _CHECKED:
            value = getattr(self, name)
            least = 0 if name in _ZERO else 1e-12
            if value is not None and not least <= value < 1e15:
                raise InputError(f"{self.where()}: {name} is {value:g}, which cannot be")
        parts, tokens = _STEPS[self.kind](self)
        names: dict[str, Any] = {name: _clean(getattr(self, name)) for name in NAMES}
        return Point(
            parts=parts,
            seconds=Seconds(self.seconds, self.best, self.spread, self.samples),
            **names,
            basis=_BASES.get(self.kind, "steps"),
            phase=_PHASES.get(self.kind, "decode"),
            weight_bytes=self.weight_bytes,
            parameters=self.parameters,
            accept=self.accept if self.accept > 1 or self.drafted else None,
            cached=self.cached,
            devices=self.devices or 1,
            layout=self.layout,
            tokens=tokens,
            settings=kept(self.settings),
            notes=self._notes(),
            source=self.source,
            extra=kept(self.extra),
        )

    def _notes(self) -> tuple[str, ...]:
        unsaid = self.kind in ("run", "rate") and self.batch is None
        return (*self.notes, UNSAID) if unsaid else self.notes

    def where(self) -> str:
        """The file and record, for messages."""
        if self.source is None:
            return self.format
        return f"{self.source.file}, record {self.source.record}"


def _clean(text: str | None) -> str | None:
    return None if text is None else clean(text)


def _spoken(options: tuple[str, ...]) -> str:
    return " and ".join(option.removeprefix("--") for option in options)


def _count(value: float | None) -> int:
    return max(1, round(value or 1))


def _new(reading: Reading) -> int:
    """New tokens of a sequence in a step: the drafted ones and the one that is certain."""
    if reading.drafted is not None:
        return max(1, round(1 + reading.drafted))
    return max(1, int(reading.accept))


def _decode(reading: Reading) -> tuple[tuple[Part, ...], float]:
    batch, output = _count(reading.batch), max(1.0, reading.output or 1)
    group = Group(batch, _new(reading), round((reading.prompt or 0) + reading.depth))
    return (Part((group,), output / reading.accept, True),), batch * output


def _prefill(reading: Reading) -> tuple[tuple[Part, ...], float]:
    batch, prompt = _count(reading.batch), _count(reading.prompt)
    parts = tuple(chunked(batch, prompt, round(reading.depth), reading.chunk))
    return parts, batch * prompt


def _token(reading: Reading) -> tuple[tuple[Part, ...], float]:
    batch, new = _count(reading.batch), _new(reading)
    if reading.context is not None and (reading.prompt is None or reading.output is None):
        past = max(0, round(reading.context) - new)
    else:
        past = round((reading.prompt or 0) + reading.depth + (reading.output or 0) / 2)
    return (Part((Group(batch, new, past),), 1 / reading.accept),), batch


def _first(reading: Reading) -> tuple[tuple[Part, ...], float]:
    batch, prompt = _count(reading.batch), _count(reading.prompt)
    parts = tuple(chunked(batch, prompt, round(reading.depth), reading.chunk))
    return parts, batch * prompt


def _run(reading: Reading) -> tuple[tuple[Part, ...], float]:
    """Waves of `batch` requests, each a prefill and decode steps: no schedule needs fewer steps."""
    batch = _count(min(reading.batch or 1, reading.requests or math.inf))
    return _waves(reading, batch, max(1.0, (reading.requests or batch) / batch))


def _rate(reading: Reading) -> tuple[tuple[Part, ...], float]:
    """What a second of a steady run does: so many waves, or that part of one."""
    batch = _count(reading.batch)
    return _waves(reading, batch, (reading.requests or 0.0) / batch)


def _waves(reading: Reading, batch: int, waves: float) -> tuple[tuple[Part, ...], float]:
    prompt, output = _count(reading.prompt), _count(reading.output)
    parts = [Part((Group(batch, prompt, 0),), waves)]
    steps = (output - 1) / reading.accept
    if steps > 0:
        new = _new(reading)
        middle = round(prompt + (output - 1) / 2)
        parts.append(Part((Group(batch, new, middle),), waves * steps))
    return tuple(parts), waves * batch * output


_STEPS = {
    **{"decode": _decode, "prefill": _prefill, "token": _token, "first": _first},
    **{"step": _token, "run": _run, "rate": _rate},
}


def chunked(batch: int, prompt: int, depth: int = 0, chunk: int | None = None) -> list[Part]:
    """Steps of a prefill where one step takes at most `chunk` tokens (all sequences together).

    Sequences are laid end to end and cut every `chunk` tokens, as llama.cpp and chunked-prefill
    schedulers do. Without `chunk` everything is one step.
    """
    if chunk is None or chunk < 1 or batch * prompt <= chunk:
        return [Part((Group(batch, prompt, depth),))]
    if prompt % chunk == 0:  # every sequence is cut alike
        if prompt // chunk <= POINT_PARTS:
            return [
                Part((Group(1, chunk, depth + start),), batch) for start in range(0, prompt, chunk)
            ]
    elif chunk % prompt == 0 and batch % (chunk // prompt) == 0:
        together = chunk // prompt
        return [Part((Group(together, prompt, depth),), batch // together)]
    steps = math.ceil(batch * prompt / chunk)
    if (
        steps > POINT_PARTS or batch + steps > POINT_GROUPS
    ):  # too many to list: as many steps, all at the mean depth
        width = max(1, round(batch * prompt / steps))
        return [Part((Group(1, width, depth + max(0, prompt - width) // 2),), steps)]
    return _packed(batch, prompt, depth, chunk)


def _packed(batch: int, prompt: int, depth: int, chunk: int) -> list[Part]:
    parts, groups, room = [], [], chunk
    for _ in range(batch):
        start = 0
        while start < prompt:
            take = min(room, prompt - start)
            groups.append(Group(1, take, depth + start))
            start, room = start + take, room - take
            if room == 0:
                parts.append(Part(tuple(groups)))
                groups, room = [], chunk
    if groups:
        parts.append(Part(tuple(groups)))
    return parts
