"""Machines in words."""

from __future__ import annotations

from ..machine.diff import UNITS, Difference, diff
from ..machine.machine import Figure, Machine
from ..units import percent, seconds, si
from ..words import Words
from . import table


def difference(a: Machine, b: Machine, words: Words) -> str:
    """The table for a terminal."""

    def show(row: Difference, figure: Figure | None) -> str:
        if figure is None:
            return "-"
        if row.what == "overhead":
            return seconds(figure.value)
        return si(figure.value, UNITS[row.what])

    rows = [
        (
            f"{words(f'ceilings.{row.kind}')} {row.name}",
            show(row, row.a),
            show(row, row.b),
            f"{row.ratio:.3f}×" if row.ratio is not None else "-",
            percent(row.noise) if row.noise else "-",
        )
        for row in diff(a, b)
    ]
    head = (
        words("measure.diff.figure"),
        a.name,
        b.name,
        words("measure.diff.ratio"),
        words("measure.diff.noise"),
    )
    return table.render(head, rows)
