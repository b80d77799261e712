"""The compute ceilings of ``roofline measure`` against the best library call a search can find.

    python benchmarks/measure_gemm.py [--rounds 15] [--precision fp32] [--json FILE]

The search tries every product that NumPy and torch offer (matmul with and without an output,
linear with transposed weights, addmm) over square, tall, wide and flat shapes, then the three
best of them and the candidate that `measure` would store take turns. Printed is the median over
the rounds of ours ÷ theirs, for the strongest of theirs. Target: ≥ 0.98.
"""

import argparse
import itertools
import json
import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator

os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "16")  # as measure does: no spinning afterwards

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src"))

from roofline.measuring import gemm, limits, session, topology
from roofline.measuring.sampling import better, sample
from roofline.measuring.torch_device import TorchDevice, TorchLibrary, import_torch

SIDES = (512, 1024, 2048, 4096)
LONGEST = 0.5


def calls(precision: str, shape: gemm.Shape) -> Iterator[tuple[str, Callable[[], object]]]:
    """Every library call for one product."""
    import numpy as np
    import torch

    m, k, n = shape
    if precision in ("fp32", "fp64"):
        kind = {"fp32": np.float32, "fp64": np.float64}[precision]
        a, b = np.ones((m, k), kind), np.ones((k, n), kind)
        c = np.empty((m, n), kind)
        yield "numpy.matmul", lambda: np.matmul(a, b, out=c)
        t = np.ones((n, k), kind).T
        yield "numpy.matmul, b transposed", lambda: np.matmul(a, t)
    if precision == "int8":
        x = torch.ones(m, k, dtype=torch.int8)
        w = torch.ones(n, k, dtype=torch.int8)
        v = torch.ones(k, n, dtype=torch.int8)
        yield "torch._int_mm, b transposed", lambda: torch._int_mm(x, w.t())
        yield "torch._int_mm", lambda: torch._int_mm(x, v)
        return
    kinds = {
        "fp64": torch.float64,
        "fp32": torch.float32,
        "bf16": torch.bfloat16,
        "fp16": torch.float16,
    }
    kind = kinds[precision]
    x, y = torch.ones(m, k, dtype=kind), torch.ones(k, n, dtype=kind)
    w, out = torch.ones(n, k, dtype=kind), torch.empty(m, n, dtype=kind)
    bias = torch.ones(n, dtype=kind)
    yield "torch.matmul(out=)", lambda: torch.matmul(x, y, out=out)
    yield "torch.matmul", lambda: torch.matmul(x, y)
    yield "torch linear", lambda: torch.nn.functional.linear(x, w)
    yield "torch.addmm", lambda: torch.addmm(bias, x, y)


def rate(call: Callable[[], object], flops: float, window: float = 0.05) -> float:
    """FLOP/s over one window."""
    done, start = 0, time.perf_counter()
    while time.perf_counter() - start < window or not done:
        call()
        done += 1
    return flops * done / (time.perf_counter() - start)


def search(precision: str, guess: float) -> list[tuple[str, Callable[[], float]]]:
    """The three best calls found, each as a window."""
    result: list[tuple[float, str, Callable[[], float]]] = []
    slow: dict[str, float] = {}  # the FLOP from which a call takes too long to be tried
    for shape in sorted(itertools.product(SIDES, repeat=3), key=math.prod):
        flops = 2.0 * shape[0] * shape[1] * shape[2]
        if flops / guess > LONGEST:
            continue
        for name, call in calls(precision, shape):
            if flops >= slow.get(name, math.inf):
                continue
            start = time.perf_counter()
            call()
            if time.perf_counter() - start > LONGEST:
                slow[name] = flops
                continue
            label = f"{name} {shape[0]}×{shape[1]}×{shape[2]}"

            def window(call: Callable[[], object] = call, flops: float = flops) -> float:
                return rate(call, flops)

            result.append((max(window(), window()), label, window))
            result = sorted(result, key=lambda row: -row[0])[:3]
    return [(label, window) for _, label, window in result]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--precision", action="append")
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args()
    torch = import_torch("this benchmark")
    members = limits.read(topology.read()).threads
    torch.set_num_threads(members)
    library = TorchLibrary(TorchDevice(torch, "cpu"))
    only = tuple(args.precision or library.precisions)
    probes = list(
        gemm.probes(
            [gemm.NumpyLibrary(), library],
            session.SQUARES["standard"],
            LONGEST,
            lambda reason: print("refused:", reason),
            only,
        )
    )
    table, _ = sample(probes, 20.0)
    print(f"{topology.read().name}, {members} threads, load {os.getloadavg()[0]:.2f}")
    report = []
    for probe in probes:
        best = better(table[probe.key])
        if best is None:
            continue
        precision, flops = probe.key.split(".")[1], best.candidate.amount
        theirs = search(precision, max(best.rates))
        seen: dict[str, list[float]] = {"ours": [], **{label: [] for label, _ in theirs}}
        for turn in range(args.rounds):
            order = [("ours", None), *theirs]
            for i in range(len(order)):
                label, window = order[(i + turn) % len(order)]
                if window is None:
                    timed = best.candidate.run(best.calls)
                    seen["ours"].append(flops * timed.calls / timed.seconds)
                else:
                    seen[label].append(window())
        print(f"\n{precision}: ours is {best.candidate.label}")
        for label, rates in seen.items():
            ratio = statistics.median(a / b for a, b in zip(seen["ours"], rates, strict=True))
            print(
                f"  {statistics.median(rates) / 1e9:9.1f} GFLOP/s  ours ÷ it {ratio:.3f}  {label}"
            )
            report.append({"precision": precision, "contender": label, "ratio": ratio})
    print(f"load {os.getloadavg()[0]:.2f} at the end")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=1)


if __name__ == "__main__":
    main()
