"""The verdict for the gap between a point and its roof, with causes in order.

    share ≥ the wall            the roof's own verdict: memory:weights, memory:kv, compute, …
    share > 1 beyond its error  suspect: see `suspect`; routing, where fewer experts than even
                                routing touches explain it, and no fewer than there must be
    else                        overhead, where a fixed time per step explains most of the gap;
                                kernel, where the time is in kernels that fall short of the roof

The fixed time is measured where several points of one engine are there (`fixed_time`: steps of
different size on one line), else estimated from the kernels of a step and the seconds that one
launch takes. Where nothing was measured those seconds are an assumption, and one that a step's own
time can refute: a step that is faster than its kernels' launches shows that they cost nothing here.
A cause is a code with its numbers; words for it live in ``words/``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from .cause import Cause
from .placed import Placed
from .suspect import causes

WALL = {"datasheet": 0.70, "measured": 0.80}
"""Share of a roof from which a point is at it: good engines reach 70–90 % of a sheet's bandwidth
and 80–100 % of a measured one."""

SLACK = 0.005
"""Above a datasheet's roof by more than rounding is above it."""

WIDE = 0.1
"""A measured roof excuses a point above it by twice its spread, and by no more than twice this."""

LAUNCH = {"gpu": 4e-6, "accelerator": 4e-6, "soc": 10e-6, "cpu": 1e-6}
"""Seconds to start one kernel where the machine's file says nothing: an assumption, and named."""

REFUTED = 1.1
"""An assumed time that is over this times what a step leaves beside its bound is refuted by it."""

FIXED = 0.5
"""Of what is lost, from which a fixed time a step is what it is lost to."""

ABOVE, APART, SCATTER = 1.1, 3, 0.2
"""A line through an engine's steps takes no point further above its roof than the first, needs
bounds as far apart as the second, and a middle error under the third."""


