"""Bandwidth of ``roofline measure`` against STREAM in C, likwid-bench, torch and numba.

    python benchmarks/measure_bandwidth.py [--rounds 5] [--placements 5] [--json FILE]

One run, everything in turns: each round gives every contender's every variant one window, a
contender's figure of the round is its best variant's, and what is printed is the median over
the rounds of ours ÷ theirs. So a busy neighbour slows both sides of a ratio. Where the pages lie is
chance, and a tenth of copy and triad: memory is taken anew, by everyone, ``--placements`` times.

On a machine that is never quiet, ``--cpu-time`` compares the kernels on one core by the CPU time
of the calling thread, which stands still while others have the core (without likwid-bench, which
times itself by the wall clock).

Needs gcc; uses likwid-bench, torch and numba where they are installed.
Targets: memory read, copy and triad ≥ 0.97 of the best of all; L1 and L2 read ≥ 0.8 of C.
"""

import argparse
import contextlib
import ctypes
import gc
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
if "--cpu-time" in sys.argv:
    os.environ["OMP_NUM_THREADS"] = "1"
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src"))

from roofline.measuring import bandwidth, kernel_native, limits, topology
from roofline.measuring.buffers import Buffer
from roofline.measuring.crew import Crew
from roofline.measuring.sampling import Window

HERE = os.path.dirname(os.path.abspath(__file__))
WINDOW = 0.03
CPU_TIME = False
Ways = dict[str, Callable[[], float]]  # variant → bytes per second of one window


def build(folder: str) -> ctypes.CDLL:
    """Compile the C contender."""
    out = os.path.join(folder, "stream.so")
    command = ["gcc", "-O3", "-march=native", "-fopenmp", "-shared", "-fPIC", "-o", out]
    subprocess.run([*command, os.path.join(HERE, "measure_stream.c")], check=True)
    library = ctypes.CDLL(out)
    size, reps, pointer = ctypes.c_size_t, ctypes.c_long, ctypes.c_void_p
    for name in ("read1", "read4"):
        call = getattr(library, name)
        call.restype, call.argtypes = ctypes.c_double, [pointer, size, reps, pointer]
    for name in ("copy_plain", "copy_nt", "triad_plain", "triad_nt"):
        call = getattr(library, name)
        call.restype = ctypes.c_double
        call.argtypes = [pointer, pointer, pointer, size, reps]
    library.touch.argtypes = [pointer, size, ctypes.c_double]
    return library


def calibrated(timed: Callable[[int], float], amount: float) -> Callable[[], float]:
    """A window of about WINDOW seconds of ``timed(reps) -> seconds``, ``amount`` bytes each."""

    def run(reps: int) -> float:
        start = time.thread_time()
        seconds = timed(reps)
        return time.thread_time() - start if CPU_TIME else seconds

    run(1)
    reps = 1
    while (seconds := run(reps)) < WINDOW / 2:
        reps = max(reps + 1, min(reps * 16, round(reps * WINDOW / max(seconds, 1e-7))))
    reps = max(1, round(reps * WINDOW / seconds))
    return lambda: amount * reps / run(reps)


class Here:
    """A crew of one: the calling thread itself, so that its CPU time is the kernel's."""

    def __init__(self, cores):
        self.cores = cores[:1]

    def __len__(self) -> int:
        return 1

    def __enter__(self) -> "Here":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def run(self, task: Callable[[int], None], calls: int = 1, members: int = 1) -> Window:
        start = time.perf_counter()
        task(0)
        return Window(calls, time.perf_counter() - start)


def ours(native, places, kind: str, size: int, members: int) -> Ways:
    if kind == "read":
        candidates = [a.read(k, size, members) for a in places for k in native.reads]
    else:
        kernels = [k for k in native.moves if k.kind == kind]
        candidates = [a.move(k, members, parts=1) for a in places for k in kernels]
    return {c.label: calibrated(lambda n, c=c: c.run(n).seconds, c.amount) for c in candidates}


def c_ways(library, buffers: list[Buffer], kind: str, size: int, members: int) -> Ways:
    """C in each of the placements that we try, so that neither has more chances."""
    result = [c_ways_in(library, buffer, kind, size, members) for buffer in buffers]
    return {f"{name} {i}": way for i, ways in enumerate(result) for name, way in ways.items()}


