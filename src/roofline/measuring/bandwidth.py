"""Bandwidth probes of a CPU: read, copy and triad, per level, on one core and on all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import RooflineError
from .buffers import Buffer
from .crew import Crew
from .kernel_native import Move, Native, Read
from .limits import HostLimits
from .sampling import Candidate, Estimate, Probe, Window
from .topology import Cache, Topology

GIB = 1 << 30
_BYTE = 1
_WORD = int.from_bytes(bytes([_BYTE]) * 8, "little")
_MASK = (1 << 64) - 1
_SCALAR = 3.0
# While measuring, triad multiplies by zero: the same instructions and bytes, and the
# known pattern survives, so that the sum of the next read also proves the writes.
_ZERO = 0.0
_PARTS = 4  # of the memory working set: one window reads one, the next the next
# Seconds of a window. Where other guests share the memory their traffic decides what is left for
# us; the shorter the windows and the more of them, the better two runs agree on the best.
_SHORT = 0.005
_TURNS = {"cache": 4, "move": 8, "core": 4, "memory": 12}


@dataclass(frozen=True, slots=True)
class WorkingSet:
    """A working set that lives in one level: ``sizes`` per thread, in bytes, to try."""

    key: str
    sizes: tuple[int, ...]


def memory_bytes(topology: Topology, limits: HostLimits, floor: int = GIB) -> int:
    """Working set for main memory: 4 × the last-level caches, at least ``floor`` bytes,

    but never more than 40 % of what is free. Virtual machines may report a
    cache far larger than their share; then the walk only gets longer.
    """
    wanted = max(floor, 4 * (topology.last_level() or 64 << 20))
    return wanted if limits.memory is None else min(wanted, int(limits.memory * 0.4))


def levels(topology: Topology, limits: HostLimits) -> list[WorkingSet]:
    """The cache levels a working set can be placed in, smallest first.

    Half of each thread's share of the cache: enough to leave the level below
    (at least twice as large), not so much that neighbours push it out.
    """
    out: list[WorkingSet] = []
    below = 0
    ours = [core.threads[0] for core in limits.cores[: limits.threads]]
    for number in sorted({cache.level for cache in topology.caches}):
        cache = topology.cache(number)
        if cache is None:
            continue
        share = cache.size // max(1, _sharing(cache, ours))
        halves = (share // 2, share // 4) if number >= 3 else (share // 2,)
        sizes = tuple(s // 4096 * 4096 for s in halves if s >= max(2 * below, 4096))
        if sizes:
            out.append(WorkingSet(f"L{number}", sizes))
        below = share
    return out


def _sharing(cache: Cache, ours: list[int]) -> int:
    return sum(1 for cpu in ours if cpu in cache.shared)


class Arena:
    """One buffer per thread, written by that thread, from which every probe takes its part."""

    def __init__(self, crew: Crew, total: int, huge: bool = True) -> None:
        """Take ``total`` bytes over all threads, on huge pages or small ones.

        Raises:
            RooflineError: there is no room.
        """
        self.crew = crew
        self.note = "" if huge else ", small pages"
        self.each = total // len(crew) // 4096 * 4096
        try:
            self.buffers = [Buffer(self.each, huge) for _ in crew.cores]
        except (OSError, OverflowError, ValueError):
            raise RooflineError(
                f"no room for {total / GIB:.1f} GiB of working set: close other programs, "
                "or raise the memory limit of this container"
            ) from None
        crew.run(lambda i: self.buffers[i].fill(_BYTE))

    def read(
        self, kernel: Read, size: int, members: int, note: str = "", parts: int = 1
    ) -> Candidate:
        """Read ``size`` bytes per thread, on ``members`` threads, one of ``parts`` in each call."""
        part = min(size, self.each) // parts // 4096 * 4096
        stride, blocks, moved = kernel.span(part)
        want = moved // 8 * _WORD
        taken = 0

        def run(calls: int) -> Window:
            nonlocal taken
            sums = [0] * members
            first = taken

            def task(i: int) -> None:
                base = self.buffers[i].address
                if parts == 1:
                    sums[i] = kernel.call(base, stride, blocks, calls)
                    return
                for call in range(first, first + calls):
                    sums[i] += kernel.call(base + call % parts * part, stride, blocks, 1)

            window = self.crew.run(task, calls, members)
            taken += calls
            if any(got & _MASK != want * calls & _MASK for got in sums):
                raise RooflineError(f"the read kernel ({kernel.label}) returned a wrong sum")
            return window

        return Candidate(kernel.label + note + self.note, float(moved * members), run)

    def move(self, kernel: Move, members: int, parts: int = _PARTS) -> Candidate:
        """Copy (2 arrays) or triad (3 arrays), one part of each thread's buffer in each call."""
        arrays = 2 if kernel.kind == "copy" else 3
        # Arrays at the same offset in a page would make loads wait for stores.
        skew = 17 * 64
        room = self.each // arrays // 4096 * 4096
        part = (room - arrays * skew) // parts // 4096 * 4096
        blocks, moved = kernel.span(part)
        taken = 0

        def task(i: int, first: int, calls: int) -> None:
            for call in range(first, first + calls):
                base = self.buffers[i].address + call % parts * part
                kernel.call(
                    base,
                    base + room + skew,
                    base + 2 * (room + skew) if arrays == 3 else base,
                    blocks,
                    1,
                    _ZERO,
                )

        def run(calls: int) -> Window:
            nonlocal taken
            first, taken = taken, taken + calls
            return self.crew.run(lambda i: task(i, first, calls), calls, members)

        return Candidate(kernel.label + self.note, float(moved * arrays * members), run)


