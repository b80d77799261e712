"""Bounds: a model's work held against a machine's roof.

    ridge              peak / bandwidth, FLOP/byte, peaks dense
    intensity          Σ FLOPs / Σ compulsory bytes of the step
    overlapped bound   max(Σ FLOPs/peak, Σ bytes/bandwidth): no schedule beats it
    serial bound       Σ over operators of max(FLOPs/peak, bytes/bandwidth): kernels one after
                       another; its shares are the detailed verdict
    intensity limit    where the step's intensity goes as the batch grows without end
    crossing batch     the first batch at which arithmetic takes as long as traffic. With W
                       weight bytes, and F FLOPs and K cache bytes a sequence,
                       B* = W·peak/(F·bandwidth - K·peak), finite only where F/K > ridge

Where operators run in several precisions, the ridge of a step is the one at which its own
mix of arithmetic takes as long as its traffic: FLOPs / (Σ FLOPs/peak · bandwidth).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .errors import InputError
from .machine.machine import Figure, Machine, Roof
from .model.formats import Format
from .model.model import Model
from .step import Group, Number, Quantity, Step
from .work import Operator, Work, merge

LARGEST_BATCH = 1 << 40

DEFAULT_USABLE = 0.9
"""Fraction of memory given to weights and cache where none is said; engines' usual default."""


@dataclass(frozen=True, slots=True)
class OperatorBound:
    """One kind of operator under the roof, all its instances together.

    Attributes:
        name, kind, count, compute: of the operator; ``compute`` is the precision it runs in.
        flops, bytes: FLOPs and compulsory bytes of all instances in the step.
        seconds: serial bound of all instances.
        bound: ``compute`` or ``memory``, the ceiling that takes longer.
    """

    name: str
    kind: str
    count: int
    compute: str
    flops: Number
    bytes: Number
    seconds: float
    bound: str

    @property
    def intensity(self) -> float | None:
        """FLOP/byte, ``None`` where nothing crosses the memory bus."""
        return self.flops / self.bytes if self.bytes else None


@dataclass(frozen=True, slots=True)
class Bound:
    """A step under the roof. Times in seconds, bytes in bytes.

    Attributes:
        flops: FLOPs of the step.
        weights, kv_read, kv_write, state: compulsory bytes by kind.
        compute_s, memory_s: Σ FLOPs/peak and Σ bytes/bandwidth.
        serial_s: the serial bound.
        tokens: new tokens of the step.
        ridge: FLOP/byte, for the step's mix of arithmetic.
        shares: of the serial bound: weights, kv, state, compute; they add up to 1.
    """

    flops: Number
    weights: Number
    kv_read: Number
    kv_write: Number
    state: Number
    compute_s: float
    memory_s: float
    serial_s: float
    tokens: Number
    ridge: float
    shares: dict[str, float]

    @property
    def compulsory(self) -> Number:
        """All compulsory bytes."""
        return self.weights + self.kv_read + self.kv_write + self.state

    @property
    def intensity(self) -> float:
        """FLOP/byte of the step."""
        return float(self.flops / self.compulsory)

    @property
    def overlapped_s(self) -> float:
        """The overlapped bound."""
        return max(self.compute_s, self.memory_s)

    @property
    def memory_bound(self) -> bool:
        """Whether traffic takes longer than arithmetic: intensity below the ridge."""
        return self.memory_s > self.compute_s

    @property
    def tokens_per_s(self) -> float:
        """New tokens a second at best: over the overlapped bound."""
        return float(self.tokens / self.overlapped_s)

    @property
    def peak_fraction(self) -> float:
        """The most of the compute peak that the step can reach."""
        return self.compute_s / self.overlapped_s


@dataclass(frozen=True, slots=True)
class Climb:
    """What a growing batch does to a step.

    Attributes:
        limit: the intensity that it approaches and never passes; ``None`` if it has none.
        crossing: the first batch at the ridge, or ``None``.
        reason: why there is none: ``kv`` or ``state``, whichever is more of a sequence's own
            traffic, which keeps the intensity below the ridge.
        ridge: the ridge as the batch grows without end.
        linear_crossing: new tokens at which the weight matrices alone reach the ridge.
        kv_outweighs: the first batch whose cache and state traffic exceeds the weights'.
    """

    limit: float | None
    crossing: int | None
    reason: str | None
    ridge: float
    linear_crossing: float | None
    kv_outweighs: int | None


@dataclass(frozen=True, slots=True)
class Fit:
    """What fits in memory. Bytes.

    Attributes:
        weight_bytes: all resident weights, tables and untouched experts included.
        kv_bytes_per_sequence: cache and state that one sequence holds after the step.
        workspace_per_sequence: activations of the largest operator.
        memory_bytes: what programs can have, or ``None`` where unknown.
        usable: the fraction of it given to weights and cache.
        max_batch: the batch that fits; 0 if the weights alone do not; ``None`` if unknown.
    """

    weight_bytes: float
    kv_bytes_per_sequence: float
    workspace_per_sequence: float
    memory_bytes: float | None
    usable: float
    max_batch: int | None


