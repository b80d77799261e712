"""Why does torch read its bf16 weights slowly at batch 1, and where does the climb end?

One linear layer as in decode: `m` tokens against weights that come from memory, in bf16 and fp32,
as torch runs it by itself and, where this processor has the instructions, with the weights packed
once before. Best of many, in CPU seconds of one thread, so that a busy machine blurs it little.
With it: what torch says it can do, and what oneDNN says it ran (`ONEDNN_VERBOSE`).

    python benchmarks/bench_torch_linear.py [--megabytes 256]
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
ROWS = (1, 2, 4, 8, 16, 64, 256)
SHAPE = (2048, 2048)  # outputs, inputs

PROBE = """
import torch, torch.nn.functional as F
w, x = torch.randn({n}, {k}).bfloat16(), torch.randn({m}, {k}).bfloat16()
F.linear(x, w); F.linear(x, w)
"""


def best(call, seconds: float = 0.4, least: int = 3) -> float:
    """Least CPU seconds of a call."""
    call()
    times, end = [], time.perf_counter() + seconds
    while len(times) < least or time.perf_counter() < end:
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
        if len(times) >= least and time.perf_counter() > end:
            break
    return min(times)


def ran(m: int) -> str:
    """What oneDNN says it ran for a bf16 linear layer of m tokens."""
    code = PROBE.format(m=m, n=SHAPE[0], k=SHAPE[1])
    out = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"ONEDNN_VERBOSE": "1"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found = re.findall(r"onednn_verbose,.*?exec,cpu,(\w+),([\w:]+)", out)
    return ", ".join(f"{kind} {how}" for kind, how in dict.fromkeys(found)) or "nothing of oneDNN"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=256, help="weights to walk through")
    megabytes = parser.parse_args().megabytes
    import torch

    torch.set_num_threads(1)
    n, k = SHAPE
    print(f"torch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}, one thread")
    supported = torch.ops.mkldnn._is_mkldnn_bf16_supported()
    print(f"oneDNN runs bf16 on this processor: {supported}")
    for m in (1, 4):
        print(f"  bf16, m = {m}: {ran(m)}")
    print(f"\n{'':10}{'m':>5}{'µs':>10}{'GFLOP/s':>10}{'GB/s of weights':>17}{'× m = 1':>9}")
    for name, dtype in (("bf16", torch.bfloat16), ("fp32", torch.float32)):
        each = n * k * dtype.itemsize
        weights = [torch.randn(n, k).to(dtype) for _ in range(max(2, (megabytes << 20) // each))]
        packed = None
        if dtype is torch.bfloat16 and supported:
            packed = [torch.ops.mkldnn._reorder_linear_weight(w.to_mkldnn()) for w in weights]
        rows(name, torch.nn.functional.linear, torch, weights, dtype)
        if packed is not None:
            rows("bf16 packed", _packed(torch), torch, packed, dtype)


def _packed(torch):
    def linear(x, w):
        return torch.ops.mkldnn._linear_pointwise(x, w, None, "none", [], "")

    return linear


def rows(name, linear, torch, weights, dtype) -> None:
    n, k = SHAPE
    first = None
    for m in ROWS:
        x = torch.randn(m, k).to(dtype)
        used = weights if m < 64 else weights[:2]  # long calls: the weights matter no more

        def call(x=x, used=used):
            for w in used:
                linear(x, w)

        seconds = best(call) / len(used)
        rate = m / seconds
        first = first or rate
        print(
            f"{name:10}{m:5}{seconds * 1e6:10.0f}{2 * m * n * k / seconds / 1e9:10.1f}"
            f"{n * k * dtype.itemsize / seconds / 1e9:17.1f}{rate / first:9.1f}"
        )


if __name__ == "__main__":
    main()
