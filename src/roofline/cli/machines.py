"""``roofline machines [NAME]``: the catalogue, one machine with its sources, a template."""

from __future__ import annotations

import argparse
from typing import Any

from .. import catalogue
from ..errors import NotFound
from ..machine.load import entries, from_data, is_here, load
from ..machine.machine import Figure, Machine
from ..units import digits, memory, seconds, si
from ..words import Words
from . import options


def add(p: argparse.ArgumentParser) -> None:
    """The verb's options."""
    p.add_argument(
        "name",
        nargs="*",
        metavar="NAME",
        help="one machine (or machine file) in full, or words that a name must have",
    )
    p.add_argument(
        "--diff",
        nargs=2,
        metavar=("A", "B"),
        help="two machines or machine files figure by figure, such as two runs of 'measure'",
    )
    p.add_argument("--template", action="store_true", help="write a machine file (TOML) to fill in")
    options.add_output(p)


def run(args: argparse.Namespace) -> int:
    """List machines, or show one."""
    if args.template:
        from ..machine.template import TEMPLATE

        print(TEMPLATE, end="")
        return 0
    say = options.words(args)
    if args.diff:
        _diff(args, say)
        return 0
    found = _find(args.name)
    if args.json:
        import json

        data = {"schema": "roofline.machines/1", "machines": [as_json(m) for m in found]}
        print(json.dumps(data, ensure_ascii=False, indent=2))
    elif not found:
        print(say("list.none", words=" ".join(args.name)))
    elif len(found) == 1:
        _show(found[0], say)
    else:
        _list(found, say)
    return 0


def _diff(args: argparse.Namespace, say: Words) -> None:
    from ..machine import diff
    from ..say.machines import difference

    a, b = load(args.diff[0]), load(args.diff[1])
    if args.json:
        import json

        rows = [row.to_json() for row in diff.diff(a, b)]
        data = {"schema": "roofline.machines.diff/1", "a": a.name, "b": b.name, "figures": rows}
        print(json.dumps(data, ensure_ascii=False, indent=2))
    else:
        print(difference(a, b, say))


def _find(names: list[str]) -> list[Machine]:
    if len(names) == 1:
        try:
            return [load(names[0])]
        except NotFound:
            if names[0].endswith((".json", ".toml")) or is_here(names[0]):
                raise
    words = [catalogue.key(n) for n in names]
    found = []
    for entry in entries():
        labels = [entry["id"], entry["name"], entry["vendor"], entry["kind"]]
        text = " ".join(map(catalogue.key, [*labels, *entry.get("aliases", ())]))
        if all(w in text for w in words):
            found.append(from_data(entry, entry["id"], entry["sources"]))
    if not found and len(names) == 1:
        load(names[0])  # says what comes near
    return found


def as_json(m: Machine) -> dict[str, Any]:
    """A machine as JSON, each figure with its source; the ridge per precision beside it."""

    def of(figures: Any) -> dict[str, Any]:
        return {name: figure.to_json() for name, figure in figures.items()}

    roof = m.roof()
    return {
        "id": m.id,
        "name": m.name,
        "vendor": m.vendor,
        "kind": m.kind,
        "released": m.released or None,
        "aliases": list(m.aliases),
        "memory": {
            "type": m.memory_type or None,
            "unified": m.unified,
            "capacity": m.capacity.to_json() if m.capacity else None,
            "usable": m.usable.to_json() if m.usable else None,
        },
        "cache": {"level": m.cache_level, "capacity": m.cache.to_json()} if m.cache else None,
        **{
            kind: {
                "bandwidth": of(c.bandwidth),
                "compute": of(c.compute),
                "overhead": of(c.overhead),
            }
            for kind, c in (("datasheet", m.datasheet), ("measured", m.measured))
        },
        "ridge": {precision: roof.ridge(precision) for precision in roof.compute},
        "links": [
            {
                "name": link.name,
                "bandwidth": link.bandwidth.to_json(),
                "latency": link.latency.to_json() if link.latency else None,
                "devices": link.devices,
                "scope": link.scope,
                "topology": link.topology or None,
            }
            for link in m.links
        ],
        "power": m.power.to_json() if m.power else None,
        "notes": list(m.notes),
    }


def _list(found: list[Machine], say: Words) -> None:
    from ..say import table

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
    print(table.render([say(f"table.{name}") for name in names], rows))


def _show(m: Machine, say: Words) -> None:
    print(m.name + (" · " + say("machine.released", date=m.released) if m.released else ""))
    if m.aliases:
        print(f"{say('machine.alias')}: {', '.join(m.aliases)}")
    rows: list[tuple[str, str, str, Figure]] = []
    if m.capacity:
        rows.append((say("machine.memory"), m.memory_type, memory(m.capacity.value), m.capacity))
    if m.usable:
        rows.append(
            (say("machine.memory"), say("machine.usable"), si(m.usable.value, "B"), m.usable)
        )
    if m.cache:
        rows.append((say("machine.cache"), m.cache_level, si(m.cache.value, "B"), m.cache))
    for ceilings in (m.datasheet, m.measured):
        for name, figure in ceilings.bandwidth.items():
            rows.append((say("machine.bandwidth"), name, si(figure.value, "B/s"), figure))
        for name, figure in ceilings.compute.items():
            rows.append((say("machine.compute"), name, si(figure.value, "FLOP/s"), figure))
        for name, figure in ceilings.overhead.items():
            rows.append(("", name, seconds(figure.value), figure))
    for link in m.links:
        text = say(
            "machine.link.text",
            bandwidth=si(link.bandwidth.value, "B/s"),
            devices=link.devices,
            scope=link.scope,
        )
        rows.append((say("machine.link"), link.name, text, link.bandwidth))
    if m.power:
        rows.append((say("machine.power"), "", si(m.power.value, "W"), m.power))
    _figures(rows, m, say)


def _figures(rows: list[tuple[str, str, str, Figure]], m: Machine, say: Words) -> None:
    from ..say import table

    titles = {f.source: f for *_, f in rows if f.source}
    numbers = {title: f"[{i}]" for i, title in enumerate(titles, 1)}
    out, last = [], ""
    for what, which, value, f in rows:
        notes = [say("machine.accumulate", what=f.accumulate)] if f.accumulate else []
        notes += [f.note] if f.note else []
        kind = say(f"ceilings.{f.kind}") + " " + numbers.get(f.source, "")
        out.append((what if what != last else "", which, value, kind, "; ".join(notes)))
        last = what
    print(table.render(("", "", "", "", ""), out, left=5))
    roof = m.roof()
    ridges = ", ".join(f"{p} {digits(roof.ridge(p))}" for p in roof.compute)
    print(f"\n{say('machine.ridge')} (FLOP/byte): {ridges}")
    for note in m.notes:
        print(note)
    for title, f in titles.items():
        print(f"{numbers[title]} {', '.join(x for x in (title, f.date, f.url) if x)}")
