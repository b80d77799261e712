"""The time of one kernel, and the load that a step puts on each kind of kernel.

A kernel computes ``C = FLOPs / (efficiency · peak)`` and moves ``M = bytes / (efficiency ·
bandwidth)``. The two overlap, but not perfectly, so their joint time is the smooth maximum
``B = √(C² + M²)``; and no kernel is faster than its floor ``t₀`` (launch, fill, drain), of
which a part hides behind the work: ``t = t₀ + B + κ·√(t₀·B)``. With κ = 0 floor and work
simply add; with κ > 0 short kernels lose more, as a pipeline that fills slowly does.

Every form here is monotone in FLOPs and in bytes, and the same text evaluates numbers and
NumPy arrays (only +, ·, /, √: no library is imported).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..step import Group, Number, Step
from ..work import Operator, Work

DRAFT = 16
"""Groups with at most this many new tokens a sequence run decode kernels."""


def smooth_max(a: Number, b: Number) -> Number:
    """√(a² + b²): between max(a, b) and a + b, smooth, monotone in both."""
    return (a * a + b * b) ** 0.5


def with_floor(floor: Number, busy: Number, ramp: Number) -> Number:
    """t₀ + B + κ·√(t₀·B)."""
    return floor + busy + ramp * (floor * busy) ** 0.5


@dataclass(frozen=True, slots=True)
class Load:
    """What one kernel of a step has to do; ``count`` kernels alike run one after another.

    Attributes:
        name: the operator's.
        kind: ``linear``, ``head``, ``experts``, ``state``, ``decode`` or ``prefill``
            (attention of sequences with few or many new tokens).
        count: kernels.
        compute: precision of the arithmetic.
        flops: of one kernel, the padding of causal tiles included.
        stored: bytes of weights, cache and state of one kernel: compulsory traffic.
        moved: bytes of activations that it reads and writes.
        inputs: of those, what a product in 8 or 4 bits quantises first, as 16-bit numbers.
        tokens: new tokens that pass through it.
        queries: for attention, new tokens of a sequence.
    """

    name: str
    kind: str
    count: int
    compute: str
    flops: Number
    stored: Number
    moved: Number
    inputs: Number
    tokens: Number
    queries: Number = 1


@dataclass(frozen=True, slots=True)
class Loads:
    """The loads of a step on one device.

    Attributes:
        kernels: in the order in which they run.
        layers: mixers (attention or state) that the tokens pass through.
        tokens, sequences, rows: of the step.
        width: bytes of one token's residual stream.
    """

    kernels: tuple[Load, ...]
    layers: int
    tokens: Number
    sequences: Number
    width: float


def loads(work: Work, step: Step, replicas: int = 1) -> Loads:
    """What each kernel of ``step`` has to do.

    Attention runs once per group (decode and prefill are different kernels); everything
    else runs once for all tokens of the step.

    Args:
        work: one device's share of the model.
        step: what this device's replica of the attention runs.
        replicas: attention replicas whose tokens meet in the routed experts.
    """
    groups = step.groups
    met = tuple(replace(g, batch=g.batch * replicas) for g in groups) if replicas > 1 else groups
    tokens: Number = 0
    for g in groups:
        tokens = tokens + g.batch * g.new_tokens
    values: dict[Any, Number] = {}

    def price(terms: Any, of: tuple[Group, ...]) -> Number:
        total: Number = 0
        for q, c in terms:
            key = (q, id(of))
            if key not in values:
                values[key] = q.value(of)
            total = total + c * values[key]
        return total

    singles = [(g,) for g in groups]
    found = []
    layers = 0
    width = 0.0
    for op in work.operators:
        if op.kind == "embedding":
            width = sum(c for _, c in op.activations)
            continue
        if op.kind in ("attention", "state"):
            layers += op.count
        if op.kind == "attention":
            for one in singles:
                found.append(_attention(op, one, price))
            continue
        of = met if op.kind == "experts" else groups
        stored = price(op.weights, of)
        if op.state:
            stored = stored + price(op.state, groups)
        if op.kv_read or op.kv_write:
            stored = stored + price(op.kv_read, groups) + price(op.kv_write, groups)
        moved = price(op.activations, of)
        found.append(
            Load(
                op.name,
                op.kind,
                op.count,
                op.compute,
                price(op.flops, of),
                stored,
                moved,
                0.5 * moved,  # inputs and outputs of a model's products are about alike
                tokens,
            )
        )
    sequences: Number = 0
    for g in groups:
        sequences = sequences + g.batch
    return Loads(tuple(found), layers, tokens, sequences, width)


def _attention(op: Operator, one: tuple[Group, ...], price: Any) -> Load:
    (g,) = one
    stored = price(op.kv_read, one) + price(op.kv_write, one)
    if op.weights:
        stored = stored + price(op.weights, one)
    few = g.new_tokens
    decode = bool((few <= DRAFT).all()) if hasattr(few, "all") else few <= DRAFT
    return Load(
        op.name,
        "decode" if decode else "prefill",
        op.count,
        op.compute,
        price(op.flops, one),
        stored,
        price(op.activations, one),
        0,
        g.batch * g.new_tokens,
        g.new_tokens,
    )
