"""Bandwidth with NumPy alone, for the minimal install.

What it understates: nothing is said about caches (a NumPy call costs more than
a cache-sized pass), one read stream per thread leaves main memory 5–20 % below
its best, and stores read the line they are about to overwrite, which the byte
count of copy does not see. Main memory is still found within a fifth.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import RooflineError
from .bandwidth import GIB
from .crew import Crew
from .sampling import Candidate, Probe, Window

_WORD = 0x0101010101010101  # a normal number also when read as float64


class PortableArena:
    """Three NumPy arrays per thread, first touched by it."""

    def __init__(self, crew: Crew, total: int) -> None:
        """Take ``total`` bytes over all threads.

        Raises:
            RooflineError: there is no room.
        """
        import numpy as np

        self.crew = crew
        count = total // len(crew) // 8 // 3
        self.arrays: list[list[Any]] = [[] for _ in crew.cores]

        def touch(i: int) -> None:
            self.arrays[i] = [np.full(count, _WORD + k, dtype=np.int64) for k in range(3)]

        try:
            crew.run(touch)
        except MemoryError:
            raise RooflineError(
                f"no room for {total / GIB:.1f} GiB of working set: close other programs, "
                "or raise the memory limit of this container"
            ) from None

    def probes(self) -> Iterator[Probe]:
        """Read and copy over main memory, on all threads; read on one."""
        yield Probe("bandwidth.memory", self._reads(len(self.crew)), window=0.03)
        yield Probe("bandwidth.memory.copy", (self._copy(),), window=0.03)
        if len(self.crew) > 1:
            yield Probe("bandwidth.memory.core", self._reads(1), window=0.03)

    def _reads(self, members: int) -> tuple[Candidate, ...]:
        import numpy as np

        views = {"int64": np.int64, "int32": np.int32, "float64": np.float64}
        return tuple(self._read(name, dtype, members) for name, dtype in views.items())

    def _read(self, name: str, dtype: Any, members: int) -> Candidate:
        import numpy as np

        def run(calls: int) -> Window:
            seen: list[Any] = [None] * members

            def task(i: int) -> None:
                for _ in range(calls):
                    seen[i] = [np.maximum.reduce(a.view(dtype)) for a in self.arrays[i]]

            window = self.crew.run(task, calls, members)
            expected = [a.view(dtype)[:2].max() for a in self.arrays[0]]
            if any(got != expected for got in seen):
                raise RooflineError(f"NumPy's maximum ({name}) returned a wrong value")
            return window

        amount = sum(a.nbytes for arrays in self.arrays[:members] for a in arrays)
        return Candidate(f"NumPy maximum, {name}", float(amount), run)

    def _copy(self) -> Candidate:
        import numpy as np

        def task(i: int, calls: int) -> None:
            for _ in range(calls):
                np.copyto(self.arrays[i][1], self.arrays[i][2])

        def run(calls: int) -> Window:
            return self.crew.run(lambda i: task(i, calls), calls)

        amount = sum(arrays[1].nbytes * 2 for arrays in self.arrays)
        return Candidate("NumPy copy", float(amount), run)
