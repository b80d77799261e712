"""``roofline models``: the catalogue, and what one model holds."""

from __future__ import annotations

import argparse
import os
from typing import Any

from ..count.step import Step
from ..errors import UnsupportedError
from ..model.load import entries, from_entry, load
from ..model.model import Model
from ..units import count, parse_count, si, tokens
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
    p.add_argument(
        "--context",
        metavar="N",
        default="32k",
        help="tokens over which the cache is averaged, as windows stop growing (default 32k)",
    )
    options.add_as(p)
    options.add_output(p)


def run(args: argparse.Namespace) -> int:
    """List models."""
    if args.architectures:
        from ..model.families import architectures

        print("\n".join(architectures()))
        return 0
    say = options.words(args)
    words = [w.lower() for w in args.filter]
    context = parse_count(args.context, "--context")
    Step.decode(1, context)  # refuses what is no context
    if len(args.filter) == 1 and os.path.exists(args.filter[0]):
        model = load(args.filter[0], args.as_type)
        found = [{"id": model.name, "name": model.name, **_facts(model, context)}]
    else:
        found = [_row(e, context) for e in entries() if _fits(e, words)]
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


def _row(entry: dict[str, Any], context: int) -> dict[str, Any]:
    row = {k: entry.get(k) for k in ("id", "name", "org", "released", "source")}
    try:
        return {**row, **_facts(from_entry(entry), context), "source": entry["source"]}
    except UnsupportedError as error:
        return {**row, "architecture": entry["config"].get("model_type"), "refused": str(error)}


def _facts(model: Model, context: int) -> dict[str, Any]:
    work = model.work()

    def held(tokens: int) -> Any:
        return work.total("held", Step.decode(1, tokens))

    first = held(2) - held(1)
    state = held(1) - first
    return {
        "architecture": model.architecture,
        "parameters": model.parameters,
        "active_parameters": model.active_parameters,
        "weights": model.scheme.name,
        "weight_bytes": work.resident,
        "context": context,
        "kv_bytes_per_token": (held(context) - state) / context,
        "kv_bytes_first_token": first,
        "kv_bytes_per_sequence": held(context) - state,
        "state_bytes_per_sequence": state,
        "notes": list(model.notes),
        "source": {"title": model.source},
    }


def _print(found: list[dict[str, Any]], say: Words) -> None:
    from ..say import table

    names = ("model", "released", "architecture", "parameters", "active", "weights", "size")
    context = next((m["context"] for m in found if "context" in m), None)
    head = [say(f"table.{name}") for name in names]
    head.append(say("table.kv", context=tokens(context)) if context else "")
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
                si(m["kv_bytes_per_token"], "B") if m["kv_bytes_per_sequence"] else "-",
            ]
        )
    print(table.render(head, rows, left=3))
    if len(found) == 1:
        _detail(found[0], say)


def _detail(model: dict[str, Any], say: Words) -> None:
    print()
    if "refused" in model:
        print(f"  {model['refused']}")
    else:
        print(f"  {count(model['parameters'])} {say('table.parameters')}")
        print(f"  {_cache(model, say)}")
        for note in model["notes"]:
            print(f"  {note}")
    source = model["source"]
    print("  " + ", ".join(source[k] for k in ("title", "date", "url") if source.get(k)))


def _cache(model: dict[str, Any], say: Words) -> str:
    # What a sequence keeps, at the context asked about.
    whole, first = model["kv_bytes_per_sequence"], model["kv_bytes_first_token"]
    each = model["kv_bytes_per_token"]
    if not whole and not model["state_bytes_per_sequence"]:
        return say("list.cache.none")
    values = {
        "whole": si(whole, "B"),
        "each": si(each, "B"),
        "first": si(first, "B"),
        "context": tokens(model["context"]),
        "state": si(model["state_bytes_per_sequence"], "B"),
    }
    text = say("list.cache" if abs(first - each) < 0.005 * each else "list.cache.less", **values)
    return text + (say("list.state", **values) if model["state_bytes_per_sequence"] else "")
