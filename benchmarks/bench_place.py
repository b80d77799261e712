"""`place` on large result files: points a second, and memory that does not grow with the file.

Llama-bench's JSON Lines with all their samples, placed one by one with `--json`.

python benchmarks/bench_place.py [--megabytes 1000] [--samples 400]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile

ROW = {
    **{"build_commit": "a", "gpu_info": "NVIDIA GeForce RTX 4090", "n_ubatch": 512},
    **{"model_filename": "llama-2-7b.Q4_0.gguf", "model_type": "llama 7B Q4_0"},
    **{"model_size": 3825065984, "model_n_params": 6738415616, "type_k": "f16", "type_v": "f16"},
    **{"n_prompt": 0, "n_gen": 128, "n_depth": 512, "avg_ns": 800000000, "stddev_ns": 4000000},
}
CHILD = """
import os, resource, sys
from roofline.cli import main
sys.stdout = open(os.devnull, "w")
code = main(["place", sys.argv[1], "--json"])
used = resource.getrusage(resource.RUSAGE_SELF)
sys.stderr.write(f"{code} {used.ru_maxrss} {used.ru_utime + used.ru_stime}")
"""


def place(path: str, megabytes: float, samples: int) -> tuple[int, float, float, float]:
    """Points, megabytes, CPU seconds and peak MB of placing a file of about that size."""
    line = json.dumps(ROW | {"samples_ns": [796_000_000 + i for i in range(samples)]}) + "\n"
    count = max(1, int(megabytes * 1e6 / len(line)))
    with open(path, "w", encoding="utf-8") as file:
        for _ in range(count):
            file.write(line)
    run = subprocess.run(
        [sys.executable, "-c", CHILD, path], capture_output=True, text=True, check=True
    )
    code, peak, seconds = run.stderr.split()
    assert code == "0", run.stderr
    return count, os.path.getsize(path) / 1e6, float(seconds), int(peak) / 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=1000)
    parser.add_argument("--samples", type=int, default=400, help="samples in each record")
    args = parser.parse_args()
    print(f"{'MB':>8}{'points':>10}{'CPU s':>8}{'points/s':>10}{'MB/s':>8}{'peak MB':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for size in (args.megabytes / 100, args.megabytes / 10, args.megabytes):
            n, mb, s, peak = place(os.path.join(folder, "x.jsonl"), size, args.samples)
            print(f"{mb:8.0f}{n:10}{s:8.1f}{n / s:10.0f}{mb / s:8.1f}{peak:9.0f}", flush=True)


if __name__ == "__main__":
    main()
