"""Why does torch's decode fall at a large batch? Where the time of a step goes, and page faults.

glibc gives a block over 32 MiB (its largest `mmap` threshold) back to the system as soon as it is
freed, so every such temporary is paid for again with a page fault for each 4 KiB. The same steps
run with the threshold as it is, and with one so high that the memory stays (`MALLOC_*`, read when a
process starts; so each run is a process of its own, in turns; the fastest step of all counts).

    python benchmarks/bench_torch_batch.py [--model tinyllama-1.1b] [--layers 4] [--weights fp32]
        [--batch 64,128,256,512] [--context 32] [--rounds 3]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time

KEPT = {
    "MALLOC_MMAP_THRESHOLD_": str(1 << 40),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
    "MALLOC_TOP_PAD_": str(1 << 28),
}


def child(args: argparse.Namespace) -> None:
    from roofline.engines.base import Job
    from roofline.engines.choose import choose
    from roofline.engines.chosen import BenchRequest

    request = BenchRequest(
        model=args.model,
        engine="torch",
        weights=args.weights,
        layers=args.layers,
        device="cpu",
        threads=args.threads,
        batches=(1,),
        prompts=(),
    )
    measurer = choose(request).open()
    for batch in (int(b) for b in args.batch.split(",")):
        runner = measurer.engine.prepare(Job("decode", batch, args.context))
        for _ in range(2):
            runner.step()
            runner.rewind()
        times, faults = [], []
        end = time.perf_counter() + args.seconds
        while len(times) < 3 or time.perf_counter() < end:
            before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
            runner.step()
            times.append(time.perf_counter() - start)
            after = resource.getrusage(resource.RUSAGE_SELF)
            faults.append(after.ru_minflt - before.ru_minflt)
            runner.rewind()
        result = {"batch": batch, "s": min(times), "faults": statistics.median(faults)}
        if args.profile:
            result["top"] = profiled(runner)
        runner.close()
        print(json.dumps(result), flush=True)


def profiled(runner) -> list[tuple[str, float, int]]:
    """The operators that take longest: name, share of the step, calls."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU]) as seen:
        runner.step()
    runner.rewind()
    rows = seen.key_averages()
    whole = sum(row.self_cpu_time_total for row in rows)
    rows = sorted(rows, key=lambda row: -row.self_cpu_time_total)[:6]
    return [(row.key, row.self_cpu_time_total / whole, row.count) for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="tinyllama-1.1b")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--weights", default="fp32")
    parser.add_argument("--batch", default="64,128,256,512")
    parser.add_argument("--context", type=int, default=32)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        return child(args)
    print(f"{'memory':10}{'batch':>6}{'ms':>9}{'tokens/s':>10}{'faults':>9}{'ns a fault':>12}")
    best: dict[tuple[str, int], dict] = {}
    for _ in range(args.rounds):
        for name, extra in (("returned", {}), ("kept", KEPT)):
            run = subprocess.run(
                [sys.executable, __file__, *sys.argv[1:], "--child"],
                env=os.environ | extra,
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            for line in run.stdout.splitlines():
                result = json.loads(line)
                key = (name, result["batch"])
                if key not in best or result["s"] < best[key]["s"]:
                    best[key] = result
    for (name, batch), result in best.items():
        other = best["kept", batch]
        more = result["faults"] - other["faults"]
        each = f"{(result['s'] - other['s']) / more * 1e9:12.0f}" if more > 0 else f"{'':12}"
        print(
            f"{name:10}{batch:6}{result['s'] * 1e3:9.1f}{batch / result['s']:10.1f}"
            f"{result['faults']:9.0f}{each}"
        )
        for key, share, calls in result.get("top", ()):
            print(f"{'':16}{share:6.0%}  {key} × {calls}")
    return None


if __name__ == "__main__":
    main()
