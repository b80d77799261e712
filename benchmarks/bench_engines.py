"""Real decode under the roof of the same minutes, and what the driver adds to a step.

For each engine and format the climb over batch: tokens/s, factor over batch 1, share of the roof.
Then the driver against a bare loop over the engine's own call: in turns, as many steps of each, in
CPU seconds of this process, so that a busy machine blurs it little (best with --threads 1).

    python benchmarks/bench_engines.py [--model tinyllama-1.1b] [--layers N] [--library FILE]
"""

from __future__ import annotations

import argparse
import statistics
import time

from roofline.engines import drive, stepwise
from roofline.engines.base import Job
from roofline.engines.choose import Request, choose
from roofline.place.gap import judge
from roofline.place.placed import place
from roofline.place.resolve import Resolver

RUNS = (
    ("torch", "bf16"),
    ("torch", "fp32"),
    ("llamacpp", "fp16"),
    ("llamacpp", "q8_0"),
    ("llamacpp", "q4_0"),
)


def climb(engine: str, weights: str, args: argparse.Namespace) -> None:
    request = Request(
        model=args.model,
        engine=engine,
        weights=weights,
        layers=args.layers,
        device="cpu" if engine == "torch" else None,
        library=args.library if engine == "llamacpp" else None,
        threads=args.threads,
        batches=tuple(int(b) for b in args.batch.split(",")),
        prompts=(args.prompt,),
        seconds=args.seconds,
    )
    chosen = choose(request)
    measurer = chosen.open()
    looker = chosen.looker(measurer.setup.precisions, print)
    try:
        points = drive.run(measurer, chosen.plan, looker=looker, machine="here", facts=chosen.facts)
        first = next(p.tokens_per_s for p in points if p.phase == "decode")
        for point in points:
            placed = place(*Resolver().case(point))
            factor = f"×{point.tokens_per_s / first:.1f}" if point.phase == "decode" else ""
            print(
                f"{engine:9} {weights:5} {point.phase:8} {point.batch:4.0f} "
                f"{point.tokens_per_s:9.1f} {factor:7} {placed.share:6.0%} {judge(placed).code:15} "
                f"load {point.load}",
                flush=True,
            )
        overhead(measurer)
    finally:
        if looker is not None:
            looker.close()
        measurer.close()
        chosen.clean()


def overhead(measurer: drive.Stepwise, rounds: int = 7) -> None:
    """The driver's step against a bare loop, as many steps of each, in turns."""
    job, clock, ratios = Job("decode", 1, 32), time.process_time, []
    for _ in range(rounds):
        driven = stepwise.measure(measurer.engine, job, 0.5, clock=clock).times
        runner, bare = measurer.engine.prepare(job), []
        for index in range(len(driven) + 2):
            start = clock()
            runner.step()
            taken = clock() - start
            runner.rewind()
            if index >= 2:
                bare.append(taken)
        runner.close()
        ratios.append(statistics.median(driven) / statistics.median(bare))
    middle = statistics.median(ratios)
    print(f"driver over bare loop, batch 1: {middle:.4f} ({min(ratios):.4f} to {max(ratios):.4f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="tinyllama-1.1b")
    parser.add_argument("--layers", type=int)
    parser.add_argument("--batch", default="1,2,4,8,16,64")
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--library", help="a libllama to use for llama.cpp")
    parser.add_argument("--only", help="one engine, or engine:format")
    args = parser.parse_args()
    for engine, weights in RUNS:
        if args.only in (None, engine, f"{engine}:{weights}"):
            climb(engine, weights, args)


if __name__ == "__main__":
    main()
