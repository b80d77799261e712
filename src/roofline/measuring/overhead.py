"""What is paid per call whatever its size: launch, synchronisation, a step of Python.

Decode at batch 1 runs thousands of small kernels a second; where each waits
for its launch, no ceiling of bytes or FLOPs is the one that binds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from .gemm import wall
from .sampling import Candidate, Probe, Window
from .torch_device import TorchDevice


def python_probe() -> Probe:
    """One turn of a loop that calls a function: what an engine written in Python pays at least."""

    def step(x: int, scale: int = 1) -> int:
        return x + scale

    def run(calls: int) -> Window:
        start = time.perf_counter()
        x = 0
        for _ in range(calls):
            x = step(x, scale=1)
        return Window(calls, time.perf_counter() - start)

    return Probe(
        "overhead.python", (Candidate("a Python call", 1.0, run),), lower=True, window=0.005
    )


def numpy_probe() -> Probe:
    """The smallest NumPy operation: its cost is the call."""
    import numpy as np

    x = np.zeros(1, np.float32)

    def call() -> None:
        np.add(x, x, out=x)

    return Probe(
        "overhead.launch",
        (Candidate("NumPy, one element", 1.0, lambda calls: wall(call, calls)),),
        lower=True,
        window=0.005,
    )


def torch_probes(device: TorchDevice) -> Iterator[Probe]:
    """Launch (many small kernels, one wait) and synchronisation (one small kernel, one wait)."""
    torch = device.torch
    x = torch.ones(1, device=device.key)

    def launch() -> None:
        x.mul_(1.0)

    def both() -> None:
        x.mul_(1.0)
        device.synchronize()

    def queued(calls: int) -> Window:
        device.synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            launch()
        device.synchronize()
        return Window(calls, time.perf_counter() - start)

    yield Probe(
        "overhead.launch",
        (Candidate("torch, one element, queued", 1.0, queued),),
        lower=True,
        window=0.005,
    )
    if device.kind != "cpu":
        yield Probe(
            "overhead.sync",
            (Candidate("torch, one element, waited for", 1.0, lambda n: wall(both, n)),),
            lower=True,
            window=0.005,
        )


def all_reduce_probes(local: list[TorchDevice], size: int = 256 << 20) -> Iterator[Probe]:
    """A small and a large all-reduce over the local devices, where torch can do one in process.

    ``overhead.all_reduce`` is the seconds of a tiny one; ``link.all_reduce`` the
    bytes each device sends, 2·(n − 1)/n of the tensor, per second.
    """
    if len(local) < 2 or any(d.kind != "cuda" for d in local):
        return
    torch = local[0].torch
    reduce: Callable[[list[Any]], object] | None = getattr(
        getattr(torch.cuda, "nccl", None), "all_reduce", None
    )
    if reduce is None:
        return

    def reducer(count: int) -> Callable[[int], Window]:
        tensors = [torch.zeros(count, dtype=torch.float32, device=d.key) for d in local]

        def run(calls: int) -> Window:
            for device in local:
                device.synchronize()
            start = time.perf_counter()
            for _ in range(calls):
                reduce(tensors)
            for device in local:
                device.synchronize()
            return Window(calls, time.perf_counter() - start)

        return run

    n = len(local)
    yield Probe(
        "overhead.all_reduce",
        (Candidate(f"{n} devices, 4 KiB", 1.0, reducer(1024)),),
        lower=True,
        window=0.01,
    )
    yield Probe(
        "link.all_reduce",
        (
            Candidate(
                f"{n} devices, {size >> 20} MiB", 2 * (n - 1) / n * float(size), reducer(size // 4)
            ),
        ),
    )