class Case:
    """A model in given formats under one machine's roof, ready to be asked about steps.

    Attributes:
        model, machine, roof, work: what is held against what.
        weights, kv: names of the formats.
        notes: assumptions made on the way, one sentence each.
    """

    def __init__(
        self,
        model: Model,
        machine: Machine,
        *,
        weights: str | Format | None = None,
        kv: str | Format | None = None,
        compute: str | None = None,
        ceilings: str | None = None,
        usable: float = DEFAULT_USABLE,
    ) -> None:
        """Put a model under a roof.

        Args:
            model: what is run.
            machine: what it is run on.
            weights, kv, compute: formats, as for :meth:`Model.work`.
            ceilings: ``datasheet`` or ``measured``, as for :meth:`Machine.roof`.
            usable: fraction of the memory for weights and cache, over 0 and up to 1.

        Raises:
            UnsupportedError: an unknown format, or a precision without a known ceiling.
            InputError: ``usable`` out of range.
        """
        if not 0 < usable <= 1:
            raise InputError(f"usable must be over 0 and up to 1, not {usable}")
        self.model = model
        self.machine = machine
        self.roof: Roof = machine.roof(ceilings)
        self.work: Work = model.work(weights, kv, compute)
        scheme, cache, _ = model.formats(weights, kv)
        self.weights = scheme.name
        self.kv = cache.name
        self.usable = usable
        self.options = {"weights": weights, "kv": kv, "compute": compute, "ceilings": ceilings}
        self.bandwidth = self.roof.bandwidth.value
        # kind of arithmetic asked for → what it runs in here
        self.arithmetic: dict[str, tuple[str, Figure]] = {}
        for op in self.work.operators:
            if op.flops and op.compute not in self.arithmetic:
                asked = compute is not None and op.kind in ("linear", "head", "experts")
                found = (
                    (op.compute, self.roof.peak(op.compute))
                    if asked
                    else self.roof.arithmetic(op.compute)
                )
                self.arithmetic[op.compute] = found
        self.notes = tuple(
            f"{machine.name} has no known {wanted} ceiling: those products run in {used}"
            for wanted, (used, _) in self.arithmetic.items()
            if used != wanted
        )
        quantities, rows = self.work.plan()
        self._quantities: tuple[Quantity, ...] = quantities
        #: each operator with its numbered terms, and its compute ceiling in FLOP/s
        self.rows = tuple(
            (row, self.arithmetic[row[0].compute][1].value if row[1] else math.inf) for row in rows
        )
        self._sums = self._summed()
        self._linear_crossing = self._where_matrices_cross()
        self._held = merge(
            *(tuple((q, c * op.count) for q, c in op.held) for op in self.work.operators)
        )
        self._spaces = tuple({op.activations for op in self.work.operators if op.activations})

    def _summed(self) -> tuple[tuple[Quantity, float, float, float, float], ...]:
        # Per quantity, over all operators: FLOPs, seconds of arithmetic, bytes, bytes of state.
        found: dict[Quantity, list[float]] = {}
        for (op, *_), peak in self.rows:
            for q, c in op.flops:
                sums = found.setdefault(q, [0, 0.0, 0, 0])
                sums[0] += op.count * c
                sums[1] += op.count * c / peak
            for q, c in op.traffic:
                found.setdefault(q, [0, 0.0, 0, 0])[2] += op.count * c
            for q, c in op.state:
                found[q][3] += op.count * c
        return tuple((q, f, t, b, s) for q, (f, t, b, s) in found.items())

    def _where_matrices_cross(self) -> float | None:
        seconds = read = 0.0
        for (op, *_), peak in self.rows:
            if op.kind == "linear":
                seconds += op.count * sum(c for _, c in op.flops) / peak
                read += op.count * sum(c for _, c in op.weights)
        return read / (seconds * self.bandwidth) if seconds else None

    def using(self, **changes: Any) -> Case:
        """The same case with other formats, ceilings, usable fraction, model or machine."""
        options: dict[str, Any] = {
            "model": self.model, "machine": self.machine, "usable": self.usable, **self.options,
        }  # fmt: skip
        options.update(changes)
        return Case(options.pop("model"), options.pop("machine"), **options)

    def bound(self, step: Step) -> Bound:
        """The step under the roof."""
        groups = step.groups
        v = [q.value(groups) for q in self._quantities]
        bandwidth = self.bandwidth
        flops = weights = kv_read = kv_write = state = 0
        compute_s = serial_s = by_weights = by_kv = by_state = by_compute = 0.0
        for (_, f_terms, w_terms, r_terms, k_terms, s_terms), peak in self.rows:
            f = w = r = k = s = 0
            for i, c in f_terms:
                f += c * v[i]
            for i, c in w_terms:
                w += c * v[i]
            for i, c in r_terms:
                r += c * v[i]
            for i, c in k_terms:
                k += c * v[i]
            for i, c in s_terms:
                s += c * v[i]
            arithmetic = f / peak
            moved = w + r + k + s
            traffic = moved / bandwidth
            compute_s += arithmetic
            if traffic >= arithmetic:
                serial_s += traffic
                by_weights += w
                by_kv += r + k
                by_state += s
            else:
                serial_s += arithmetic
                by_compute += arithmetic
            flops += f
            weights += w
            kv_read += r
            kv_write += k
            state += s
        total = weights + kv_read + kv_write + state
        scale = 1 / (bandwidth * serial_s)
        return Bound(
            flops,
            weights,
            kv_read,
            kv_write,
            state,
            compute_s,
            total / bandwidth,
            serial_s,
            step.tokens_out,
            flops / (compute_s * bandwidth),
            {
                "weights": by_weights * scale,
                "kv": by_kv * scale,
                "state": by_state * scale,
                "compute": by_compute / serial_s,
            },
        )

    def operators(self, step: Step) -> tuple[OperatorBound, ...]:
        """Each kind of operator under the roof, in the order in which they run."""
        found = []
        for cost, (row, peak) in zip(self.work.costs(step), self.rows, strict=True):
            op: Operator = row[0]
            arithmetic, traffic = cost.flops / peak, cost.traffic / self.bandwidth
            used = self.arithmetic[op.compute][0] if op.flops else op.compute
            found.append(
                OperatorBound(
                    op.name,
                    op.kind,
                    op.count,
                    used,
                    cost.flops,
                    cost.traffic,
                    max(arithmetic, traffic),
                    "compute" if arithmetic > traffic else "memory",
                )
            )
        return tuple(found)

    def climb(self, step: Step) -> Climb:
        """What a growing batch does to the step; to its decode part alone, where it is mixed
        (prefill beside it lifts the intensity, so there the batch pulls it down again)."""
        first = step.groups[0]
        one = (Group(1, first.new_tokens, first.past, first.all_logits),)
        bandwidth = self.bandwidth
        # One sequence's own FLOPs, seconds and bytes; what is paid whatever the batch; experts.
        flops = arithmetic = traffic = state = fixed = 0.0
        experts: list[tuple[float, Quantity]] = []
        for q, f, t, moved, kept in self._sums:
            if q.q == "touched":
                experts.append((moved, q))
            elif q.q == "one":
                fixed += moved
            else:
                own = q.value(one)
                flops += f * own
                arithmetic += t * own
                traffic += moved * own
                state += kept * own

        def read(batch: float) -> float:  # bytes of weights
            tokens = batch * first.new_tokens
            return fixed + sum(c * _touched(q, tokens) for c, q in experts)

        def net(batch: float) -> float:  # seconds of arithmetic beyond traffic
            return batch * slope - read(batch) / bandwidth

        slope = arithmetic - traffic / bandwidth
        crossing = _first(net, slope)
        reason = None
        if crossing is None:
            reason = "state" if state > traffic - state else "kv"
        return Climb(
            limit=flops / traffic if traffic else None,
            crossing=crossing,
            reason=reason,
            ridge=flops / (arithmetic * bandwidth),
            linear_crossing=self._linear_crossing,
            kv_outweighs=_first(lambda batch: batch * traffic - read(batch), traffic),
        )

    def fit(self, step: Step) -> Fit:
        """What fits in memory beside the weights, sequences like the first group's."""
        first = step.groups[0]
        one = (Group(1, first.new_tokens, first.past, first.all_logits),)
        held = sum(c * q.value(one) for q, c in self._held)
        workspace = max(sum(c * q.value(one) for q, c in terms) for terms in self._spaces)
        memory = self.machine.memory
        most = None
        if memory is not None:
            room = memory.value * self.usable - self.work.resident
            for group in step.groups[1:]:
                room -= sum(c * q.value((group,)) for q, c in self._held)
            each = held + workspace
            most = max(0, math.floor(room / each)) if each else LARGEST_BATCH
        return Fit(
            weight_bytes=self.work.resident,
            kv_bytes_per_sequence=held,
            workspace_per_sequence=workspace,
            memory_bytes=memory.value if memory else None,
            usable=self.usable,
            max_batch=most,
        )


def _touched(q: Quantity, tokens: float) -> float:
    if q.experts == q.active:
        return q.experts
    return q.experts * float(1.0 - (1.0 - q.active / q.experts) ** tokens)


def _first(net: Callable[[float], float], slope: float) -> int | None:
    """The first whole batch from 1 at which ``net`` is not negative, ``None`` if never.

    ``net`` is a constant, less something that saturates, plus ``slope`` times the batch, and
    negative at 0; so it crosses zero at most once.
    """
    if net(1) >= 0:
        return 1
    if slope <= 0:
        return None
    low, high = 1, 2
    while net(high) < 0:
        low, high = high, high * 2
        if high > LARGEST_BATCH:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        if net(middle) < 0:
            low = middle
        else:
            high = middle
    return high
