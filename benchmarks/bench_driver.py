"""What the driver adds to a step: against the engine's own benchmark, in turns, in one run.

    its own    the time that an empty step takes in the driver's loop: all that it can add
    engine's   llama.cpp: the library's own clock (llama_perf_context) over the very same steps,
               and a bare loop of calls as llama-bench makes them
               torch: torch.utils.benchmark.Timer over the same step, the rewind timed apart and
               taken off

Both sides run the same number of steps on the same runner (the same cache and buffers), one after
the other in an order that changes every round. One ratio a round; their median, with an interval of
order statistics that holds it with 95 % whatever the distribution.

    python benchmarks/bench_driver.py [--engine llamacpp|torch] [--rounds 40] [--layers N]
"""

from __future__ import annotations

import argparse
import ctypes
import random
import statistics
import time
from math import comb

from roofline.engines import stepwise
from roofline.engines.base import Job
from roofline.engines.choose import choose
from roofline.engines.chosen import BenchRequest

JOB = Job("decode", 1, 32)


class Held:
    """An engine whose jobs all run on one runner, so that both sides use the same memory."""

    def __init__(self, engine) -> None:
        self.setup, self.runner = engine.setup, engine.prepare(JOB)

    def prepare(self, job):
        return self

    def step(self) -> None:
        self.runner.step()

    def rewind(self) -> None:
        self.runner.rewind()

    def close(self) -> None:
        pass


class Empty:
    """A runner that does nothing."""

    setup = None

    def prepare(self, job):
        return self

    def step(self) -> None: ...
    def rewind(self) -> None: ...
    def close(self) -> None: ...


def interval(values: list[float]) -> tuple[float, float, float]:
    """The median, and order statistics around it that hold the true one with 95 %."""
    ordered, n = sorted(values), len(values)
    below = 0.0
    for k in range(n // 2):
        below += comb(n, k) / 2**n
        if below > 0.025:
            return statistics.median(ordered), ordered[max(0, k - 1)], ordered[-max(1, k)]
    return statistics.median(ordered), ordered[0], ordered[-1]


def turns(first, second, rounds: int) -> list[float]:
    """`first()` over `second()`, each round in an order of its own."""
    ratios, rng = [], random.Random(1)
    for _ in range(rounds):
        if rng.random() < 0.5:
            a = first()
            b = second()
        else:
            b = second()
            a = first()
        ratios.append(a / b)
    return ratios


def say(what: str, ratios: list[float]) -> None:
    middle, low, high = interval(ratios)
    print(
        f"{what:44} {middle:.4f} (95 %: {low:.4f} to {high:.4f}; {len(ratios)} pairs, "
        f"{min(ratios):.3f} to {max(ratios):.3f})",
        flush=True,
    )


def driven(held: Held, seconds: float) -> float:
    """Mean seconds of a step by the driver."""
    return statistics.fmean(stepwise.measure(held, JOB, seconds).times)


def empty() -> float:
    times = stepwise.measure(Empty(), JOB, 0.5).times
    median = statistics.median(times)
    print(f"{'an empty step in the driver':44} {median * 1e9:.0f} ns ({len(times)} steps)")
    return median


class Perf(ctypes.Structure):
    """`llama_perf_context_data`: milliseconds, and counts of evaluations."""

    _fields_ = (
        *((name, ctypes.c_double) for name in ("start", "load", "prompt", "eval")),
        *((name, ctypes.c_int32) for name in ("prompts", "evals", "reused")),
    )


FLAGS = bytes([0, 1, 1, 1, 1, 0])
"""`embeddings`, `offload_kqv`, `no_perf`, `op_offload`, `swa_full`, `kv_unified` by default."""


def clocked(lib) -> None:
    """Have contexts keep the library's own clock: `no_perf` off, found among the default flags."""
    plain = lib._lib.llama_context_default_params

    def params():
        made = plain()
        at = bytes(made).rfind(FLAGS, 0, 256)
        if at > 0:
            made.bytes[at + 2] = 0
        return made

    lib._lib.llama_context_default_params = params


def llama(measurer, rounds: int, seconds: float) -> None:
    clocked(measurer.engine.lib)
    held = Held(measurer.engine)
    running = held.runner
    clock = measurer.engine.lib._lib.llama_perf_context
    clock.restype, clock.argtypes = Perf, [ctypes.c_void_p]

    def bare() -> float:
        times = []
        for index in range(stepwise.WARM + max(stepwise.LEAST_STEPS, round(seconds / step))):
            start = time.perf_counter()
            running.lib.decode(running.context, running.batch)
            running.lib.synchronize(running.context)
            if index >= stepwise.WARM:
                times.append(time.perf_counter() - start)
            running.rewind()
        return statistics.fmean(times)

    step = driven(held, seconds)
    spent = empty()
    print(f"{'so at most, of a step of this engine':44} {spent / step:.5%}")
    say(
        "driver / a bare loop of the library's calls",
        turns(lambda: driven(held, seconds), bare, rounds),
    )
    before = clock(running.context)
    running.step()
    running.rewind()
    if clock(running.context).eval == before.eval:
        print("the library's own clock is off (no_perf)")
        return
    ratios = []
    for _ in range(rounds):
        before = clock(running.context)
        times = []
        for _ in range(max(5, round(seconds / step))):
            at = time.perf_counter()
            running.step()
            times.append(time.perf_counter() - at)
            running.rewind()
        after = clock(running.context)
        ratios.append(1e3 * sum(times) / (after.eval - before.eval))
    say("driver / the library's own clock, same steps", ratios)


def torch(measurer, rounds: int, seconds: float) -> None:
    from torch.utils.benchmark import Timer

    held = Held(measurer.engine)
    runner = held.runner
    step = driven(held, seconds)
    spent = empty()
    print(f"{'so at most, of a step of this engine':44} {spent / step:.5%}")
    threads = measurer.engine.torch.get_num_threads()
    both = Timer("step(); rewind()", globals={"step": runner.step, "rewind": runner.rewind},
                 num_threads=threads)  # fmt: skip
    back = Timer("rewind()", globals={"rewind": runner.rewind}, num_threads=threads)
    count = max(stepwise.LEAST_STEPS, round(seconds / step))

    def own() -> float:
        return both.timeit(count).mean - back.timeit(count).mean

    say("driver / torch.utils.benchmark.Timer", turns(lambda: driven(held, seconds), own, rounds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", choices=("llamacpp", "torch"), default="llamacpp")
    parser.add_argument("--model", default="tinyllama-1.1b")
    parser.add_argument("--weights")
    parser.add_argument("--layers", type=int)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each side of a pair")
    args = parser.parse_args()
    request = BenchRequest(
        model=args.model,
        engine=args.engine,
        weights=args.weights,
        layers=args.layers,
        threads=args.threads,
        device="cpu" if args.engine == "torch" else None,
        batches=(1,),
        prompts=(),
    )
    chosen = choose(request)
    measurer = chosen.open()
    try:
        print(f"{args.engine} {measurer.setup.weights}, {args.model}, batch 1, context 32")
        (torch if args.engine == "torch" else llama)(measurer, args.rounds, args.seconds)
    finally:
        measurer.close()
        chosen.clean()


if __name__ == "__main__":
    main()
