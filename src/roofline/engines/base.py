"""What an engine is to the driver: it says what it runs, and makes one step at a time.

    setup                     what is run, how, on what
    prepare(job) -> Runner    state for one job: cache filled, buffers made
    runner.step()             one step, done when it returns
    runner.rewind()           back to the job's cache length, outside the timed part
    close()                   everything given back

The driver (`stepwise`) times steps, `bench` plans and stores. To add an engine, write a module
with a class that does this and `opened`, and its row in `ENGINES` (`table.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..count.group import Group
from ..errors import InputError
from ..points.point import NOTHING, Part, Seconds


@dataclass(frozen=True, slots=True)
class Job:
    """One point to measure.

    Attributes:
        phase: ``decode`` or ``prefill``.
        batch: sequences (for a server: requests kept open).
        length: decode: context, the new token included; prefill: prompt tokens.
    """

    phase: str
    batch: int
    length: int

    def __post_init__(self) -> None:
        if self.batch < 1 or self.length < 1:
            raise InputError(f"batch {self.batch} and length {self.length} must be at least 1")

    def parts(self, chunk: int | None = None) -> tuple[Part, ...]:
        """The steps of the job; a prefill in steps of at most `chunk` tokens."""
        if self.phase == "decode":
            return (Part((Group(self.batch, 1, self.length - 1),)),)
        from ..results.reading import chunked

        return tuple(chunked(self.batch, self.length, 0, chunk))

    @property
    def tokens(self) -> int:
        """New tokens of the job's steps."""
        return self.batch * (1 if self.phase == "decode" else self.length)


@dataclass(frozen=True, slots=True)
class Setup:
    """What an engine runs.

    Attributes:
        engine, version: its name and version.
        model: a catalogue name or a path, as `explain` takes it.
        layers: where the model was shortened, how many it has.
        weights, kv, compute: formats by roofline's names.
        weight_bytes: size of the weights in memory, where the engine says it.
        precisions: ceilings its arithmetic may be held against.
        device: ``cpu``, ``cuda:0``, …
        chunk: the most tokens of one prefill step, ``None`` for no limit.
        settings: threads and other choices, for the file.
    """

    engine: str
    version: str
    model: str
    weights: str
    kv: str
    compute: str | None = None
    layers: int | None = None
    weight_bytes: float | None = None
    precisions: tuple[str, ...] = ("bf16",)
    device: str = "cpu"
    chunk: int | None = None
    settings: Mapping[str, Any] = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a job came to: parts and seconds as in a point, and what else was learned."""

    parts: tuple[Part, ...]
    seconds: Seconds
    basis: str
    tokens: float
    notes: tuple[str, ...]
    settings: dict[str, Any]


class Runner(Protocol):
    """State for one job."""

    def step(self) -> None:
        """Run one step (decode) or one whole prompt (prefill); done when it returns."""

    def rewind(self) -> None:
        """Go back to the state before the step."""

    def close(self) -> None:
        """Give the state back."""


class Engine(Protocol):
    """An engine that runs a model step by step."""

    setup: Setup

    def prepare(self, job: Job) -> Runner:
        """State for one job.

        Raises:
            RooflineError: there is no room for it, in one sentence.
        """

    def close(self) -> None:
        """Give everything back."""
