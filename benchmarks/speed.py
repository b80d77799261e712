"""Speed of the core, as ratios within one run: ``python benchmarks/speed.py``.

Peers come from PyPI (``pip install ridgepoint``); without one its ratio is left out. Each figure is
the median of many short windows, peers interleaved, so that a noisy machine moves both.

    cold explain        a whole process, against ``ridgepoint fit`` (a Rust core) and bare Python
    import              of the package
    one explained step  in process: bound, climb, capacity and verdict
    arrays of steps     all operators, on one core
    a million rows      of CSV from ``roofline sweep``
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

BIN = os.path.dirname(sys.executable)


def seconds(command: list[str]) -> float:
    """One run of a command."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def interleaved(commands: dict[str, list[str]], runs: int = 21) -> dict[str, list[float]]:
    """Runs of each command in turn, after one warm-up."""
    found: dict[str, list[float]] = {name: [] for name in commands}
    for i in range(runs + 1):
        for name, command in commands.items():
            taken = seconds(command)
            if i:
                found[name].append(taken)
    return found


def ratio(found: dict[str, list[float]], a: str, b: str) -> float:
    """Median of the ratios, pair by pair."""
    return statistics.median(x / y for x, y in zip(found[a], found[b], strict=True))


def roofline() -> list[str]:
    """The installed command, or the module where it is not installed."""
    script = os.path.join(BIN, "roofline")
    return [script] if os.path.exists(script) else [sys.executable, "-m", "roofline"]


def cold() -> None:
    """Whole processes."""
    commands = {
        "explain": [*roofline(), "explain", "llama-3.1-8b", "--on", "h100-sxm"],
        "bare": [sys.executable, "-c", "pass"],
        "import": [sys.executable, "-c", "import roofline"],
    }
    peer = os.path.join(BIN, "ridgepoint")
    if os.path.exists(peer):
        commands["peer"] = [peer, "fit", "llama-3-70b", "--gpu", "h100-80gb:8"]
    found = interleaved(commands)
    middle = {name: 1e3 * statistics.median(taken) for name, taken in found.items()}
    for name, taken in middle.items():
        print(f"  {name:12} {taken:8.1f} ms")
    print(f"  import above bare        {middle['import'] - middle['bare']:.1f} ms")
    print(f"  explain / bare Python    {ratio(found, 'explain', 'bare'):.2f}")
    if "peer" in found:
        print(f"  explain / ridgepoint fit {ratio(found, 'explain', 'peer'):.2f}")


def windows(work: Callable[[], object], size: int, repeat: int = 41) -> float:
    """Seconds of one call, median of windows of ``size`` calls."""
    taken = []
    for _ in range(repeat):
        start = time.perf_counter()
        for _ in range(size):
            work()
        taken.append((time.perf_counter() - start) / size)
    return statistics.median(taken)


def in_process() -> None:
    """Steps one by one and many at once."""
    import numpy as np

    from roofline import Case, Step, load_machine, load_model
    from roofline.bound.arrays import Table
    from roofline.bound.explanation import explain_case

    machine = load_machine("h100-sxm")
    step, many = Step.decode(8, 2048), Step.decode(np.arange(1, 1_000_001), 2048)
    for name in ("llama-3.1-8b", "deepseek-v3", "gpt-oss-120b"):
        case = Case(load_model(name), machine)
        table = Table(case)
        one = windows(lambda case=case: explain_case(case, step), 200)
        bound = windows(lambda case=case: case.bound(step), 200)
        rate = 1 / windows(lambda table=table: table.bounds(many), 1, 9)
        print(
            f"  {name:14} explained step {one * 1e6:6.1f} µs, bound alone {bound * 1e6:5.1f} µs, "
            f"arrays {rate:5.1f} million steps/s"
        )


def rows() -> None:
    """A million rows written."""
    command = [*roofline(), "sweep", "llama-3.1-8b", "--on", "h100-sxm"]
    command += ["--batch", "1:1000000:1", "--format", "csv"]
    print(f"  a million rows of CSV {statistics.median(seconds(command) for _ in range(3)):.2f} s")


if __name__ == "__main__":
    print("whole processes")
    cold()
    print("in process")
    in_process()
    print("sweep")
    rows()
