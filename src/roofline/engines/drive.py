"""Running a plan: each point measured under the roof of its own minutes, on disk at once.

    look at the roof ─► job ─► look ─► point written ─► job ─► look ─► …

A point gets the higher ceilings of the looks before and after it. A job that fails costs itself;
the others go on, unless the engine is gone.
"""

from __future__ import annotations

import datetime
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ..errors import RooflineError
from ..points import MeasuredRoof, Point, PointsWriter
from ..points.point import NOTHING
from ..record import replace
from .base import Engine, Job, Outcome, Setup
from .plan import Plan
from .roofs import highest
from .stepwise import measure as measure_steps

BUSY = 0.25
"""CPUs that others keep busy before a point is marked."""

FAILURES = 2
"""Jobs on end that may fail before the run is given up."""


class Measurer(Protocol):
    """Something that measures one job at a time."""

    setup: Setup

    def measure(self, job: Job, seconds: float, tick: Callable[[], None] | None = None) -> Outcome:
        """Measure a job for about `seconds`."""

    def close(self) -> None:
        """Give everything back."""


class Probe(Protocol):
    """Something that looks at the roof."""

    emulated: set[str]

    def look(self) -> MeasuredRoof:
        """The ceilings now."""

    def busy(self) -> float | None:
        """CPUs that others keep busy now."""


class Stepwise:
    """A step engine as a measurer."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.setup = engine.setup

    def measure(self, job: Job, seconds: float, tick: Callable[[], None] | None = None) -> Outcome:
        """Time single steps of the job."""
        samples = measure_steps(self.engine, job, seconds, tick=tick)
        parts = job.parts(self.setup.chunk)
        return Outcome(parts, samples.seconds(), "steps", job.tokens, (), {})

    def close(self) -> None:
        """Close the engine."""
        self.engine.close()


@dataclass(frozen=True, slots=True)
class Event:
    """Something to tell: ``start``, ``done``, ``skip``, ``fail``, ``busy``, or ``lost``: measured,
    and not to be written.

    Attributes:
        index, total: which job of how many, from 1.
        left: seconds left, about.
    """

    kind: str
    job: Job
    index: int
    total: int
    left: float
    point: Point | None = None
    message: str = ""


Tell = Callable[[Event], None]


def run(
    measurer: Measurer,
    plan: Plan,
    *,
    writer: PointsWriter | None = None,
    probe: Probe | None = None,
    machine: str | None = None,
    facts: Mapping[str, Any] = NOTHING,
    done: Iterable[Point] = (),
    tell: Tell = lambda event: None,
    tick: Callable[[], None] = lambda: None,
) -> list[Point]:
    """Measure the jobs of a plan; returns the points, those of `done` that belong to it too.

    Ctrl-C is let through: every point before it is on disk.

    Args:
        measurer: what measures.
        plan: what to measure.
        writer: where points go at once.
        probe: looks at the roof between points; without one points carry none.
        machine: its name, for the points.
        facts: what else is known of the machine, into each point's settings.
        done: points of an earlier run, not measured again where they are of the same engine,
            model, machine and settings.
        tell: hears what happens.
        tick: called between jobs, and by engines that go step by step after every step.

    Raises:
        RooflineError: the engine failed in job after job; the last reason.
    """
    same, _ = same_run(measurer.setup, machine, facts, done)
    earlier = {_job_of(point): point for point in same}
    points: list[Point] = []
    name = secrets.token_hex(4)
    roof = probe.look() if probe else None
    failures = 0
    for index, job in enumerate(plan.jobs, 1):
        left = (len(plan.jobs) - index + 1) * (plan.total / max(1, len(plan.jobs)))

        def say(kind: str, point: Point | None = None, message: str = "", *, job: Job = job,
                index: int = index, left: float = left) -> None:  # fmt: skip
            tell(Event(kind, job, index, len(plan.jobs), left, point, message))

        key = tuple(_job_json(job))
        if key in earlier:
            points.append(earlier[key])
            say("skip", earlier[key])
            continue
        tick()
        say("start")
        load = probe.busy() if probe else None
        try:
            outcome = measurer.measure(job, plan.seconds, tick)
        except RooflineError as error:
            failures += 1
            say("fail", None, str(error))
            if failures >= FAILURES and not points:
                raise
            if failures > FAILURES:
                break
            continue
        failures = 0
        after = probe.look() if probe else None
        point = _point(measurer.setup, job, outcome, load)
        point = replace(point, run=name, machine=machine, settings={**facts, **point.settings})
        if roof is not None and after is not None:
            point = replace(point, roof=highest(roof, after))
        if probe is not None and probe.emulated & set(measurer.setup.precisions[:1]):
            point = replace(point, notes=(*point.notes, "emulated"))
        roof = after
        points.append(point)
        if writer is not None:
            try:
                writer.add(point)
            except RooflineError:
                say("lost", point)
                raise
        say("done", point)
    return points


def _point(setup: Setup, job: Job, outcome: Outcome, load: float | None) -> Point:
    notes = outcome.notes
    if load is not None and load > BUSY:
        notes = (*notes, "busy")
    return Point(
        parts=outcome.parts,
        seconds=outcome.seconds,
        basis=outcome.basis,
        phase=job.phase,
        model=setup.model,
        layers=setup.layers,
        weights=setup.weights or None,
        kv=setup.kv or None,
        compute=setup.compute,
        weight_bytes=setup.weight_bytes,
        engine=setup.engine,
        engine_version=setup.version or None,
        settings={**setup.settings, **outcome.settings, "job": _job_json(job)},
        tokens=outcome.tokens,
        load=round(load, 3) if load is not None else None,
        time=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        notes=notes,
    )


def _job_json(job: Job) -> list[Any]:
    return [job.phase, job.batch, job.length]


def _job_of(point: Point) -> tuple[Any, ...]:
    job = point.settings.get("job")
    if not isinstance(job, list) or not all(isinstance(x, str | int) for x in job):
        return ()
    return tuple(job)


def same_run(
    setup: Setup, machine: str | None, facts: Mapping[str, Any], points: Iterable[Point]
) -> tuple[list[Point], list[str]]:
    """The points that a run of this setup may leave out, and in what the others differ from it.

    All that changes speed must be the same: engine and version, model, formats, machine, and
    every setting. What an older file does not say may have been another.
    """
    same, others = [], []
    for point in points:
        difference = _difference(setup, machine, facts, point)
        if difference is None:
            same.append(point)
        else:
            others.append(difference)
    return same, others


NOT_SPEED = frozenset({"writes"})
"""Settings that say something else than how fast it runs."""


def _difference(
    setup: Setup, machine: str | None, facts: Mapping[str, Any], point: Point
) -> str | None:
    names = {
        "engine": (setup.engine, point.engine),
        "version": (setup.version or None, point.engine_version),
        "model": (setup.model, point.model),
        "layers": (setup.layers, point.layers),
        "weights": (setup.weights or None, point.weights),
        "kv": (setup.kv or None, point.kv),
        "compute": (setup.compute, point.compute),
        "machine": (machine, point.machine),
    }
    for name, value in {**facts, **setup.settings}.items():
        if name not in NOT_SPEED:
            names[name] = (value, point.settings.get(name))
    return next((name for name, (ours, theirs) in names.items() if ours != theirs), None)
