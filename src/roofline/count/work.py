"""Work: what a model does in a step, as data.

An :class:`Operator` is a short list of coefficients over the quantities of a step, for its
FLOPs and for each kind of byte. A :class:`Work` is the list of a model's operators. It can
be evaluated on one step (exact integers where the coefficients are integers), on arrays of
steps (:meth:`Work.matrix`), and from JSON: one formula, no second model that drifts.
"""

from __future__ import annotations

from ..record import field, record
from .group import Group
from .number import Number
from .quantity import ONE, TOKENS, Quantity
from .step import Step

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from typing import Any

Terms = tuple[tuple[Quantity, float], ...]
"""Coefficients over quantities: the value is Σ coefficient · quantity."""

TRAFFIC = ("weights", "kv_read", "kv_write", "state")
"""Compulsory bytes: no kernel fusion avoids them. They make the bytes of the roof."""

TALK = ("sent", "messages")
"""What operators that communicate cost: bytes that a device sends, and messages to wait for."""

BYTES = (*TRAFFIC, "activations", "held", *TALK)
"""Every kind of cost but FLOPs: also activations (counted beside the roof), cache held
resident, and communication."""


@record
class Operator:
    """One kind of kernel of a model, with its price.

    Attributes:
        name: what it is, ``attention.qkv``.
        kind: ``linear``, ``head``, ``embedding``, ``attention``, ``experts``, ``state`` or
            ``communication``.
        count: how many of it run in a step (layers). All terms are for one of them.
        compute: the precision of its arithmetic, hence its compute ceiling.
        flops: FLOPs, two per multiply-add.
        weights, kv_read, kv_write, state: compulsory bytes.
        activations: bytes of inputs read and results written, attention fused.
        held: bytes of cache and state that stay in memory after the step.
        sent: bytes that one device sends to others.
        messages: exchanges that are waited for one after another.
        collective: for communication: ``all_reduce``, ``all_gather``, ``reduce_scatter``,
            ``all_to_all`` or ``send``.
        group: devices that take part in it.
        reach: of what goes to experts and back, how far: a :class:`~.parallel.reach.Reach`.
    """

    name: str
    kind: str
    count: int
    compute: str
    flops: Terms = ()
    weights: Terms = ()
    kv_read: Terms = ()
    kv_write: Terms = ()
    state: Terms = ()
    activations: Terms = ()
    held: Terms = ()
    sent: Terms = ()
    messages: Terms = ()
    collective: str = ""
    group: int = 1
    reach: Any = None

    @property
    def traffic(self) -> Terms:
        """All compulsory bytes, one term per quantity."""
        return merge(self.weights, self.kv_read, self.kv_write, self.state)

    def to_json(self, index: dict[Quantity, int]) -> dict[str, Any]:
        """The operator as JSON over a numbered list of quantities."""

        def terms(of: Terms) -> list[list[float]]:
            return [[index[q], c] for q, c in of]

        data = {
            "name": self.name,
            "kind": self.kind,
            "count": self.count,
            "compute": self.compute,
            "flops": terms(self.flops),
            "bytes": {kind: terms(getattr(self, kind)) for kind in BYTES if getattr(self, kind)},
        }
        if self.collective:
            data |= {"collective": self.collective, "group": self.group}
        if self.reach is not None:
            data["reach"] = self.reach.to_json()
        return data


def merge(*lists: Terms) -> Terms:
    """Terms added up, one per quantity."""
    total: dict[Quantity, float] = {}
    for terms in lists:
        for quantity, coefficient in terms:
            total[quantity] = total.get(quantity, 0) + coefficient
    return tuple(total.items())


@record
class Cost:
    """What one operator costs in one step, all its instances together.

    FLOPs, and bytes by kind. ``operator.count`` instances share it evenly.
    """

    operator: Operator
    flops: Number
    weights: Number
    kv_read: Number
    kv_write: Number
    state: Number

    @property
    def traffic(self) -> Number:
        """Compulsory bytes."""
        return self.weights + self.kv_read + self.kv_write + self.state


