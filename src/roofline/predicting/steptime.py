"""The time of a step: kernels, passes between them, messages, and fixed costs.

    t = Σ kernels  count · (t₀ + B + κ·√(t₀·B))      kernel.py; B = √(C² + M²)
      + Σ kernels  count · passes · activations / bw  norms, residuals, quantising
      + layers · layer floor                          small kernels of a layer
      + messages                                      collective.py
      + step floor + sequences · per sequence         scheduler, sampler, host

Attention of sequences with one or few new tokens runs decode kernels, whose arithmetic and
traffic add up (each warp alternates between them) instead of overlapping.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..count.number import Number
from .collective import exchange
from .device import Device
from .kernel import Load, Loads, smooth_max

NARROW = frozenset(("fp8", "int8", "fp4", "fp6", "int4"))
"""Precisions for which activations are quantised on the way in."""

WEIGHTS = frozenset(("linear", "head", "experts"))
"""Kinds that read weights. Where vector units unpack them, they take in only so many bytes a
FLOP (``linear.intake``); the stream is that rate and the memory's in series."""

SLOT = {
    "linear": "linear",
    "head": "linear",
    "experts": "experts",
    "state": "state",
    "decode": "attention",
    "prefill": "attention",
}


@dataclass(frozen=True, slots=True)
class Parts:
    """Seconds of a step by cause; their sum is the step.

    Attributes:
        linear, attention, experts, state: kernels, floors apart.
        floors: what the floors of kernels and layers add.
        passes: norms, rotary, residuals, activation functions, quantising.
        messages: between devices.
        host: fixed cost of a step and of its sequences.
    """

    linear: Number = 0.0
    attention: Number = 0.0
    experts: Number = 0.0
    state: Number = 0.0
    floors: Number = 0.0
    passes: Number = 0.0
    messages: Number = 0.0
    host: Number = 0.0

    @property
    def total(self) -> Number:
        """The step."""
        return sum(getattr(self, name) for name in NAMES)

    def plus(self, other: Parts, times: Number = 1.0) -> Parts:
        """The parts of this and ``times`` the other."""
        return Parts(*(getattr(self, n) + times * getattr(other, n) for n in NAMES))

    def times(self, factor: Number) -> Parts:
        """All parts so many times as long."""
        return Parts(*(factor * getattr(self, n) for n in NAMES))

    def longer(self, other: Parts) -> Parts:
        """This or the other, whichever takes longer; of arrays at each place."""
        here = self.total >= other.total
        if not getattr(here, "ndim", 0):
            return self if here else other
        import numpy as np

        return Parts(*(np.where(here, getattr(self, n), getattr(other, n)) for n in NAMES))

    def to_json(self) -> dict[str, float]:
        """Parts by name, those that are zero left out."""
        return {n: float(v) for n in NAMES if (v := getattr(self, n))}


NAMES = ("linear", "attention", "experts", "state", "floors", "passes", "messages", "host")
ZERO = Parts()


@dataclass(frozen=True, slots=True)
class KernelRate:
    """How fast one kind of kernel goes on one device.

    Attributes:
        rate: FLOP/s.
        stream: bytes/s.
        floor: seconds.
        passes: times its activations are read or written beside the kernel.
        quantise: times its inputs are, to be quantised.
        tile: keys that a causal tile wastes per query (prefill).
    """

    rate: Any
    stream: Any
    floor: float
    passes: float
    quantise: float = 0.0
    tile: float = 0.0


class Rates:
    """Coefficients applied to a device: what each kind of kernel runs at, looked up once."""

    __slots__ = ("_found", "c", "device")

    def __init__(self, device: Device, c: Mapping[str, float]) -> None:
        self.device = device
        self.c = c
        self._found: dict[tuple[str, str], KernelRate] = {}

    def __call__(self, kind: str, compute: str) -> KernelRate:
        """The rate of kernels of that kind in that precision."""
        key = (kind, compute)
        if key not in self._found:
            self._found[key] = self._make(kind, compute)
        return self._found[key]

    def _make(self, kind: str, compute: str) -> KernelRate:
        c, device = self.c, self.device
        name = "linear" if kind == "head" else kind
        passes = quantise = 0.0
        if kind in ("linear", "experts", "state"):
            passes = c["passes"] + (c["experts.passes"] if kind == "experts" else 0.0)
            if compute in NARROW and compute in device.native:
                quantise = c["quantise"]
        reached = c.get(f"{name}.compute.{compute}", c[f"{name}.compute"])
        stream = device.bandwidth * c.get(f"{name}.bandwidth", c["linear.bandwidth"])
        intake = c.get("linear.intake")
        if intake and kind in WEIGHTS:
            stream = 1 / (1 / stream + 1 / (intake * device.vector))
        return KernelRate(
            device.peak(compute) * min(reached, 1 / device.scale),  # never above the sheet
            stream,
            c[f"{name}.floor"],
            passes,
            quantise,
            c["prefill.tile"] if kind == "prefill" else 0.0,
        )


def busy(load: Load, kernel: KernelRate) -> Number:
    """B, the joint time of computing and moving, of one kernel."""
    moving = (load.stored + load.moved) / kernel.stream
    if load.kind == "decode":
        return load.flops / kernel.rate + moving
    computing = load.flops / kernel.rate
    if kernel.tile:
        computing = computing * (1 + kernel.tile / load.queries)
    return smooth_max(computing, moving)


def step_time(loads: Loads, rates: Rates) -> Parts:
    """Seconds of a step, by cause."""
    c = rates.c
    ramp = c["ramp"]
    bandwidth = rates.device.bandwidth
    total: dict[str, Number] = {}
    floors: Number = loads.layers * c["layer.floor"]
    again: Number = 0.0
    for load in loads.kernels:
        kind, count = load.kind, load.count
        kernel = rates(kind, load.compute)
        b = busy(load, kernel)
        slot = SLOT[kind]
        total[slot] = total.get(slot, 0.0) + count * b
        floors = floors + count * (kernel.floor + ramp * (kernel.floor * b) ** 0.5)
        if kernel.passes:
            again = again + (count * kernel.passes) * load.moved
        if kernel.quantise:
            again = again + (count * kernel.quantise) * load.inputs
    messages: Number = 0.0
    for one in loads.exchanges:
        each = exchange(one.sent / one.messages, one.group, one.per_byte, c, one.per_message)
        messages = messages + one.count * one.messages * each
    host = c["step.floor"] + loads.sequences * c["step.sequence"]
    return Parts(**total, floors=floors, passes=again / bandwidth, messages=messages, host=host)
