"""Nothing measured may lie above the ceilings stored beside it.

A product or a decode step above its roof by more than the stated spread means
that the roof is wrong: something read faster, or multiplied faster, than the
probe that was to find the fastest. Within one run the better figure then
becomes the ceiling, and the file says where it came from; a point measured
elsewhere (an engine's decode) is held against the file with `excess`.
"""

from ..record import replace
from .sampling import Estimate

Figures = dict[str, Estimate]


def excess(rate: float, intensity: float, peak: float | None, bandwidth: float | None) -> float:
    """How far ``rate`` (FLOP/s) at ``intensity`` lies above min(peak, intensity × bandwidth).

    0.1 is ten per cent above; negative is below. Unknown ceilings do not bind.
    """
    roofs = [peak] if peak else []
    if bandwidth:
        roofs.append(intensity * bandwidth)
    return rate / min(roofs) - 1 if roofs else float("-inf")


def violations(figures: Figures) -> dict[str, float]:
    """Keys of points above their own roof by more than its spread → by how much."""
    out: dict[str, float] = {}
    memory = figures.get("bandwidth.memory")
    for key, point in figures.items():
        if not key.startswith("gemm.") or point.intensity is None:
            continue
        # a precision without a unit of its own is computed in fp32
        peak = figures.get(f"compute.{key.split('.')[1]}") or figures.get("compute.fp32")
        over = excess(
            point.best,
            point.intensity,
            peak.best if peak else None,
            memory.best if memory else None,
        )
        allowed = max((f.spread for f in (peak, memory) if f), default=0.0)
        if over > allowed:
            out[key] = over
    return out


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
