"""A chain: operators that run one after another, priced against the ceilings.

Rows of numbered terms, made once, so that a step costs a few multiply-adds each. On one
device the chain is the model's work; on several there are two to hold a step against
(:mod:`roofline.parallel.split`), and communication is a third ceiling beside arithmetic and
traffic: bytes sent over a link, and messages that each take at least its latency.
"""

from __future__ import annotations

import math

from ..count.number import Number
from ..count.quantity import Quantity
from ..count.step import Step
from ..count.work import Operator, Work
from ..machine.links import Interconnect, Wire
from ..machine.machine import Figure
from ..record import record
from .priced import Priced

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from collections.abc import Mapping


@record
class OperatorBound:
    """One kind of operator under the roof, all its instances together.

    Attributes:
        name, kind, count, compute: of the operator; ``compute`` is the precision it runs in.
        flops, bytes: FLOPs and compulsory bytes of all instances in the step.
        seconds: serial bound of all instances.
        bound: ``compute``, ``memory`` or ``communication``, the ceiling that takes longest.
        sent, messages: bytes sent to other devices, and exchanges waited for.
        wire: what they go over.
    """

    name: str
    kind: str
    count: int
    compute: str
    flops: Number
    bytes: Number
    seconds: float
    bound: str
    sent: Number = 0
    messages: Number = 0
    wire: Wire | None = None

    @property
    def intensity(self) -> float | None:
        """FLOP/byte, ``None`` where nothing crosses the memory bus."""
        return self.flops / self.bytes if self.bytes else None


@record
class Communication:
    """Communication of one device in a step.

    Attributes:
        seconds: Σ bytes sent/link + messages·latency.
        sent: bytes sent to other devices.
        messages: exchanges waited for, one after another.
    """

    seconds: float
    sent: Number
    messages: Number


NO_COMMUNICATION = Communication(0.0, 0, 0)


