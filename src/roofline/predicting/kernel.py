"""The time of one kernel, and the load that a step puts on each kind of kernel.

A kernel computes ``C = FLOPs / rate`` and moves ``M = bytes / stream``. The two overlap, but
not perfectly, so their joint time is the smooth maximum ``B = √(C² + M²)``; and no kernel is
faster than its floor ``t₀`` (launch, fill, drain), of which short kernels pay a part again:
``t = t₀ + B + κ·√(t₀·B)``. Decode attention alternates between reading the cache and
computing on it, so there ``B = C + M``.

Every form here is monotone in FLOPs and in bytes, and the same text evaluates numbers and
NumPy arrays (only +, ·, /, √: no library is imported).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..count.number import Number
from ..count.quantity import Quantity
from ..count.step import Step
from ..count.work import Terms, Work, merge
from ..machine.links import Interconnect

DRAFT = 16
"""Groups with at most this many new tokens a sequence run decode kernels."""


def smooth_max(a: Number, b: Number) -> Number:
    """√(a² + b²): between max(a, b) and a + b, smooth, monotone in both."""
    return (a * a + b * b) ** 0.5


class Load(NamedTuple):
    """What one kernel of a step has to do; ``count`` kernels alike run one after another.

    Attributes:
        kind: ``linear``, ``head``, ``experts``, ``state``, ``decode`` or ``prefill``
            (attention of sequences with few or many new tokens).
        count: kernels.
        compute: precision of the arithmetic.
        flops: of one kernel.
        stored: bytes of weights, cache and state of one kernel: compulsory traffic.
        moved: bytes of activations that it reads and writes.
        inputs: of those, what a product in 8 or 4 bits quantises first, as 16-bit numbers.
        queries: for prefill, new tokens of a sequence.
    """

    kind: str
    count: Number
    compute: str
    flops: Number
    stored: Number
    moved: Number
    inputs: Number
    queries: Number = 1


class ExchangeLoad(NamedTuple):
    """What a device tells others in a step.

    Attributes:
        count: exchanges alike.
        messages: waited for one after another, of one exchange.
        sent: bytes that one device sends in one exchange.
        group: devices that take part.
        per_byte: seconds a byte takes over the links that the group needs.
        per_message: seconds that a message takes over them at least.
    """

    count: Number
    messages: Number
    sent: Number
    group: Any
    per_byte: Any
    per_message: Any = 0.0


class Loads(NamedTuple):
    """The loads of a step on one device.

    Attributes:
        kernels, exchanges: in the order in which they run.
        layers: mixers (attention or state) that the tokens pass through.
        sequences: of one replica.
    """

    kernels: tuple[Load, ...]
    exchanges: tuple[ExchangeLoad, ...]
    layers: Number
    sequences: Number


Numbered = tuple[tuple[int, float], ...]


class KernelPlan:
    """One device's work with its quantities numbered, ready to be loaded with steps.

    Attention is priced group by group (decode and prefill are different kernels), everything
    else for all tokens of a step together.
    """

    __slots__ = ("_attention", "_exchanges", "_kernels", "_quantities", "_sequences", "layers")

    def __init__(
        self, work: Work, interconnect: Interconnect | None = None, replicas: int = 1
    ) -> None:
        """Number the quantities of a work.

        Args:
            work: of one device.
            interconnect: what joins it to others; needed where the work communicates.
            replicas: of the attention: each has its share of the sequences.
        """
        index: dict[Quantity, int] = {}

        def numbered(*terms: Terms) -> Numbered:
            return tuple((index.setdefault(q, len(index)), c) for q, c in merge(*terms))

        self._sequences = numbered(((Quantity("sequences", over=replicas), 1),))
        self._kernels: list[Any] = []
        self._attention: list[Any] = []
        self._exchanges: list[Any] = []
        self.layers = 0
        for op in work.operators:
            if op.kind == "communication":
                assert interconnect is not None
                wire = interconnect.wire(op.collective, op.group, op.reach)
                row = (op.count, numbered(op.messages), numbered(op.sent), op.group)
                self._exchanges.append((*row, wire.second_per_byte, wire.second_per_message))
                continue
            if op.kind in ("attention", "state"):
                self.layers += op.count
            if op.kind == "embedding":
                continue
            into = self._attention if op.kind == "attention" else self._kernels
            into.append(
                (
                    op.kind,
                    op.count,
                    op.compute,
                    numbered(op.flops),
                    numbered(op.traffic),
                    numbered(op.activations),
                )
            )
        self._quantities = tuple(index)

    def __call__(self, step: Step) -> Loads:
        """The loads of a step, of numbers or of arrays."""
        groups = step.groups
        v = [q.value(groups) for q in self._quantities]
        kernels = []
        for kind, count, compute, flops, stored, moved in self._kernels:
            m = _price(moved, v)
            # inputs and outputs of a model's products are about alike
            kernels.append(
                Load(kind, count, compute, _price(flops, v), _price(stored, v), m, 0.5 * m)
            )
        for group in groups:
            one = v if len(groups) == 1 else [q.value((group,)) for q in self._quantities]
            new = group.new_tokens
            few = bool((new <= DRAFT).all()) if hasattr(new, "all") else new <= DRAFT
            kind = "decode" if few else "prefill"
            for _, count, compute, flops, stored, moved in self._attention:
                kernels.append(
                    Load(
                        kind,
                        count,
                        compute,
                        _price(flops, one),
                        _price(stored, one),
                        _price(moved, one),
                        0,
                        new,
                    )
                )
        exchanges = tuple(
            ExchangeLoad(count, _price(messages, v), _price(sent, v), *link)
            for count, messages, sent, *link in self._exchanges
        )
        return Loads(tuple(kernels), exchanges, self.layers, _price(self._sequences, v))


def _price(terms: Numbered, values: list[Number]) -> Number:
    if len(terms) == 1:
        ((i, c),) = terms
        return c * values[i]
    total: Number = 0
    for i, c in terms:
        total = total + c * values[i]
    return total
