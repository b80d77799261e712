"""Speed of the core, as ratios within one run: ``python benchmarks/speed.py`` (``make bench``).

Peers come from PyPI (``pip install ridgepoint``) into the environment that roofline is installed
in; without one its ratio is left out. Figures are CPU time (user and system), medians of
interleaved runs, so that other work on the machine moves them little. It takes under 3 minutes.

    cold explain        a whole process, against ``ridgepoint fit`` (a Rust core) and bare Python
    import              of the package
    one explained step  in process: bound, climb, capacity, verdict and levers, against the bound
    arrays of steps     all operators, on one core, against the commit named by ``--before``
    a million rows      of CSV from ``roofline sweep``
"""

from __future__ import annotations

import argparse
import io
import os
import platform
import resource
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # compiling all anew is not what is measured

BIN = os.path.dirname(sys.executable)
HOME = Path(__file__).resolve().parents[1]
BEFORE = "d4f3ec6"
MODELS = ("llama-3.1-8b", "deepseek-v3", "gpt-oss-120b")

ARRAYS = """
import sys, time
import numpy as np
from roofline import Case, Step, load_machine, load_model
try:
    from roofline.bound.arrays import Table
except ImportError:  # as it was called before
    from roofline.arrays import Table
table = Table(Case(load_model(sys.argv[1]), load_machine("h100-sxm")))
many = Step.decode(np.arange(1, 1_000_001), 2048)
table.bounds(many)
start = time.process_time()
table.bounds(many)
print(time.process_time() - start)
"""


def seconds(command: list[str]) -> float:
    """CPU seconds of one run of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def interleaved(commands: dict[str, Callable[[], float]], runs: int = 21) -> dict[str, list[float]]:
    """Runs of each command in turn, after one warm-up."""
    found: dict[str, list[float]] = {name: [] for name in commands}
    for i in range(runs + 1):
        for name, command in commands.items():
            taken = command()
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
    found = interleaved({n: lambda c=c: seconds(c) for n, c in commands.items()})
    for name, taken in found.items():
        print(f"  {name:12} {1e3 * statistics.median(taken):8.1f} ms")
    print(f"  explain / bare Python      {ratio(found, 'explain', 'bare'):.2f}")
    if "peer" in found:
        print(f"  explain / ridgepoint fit   {ratio(found, 'explain', 'peer'):.2f}")


def window(work: Callable[[], object], size: int) -> float:
    """CPU seconds of one call, over ``size`` calls."""
    start = time.process_time()
    for _ in range(size):
        work()
    return (time.process_time() - start) / size


def one_step() -> None:
    """A step explained, beside its bound alone."""
    from roofline import Case, Step, load_machine, load_model
    from roofline.bound.explanation import explain_case

    machine, step = load_machine("h100-sxm"), Step.decode(8, 2048)
    for name in MODELS:
        case = Case(load_model(name), machine)
        found = interleaved(
            {
                "bound": lambda case=case: window(lambda: case.bound(step), 200),
                "explained": lambda case=case: window(lambda: explain_case(case, step), 200),
                "levers": lambda case=case: window(lambda: explain_case(case, step).levers, 5),
            }
        )
        middle = {n: 1e6 * statistics.median(taken) for n, taken in found.items()}
        print(
            f"  {name:14} bound {middle['bound']:5.1f} µs, "
            f"explained {middle['explained']:5.1f} µs: {ratio(found, 'explained', 'bound'):.2f}; "
            f"with levers {middle['levers']:6.0f} µs: {ratio(found, 'levers', 'bound'):.0f}"
        )


def source(commit: str, folder: str) -> str:
    """The package as it was at a commit, unpacked."""
    command = ["git", "-C", str(HOME), "archive", commit, "src"]
    packed = subprocess.run(command, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        tar.extractall(folder, filter="data")
    return os.path.join(folder, "src")


def arrays(before: str) -> None:
    """A million steps at once, beside the commit before."""

    def taken(where: str, model: str) -> float:
        command = [sys.executable, "-c", ARRAYS, model]
        env = {**os.environ, "PYTHONPATH": where}
        return float(subprocess.run(command, check=True, capture_output=True, env=env).stdout)

    with tempfile.TemporaryDirectory() as folder:
        sides = {"now": str(HOME / "src"), "before": source(before, folder)}
        for name in MODELS:
            found = interleaved(
                {side: lambda at=at, name=name: taken(at, name) for side, at in sides.items()}, 7
            )
            rate = {side: 1 / statistics.median(found[side]) for side in sides}
            print(
                f"  {name:14} {rate['now']:5.1f} million steps/s, "
                f"at {before} {rate['before']:5.1f}: {ratio(found, 'before', 'now'):.2f} ×"
            )


def rows() -> None:
    """A million rows written."""
    command = [*roofline(), "sweep", "llama-3.1-8b", "--on", "h100-sxm"]
    command += ["--batch", "1:1000000:1", "--format", "csv"]
    print(f"  a million rows of CSV {statistics.median(seconds(command) for _ in range(3)):.2f} s")


def run() -> str:
    """What ran: date, processor, Python, commit."""
    command = ["git", "-C", str(HOME), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    processor = platform.processor()
    if os.path.exists("/proc/cpuinfo"):
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        names = [x.split(":", 1)[1].strip() for x in text.splitlines() if x[:10] == "model name"]
        processor = names[0] if names else processor
    python = platform.python_version()
    return f"{datetime.now(UTC):%Y-%m-%d}, {processor}, Python {python}, commit {commit}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Speed of the core, as ratios within one run.")
    parser.add_argument("--before", default=BEFORE, help=f"commit to compare with ({BEFORE})")
    asked = parser.parse_args()
    print(f"CPU time, {run()}\nwhole processes", flush=True)
    cold()
    print("one step", flush=True)
    one_step()
    print("arrays of steps", flush=True)
    arrays(asked.before)
    print("sweep", flush=True)
    rows()
