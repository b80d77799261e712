"""A point under the roof: the work of its steps, the time no schedule beats, the share reached."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..bound import Bound, Case
from ..errors import InputError
from ..parallel.layout import Parallel
from ..points import Part, Point
from ..points.point import UNSAID
from ..record import replace
from ..step import Group, Step

SCHEMA = "roofline.placed/1"

MOST_TOGETHER = 1 << 20
"""Sequences of a rate whose batch nobody said: so many that what they share costs nothing."""

SEGMENTS = 8
"""Pieces into which a growing decode is cut where an attention window bends its cost."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A measured point and its bound, all steps together. SI units.

    On several devices work, bytes and ceilings are those of one of them, the busiest, as in
    :class:`roofline.chain.Bound`; tokens are of all together.

    Attributes:
        point: what was measured.
        case: the model under the roof, or ``None`` where bytes were given and no model.
        machine: the machine's name.
        kind: the ceilings' kind, ``datasheet`` or ``measured``.
        spread: relative spread of the bandwidth ceiling, 0 for a sheet's.
        bandwidth: bytes/s.
        peak: FLOP/s for the point's mix of arithmetic; ``None`` without FLOPs.
        flops, weights, kv, state: work of all steps, compulsory bytes by kind.
        compute_s, memory_s: that work over the ceilings.
        overlapped_s: Σ over steps of the largest of these and communication: no schedule beats it.
        serial_s: Σ over operators of the larger: kernels one after another.
        kernels: kernels that all steps together launch, about: one for each operator and one
            element-wise (norm, activation, rotation, residual) beside it.
        communication_s, sent, messages: seconds, bytes and messages to other devices.
    """

    point: Point
    case: Case | None
    machine: str
    kind: str
    spread: float
    bandwidth: float
    peak: float | None
    flops: float
    weights: float
    kv: float
    state: float
    compute_s: float
    memory_s: float
    overlapped_s: float
    serial_s: float
    kernels: float = 0
    communication_s: float = 0.0
    sent: float = 0.0
    messages: float = 0.0

    @property
    def seconds(self) -> float:
        """Median time of all steps."""
        return self.point.seconds.median

    @property
    def bytes(self) -> float:
        """Compulsory bytes of all steps."""
        return self.weights + self.kv + self.state

    @property
    def intensity(self) -> float:
        """FLOP/byte."""
        return self.flops / self.bytes if self.bytes else 0.0

    @property
    def speed(self) -> float:
        """FLOP/s reached."""
        return self.flops / self.seconds

    @property
    def traffic(self) -> float:
        """Bytes/s reached, compulsory bytes only."""
        return self.bytes / self.seconds

    @property
    def share(self) -> float:
        """Of the roof: bound over measured. At most 1, or something is wrong."""
        return self.overlapped_s / self.seconds

    @property
    def best_share(self) -> float:
        """The same of the fastest sample."""
        return self.overlapped_s / (self.point.seconds.best or self.seconds)

    @property
    def exact(self) -> bool:
        """Whether only the steps were timed; else the share is a lower bound."""
        return self.point.basis == "steps"

    @property
    def memory_bound(self) -> bool:
        """Whether traffic takes longer than arithmetic."""
        return self.memory_s >= self.compute_s

    @property
    def communication_bound(self) -> bool:
        """Whether communication takes longer than traffic and than arithmetic."""
        return self.communication_s > max(self.memory_s, self.compute_s)

    @property
    def binding(self) -> str:
        """The ceiling that binds: ``memory:weights``, ``memory:kv``, ``memory:state``,
        ``compute``, ``communication``."""
        if self.communication_bound:
            return "communication"
        if not self.memory_bound:
            return "compute"
        parts = {"memory:weights": self.weights, "memory:kv": self.kv, "memory:state": self.state}
        return max(parts, key=lambda name: parts[name])

    def to_json(self) -> dict[str, Any]:
        """The placement as data; the point as in a points file."""
        return {
            "schema": SCHEMA,
            "point": self.point.to_json(),
            "machine": self.machine,
            "ceilings": self.kind,
            "layout": self.case.parallel.name if self.point.devices > 1 and self.case else None,
            "bandwidth": self.bandwidth,
            "peak": self.peak,
            "flops": self.flops,
            "bytes": {"weights": self.weights, "kv": self.kv, "state": self.state},
            "intensity": self.intensity,
            "bound": {
                "overlapped_s": self.overlapped_s,
                "serial_s": self.serial_s,
                "compute_s": self.compute_s,
                "memory_s": self.memory_s,
                "communication_s": self.communication_s,
            },
            "sent": self.sent,
            "messages": self.messages,
            "achieved": {
                "flops_per_s": self.speed,
                "bytes_per_s": self.traffic,
                "tokens_per_s": self.point.tokens_per_s,
            },
            "share": self.share,
            "share_is": "exact" if self.exact else "at least",
        }


def place(point: Point, case: Case) -> Placed:
    """The point under the case's roof, laid over as many devices as the point has.

    A case of as many devices is taken as it is; another is laid over them anew, as the point
    says, else tensor-parallel.

    Raises:
        InputError: the point's steps are beyond what can be priced, or its model does not divide
            over its devices, or no known link joins them.
    """
    if case.parallel.devices != point.devices:
        case = _laid(case, layout(point))
    if UNSAID in point.notes:
        point = _together(point)
    flops = weights = kv = state = compute_s = memory_s = overlapped_s = serial_s = steps = 0.0
    talk_s = sent = messages = 0.0
    try:
        for count, step in _steps(point, case):
            bound: Bound = case.bound(step)
            flops += count * bound.flops
            weights += count * bound.weights
            kv += count * (bound.kv_read + bound.kv_write)
            state += count * bound.state
            compute_s += count * bound.compute_s
            memory_s += count * bound.memory_s
            overlapped_s += count * bound.overlapped_s
            serial_s += count * bound.serial_s
            talk_s += count * bound.communication_s
            sent += count * bound.sent
            messages += count * bound.messages
            steps += count
    except OverflowError:
        raise InputError("the point's batch or context is beyond any machine") from None
    figure = case.roof.bandwidth
    return Placed(
        point=point,
        case=case,
        machine=case.machine.name,
        kind=figure.kind,
        spread=figure.spread or 0.0,
        bandwidth=case.bandwidth,
        peak=flops / compute_s if compute_s else None,
        flops=flops,
        weights=weights,
        kv=kv,
        state=state,
        compute_s=compute_s,
        memory_s=memory_s,
        overlapped_s=overlapped_s,
        serial_s=serial_s,
        kernels=steps * 2 * sum(op.count for op in case.work.operators if op.flops),
        communication_s=talk_s,
        sent=sent,
        messages=messages,
    )


def layout(point: Point) -> Parallel:
    """How a point's model lies over its devices: as it says, else tensor-parallel."""
    said = point.layout
    return said if said and said.devices == point.devices else Parallel(tp=point.devices)


