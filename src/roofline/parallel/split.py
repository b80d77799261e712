"""The work of one device, and of the way through the stages.

With p stages and m microbatches a step takes at least as long as

    path     one microbatch through every stage, one after another: what a token waits for
    round    one device of the busiest stage, all m microbatches: what limits the rate

whichever is longer. Where nothing is piped both are the one device's work. A device is the
busiest one: it has ⌈B/dp⌉ of a group's sequences, in a microbatch ⌈B/(dp·m)⌉. Experts are
taken to be hit evenly.
"""

from __future__ import annotations

from collections.abc import Callable

from ..count.quantity import ONE, Quantity
from ..count.work import BYTES, Operator, Work
from ..model.model import Formats, Model, together
from ..record import record, replace
from .collectives import exchanges
from .layout import Parallel
from .shard import stages

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from typing import Any


@record
class Split:
    """A model's work, divided.

    Attributes:
        path: one microbatch on its way through all stages.
        rounds: one device of each stage (alike stages once) over all microbatches, with the
            bytes of weights that it holds; just the path where there is one stage.
    """

    path: Work
    rounds: tuple[Work, ...]


def split(
    model: Model,
    layout: Parallel,
    formats: Formats,
) -> Split:
    """The work of a model in its formats, divided over devices.

    Raises:
        InputError: it cannot be divided so; the message says what would work.
        UnsupportedError: a part of which it is not known how to divide it.
    """
    path: list[Operator] = []
    rounds: dict[Work, None] = {}
    largest = 0.0
    for here, stage in stages(model, layout):
        work = stage.work_in(formats)
        # operators, and whether the tokens of each are those of all replicas together
        kept = [(op, op.kind == "experts") for op in work.operators if _runs(op, here, model)]
        narrow = {op.compute for op in work.operators if op.kind == "experts"}
        taken_in = narrow.pop() if len(narrow) == 1 else ""
        kept += exchanges(model, here, layout, formats.activation.size, taken_in)
        path += [_mapped(op, layout, every, _in_pass) for op, every in kept]
        largest = max(largest, work.resident)
        if layout.pp > 1:
            turns = tuple(_mapped(op, layout, every, _in_round) for op, every in kept)
            rounds[Work(turns, work.resident)] = None
    whole = Work(together(path), largest)
    return Split(whole, tuple(rounds) or (whole,))


def _runs(op: Operator, here: range, model: Model) -> bool:
    # Only the first stage looks words up, only the last one has the head.
    if op.kind == "embedding":
        return here.start == 0
    return op.kind != "head" or here.stop == model.depth


Change = Callable[[Quantity, Parallel, bool], Quantity]


def _mapped(op: Operator, layout: Parallel, every: bool, change: Change) -> Operator:
    if layout.dp == layout.pp == 1:
        return op  # every sequence is on every device, in one pass
    changed: dict[str, Any] = {
        kind: tuple((change(q, layout, every), c) for q, c in getattr(op, kind))
        for kind in ("flops", *BYTES)
    }
    return replace(op, **changed)


def _in_pass(q: Quantity, layout: Parallel, every: bool) -> Quantity:
    parts = layout.waves if every else layout.waves * layout.dp
    return q if q == ONE else replace(q, over=parts)


def _in_round(q: Quantity, layout: Parallel, every: bool) -> Quantity:
    if q == ONE:
        return Quantity("passes", over=layout.dp, most=layout.waves)
    if q.q == "touched":
        return replace(q, over=layout.dp, most=layout.waves)
    return q if every else replace(q, over=layout.dp)
