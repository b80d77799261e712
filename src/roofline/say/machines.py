"""Machines in words."""

from __future__ import annotations

from collections.abc import Iterable

from ..machine.diff import UNITS, Difference, diff
from ..machine.machine import Figure, Machine
from ..units import digits, memory, percent, seconds, si
from ..words import Words
from . import notes, table


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


def several(found: Iterable[Machine], words: Words) -> str:
    """A table of machines."""
    names = ("machine", "released", "memory", "bandwidth", "peak", "ridge")
    rows = []
    for m in found:
        roof = m.roof()
        precision, peak = roof.arithmetic("bf16")
        mark = "" if precision == "bf16" else f" ({precision})"
        rows.append(
            (
                m.id,
                m.released or "?",
                memory(m.capacity.value) if m.capacity else "?",
                si(roof.bandwidth.value, "B/s"),
                si(peak.value, "FLOP/s") + mark,
                digits(peak.value / roof.bandwidth.value),
            )
        )
    return table.render([words(f"table.{name}") for name in names], rows)


def one(m: Machine, words: Words) -> str:
    """One machine with its figures, notes and sources."""
    released = [words("machine.released", date=m.released)] if m.released else []
    out = [words.joined((m.name, *released), "apart")]
    if m.aliases:
        out.append(words("machine.aliases", names=words.joined(m.aliases)))
    rows: list[tuple[str, str, str, Figure]] = []
    if m.capacity:
        rows.append((words("machine.memory"), m.memory_type, memory(m.capacity.value), m.capacity))
    if m.usable:
        rows.append(
            (words("machine.memory"), words("machine.usable"), si(m.usable.value, "B"), m.usable)
        )
    if m.cache:
        rows.append((words("machine.cache"), m.cache_level, si(m.cache.value, "B"), m.cache))
    for ceilings in (m.datasheet, m.measured):
        for name, figure in ceilings.bandwidth.items():
            rows.append((words("machine.bandwidth"), name, si(figure.value, "B/s"), figure))
        for name, figure in ceilings.compute.items():
            rows.append((words("machine.compute"), name, si(figure.value, "FLOP/s"), figure))
        for name, figure in ceilings.overhead.items():
            rows.append(("", name, seconds(figure.value), figure))
    for link in m.links:
        text = words(
            "machine.link.text",
            bandwidth=si(link.bandwidth.value, "B/s"),
            devices=link.devices,
            scope=link.scope,
        )
        rows.append((words("machine.link"), link.name, text, link.bandwidth))
    if m.power:
        rows.append((words("machine.power"), "", si(m.power.value, "W"), m.power))
    return "\n".join([*out, *_figures(rows, m, words)])


def _figures(rows: list[tuple[str, str, str, Figure]], m: Machine, words: Words) -> Iterable[str]:
    titles = {f.source: f for *_, f in rows if f.source}
    numbers = {title: f"[{i}]" for i, title in enumerate(titles, 1)}
    out, last = [], ""
    for what, which, value, f in rows:
        kind = words(f"ceilings.{f.kind}") + " " + numbers.get(f.source, "")
        out.append(
            (
                what if what != last else "",
                which,
                value,
                kind,
                words.joined(notes.of(f, words), "sides"),
            )
        )
        last = what
    yield table.render(("", "", "", "", ""), out, left=5)
    roof = m.roof()
    ridges = (f"{p} {digits(roof.ridge(p))}" for p in roof.compute)
    yield "\n" + words("machine.ridges", ridges=words.joined(ridges))
    yield from notes.sentences(m.notes, words)
    for title, f in titles.items():
        source = (notes.sentence(title, words), f.date, f.url)
        yield f"{numbers[title]} {words.joined((x for x in source if x), 'clauses')}"
