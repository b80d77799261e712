"""``roofline machines [NAME]``: the catalogue, one machine with its sources, a template."""

from __future__ import annotations

import argparse

from .. import catalogue
from ..errors import NotFound
from ..files.written import json_text
from ..machine.load import entries, from_data, is_here, load
from ..machine.machine import Machine
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
    result = _find(args.name)
    if args.json:
        data = {"schema": "roofline.machines/1", "machines": [m.to_json() for m in result]}
        print(json_text(data, 2))
        return 0
    from ..say import machines as speak

    if not result:
        print(say("list.none", words=" ".join(args.name)))
    elif len(result) == 1:
        print(speak.one(result[0], say))
    else:
        print(speak.several(result, say))
    return 0


def _diff(args: argparse.Namespace, say: Words) -> None:
    from ..machine import diff
    from ..say.machines import difference

    a, b = load(args.diff[0]), load(args.diff[1])
    if args.json:
        rows = [row.to_json() for row in diff.diff(a, b)]
        data = {"schema": "roofline.machines.diff/1", "a": a.name, "b": b.name, "figures": rows}
        print(json_text(data, 2))
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
    result = []
    for entry in entries():
        labels = [entry["id"], entry["name"], entry["vendor"], entry["kind"]]
        text = " ".join(map(catalogue.key, [*labels, *entry.get("aliases", ())]))
        if all(w in text for w in words):
            result.append(from_data(entry, entry["id"], entry["sources"]))
    if not result and len(names) == 1:
        load(names[0])  # says what comes near
    return result
