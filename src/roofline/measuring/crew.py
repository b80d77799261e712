"""Worker threads, one per core and kept there, that start a window together.

Ordinary Python threads do: the kernels they call let go of the interpreter
lock. Nobody spins while waiting: two busy-waiting threads on two contended
cores collapse a hundredfold.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from .sampling import Window
from .topology import Core

Task = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class _Lap:
    start: float
    end: float
    busy: float


class Crew:
    """``len(cores)`` threads. ``run`` hands each the same task with its own index."""

    def __init__(self, cores: tuple[Core, ...]) -> None:
        """Start one thread per core, held to that core's first logical CPU where possible."""
        self.cores = cores
        self._inbox: list[queue.SimpleQueue[tuple[Task, threading.Barrier] | None]] = []
        self._threads: list[threading.Thread] = []
        self._outbox: queue.SimpleQueue[_Lap | BaseException] = queue.SimpleQueue()
        for core in cores:
            inbox: queue.SimpleQueue[tuple[Task, threading.Barrier] | None] = queue.SimpleQueue()
            thread = threading.Thread(
                target=self._work, args=(len(self._inbox), core, inbox), daemon=True
            )
            self._inbox.append(inbox)
            self._threads.append(thread)
            thread.start()

    def __len__(self) -> int:
        """Number of threads."""
        return len(self.cores)

    def __enter__(self) -> Crew:
        """Use as a context manager: the threads end with it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let the threads go home."""
        self.close()

    def close(self) -> None:
        """End the threads. Those inside a kernel finish it first: its memory must outlive it."""
        for inbox in self._inbox:
            inbox.put(None)
        for thread in self._threads:
            thread.join()

    def run(self, task: Task, calls: int = 1, members: int | None = None) -> Window:
        """Run ``task(index)`` on the first ``members`` threads at once.

        The window lasts from the first start to the last end. Its share is the
        smallest part of that time that any thread really spent on a CPU, so a
        thread that was put aside, or started late, shows.
        """
        count = len(self._inbox) if members is None else members
        barrier = threading.Barrier(count)
        for inbox in self._inbox[:count]:
            inbox.put((task, barrier))
        laps = [self._outbox.get() for _ in range(count)]
        for lap in laps:
            if isinstance(lap, BaseException):
                raise lap
        timed = [lap for lap in laps if isinstance(lap, _Lap)]
        seconds = max(lap.end for lap in timed) - min(lap.start for lap in timed)
        share = min(lap.busy for lap in timed) / seconds if seconds > 0 else None
        return Window(calls, seconds, min(1.0, share) if share is not None else None)

    def _work(
        self,
        index: int,
        core: Core,
        inbox: queue.SimpleQueue[tuple[Task, threading.Barrier] | None],
    ) -> None:
        if hasattr(os, "sched_setaffinity"):
            with contextlib.suppress(OSError):  # a narrower cpuset than the one we were told of
                os.sched_setaffinity(0, {core.threads[0]})
        while (job := inbox.get()) is not None:
            task, barrier = job
            try:
                barrier.wait()
                start, busy = time.perf_counter(), time.thread_time()
                task(index)
                busy = time.thread_time() - busy
                self._outbox.put(_Lap(start, time.perf_counter(), busy))
            except BaseException as error:  # handed to the caller, who raises it
                self._outbox.put(error)
