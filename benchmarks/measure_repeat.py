"""Do runs of ``roofline measure`` agree, and does the file say rightly how well?

    python benchmarks/measure_repeat.py [--runs 3] [--quick]
    python benchmarks/measure_repeat.py --interleaved [--pairs 2]

Runs it several times, one after the other, and prints the figures side by side, their range, and
the repeatability that the files claimed. Target on a quiet machine: within 5 %. Where neighbours
come and go by the minute that range is theirs; ``--interleaved`` lets two runs go at once, each
holding still while the other takes its windows, so that what is left apart is our own.
"""

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
from multiprocessing.synchronize import Semaphore
from typing import Any

SRC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src")
sys.path.insert(0, SRC)


def alone(path: str, quick: bool) -> None:
    """One run from the command line into the file ``path``."""
    command = [sys.executable, "-m", "roofline", "measure", "--device", "cpu", "--force"]
    command += ["--no-chart", "--output", path, *(["--quick"] if quick else [])]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "PYTHONPATH": SRC})


def in_turns(path: str, mine: Semaphore, theirs: Semaphore, seconds: float) -> None:
    """One run that hands over after every candidate's turn."""
    from roofline.measuring import devices, record, session

    def handover(stage: str, series: object, gone: float, left: float) -> None:
        if series is not None:
            theirs.release()
            mine.acquire()

    mine.acquire()
    try:
        options = session.Options(force=True, seconds=seconds)
        result = session.run(devices.cpu(), options, handover)
    finally:
        for _ in range(1 << 16):  # we are done: they need not wait again
            theirs.release()
    with open(path, "w", encoding="utf-8") as file:
        json.dump(record.machine(result), file)


def pair(folder: str, seconds: float) -> list[str]:
    """Two runs at once, in turns; the files they wrote."""
    context = multiprocessing.get_context("spawn")
    first, second = context.Semaphore(1), context.Semaphore(0)
    paths = [os.path.join(folder, f"{name}.json") for name in "ab"]
    runs = [
        context.Process(target=in_turns, args=(path, *turns, seconds))
        for path, turns in zip(paths, ((first, second), (second, first)), strict=True)
    ]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
        if run.exitcode:
            sys.exit(f"a run ended with {run.exitcode}")
    return paths


def table(files: list[dict[str, Any]]) -> float:
    """Print the ceilings side by side; return the widest range."""
    worst = 0.0
    best = [
        {s["key"]: s["best"] for s in reversed(f["measurement"]["samples"])} for f in files
    ]  # of the candidates of a key the chosen one is listed first
    how = [{s["key"]: s["how"] for s in reversed(f["measurement"]["samples"])} for f in files]
    for key in best[0]:
        if not key.startswith(("bandwidth.", "compute.")):
            continue
        values = [b.get(key, 0.0) for b in best]
        apart = 1 - min(values) / max(values)
        kept = key.removeprefix("compute.") in files[0]["measured"]["compute"]
        if kept or key.startswith("bandwidth."):
            worst = max(worst, apart)
        shown = "  ".join(f"{v / 1e9:9.1f}" for v in values)
        mark = "" if apart <= 0.05 else f"  * {' / '.join(h[key] for h in how if key in h)}"
        print(f"{key:22} {shown}  G/s  range {100 * apart:.1f} %{mark}")
    return worst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--interleaved", action="store_true")
    parser.add_argument("--pairs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=80.0, help="of an interleaved pair")
    args = parser.parse_args()
    for number in range(args.pairs if args.interleaved else 1):
        with tempfile.TemporaryDirectory() as folder:
            if args.interleaved:
                paths = pair(folder, args.seconds)
            else:
                paths = [os.path.join(folder, f"{run}.json") for run in range(args.runs)]
                for path in paths:
                    alone(path, args.quick)
            files = []
            for path in paths:
                with open(path, encoding="utf-8") as file:
                    files.append(json.load(file))
        print(f"{number + 1}: load {os.getloadavg()[0]:.2f}", file=sys.stderr)
        worst = table(files)
        claimed = [f["measurement"]["repeatability"] or 0.0 for f in files]
        print(
            f"worst range {100 * worst:.1f} %; the files claimed up to {100 * max(claimed):.1f} %"
        )


if __name__ == "__main__":
    main()