@dataclass(frozen=True, slots=True)
class Gap:
    """The verdict on a placed point.

    Attributes:
        code: a bound's code at the wall, else ``overhead``, ``kernel``, ``routing`` or
            ``suspect``.
        share: of the roof.
        exact: whether the share is exact; else it is at least that.
        causes: most likely first.
        fixed_s: fixed seconds per step, where known; ``fixed_is`` says ``fitted``, ``measured``
            or ``assumed``, and ``refuted`` where an assumed one was dropped.
        facts: what else is to be said of the point, and of the series that it is in.
    """

    code: str
    share: float
    exact: bool
    causes: tuple[Cause, ...] = ()
    fixed_s: float | None = None
    fixed_is: str | None = None
    facts: tuple[Cause, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The verdict as data."""
        return {
            "code": self.code,
            "share": self.share,
            "share_is": "exact" if self.exact else "at least",
            "causes": [{"code": cause.code, **cause.values} for cause in self.causes],
            "fixed_s": self.fixed_s,
            "fixed_is": self.fixed_is,
            "facts": [{"code": fact.code, **fact.values} for fact in self.facts],
        }


def judge(placed: Placed, fixed: float | None = None, floor: float | None = None) -> Gap:
    """The verdict on one point.

    Args:
        placed: the point.
        fixed: fixed seconds per step, from :func:`fixed_time`.
        floor: the least seconds per kernel that steps of this engine leave beside their bounds,
            from :func:`least_beside`; by default this point's own.
    """
    spread = min(placed.spread, WIDE) if placed.kind == "measured" else 0.0
    slack = max(SLACK, 2 * spread)
    facts = tuple(_facts(placed))
    if placed.share > 1 + slack:
        within = placed.least_s / placed.seconds <= 1 + slack and placed.routing is not None
        code = "routing" if within else "suspect"
        return Gap(code, placed.share, placed.exact, causes(placed), facts=facts)
    if placed.share >= WALL.get(placed.kind, 0.7):
        return Gap(placed.binding, placed.share, placed.exact, facts=facts)
    if not placed.kernels:  # a bandwidth, or bytes: nothing is known of kernels
        return Gap("kernel", placed.share, placed.exact, tuple(_causes(placed, "kernel")))
    steps = _count(placed.point.parts)
    lost = (placed.seconds - placed.overlapped_s) / steps
    known, source = fixed, "fitted"
    if known is None:
        launch, source = _launch(placed)
        least = min(x for x in (floor, _beside(placed)) if x is not None)
        if source == "assumed" and launch > REFUTED * least:
            facts += (_refuted(placed, launch),)
            known, source = 0.0, "refuted"
        else:
            known = launch * placed.kernels / steps
    code = "overhead" if known >= FIXED * lost else "kernel"
    return Gap(
        code,
        placed.share,
        placed.exact,
        tuple(_causes(placed, code)),
        None if source == "refuted" else min(known, placed.seconds / steps),
        source,
        facts,
    )


def _facts(placed: Placed) -> Iterable[Cause]:
    """What is to be said beside the verdict: expectations and how the batch was found."""
    routing = placed.routing
    if routing is None or not routing.decides or not placed.memory_bound:
        return
    if routing.touched < 0.995 * routing.experts:
        values = {"touched": routing.touched, "experts": routing.experts, "active": routing.active}
        yield Cause("expected", values)


def _refuted(placed: Placed, launch: float) -> Cause:
    kernels = placed.kernels / _count(placed.point.parts)
    values = {"launch": launch, "kernels": round(kernels), "together": launch * kernels}
    return Cause("launch.refuted", values)


def _beside(placed: Placed) -> float:
    """Seconds per kernel that the point leaves beside its bound."""
    return max(0.0, placed.seconds - placed.overlapped_s) / placed.kernels


def least_beside(placed: Iterable[Placed]) -> float | None:
    """The least seconds per kernel that points of one engine leave beside their bounds."""
    result = (
        _beside(p) for p in placed if p.kernels and p.share <= 1 and p.point.phase == "decode"
    )
    return min(result, default=None)


def _launch(placed: Placed) -> tuple[float, str]:
    machine = placed.case.machine if placed.case else None
    roof = placed.point.roof
    if roof and "launch" in roof.overhead:
        return roof.overhead["launch"], "measured"
    if machine and "launch" in machine.measured.overhead:
        return machine.measured.overhead["launch"].value, "measured"
    return LAUNCH.get(machine.kind if machine else "gpu", 4e-6), "assumed"


def _causes(placed: Placed, code: str) -> Iterable[Cause]:
    """Likely causes of a gap below the roof, most likely first."""
    point, case = placed.point, placed.case
    kind = case.machine.kind if case else ("cpu" if "cpu" in placed.machine.lower() else "gpu")
    depth = case.model.depth if case else None
    layers = point.settings.get("n_gpu_layers", point.extra.get("n_gpu_layers"))
    if kind != "cpu" and _partly(layers, depth):
        yield Cause("offload", {"layers": layers, "depth": depth})
    if "busy" in point.notes:
        yield Cause("busy", {"cpus": point.load or 0.0})
    if point.basis in ("token", "first", "run"):
        yield Cause(f"average.{point.basis}")
    if code == "overhead":
        yield Cause("launch", {"kernels": round(placed.kernels / _count(point.parts))})
        yield Cause("host")
    if point.devices > 1 and case is not None:
        staged = case.parallel.pp > 1 and case.parallel.tp == 1
        single = case.parallel.devices == case.parallel.dp and not placed.messages
        if not single:  # replicas that never talk have no links to wait for
            yield Cause("stages" if staged else "links", {"devices": point.devices})
    if kind == "cpu":
        if point.settings.get("nodes") != 1:
            yield Cause("numa")
        if "threads" not in point.settings:
            yield Cause("threads")
    if placed.memory_bound and point.phase == "decode":
        weights = point.weights or (case.weights if case else "")
        if _unpacked(weights):
            yield Cause("dequantise", {"weights": weights})
        if point.batch <= 4:
            yield Cause("gemv", {"batch": round(point.batch)})
        else:
            yield Cause("skinny", {"batch": round(point.batch)})
        if placed.kv > placed.weights:
            yield Cause("attention")
    elif not placed.memory_bound:
        yield Cause("gemm")
    if placed.kind == "datasheet" and placed.counted != "ratio":
        yield Cause("sheet", {"of": placed.binding.split(":")[0]})


def _count(parts: Sequence[Any]) -> float:
    return sum(part.count for part in parts) or 1.0


def _partly(offloaded: Any, depth: int | None) -> bool:
    try:
        layers = float(offloaded)
    except (TypeError, ValueError):
        return False
    return depth is not None and 0 <= layers < depth


@lru_cache(256)
def _unpacked(weights: str) -> bool:
    """Whether weights of this format are widened before they are multiplied."""
    from ..errors import UnsupportedError
    from ..model.formats import parse

    try:
        chosen = parse(weights)
    except UnsupportedError:
        return False
    return chosen.size < 1.9 and chosen.compute in ("bf16", "fp16")


def fixed_time(placed: Sequence[Placed]) -> float | None:
    """Fixed seconds per step, from points of one engine whose steps differ in size.

    The line time = fixed + slope × bound through two or more steps, weighted so that each counts
    by its relative error, with both parameters not negative and slope at least 1. ``None`` where
    too narrow a range makes a line of anything, or the points are on none.
    """
    pairs = [
        (p.overlapped_s / _count(p.point.parts), p.seconds / _count(p.point.parts))
        for p in placed
        if p.exact and p.overlapped_s > 0 and p.share <= ABOVE
    ]
    if len(pairs) < 2 or max(b for b, _ in pairs) < APART * min(b for b, _ in pairs):
        return None
    fixed, slope = weighted_line(pairs)
    if slope < 1:  # faster than the roof from one to the next: no line of this kind
        if len(pairs) < 3:
            return None
        slope = 1.0
        s = sum(1 / time**2 for _, time in pairs)
        fixed = sum((time - bound) / time**2 for bound, time in pairs) / s
    if fixed <= 0:
        return 0.0
    errors = [abs(fixed + slope * bound - time) / time for bound, time in pairs]
    return fixed if sorted(errors)[len(errors) // 2] < SCATTER else None


def weighted_line(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Intercept and slope of y over x, each pair weighted by its relative error in y; a slope of 0
    where one pair outweighs all others."""
    weights = [1 / y**2 for _, y in pairs]
    total = sum(weights)
    x_mean = sum(w * x for w, (x, _) in zip(weights, pairs, strict=True)) / total
    y_mean = sum(w * y for w, (_, y) in zip(weights, pairs, strict=True)) / total
    spread = sum(w * (x - x_mean) ** 2 for w, (x, _) in zip(weights, pairs, strict=True))
    both = sum(w * (x - x_mean) * (y - y_mean) for w, (x, y) in zip(weights, pairs, strict=True))
    slope = both / spread if spread else 0.0
    return y_mean - slope * x_mean, slope
