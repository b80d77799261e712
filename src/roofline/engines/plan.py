"""What `bench` is going to run: jobs in order, what is left out and why, how long it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..count.step import Step
from ..model.model import Model
from .base import Job

OVERHEAD = 3.0
"""Seconds a point takes besides its steps: filling the cache, warm-up, looking at the roof."""

LEAST = 3
"""Steps of a job that are run however long they take: a warm-up and two that count."""

MAKING = 4e8
"""Bytes/s at which random weights are made and loaded, about: for the estimate of time alone."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A job that is left out: ``memory`` (it needs `needed` bytes of `there`)."""

    job: Job
    reason: str
    needed: float
    there: float


@dataclass(frozen=True, slots=True)
class Plan:
    """Jobs in the order in which they run, and seconds for each.

    `beyond` are seconds that the whole takes besides, about: making the model, and steps so long
    that the least number of them takes longer than a job's seconds.
    """

    jobs: tuple[Job, ...]
    skipped: tuple[Skipped, ...]
    seconds: float
    beyond: float = 0.0

    @property
    def total(self) -> float:
        """Seconds of the whole, about."""
        return len(self.jobs) * (self.seconds + OVERHEAD) + self.beyond


def plan(
    *,
    batches: Sequence[int],
    contexts: Sequence[int],
    prompts: Sequence[int],
    seconds: float,
    model: Model | None = None,
    weights: str | None = None,
    kv: str | None = None,
    memory: float | None = None,
    speed: float | None = None,
) -> Plan:
    """Decode at every batch and context, prefill at every prompt.

    Jobs whose weights and cache would not fit in `memory` (bytes) are left out and said. `speed`
    is FLOP/s that the engine may reach, about, where long steps are to be counted into the time.
    """
    jobs: list[Job] = [Job("prefill", 1, prompt) for prompt in prompts]
    jobs += [Job("decode", batch, context) for context in contexts for batch in batches]
    kept, skipped = [], []
    for job in jobs:
        needed = _needed(job, model, weights, kv)
        if memory is not None and needed > memory:
            skipped.append(Skipped(job, "memory", needed, memory))
        else:
            kept.append(job)
    beyond = 0.0
    if model is not None and kept:
        work = model.work(weights or None, kv or None)
        beyond = work.resident / MAKING
        for job in kept if speed else ():
            step = float(work.total("flops", _step(job))) / (speed or 1.0)
            beyond += max(0.0, LEAST * step - seconds)
    return Plan(tuple(kept), tuple(skipped), seconds, beyond)


def _step(job: Job) -> Step:
    if job.phase == "decode":
        return Step.decode(job.batch, job.length)
    return Step.prefill(job.batch, job.length)


def _needed(job: Job, model: Model | None, weights: str | None, kv: str | None) -> float:
    if model is None:
        return 0.0
    work = model.work(weights or None, kv or None)
    step = _step(job)
    return float(work.resident + work.total("held", step) + work.workspace(step))