def arenas(crew: Crew, total: int, limits: HostLimits) -> tuple[Arena, ...]:
    """The memory to measure in: ``total`` bytes and, where there is plenty, as much on small pages.

    Where the pages lie is chance, and copy and triad differ by a tenth with it: the banks that
    reads and writes meet in. Two placements are two chances, one of them scattered.
    """
    first = Arena(crew, total)
    roomy = limits.memory is None or 3 * total < int(limits.memory * 0.4)
    return (first, Arena(crew, total, huge=False)) if roomy else (first,)


def ladder(native: Native, arena: Arena, limits: HostLimits) -> Iterator[Probe]:
    """One read kernel over working sets from 16 KiB a thread to all of it, doubling.

    ``ladder.N`` reads N bytes over all threads. The steps show where each cache
    really ends, which a virtual machine may not know.
    """
    kernel, size = native.reads[1], 16 << 10
    while size <= arena.each:
        total = size * limits.threads
        yield Probe(f"ladder.{total}", (arena.read(kernel, size, limits.threads),), window=0.01)
        size *= 2


def cache_seen(figures: dict[str, Estimate]) -> int | None:
    """Bytes of the largest working set that reads clearly faster than memory, from a ladder."""
    memory = figures.get("bandwidth.memory")
    steps = {int(k[7:]): f.best for k, f in figures.items() if k.startswith("ladder.")}
    if memory is None or not steps:
        return None
    return max((size for size, rate in steps.items() if rate > 1.25 * memory.best), default=0)


def self_check(native: Native) -> None:
    """Run every kernel once on numbers that differ everywhere.

    Raises:
        RooflineError: one errs.
    """
    import numpy as np

    size = 1 << 16
    rng = np.random.default_rng(0)
    words = rng.integers(0, 1 << 62, size // 8, dtype=np.int64)
    buffer = Buffer(size)
    buffer.words()[:] = words
    for read in native.reads:
        stride, blocks, moved = read.span(size)
        want = 2 * sum(int(w) for w in words[: moved // 8].tolist())
        if read.call(buffer.address, stride, blocks, 2) & _MASK != want & _MASK:
            raise RooflineError(f"the read kernel ({read.label}) computes a wrong sum")
    one, two, out = Buffer(size), Buffer(size), Buffer(size)
    one.words("float64")[:] = rng.random(size // 8)
    two.words("float64")[:] = rng.random(size // 8)
    for move in native.moves:
        out.fill(0)
        blocks, _ = move.span(size)
        move.call(out.address, one.address, two.address, blocks, 1, _SCALAR)
        expected = one.words("float64") + (
            _SCALAR * two.words("float64") if move.kind == "triad" else 0.0
        )
        if not np.allclose(out.words("float64"), expected, rtol=1e-15, atol=0):
            raise RooflineError(f"the {move.label} kernel computes wrong values")
    for kernel in native.arithmetic:
        # x ← x/2 + 1/2 ends at 1 in every lane of every chain
        if abs(kernel.call(100, 0.5, 0.5) - kernel.flops / 4) > 1e-3:
            raise RooflineError(f"the multiply-add kernel ({kernel.label}) computes wrong values")


def probes(
    native: Native, places: tuple[Arena, ...], topology: Topology, limits: HostLimits, quick: bool
) -> Iterator[Probe]:
    """All bandwidth probes, slowest level first so that the ceiling most asked for is surest.

    ``places`` are the arenas to try copy and triad in; reads are measured in the first.
    """
    everyone = limits.threads
    arena = places[0]
    fast = sum(1 for core in arena.crew.cores if core.capacity >= 0.99)
    reads = native.reads[1:4] if quick else native.reads
    counts = [everyone] if fast in (0, everyone) else [everyone, fast]
    each = arena.each

    def note(members: int) -> str:
        return "" if members == everyone else f", {members} fast cores"

    yield Probe(
        "bandwidth.memory",
        tuple(arena.read(r, each, n, note(n), _PARTS) for n in counts for r in reads),
        window=_SHORT,
        turns=_TURNS["memory"],
    )
    for kind in ("copy", "triad"):
        yield Probe(
            f"bandwidth.memory.{kind}",
            tuple(a.move(m, everyone) for a in places for m in native.moves if m.kind == kind),
            window=_SHORT,
            turns=_TURNS["move"],
        )
    if everyone > 1:
        yield Probe(
            "bandwidth.memory.core",
            tuple(arena.read(r, each, 1, parts=_PARTS) for r in reads),
            window=_SHORT,
            turns=_TURNS["core"],
        )
    for level in levels(topology, limits):
        sizes = [s for s in level.sizes if s <= each]
        if sizes:
            yield Probe(
                f"bandwidth.{level.key}",
                tuple(
                    arena.read(r, s, everyone, f", {s >> 10} KiB a thread")
                    for s in sizes
                    for r in reads
                ),
                window=_SHORT,
                turns=_TURNS["cache"],
            )
