"""Nothing measured may lie above the ceilings stored beside it.

A product or a decode step above its roof by more than the stated spread means
that the roof is wrong: something read faster, or multiplied faster, than the
probe that was to find the fastest. Within one run the better figure then
becomes the ceiling, and the file says where it came from.
"""

from __future__ import annotations

from ..record import replace
from .sampling import Estimate

Figures = dict[str, Estimate]


def corrected(figures: Figures) -> Figures:
    """The same figures with each ceiling raised to the best that was seen below it.

    A decode-like product reads every weight once, so its bytes per second are a
    read bandwidth; any product's FLOP per second is a matrix-product rate.
    """
    out = dict(figures)
    for key, point in figures.items():
        if not key.startswith("gemm.") or point.intensity is None:
            continue
        compute = f"compute.{key.split('.')[1]}"
        _raise(out, compute, point, point.best)
        _raise(out, "bandwidth.memory", point, point.best / point.intensity)
    return out


def _raise(figures: Figures, key: str, point: Estimate, value: float) -> None:
    roof = figures.get(key)
    if roof is None or value <= roof.best:
        return
    scale = value / point.best
    figures[key] = replace(
        roof,
        label=f"{point.label} ({point.key}), above {roof.label}",
        best=value,
        median=max(roof.median, point.median * scale),
        spread=1 - max(roof.median, point.median * scale) / value,
    )