@record
class Work:
    """A model's operators in given formats, ready to be priced.

    Attributes:
        operators: in the order in which they run.
        resident: bytes of all weights that must stay in memory (tables, untouched experts).
    """

    operators: tuple[Operator, ...]
    resident: float = 0
    _plan: list[Any] = field(default_factory=list, compare=False)

    def plan(self) -> Any:
        """Quantities numbered, and each operator's terms over these numbers (made once)."""
        if not self._plan:
            index: dict[Quantity, int] = {}

            def numbered(terms: Terms, count: int) -> tuple[tuple[int, float], ...]:
                return tuple((index.setdefault(q, len(index)), c * count) for q, c in terms)

            rows = [
                (op, *(numbered(getattr(op, kind), op.count) for kind in ("flops", *TRAFFIC)))
                for op in self.operators
            ]
            for op in self.operators:
                for q, _ in (*op.sent, *op.messages):
                    index.setdefault(q, len(index))
            self._plan.append((tuple(index), tuple(rows)))
        return self._plan[0]

    def costs(self, step: Step) -> list[Cost]:
        """What each operator costs in ``step``; ints stay exact."""
        quantities, rows = self.plan()
        groups = step.groups
        v = [q.value(groups) for q in quantities]
        return [
            Cost(
                op,
                _sum(flops, v),
                _sum(weights, v),
                _sum(kv_read, v),
                _sum(kv_write, v),
                _sum(state, v),
            )
            for op, flops, weights, kv_read, kv_write, state in rows
        ]

    def total(self, kind: str, step: Step) -> Number:
        """One kind of byte (or ``flops``) of the whole step."""
        values: dict[Quantity, Number] = {}
        total: Number = 0
        for op in self.operators:
            for q, c in getattr(op, kind):
                if q not in values:
                    values[q] = q.value(step.groups)
                total = total + op.count * c * values[q]
        return total

    def workspace(self, step: Step) -> Number:
        """Bytes of the largest single operator's activations: what must be free beside the
        weights and the cache while the step runs."""
        most: Number = 0
        for op in self.operators:
            one = sum(c * q.value(step.groups) for q, c in op.activations)
            most = max(most, one)
        return most

    def to_json(self) -> dict[str, Any]:
        """The table as JSON: quantities once, operators as coefficients over them."""
        index: dict[Quantity, int] = {}
        for op in self.operators:
            for kind in ("flops", *BYTES):
                for q, _ in getattr(op, kind):
                    index.setdefault(q, len(index))
        return {
            "schema": "roofline.work/1",
            "resident": self.resident,
            "quantities": [q.to_json() for q in index],
            "operators": [op.to_json(index) for op in self.operators],
        }

    @staticmethod
    def from_json(data: dict[str, Any]) -> Work:
        """The inverse of :meth:`to_json`."""
        quantities = [Quantity.from_json(q) for q in data["quantities"]]

        def terms(of: list[list[Any]]) -> Terms:
            return tuple((quantities[i], c) for i, c in of)

        return Work(
            tuple(
                Operator(
                    name=op["name"],
                    kind=op["kind"],
                    count=op["count"],
                    compute=op["compute"],
                    flops=terms(op["flops"]),
                    collective=op.get("collective", ""),
                    group=op.get("group", 1),
                    reach=_reach(op.get("reach")),
                    **{kind: terms(of) for kind, of in op["bytes"].items()},
                )
                for op in data["operators"]
            ),
            data["resident"],
        )


def _reach(data: dict[str, Any] | None) -> Any:
    if data is None:
        return None
    from .reach import Reach

    return Reach(**data)


def _sum(terms: tuple[tuple[int, float], ...], values: list[Number]) -> Number:
    total: Number = 0
    for i, c in terms:
        total = total + c * values[i]
    return total


__all__ = ["BYTES", "ONE", "TOKENS", "TRAFFIC", "Cost", "Group", "Operator", "Terms", "Work"]
