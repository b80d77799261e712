"""Do runs of ``roofline measure`` agree, and does the file say rightly how well?

    python benchmarks/measure_repeat.py [--runs 3] [--quick]

Runs it several times, prints the figures side by side, their range, and the repeatability that
the files claimed. Target on a quiet machine: within 5 %.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

SRC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    files = []
    with tempfile.TemporaryDirectory() as folder:
        for run in range(args.runs):
            path = os.path.join(folder, f"{run}.json")
            command = [sys.executable, "-m", "roofline", "measure", "--device", "cpu", "--force"]
            command += ["--no-chart", "--output", path, *(["--quick"] if args.quick else [])]
            subprocess.run(
                command, check=True, capture_output=True, env={**os.environ, "PYTHONPATH": SRC}
            )
            with open(path, encoding="utf-8") as file:
                files.append(json.load(file))
            print(f"run {run + 1}: load {os.getloadavg()[0]:.2f}", file=sys.stderr)
    worst = 0.0
    for section in ("bandwidth", "compute"):
        for name in files[0]["measured"][section]:
            values = [f["measured"][section].get(name, {}).get("value", 0.0) for f in files]
            apart = 1 - min(values) / max(values)
            worst = max(worst, apart)
            shown = "  ".join(f"{v / 1e9:9.1f}" for v in values)
            print(f"{section:9} {name:7} {shown}  G/s  range {100 * apart:.1f} %")
    claimed = [f["measurement"]["repeatability"] or 0.0 for f in files]
    print(f"worst range {100 * worst:.1f} %; the files claimed up to {100 * max(claimed):.1f} %")


if __name__ == "__main__":
    main()
