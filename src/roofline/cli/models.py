"""``roofline models``: the catalogue, and what one model holds."""

from __future__ import annotations

import argparse
import os
from typing import Any

from ..errors import UnsupportedError
from ..model.load import entries, from_entry, load
from ..model.model import Model
from ..step import Step
from ..units import count, si
from ..words import Words
from . import options


def add(p: argparse.ArgumentParser) -> None:
    """The verb's options."""
    p.add_argument(
        "filter",
        nargs="*",
        metavar="WORD",
        help="only models whose name, org or architecture has every one of these words; "
        "or one file or folder, to see what it holds",
    )
    p.add_argument(
        "--architectures", action="store_true", help="list the architectures that can be read"
    )
    options.add_output(p)


def run(args: argparse.Namespace) -> int:
    """List models."""
    if args.architectures:
        from ..model.families import architectures

        print("\n".join(architectures()))
        return 0
    say = options.words(args)
    words = [w.lower() for w in args.filter]
    if len(args.filter) == 1 and os.path.exists(args.filter[0]):
        model = load(args.filter[0])
        found = [{"id": model.name, "name": model.name, **_facts(model)}]
    else:
        found = [_row(e) for e in entries() if _fits(e, words)]
    if args.json:
        import json

        print(json.dumps({"schema": "roofline.models/1", "models": found}, indent=2))
        return 0
    if not found:
        print(say("list.none", words=" ".join(args.filter)))
        return 0
    _print(found, say)
    return 0


def _fits(entry: dict[str, Any], words: list[str]) -> bool:
    config = entry["config"]
    text = " ".join(
        [entry["id"], entry["name"], entry["org"], config.get("model_type", "")]
    ).lower()
    return all(w in text for w in words)


def _row(entry: dict[str, Any]) -> dict[str, Any]:
    row = {k: entry.get(k) for k in ("id", "name", "org", "released", "source")}
    try:
        return {**row, **_facts(from_entry(entry)), "source": entry["source"]}
    except UnsupportedError as error:
        return {**row, "architecture": entry["config"].get("model_type"), "refused": str(error)}


def _facts(model: Model) -> dict[str, Any]:
    work = model.work()
    one = Step.decode(1, 1)
    token = work.total("held", Step.decode(1, 2)) - work.total("held", one)
    return {
        "architecture": model.architecture,
        "parameters": model.parameters,
        "active_parameters": model.active_parameters,
        "weights": model.scheme.name,
        "weight_bytes": work.resident,
        "kv_bytes_per_token": token,
        "state_bytes_per_sequence": work.total("held", one) - token,
        "notes": list(model.notes),
        "source": {"title": model.source},
    }


def _print(found: list[dict[str, Any]], say: Words) -> None:
    from .. import table

    names = ("model", "released", "architecture", "parameters", "active", "weights", "size", "kv")
    rows = []
    for m in found:
        row = [m["id"], m.get("released") or "?", m["architecture"]]
        if "refused" in m:
            rows.append([*row, say("list.refused"), "", "", "", ""])
            continue
        rows.append(
            [
                *row,
                si(m["parameters"], "", 4),
                si(m["active_parameters"], "", 4),
                m["weights"],
                si(m["weight_bytes"], "B"),
                si(m["kv_bytes_per_token"], "B"),
            ]
        )
    print(table.render([say(f"table.{name}") for name in names], rows, left=3))
    if len(found) == 1:
        _detail(found[0], say)


def _detail(model: dict[str, Any], say: Words) -> None:
    print()
    if "refused" in model:
        print(f"  {model['refused']}")
    else:
        print(f"  {count(model['parameters'])} {say('table.parameters')}")
        for note in model["notes"]:
            print(f"  {note}")
    source = model["source"]
    print("  " + ", ".join(source[k] for k in ("title", "date", "url") if source.get(k)))
