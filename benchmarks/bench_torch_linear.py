"""Why does torch read its bf16 weights slowly at batch 1? One linear layer, as in decode.

`m` tokens against weights that come from memory, walked through so that none stays in a cache. Each
way that torch has of multiplying them:

    torch      torch.nn.functional.linear, what a model calls: on this processor MKL for fp32,
               oneDNN for bf16 where the instructions are there, else a loop of torch's own
    oneDNN     the same layer handed to oneDNN, the weights as they lie
    packed     the same, the weights put into oneDNN's own order once before

`oneDNN` less `packed` is what it costs to bring the weights into order in every call. With it: what
torch says it can do, what oneDNN and MKL say they ran (`ONEDNN_VERBOSE`, `MKL_VERBOSE`), and the
threads that were busy (CPU seconds over seconds), and the CPUs that others had meanwhile: a row
beside which that is more than a tenth says little.

    python benchmarks/bench_torch_linear.py [--threads 2] [--megabytes 256] [--shape 2048x2048]
        [--rows 1,2,4] [--only fp32]
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time

from roofline.measuring import quiet

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

PROBE = """
import torch, torch.nn.functional as F
torch.set_num_threads({threads})
n, k = {shape}
order, plain = torch.ops.mkldnn._reorder_linear_weight, torch.ops.mkldnn._linear_pointwise
for m in {rows}:
    for dtype in (torch.bfloat16, torch.float32):
        w, x = torch.randn(n, k).to(dtype), torch.randn(m, k).to(dtype)
        print("\\n@", str(dtype)[6:], "torch, m =", m, flush=True)
        F.linear(x, w)
        if dtype is torch.float32 or {supported}:
            print("\\n@", str(dtype)[6:], "oneDNN, m =", m, flush=True)
            plain(x, w, None, "none", [], "")
            print("\\n@", str(dtype)[6:], "packing once, m =", m, flush=True)
            packed = order(w, m)
            print("\\n@", str(dtype)[6:], "packed, m =", m, flush=True)
            plain(x, packed, None, "none", [], "")
"""


def fastest(call, seconds: float = 0.5, least: int = 3) -> tuple[float, float, float]:
    """Least seconds of a call, the threads that were busy in it, and others' CPUs meanwhile."""
    call()
    cpus = frozenset(os.sched_getaffinity(0))
    first = quiet.snapshot(cpus)
    times, end = [], time.perf_counter() + seconds
    while len(times) < least or time.perf_counter() < end:
        start, cpu = time.perf_counter(), time.process_time()
        call()
        spent = time.perf_counter() - start
        times.append((spent, (time.process_time() - cpu) / spent))
    return *min(times), quiet.others(first, quiet.snapshot(cpus)) or 0.0


def heard(**about) -> None:
    """Print what oneDNN and MKL say they ran."""
    out = subprocess.run(
        [sys.executable, "-c", PROBE.format(**about)],
        env=os.environ | {"ONEDNN_VERBOSE": "1", "MKL_VERBOSE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    for part in out.stdout.split("\n@ ")[1:]:
        what, _, said = part.partition("\n")
        one = re.findall(r"onednn_verbose,.*?exec,cpu,(\w+),([\w:+]+)", said)
        mkl = re.findall(r"MKL_VERBOSE (\w*GEM[MV]\w*)\(", said)
        weights = re.findall(r"wei:\w+:\w*:\w+:(\w+)", said)
        result = [f"oneDNN {kind} {how}" for kind, how in one]
        result += [f"weights as {order}" for order in weights]
        result += [f"MKL {name}" for name in mkl]
        print(f"  {what}: {' + '.join(dict.fromkeys(result)) or 'neither oneDNN nor MKL'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=256, help="weights to walk through")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--shape", default="2048x2048", help="outputs x inputs")
    parser.add_argument("--rows", default="1,2,4,8,16,64,256")
    parser.add_argument("--only", choices=("bf16", "fp32"))
    parser.add_argument("--seconds", type=float, default=0.5)
    args = parser.parse_args()
    import torch

    torch.set_num_threads(args.threads)
    n, k = map(int, args.shape.split("x"))
    rows = [int(m) for m in args.rows.split(",")]
    print(f"torch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}, "
          f"{args.threads} threads, {n} x {k}")  # fmt: skip
    supported = torch.ops.mkldnn._is_mkldnn_bf16_supported()
    print(f"torch gives bf16 to oneDNN on this processor: {supported}")
    heard(threads=args.threads, shape=(n, k), rows=(1, 4, 256), supported=supported)
    print(f"\n{'':14}{'m':>6}{'µs':>10}{'GFLOP/s':>10}{'GB/s of weights':>17}{'× m = 1':>9}"
          f"{'threads':>9}{'others':>8}")  # fmt: skip
    for name, dtype in (("bf16", torch.bfloat16), ("fp32", torch.float32)):
        if args.only not in (None, name):
            continue
        count = max(2, (args.megabytes << 20) // (n * k * dtype.itemsize))
        weights = [torch.randn(n, k).to(dtype) for _ in range(count)]
        ways = {"torch": (torch.nn.functional.linear, lambda w, m: w)}
        if dtype is torch.float32 or supported:
            ways["oneDNN"] = (_onednn(torch), lambda w, m: w)
            ways["packed"] = (_onednn(torch), _packed(torch))
        for way, (linear, prepared) in ways.items():
            first = None
            for m in rows:
                used = [prepared(w, m) for w in (weights if m < 64 else weights[:2])]
                x = torch.randn(m, k).to(dtype)

                def call(x=x, used=used, linear=linear):
                    for w in used:
                        linear(x, w)

                spent, busy, others = fastest(call, args.seconds)
                seconds = spent / len(used)
                first = first or m / seconds
                print(
                    f"{name + ' ' + way:14}{m:6}{seconds * 1e6:10.0f}"
                    f"{2 * m * n * k / seconds / 1e9:10.1f}"
                    f"{n * k * dtype.itemsize / seconds / 1e9:17.1f}"
                    f"{m / seconds / first:9.1f}{busy:9.2f}{others:8.2f}",
                    flush=True,
                )


def _onednn(torch):
    def linear(x, w):
        return torch.ops.mkldnn._linear_pointwise(x, w, None, "none", [], "")

    return linear


def _packed(torch):
    return torch.ops.mkldnn._reorder_linear_weight


if __name__ == "__main__":
    main()
