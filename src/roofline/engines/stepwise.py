"""Timing an engine step by step: warm-up, then many steps, each by itself.

The step is all that is between two readings of the clock: about 0.1 µs of ours, and one call.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from ..errors import RooflineError
from ..points import Seconds
from .base import Engine, Job

LEAST_STEPS = 5
WARM = 2


@dataclass(frozen=True, slots=True)
class Samples:
    """Times of single steps in seconds, in the order measured."""

    times: tuple[float, ...]

    def seconds(self) -> Seconds:
        """Best, median, and spread: half the distance of the 10th and 90th percentile."""
        ordered = sorted(self.times)
        median = statistics.median(ordered)
        last = len(ordered) - 1
        low, high = ordered[round(0.1 * last)], ordered[round(0.9 * last)]
        return Seconds(median, ordered[0], (high - low) / (2 * median), len(ordered))


def measure(
    engine: Engine,
    job: Job,
    seconds: float,
    *,
    tick: Callable[[], None] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Samples:
    """Steps of one job for about `seconds`, at least `LEAST_STEPS`.

    A first step that is already longer than the time given is kept as the only sample after a
    warm-up of one.

    Args:
        engine: the engine.
        job: what to run.
        seconds: how long to measure, warm-up not counted.
        tick: called after every step, outside the timed part.
        clock: for tests.

    Raises:
        RooflineError: the engine cannot run the job.
    """
    runner = engine.prepare(job)
    collected = gc.isenabled()
    gc.disable()
    try:
        return Samples(tuple(_steps(runner.step, runner.rewind, seconds, tick, clock)))
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RooflineError):
            raise
        reason = (str(error).strip().splitlines() or ["no memory"])[0][:200]
        raise RooflineError(
            f"{engine.setup.engine} stopped at batch {job.batch}: {reason}"
        ) from None
    finally:
        if collected:
            gc.enable()
        runner.close()


def _steps(
    step: Callable[[], None],
    rewind: Callable[[], None],
    seconds: float,
    tick: Callable[[], None] | None,
    clock: Callable[[], float],
) -> list[float]:
    for _ in range(WARM):
        start = clock()
        step()
        taken = clock() - start
        rewind()
        if taken > seconds / 2:  # long steps need no second warm-up
            break
    times: list[float] = []
    end = clock() + seconds
    while len(times) < LEAST_STEPS or clock() < end:
        start = clock()
        step()
        times.append(clock() - start)
        rewind()
        if tick is not None:
            tick()
        if clock() > end + seconds and len(times) >= 2:  # too slow for the least number
            break
    return times
