"""Bandwidth of a torch device: its memory and its L2, read, copy and triad.

torch has no read-only kernel as such, so several are tried and the best
counts: a sum, a maximum, and a matrix–vector product, which is decode itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..errors import RooflineError
from .bandwidth import GIB
from .sampling import Candidate, Probe, Window
from .torch_device import TorchDevice

MIB = 1 << 20
_COLUMNS = 8192


def working_set(device: TorchDevice) -> int:
    """Bytes to read for the memory figure: 8 × the L2, 1 GiB or more, at most 40 % of the free."""
    wanted = max(GIB, 8 * (device.cache or 64 * MIB))
    return wanted if device.free is None else min(wanted, int(device.free * 0.4))


def probes(device: TorchDevice, size: int | None = None) -> Iterator[Probe]:
    """Memory read, copy, triad, and L2 read where its size is known."""
    torch = device.torch
    size = size or working_set(device)
    count = size // 4 // _COLUMNS * _COLUMNS
    try:
        x = torch.ones(count, dtype=torch.float32, device=device.key)
    except RuntimeError:
        raise RooflineError(
            f"no room for {size / GIB:.1f} GiB on {device.key}: end what else uses it"
        ) from None
    yield Probe("bandwidth.memory", tuple(_reads(device, x, 1)), window=0.02)
    third = count // 3
    a, b, c = x[:third], x[third : 2 * third], x[2 * third : 3 * third]
    moved = float(third * 4)

    def copy() -> None:
        a.copy_(b)

    def triad() -> None:
        torch.add(b, c, alpha=0.0, out=a)

    yield Probe("bandwidth.memory.copy", (_timed(device, "copy", 2 * moved, copy),), window=0.02)
    yield Probe("bandwidth.memory.triad", (_timed(device, "triad", 3 * moved, triad),), window=0.02)
    if device.cache and device.cache >= MIB:
        small = x[: device.cache // 2 // 4 // _COLUMNS * _COLUMNS]
        if small.numel():
            yield Probe("bandwidth.L2", tuple(_reads(device, small, 16)), window=0.02)


def _reads(device: TorchDevice, x: Any, passes: int) -> Iterator[Candidate]:
    """Ways to read ``x`` (all ones). More than one pass in a launch hides the launch itself."""
    torch, count = device.torch, int(x.numel())
    matrix = x.view(-1, _COLUMNS)
    vector = torch.ones(_COLUMNS, dtype=x.dtype, device=device.key)
    rows = torch.empty(matrix.shape[0], dtype=x.dtype, device=device.key)
    sums: list[Any] = [None]

    def total() -> None:
        sums[0] = matrix.sum(dim=1)

    def most() -> None:
        sums[0] = torch.amax(matrix, dim=1)

    def product() -> None:
        torch.mv(matrix, vector, out=rows)
        sums[0] = rows

    each = float(count * x.element_size())
    yield _timed(device, "row sums", each, total, lambda: (sums[0], float(_COLUMNS)))
    yield _timed(device, "row maxima", each, most, lambda: (sums[0], 1.0))
    yield _timed(device, "matrix–vector", each, product, lambda: (sums[0], float(_COLUMNS)))
    if passes > 1:
        again = x.view(1, -1).expand(passes, count)

        def repeated() -> None:
            sums[0] = again.sum(dim=1)

        yield _timed(
            device,
            f"sum, {passes} passes",
            each * passes,
            repeated,
            lambda: (sums[0], float(count)),
        )


def _timed(
    device: TorchDevice,
    label: str,
    amount: float,
    call: Callable[[], object],
    result: Callable[[], tuple[Any, float]] | None = None,
) -> Candidate:
    checked = [result is None]

    def run(calls: int) -> Window:
        window = device.timed(call, calls)
        if not checked[0] and result is not None:
            got, expected = result()
            # a float32 sum of many ones may be rounded, never skipped
            if abs(float(got.cpu().double().mean().item()) - expected) > 1e-3 * expected:
                raise RooflineError(f"{label} on {device.key} returned a wrong value")
            checked[0] = True
        return window

    return Candidate(f"torch {label}", amount, run)
