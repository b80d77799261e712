"""Cost of a prediction as a ratio to the cost of a bound: ``python benchmarks/predict_speed.py``.

The goal is at most 3: once per step, and on arrays of steps. Bound and prediction are
interleaved, so that a noisy machine moves both; the median of the ratios counts.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

CASES = (
    ("llama-3.1-8b", "h100-sxm", {}),
    ("mixtral-8x7b", "a100-80gb-sxm", {}),
    ("deepseek-v3", "h200-sxm", {"weights": "fp8"}),
)
STEPS = 1 << 18


def seconds(run: Callable[[], object], times: int) -> float:
    """Mean of a window."""
    start = time.perf_counter()
    for _ in range(times):
        run()
    return (time.perf_counter() - start) / times


def ratio(a: Callable[[], object], b: Callable[[], object], times: int, windows: int) -> tuple:
    """Median seconds of a and of b, and of b/a window by window."""
    first, second = [], []
    for _ in range(windows + 1):
        first.append(seconds(a, times))
        second.append(seconds(b, times))
    first, second = first[1:], second[1:]
    pairs = [y / x for x, y in zip(first, second, strict=True)]
    return statistics.median(first), statistics.median(second), statistics.median(pairs)


def main() -> None:
    """Print the table."""
    import numpy as np

    from roofline.bound.arrays import Table
    from roofline.bound.case import Case
    from roofline.count.step import Step
    from roofline.machine.load import load as load_machine
    from roofline.model.load import load as load_model
    from roofline.predicting import Predictor, load_profile

    print(f"{'':34s} {'bound':>12s} {'prediction':>12s} {'ratio':>7s}")
    for model, machine, formats in CASES:
        case = Case(load_model(model), load_machine(machine), **formats)
        p, table = Predictor(case, load_profile("vllm")), Table(case)
        n = np.arange(STEPS)
        one, many = Step.decode(16, 2048), Step.decode(n % 512 + 1, n % 8000 + 16)
        told(f"{model}, one step, µs", 1e6, *single(case, p, one))
        told(f"{model}, arrays, µs a step", 1e6 / STEPS, *arrays(table, p, many))


def single(case, p, step) -> tuple:
    """One step, again and again."""
    return ratio(lambda: case.bound(step), lambda: p.step(step), 200, 21)


def arrays(table, p, steps) -> tuple:
    """A quarter of a million steps at once."""
    return ratio(lambda: table.bounds(steps), lambda: p.seconds(steps), 1, 7)


def told(name: str, unit: float, bound: float, prediction: float, times: float) -> None:
    """A line of the table."""
    print(f"{name:34s} {bound * unit:12.4g} {prediction * unit:12.4g} {times:7.2f}")


if __name__ == "__main__":
    main()
