"""Real decode under the roof of the same minutes: each engine and format at batch 1…N.

Tokens/s, factor over batch 1, share of the roof, GB/s of compulsory bytes, the verdict. Take it in
pieces with --only; a table for the docs comes out with --markdown.

    python benchmarks/bench_engines.py [--model tinyllama-1.1b] [--layers N] [--library FILE]
        [--only torch:bf16] [--batch 1,2,4] [--markdown]
"""

from __future__ import annotations

import argparse

from roofline.engines import drive
from roofline.engines.choose import choose
from roofline.engines.chosen import BenchRequest
from roofline.placing.gap import judge
from roofline.placing.placed import place
from roofline.placing.resolve import Resolver

RUNS = (
    ("torch", "bf16"),
    ("torch", "fp32"),
    ("llamacpp", "fp16"),
    ("llamacpp", "q8_0"),
    ("llamacpp", "q4_0"),
)


def climb(engine: str, weights: str, args: argparse.Namespace) -> None:
    request = BenchRequest(
        model=args.model,
        engine=engine,
        weights=weights,
        layers=args.layers,
        device="cpu" if engine == "torch" else None,
        library=args.library if engine == "llamacpp" else None,
        threads=args.threads,
        batches=tuple(int(b) for b in args.batch.split(",")),
        prompts=(args.prompt,) if args.prompt else (),
        seconds=args.seconds,
    )
    chosen = choose(request)
    measurer = chosen.open()
    probe = chosen.probe(measurer.setup.precisions, print)
    first: list[float] = []

    def show(event: drive.Event) -> None:
        """A point as soon as it is there."""
        point = event.point
        if event.kind == "fail":
            print(event.message, flush=True)
        if event.kind != "done" or point is None:
            return
        factor = ""
        if point.phase == "decode":
            first.append(point.tokens_per_s)
            factor = f"×{point.tokens_per_s / first[0]:.1f}"
        placed = place(*Resolver().case(point))
        roof = point.roof.bandwidth if point.roof and point.roof.bandwidth else 0.0
        cells = (
            *(engine, weights, point.phase, f"{point.batch:.0f}"),
            *(f"{point.tokens_per_s:.1f}", factor, f"{point.step_seconds * 1e3:.1f}"),
            *(f"{point.seconds.spread or 0:.0%}", f"{placed.traffic / 1e9:.1f}"),
            *(f"{placed.speed / 1e9:.0f}", f"{roof / 1e9:.1f}", f"{placed.share:.0%}"),
            *(judge(placed).code, f"{point.load}"),
        )
        print(line(cells, args.markdown), flush=True)

    try:
        drive.run(measurer, chosen.plan, probe=probe, machine="here", facts=chosen.facts, tell=show)
    finally:
        if probe is not None:
            probe.close()
        measurer.close()
        chosen.clean()


def line(cells: tuple[str, ...], markdown: bool) -> str:
    return "| " + " | ".join(cells) + " |" if markdown else "  ".join(cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="tinyllama-1.1b")
    parser.add_argument("--layers", type=int)
    parser.add_argument("--batch", default="1,2,4,8,16,64")
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--library", help="a libllama to use for llama.cpp")
    parser.add_argument("--markdown", action="store_true", help="rows of a table")
    parser.add_argument("--only", help="one engine, or engine:format")
    args = parser.parse_args()
    head = ("engine", "weights", "phase", "batch", "tokens/s", "×", "ms", "±", "GB/s", "GFLOP/s",
            "read roof", "of the roof", "verdict", "load")  # fmt: skip
    print(line(head, args.markdown), flush=True)
    for engine, weights in RUNS:
        if args.only in (None, engine, f"{engine}:{weights}"):
            climb(engine, weights, args)


if __name__ == "__main__":
    main()
