"""Models in words: the catalogue's table, and what one holds.

A model is a row of ``roofline.models/1``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..units import count, si, tokens
from ..words import Words
from . import table
from .notes import sentence


def text(found: Sequence[Mapping[str, Any]], words: Words) -> str:
    """A table of models; of one alone also what it holds."""
    names = ("model", "released", "architecture", "parameters", "active", "weights", "size")
    context = next((m["context"] for m in found if "context" in m), None)
    head = [words(f"table.{name}") for name in names]
    head.append(words("table.kv", context=tokens(context)) if context else "")
    rows = []
    for m in found:
        row = [m["id"], m.get("released") or "?", m["architecture"]]
        if "refused" in m:
            rows.append([*row, words("list.refused"), "", "", "", ""])
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
    listed = table.render(head, rows, left=3)
    return "\n".join([listed, "", *_detail(found[0], words)]) if len(found) == 1 else listed


def _detail(model: Mapping[str, Any], words: Words) -> Iterable[str]:
    if "refused" in model:
        yield f"  {model['refused']}"
    else:
        yield f"  {count(model['parameters'])} {words('table.parameters')}"
        yield f"  {_cache(model, words)}"
        for note in model["notes"]:
            yield f"  {sentence(note, words)}"
    source = model["source"]
    named = (source[k] for k in ("title", "date", "url") if source.get(k))
    yield "  " + words.joined(named, "clauses")


def _cache(model: Mapping[str, Any], words: Words) -> str:
    # What a sequence keeps, at the context asked about.
    whole, first = model["kv_bytes_per_sequence"], model["kv_bytes_first_token"]
    each = model["kv_bytes_per_token"]
    if not whole and not model["state_bytes_per_sequence"]:
        return words("list.cache.none")
    values = {
        "whole": si(whole, "B"),
        "each": si(each, "B"),
        "first": si(first, "B"),
        "context": tokens(model["context"]),
        "state": si(model["state_bytes_per_sequence"], "B"),
    }
    text = words("list.cache" if abs(first - each) < 0.005 * each else "list.cache.less", **values)
    return text + (words("list.state", **values) if model["state_bytes_per_sequence"] else "")