def _together(point: Point) -> Point:
    """A whole run whose batch nobody said, all of it together: no batch reads less for the same
    tokens, so the share is a lower bound. Of a rate any number can be under way."""
    batch = MOST_TOGETHER if point.seconds.median == 1 else max(1, round(point.parts[0].count))
    parts = tuple(
        Part(tuple(replace(g, batch=batch) for g in part.groups), part.count / batch, part.grows)
        for part in point.parts
    )
    return replace(point, parts=parts)


@lru_cache(512)
def _laid(case: Case, over: Parallel) -> Case:
    """The case on other devices, made once."""
    return case.using(parallel=None if over.single else over)


def _steps(point: Point, case: Case) -> Iterator[tuple[float, Step]]:
    """Steps with how many times each is run.

    A step's cost is linear in the cache's length, so growing steps cost what their first and
    last do on average; windows bend the line, so there it is cut into pieces.
    """
    for part in point.parts:
        if not part.grows or part.count <= 1:
            yield part.count, Step(point.phase, part.groups)
            continue
        bent = any(q.window or q.stride > 1 for q in case.work.plan()[0])
        pieces = min(SEGMENTS, int(part.count)) if bent else 1
        size = part.count / pieces
        for piece in range(pieces):
            first, last = round(piece * size), max(round((piece + 1) * size) - 1, 0)
            yield size / 2, _later(point, part, first)
            yield size / 2, _later(point, part, last)


def _later(point: Point, part: Part, index: int) -> Step:
    groups = tuple(
        Group(g.batch, g.new_tokens, g.past + index * g.new_tokens, g.all_logits)
        for g in part.groups
    )
    return Step(point.phase, groups)


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