def c_ways_in(library, buffer: Buffer, kind: str, size: int, members: int) -> Ways:
    total = size * members // 8
    base, out = buffer.address, ctypes.c_double()
    if kind == "read":

        def reader(name: str) -> Callable[[int], float]:
            call = getattr(library, name)
            return lambda n: call(base, total, n, ctypes.byref(out))

        return {n: calibrated(reader(n), total * 8.0) for n in ("read1", "read4")}
    arrays = 2 if kind == "copy" else 3
    each = total // arrays // 512 * 512
    b, c = base + each * 8, base + (arrays - 1) * each * 8

    def mover(name: str) -> Callable[[int], float]:
        call = getattr(library, name)
        return lambda n: call(base, b, c, each, n)

    return {n: calibrated(mover(n), each * 8.0 * arrays) for n in (f"{kind}_plain", f"{kind}_nt")}


def torch_ways(kind: str, total: int, members: int) -> Ways:
    import torch

    torch.set_num_threads(members)
    arrays = {"read": 1, "copy": 2, "triad": 3}[kind]
    count = total // 4 // arrays // 4096 * 4096
    x, y, z = (torch.ones(count) if i < arrays else None for i in range(3))

    def timed(call: Callable[[], object]) -> Callable[[], float]:
        def run(n: int) -> float:
            start = time.perf_counter()
            for _ in range(n):
                call()
            return time.perf_counter() - start

        return calibrated(run, count * 4.0 * arrays)

    if kind == "copy":
        return {"copy_": timed(lambda: x.copy_(y))}
    if kind == "triad":
        return {"add": timed(lambda: torch.add(y, z, alpha=3.0, out=x))}
    matrix, vector = x.view(-1, 4096), torch.ones(4096)
    rows = torch.empty(matrix.shape[0])
    return {
        "mv": timed(lambda: torch.mv(matrix, vector, out=rows)),
        "sum": timed(x.sum),
    }


def numba_ways(kind: str, total: int, members: int) -> Ways:
    import numba
    import numpy as np

    numba.set_num_threads(members)
    arrays = {"read": 1, "copy": 2, "triad": 3}[kind]
    count = total // 8 // arrays
    x, y, z = (np.ones(count if i < arrays else 1) for i in range(3))

    @numba.njit(parallel=True, fastmath=True)
    def read(x, y, z):
        s = 0.0
        for i in numba.prange(len(x)):
            s += x[i]
        return s

    @numba.njit(parallel=True, fastmath=True)
    def copy(x, y, z):
        for i in numba.prange(len(x)):
            x[i] = y[i]

    @numba.njit(parallel=True, fastmath=True)
    def triad(x, y, z):
        for i in numba.prange(len(x)):
            x[i] = y[i] + 3.0 * z[i]

    call = {"read": read, "copy": copy, "triad": triad}[kind]

    def run(n: int) -> float:
        start = time.perf_counter()
        for _ in range(n):
            call(x, y, z)
        return time.perf_counter() - start

    return {"prange": calibrated(run, count * 8.0 * arrays)}


def likwid_ways(kind: str, total: int, members: int) -> Ways:
    listed = subprocess.run(
        ["likwid-bench", "-a"], check=True, capture_output=True, text=True
    ).stdout
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        wide = "avx512" if "avx512f" in file.read() else "avx"
    names = {
        "read": (f"load_{wide}",),
        "copy": (f"copy_{wide}", f"copy_mem_{wide}"),
        "triad": (f"stream_{wide}", f"stream_mem_{wide}"),  # A = B × c + C
    }[kind]
    passes = max(10, round(0.2 * 30e9 / total))

    def window(name: str) -> Callable[[], float]:
        work = f"S0:{total >> 20}MB:{members}"
        command = ["likwid-bench", "-t", name, "-w", work, "-i", str(passes)]

        def run() -> float:
            done = subprocess.run(command, check=False, capture_output=True, text=True)
            result = re.search(r"MByte/s:\s+([\d.]+)", done.stdout)
            return float(result[1]) * 1e6 if result else 0.0

        return run

    ways = {n: window(n) for n in names if f"{n} -" in listed}
    return {n: w for n, w in ways.items() if w() > 0}


