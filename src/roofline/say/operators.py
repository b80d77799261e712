"""The operators of a step as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..units import digits, percent, seconds, si
from ..words import Words
from . import table

if TYPE_CHECKING:
    from ..bound.chain import OperatorBound
    from ..bound.explanation import Explanation


def text(e: Explanation, words: Words) -> str:
    """The table of operators, with each one's share of the serial bound."""
    head = [
        words(f"table.{name}")
        for name in (
            "operator",
            "count",
            "flops",
            "bytes",
            "intensity",
            "seconds",
            "share",
            "bound",
        )
    ]
    rows = [
        (
            op.name,
            str(op.count),
            si(op.flops, "") if op.wire is None else "-",
            words("table.sent", bytes=si(op.sent, "B")) if op.wire else si(op.bytes, "B"),
            digits(op.intensity) if op.intensity is not None else "-",
            seconds(op.seconds),
            percent(op.seconds / e.bound.serial_s),
            _limit(op, words),
        )
        for op in e.operators
    ]
    return table.render(head, rows)


def _limit(op: OperatorBound, words: Words) -> str:
    where = op.wire.slowest.link.name if op.wire else op.compute
    if not (op.flops or op.wire):
        return "-"
    return words(f"bound.{op.bound}") + words("why.note", notes=where)
