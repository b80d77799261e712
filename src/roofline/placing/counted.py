"""A point whose work somebody counted: bytes and FLOPs as numbers, and no model."""

from __future__ import annotations

from ..points import Point
from .placed import Placed


def place_bytes(
    point: Point,
    *,
    machine: str,
    kind: str,
    bandwidth: float,
    bytes_: float,
    flops: float = 0.0,
    peak: float | None = None,
    spread: float = 0.0,
) -> Placed:
    """A point whose bytes (and FLOPs) somebody counted, of all devices together and shared evenly,
    under one device's ceilings given as numbers."""
    bytes_, flops = bytes_ / point.devices, flops / point.devices
    compute_s = flops / peak if peak else 0.0
    memory_s = bytes_ / bandwidth
    return Placed(
        point=point,
        case=None,
        machine=machine,
        kind=kind,
        spread=spread,
        bandwidth=bandwidth,
        peak=peak if flops else None,
        flops=flops,
        weights=bytes_,
        kv=0.0,
        state=0.0,
        compute_s=compute_s,
        memory_s=memory_s,
        overlapped_s=max(compute_s, memory_s),
        serial_s=max(compute_s, memory_s),
    )
