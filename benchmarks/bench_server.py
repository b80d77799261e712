"""A real continuous-batching server, llama.cpp's own, probed at 1…16 requests at a time.

The server runs in a process of its own (`tests/engines/real_server.py`), with 16 slots, over
gemma-3-270m from the extra [demo] or any GGUF file. `bench`'s own endpoint engine asks it; the
machine's ceilings are looked at before, between and after. Beside each point stands what the server
itself says of a token's time, from its /metrics, over the same requests.

    python benchmarks/bench_server.py [--gguf FILE] [--batch 1,2,4,8,16] [--seconds 8]
"""

from __future__ import annotations

import argparse
import os
import sys
import urllib.request

from roofline.engines import drive
from roofline.engines.base import Job
from roofline.engines.endpoint import Endpoint
from roofline.engines.plan import Plan
from roofline.engines.roofs import RoofProbe
from roofline.files.demo import demo
from roofline.placing.placed import place
from roofline.placing.resolve import Resolver

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests"))
from engines.real_server import serving


def said(url: str) -> tuple[float, float]:
    """Tokens that the server has generated, and the seconds it says they took."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=5) as answer:
        lines = answer.read().decode().splitlines()
    result = dict(line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))
    return (
        float(result.get("llamacpp:tokens_predicted_total", 0)),
        float(result.get("llamacpp:tokens_predicted_seconds_total", 0)),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gguf", help="a file (default: gemma-3-270m)")
    parser.add_argument("--model", default="gemma-3-270m")
    parser.add_argument("--batch", default="1,2,4,8,16")
    parser.add_argument("--prompt", type=int, default=64)
    parser.add_argument("--output", type=int, default=96)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    args = parser.parse_args()
    batches = [int(batch) for batch in args.batch.split(",")]
    path = args.gguf or demo()
    print(f"{'requests':>8}{'tokens/s':>10}{'×':>6}{'±':>6}{'of the roof':>13}{'TTFT s':>8}"
          f"{'ms between':>12}{'server says':>13}{'ran':>5}")  # fmt: skip
    with (
        serving(path, max(batches), 2048, args.threads) as url,
        RoofProbe("cpu", ("int8", "fp16"), room=1 << 28) as probe,
    ):
        client = Endpoint(url, known_as=args.model, weights="q4_k", kv="fp16",
                          prompt=args.prompt, output=args.output, environment={})  # fmt: skip
        first = None
        for batch in batches:
            before = said(url)
            plan = Plan((Job("decode", batch, args.prompt),), (), args.seconds)
            (point,) = drive.run(client, plan, probe=probe, machine="here")
            after = said(url)
            tokens = max(1.0, after[0] - before[0])
            placed = place(*Resolver(weights="q4_k").case(point))
            first = first or point.tokens_per_s
            print(
                f"{batch:8}{point.tokens_per_s:10.1f}{point.tokens_per_s / first:6.1f}"
                f"{point.seconds.spread or 0:6.0%}{placed.share:12.0%}≥"
                f"{point.settings['ttft_median_s']:8.2f}{point.seconds.median * 1e3:12.2f}"
                f"{1e3 * (after[1] - before[1]) / tokens:13.2f}"
                f"{point.settings['metrics'].get('running', 0):5.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