def compare(rounds: int, contenders: dict[str, Ways]) -> dict[str, list[float]]:
    """Best variant per contender and round, the contenders in a new order every round.

    Any order, not the same one turned: likwid-bench gives a GiB back when it ends, which the
    system is busy with for a moment, and whoever always came next would always pay for it.
    """
    out: dict[str, list[float]] = {name: [] for name in contenders}
    names = list(contenders)
    for _ in range(rounds):
        random.shuffle(names)
        for name in names:
            out[name].append(max(way() for way in contenders[name].values()))
    return out


def others(kind: str, total: int, members: int) -> dict[str, Ways]:
    """The contenders that bring their own memory, as far as they are installed."""
    result = {}
    # numba changes the OpenMP thread count of the others when there is one thread
    for name, make in (("torch", torch_ways), ("numba", numba_ways))[: 1 if CPU_TIME else 2]:
        with contextlib.suppress(ImportError):
            result[name] = make(kind, total, members)
    if shutil.which("likwid-bench") and not CPU_TIME:
        result["likwid"] = likwid_ways(kind, total, members)
    return {name: ways for name, ways in result.items() if ways}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="in each placement")
    parser.add_argument("--placements", type=int, default=5)
    parser.add_argument("--only", action="append", metavar="CASE", help="e.g. memory.copy")
    parser.add_argument("--cpu-time", action="store_true")
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args()
    global CPU_TIME  # noqa: PLW0603
    CPU_TIME = args.cpu_time
    here = topology.read()
    mine = limits.read(here)
    members = 1 if CPU_TIME else mine.threads
    os.environ["OMP_NUM_THREADS"] = str(members)
    native = kernel_native.compile_kernels()
    total = bandwidth.memory_bytes(here, mine)
    each = total // members
    sizes = {level.key: level.sizes[0] for level in bandwidth.levels(here, mine)}
    report: list[dict[str, object]] = []
    print(f"{here.name}, {members} threads, {total >> 20} MiB, load {os.getloadavg()[0]:.2f}")
    with (
        tempfile.TemporaryDirectory() as folder,
        Here(mine.cores) if CPU_TIME else Crew(mine.cores[:members]) as crew,
    ):
        library = build(folder)
        cases = [("memory", kind, each) for kind in ("read", "copy", "triad")]
        cases += [(key, "read", size) for key, size in sizes.items()]
        cases = [c for c in cases if not args.only or f"{c[0]}.{c[1]}" in args.only]
        table: dict[tuple[str, str], dict[str, list[float]]] = {}
        for _ in range(args.placements):
            places = bandwidth.arenas(crew, total, mine)
            buffers = [Buffer(total, huge) for huge in (True, False)[: len(places)]]
            for buffer in buffers:
                library.touch(buffer.address, total // 8, 1.0)
            for level, kind, size in cases:
                some = len(places) if level == "memory" and kind != "read" else 1
                contenders = {
                    "roofline": ours(native, places[:some], kind, size, members),
                    "C": c_ways(library, buffers[:some], kind, size, members),
                }
                if level == "memory":
                    contenders |= others(kind, total, members)
                for name, rates in compare(args.rounds, contenders).items():
                    table.setdefault((level, kind), {}).setdefault(name, []).extend(rates)
            del places, buffers, contenders
            gc.collect()
        for (level, kind), seen in table.items():
            report += rows(level, kind, seen)
    print(f"load {os.getloadavg()[0]:.2f} at the end")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=1)


def rows(level: str, kind: str, seen: dict[str, list[float]]) -> list[dict[str, object]]:
    """Print one case, and return it as data."""
    out: list[dict[str, object]] = []
    print(f"\n{level} {kind}")
    for name, rates in seen.items():
        ratio = statistics.median(a / b for a, b in zip(seen["roofline"], rates, strict=True))
        best, median = max(rates) / 1e9, statistics.median(rates) / 1e9
        print(f"  {name:9} best {best:7.1f}  median {median:7.1f} GB/s  ours ÷ it {ratio:.3f}")
        out.append(
            {
                "level": level,
                "kind": kind,
                "contender": name,
                "best": max(rates),
                "median": statistics.median(rates),
                "ratio": ratio,
            }
        )
    return out


if __name__ == "__main__":
    main()
