"""A point under the roof: the work of its steps, the time no schedule beats, the share reached."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..bound.case import Case
from ..bound.chain import Bound
from ..bound.priced import Timed
from ..errors import InputError
from ..parallel.layout import Parallel
from ..points import Point
from ..points.foreign import shared
from ..points.point import UNSAID
from .routing import PointRouting, Tally
from .steps import Stage, stage_of, steps, together

SCHEMA = "roofline.placed/1"


@dataclass(frozen=True, slots=True)
class Placed(Timed):
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
        routing: of a model with experts, what even routing is expected to read of them.
        stage: under pipeline parallelism, what each stage does, about.
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
    routing: PointRouting | None = None
    stage: Stage | None = None

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
    def least_s(self) -> float:
        """The time that no schedule beats, however tokens are routed: with the fewest experts."""
        if self.routing is None:
            return self.overlapped_s
        fewer = (self.routing.bytes - self.routing.least) / self.bandwidth
        least = max(self.compute_s, self.memory_s - fewer, self.communication_s)
        return min(self.overlapped_s, least)

    @property
    def readable(self) -> float:
        """The most bytes that can have been read in the time measured, all steps together."""
        return self.bandwidth * self.seconds

    @property
    def touched_most(self) -> float | None:
        """Experts a layer that can have been read, after everything else; ``None`` without."""
        if self.routing is None or not self.routing.decides:
            return None
        rest = self.bytes - self.routing.bytes
        return min(float(self.routing.experts), self.routing.touched_by(self.readable - rest))

    @property
    def counted(self) -> str | None:
        """What was given in place of a model: ``bytes``, ``achieved``, ``ratio``."""
        said = self.point.extra.get("counted")
        return said if isinstance(said, str) and self.case is None else None

    @property
    def exact(self) -> bool:
        """Whether only the steps were timed; else the share is a lower bound."""
        return self.point.basis == "steps"

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
            "point": shared(self.point.to_json()),
            "batch": None if UNSAID in self.point.notes else self.point.batch,
            "machine": self.machine,
            "ceilings": self.kind,
            "layout": self.case.parallel.name if self.point.devices > 1 and self.case else None,
            "bandwidth": self.bandwidth,
            "peak": self.peak,
            **(self._achieved_only() if self.counted == "achieved" else self._work()),
            "share": self.share,
            "share_is": "exact" if self.exact else "at least",
        }

    def _achieved_only(self) -> dict[str, Any]:
        """A bandwidth is of no step: there is no time and no work of one."""
        return {
            "batch": None,
            "bound": None,
            "achieved": {"flops_per_s": None, "bytes_per_s": self.traffic, "tokens_per_s": None},
        }

    def _work(self) -> dict[str, Any]:
        data = {
            "flops": self.flops,
            "bytes": {"weights": self.weights, "kv": self.kv, "state": self.state},
            "intensity": self.intensity,
            "bound": {
                "overlapped_s": self.overlapped_s,
                "serial_s": self.serial_s,
                "compute_s": self.compute_s,
                "memory_s": self.memory_s,
                "communication_s": self.communication_s,
                "least_s": self.least_s,
            },
            "sent": self.sent,
            "messages": self.messages,
            "achieved": {
                "flops_per_s": self.speed,
                "bytes_per_s": self.traffic,
                "tokens_per_s": self.point.tokens_per_s,
            },
            "share_of_arithmetic": self.compute_s / self.seconds,
        }
        if self.routing is not None:
            data["experts"] = {**self.routing.to_json(), "at_most": self.touched_most}
        return data


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
        point = together(point)
    flops = weights = kv = state = compute_s = memory_s = overlapped_s = serial_s = passes = 0.0
    talk_s = sent = messages = 0.0
    tally, path = Tally(case), [0.0, 0.0, 0.0]
    try:
        for count, step in steps(point, case):
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
            passes += count
            tally.add(count, step)
            if case.parallel.pp > 1:
                through = case.chains[0].bound(step)
                path[0] += count * through.flops
                path[1] += count * through.weights
                path[2] += count * (through.compulsory - through.weights)
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
        kernels=passes * 2 * sum(op.count for op in case.work.operators if op.flops),
        communication_s=talk_s,
        sent=sent,
        messages=messages,
        routing=tally.found(),
        stage=stage_of(case, *path),
    )


def layout(point: Point) -> Parallel:
    """How a point's model lies over its devices: as it says, else tensor-parallel."""
    said = point.layout
    return said if said and said.devices == point.devices else Parallel(tp=point.devices)


@lru_cache(512)
def _laid(case: Case, over: Parallel) -> Case:
    """The case on other devices, made once."""
    return case.using(parallel=None if over.single else over)