@record
class Bound(Priced):
    """A step under the roof. Times in seconds, bytes in bytes.

    On several devices FLOPs, bytes and seconds are those of one of them (the busiest), tokens
    and tokens per second those of all.

    Attributes:
        flops: FLOPs of the step.
        weights, kv_read, kv_write, state: compulsory bytes by kind.
        compute_s, memory_s: Σ FLOPs/peak and Σ bytes/bandwidth.
        serial_s: the serial bound.
        tokens: new tokens of the step.
        ridge: FLOP/byte, for the step's mix of arithmetic.
        shares: of the serial bound: weights, kv, state, compute, and on several devices
            communication; they add up to 1.
        communication: with other devices.
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
    communication: Communication = NO_COMMUNICATION

    @property
    def communication_s(self) -> float:
        """Σ bytes sent/link + messages·latency."""
        return self.communication.seconds

    @property
    def sent(self) -> Number:
        """Bytes sent to other devices."""
        return self.communication.sent

    @property
    def messages(self) -> Number:
        """Exchanges waited for."""
        return self.communication.messages

    @property
    def binds(self) -> str:
        """The ceiling that takes longest: ``memory``, ``compute`` or ``communication``."""
        if self.communication_bound:
            return "communication"
        return "memory" if self.memory_bound else "compute"

    @property
    def peak_fraction(self) -> float:
        """The most of the compute peak that the step can reach."""
        return float(self.compute_s / self.overlapped_s)


@record
class Exchange:
    """A communicating operator's numbered terms, all its instances together, and their price.

    Attributes:
        row: its place among the operators.
        sent, messages: terms of bytes and of messages.
        wire: what they go over.
        per_byte, per_message: seconds.
    """

    row: int
    sent: tuple[tuple[int, float], ...]
    messages: tuple[tuple[int, float], ...]
    wire: Wire
    per_byte: float
    per_message: float

    def cost(self, v: list[Number]) -> tuple[float, Number, Number]:
        """Seconds, bytes and messages, on these values of the quantities."""
        sent = sum(c * v[i] for i, c in self.sent)
        messages = sum(c * v[i] for i, c in self.messages)
        return sent * self.per_byte + messages * self.per_message, sent, messages

    def bound(self, op: Operator, v: list[Number]) -> OperatorBound:
        """The same as an operator under the roof."""
        seconds, sent, messages = self.cost(v)
        return OperatorBound(
            op.name,
            op.kind,
            op.count,
            compute="",
            flops=0,
            bytes=0,
            seconds=seconds,
            bound="communication",
            sent=sent,
            messages=messages,
            wire=self.wire,
        )


class Chain:
    """A work against ceilings.

    Attributes:
        work: what is priced.
        rows: each operator with its numbered terms, and its compute ceiling in FLOP/s.
        exchanges: each operator that communicates.
    """

    def __init__(
        self,
        work: Work,
        bandwidth: float,
        arithmetic: Mapping[str, tuple[str, Figure]],
        interconnect: Interconnect,
    ) -> None:
        self.work = work
        self.bandwidth = bandwidth
        self._arithmetic = arithmetic
        quantities, rows = work.plan()
        self.quantities: tuple[Quantity, ...] = quantities
        self.rows = tuple(
            (row, arithmetic[row[0].compute][1].value if row[1] else math.inf) for row in rows
        )
        index = {q: i for i, q in enumerate(quantities)}

        def numbered(op: Operator, kind: str) -> tuple[tuple[int, float], ...]:
            return tuple((index[q], op.count * c) for q, c in getattr(op, kind))

        def exchange(i: int, op: Operator) -> Exchange:
            wire = interconnect.wire(op.collective, op.group, op.reach)
            sent, messages = numbered(op, "sent"), numbered(op, "messages")
            return Exchange(i, sent, messages, wire, wire.second_per_byte, wire.second_per_message)

        self.exchanges = tuple(
            exchange(i, op) for i, op in enumerate(work.operators) if op.collective
        )
        silent = {e.row for e in self.exchanges}
        self._busy = tuple(row for i, row in enumerate(self.rows) if i not in silent)

    def bound(self, step: Step, *, fewest: bool = False) -> Bound:
        """The step under the roof; ``fewest``: with all tokens choosing the same experts."""
        groups = step.groups
        v = [q.fewest(groups) if fewest else q.value(groups) for q in self.quantities]
        bandwidth = self.bandwidth
        flops = weights = kv_read = kv_write = state = 0
        compute_s = serial_s = by_weights = by_kv = by_state = by_compute = 0.0
        for (_, f_terms, w_terms, r_terms, k_terms, s_terms), peak in self._busy:
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
        communication = NO_COMMUNICATION
        if self.exchanges:
            communication = self._communication(v)
            serial_s += communication.seconds
        total = weights + kv_read + kv_write + state
        scale = 1 / (bandwidth * serial_s)
        shares = {
            "weights": by_weights * scale,
            "kv": by_kv * scale,
            "state": by_state * scale,
            "compute": by_compute / serial_s,
        }
        if self.exchanges:
            shares["communication"] = communication.seconds / serial_s
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
            shares,
            communication,
        )

    def _communication(self, v: list[Number]) -> Communication:
        parts = [exchange.cost(v) for exchange in self.exchanges]
        return Communication(
            sum(p[0] for p in parts), sum(p[1] for p in parts), sum(p[2] for p in parts)
        )

    def operators(self, step: Step) -> tuple[OperatorBound, ...]:
        """Each kind of operator under the roof, in the order in which they run."""
        v = [q.value(step.groups) for q in self.quantities]
        exchanges = {exchange.row: exchange for exchange in self.exchanges}
        result = []
        costs = self.work.costs(step)
        for i, (cost, (row, peak)) in enumerate(zip(costs, self.rows, strict=True)):
            op: Operator = row[0]
            if i in exchanges:
                result.append(exchanges[i].bound(op, v))
                continue
            arithmetic, traffic = cost.flops / peak, cost.traffic / self.bandwidth
            used = self._arithmetic[op.compute][0] if op.flops else op.compute
            result.append(
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
        return tuple(result)

    def sums(self) -> tuple[tuple[Quantity, float, float, float, float], ...]:
        """Per quantity, over all operators: FLOPs, seconds of arithmetic, bytes, bytes of state."""
        result: dict[Quantity, list[float]] = {}
        for (op, *_), peak in self.rows:
            for q, c in op.flops:
                sums = result.setdefault(q, [0, 0.0, 0, 0])
                sums[0] += op.count * c
                sums[1] += op.count * c / peak
            for q, c in op.traffic:
                result.setdefault(q, [0, 0.0, 0, 0])[2] += op.count * c
            for q, c in op.state:
                result[q][3] += op.count * c
        return tuple((q, f, t, b, s) for q, (f, t, b, s) in result.items())

    def where_matrices_cross(self) -> float | None:
        """New tokens of a pass at which the weight matrices alone reach the ridge."""
        seconds = read = 0.0
        for (op, *_), peak in self.rows:
            if op.kind == "linear":
                seconds += op.count * sum(c for _, c in op.flops) / peak
                read += op.count * sum(c for _, c in op.weights)
        return read / (seconds * self.bandwidth) if seconds else None
