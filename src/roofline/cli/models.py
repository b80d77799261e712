"""``roofline models``: the catalogue, and what one model holds."""

from __future__ import annotations

import argparse
import os
from typing import Any

from ..count.step import Step
from ..errors import UnsupportedError
from ..files.written import json_text
from ..model.load import entries, from_entry, load
from ..model.model import Model
from ..units import parse_count
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
        result = [{"id": model.name, "name": model.name, **_facts(model, context)}]
    else:
        result = [_row(e, context) for e in entries() if _fits(e, words)]
    if args.json:
        print(json_text({"schema": "roofline.models/1", "models": result}, 2))
        return 0
    if not result:
        print(say("list.none", words=" ".join(args.filter)))
        return 0
    from ..say import models as speak

    print(speak.text(result, say))
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
