"""`llama-sweep-bench` of ik_llama.cpp: its table and JSON Lines.

At every `n_kv` tokens of cache one sequence takes a prompt of `pp` tokens, a whole micro-batch, and
decodes `tg` tokens. Fields as in examples/sweep-bench of ik_llama.cpp.
"""

from __future__ import annotations

from collections.abc import Iterator

from . import fields
from .fields import Record
from .llama_batched_bench import COLUMNS
from .llama_cpp import settings
from .reading import Reading

NAME = "llama-sweep-bench"

_USED = frozenset("pp tg t_pp t_tg speed_pp speed_tg n_kv n_ubatch".split())


def matches(record: Record) -> bool:
    """A line of the JSON Lines output, or a row of the table: no column for sequences."""
    names = {COLUMNS.get(name, name) for name in record}
    return {"pp", "tg", "n_kv", "t_tg"} <= names and "pl" not in names


def readings(record: Record) -> Iterator[Reading]:
    """The prefill and the decode of one row."""
    record = {COLUMNS.get(name, name): value for name, value in record.items()}
    depth = fields.count(record, "n_kv") or 0
    for kind, tokens in (("prefill", "pp"), ("decode", "tg")):
        count = fields.count(record, tokens) or 0
        if not count or not fields.number(record, f"t_{tokens}"):
            continue
        yield Reading(
            format=NAME,
            kind=kind,
            seconds=fields.need(record, f"t_{tokens}"),
            batch=1,
            prompt=count if kind == "prefill" else depth,
            depth=depth if kind == "prefill" else 0,
            output=count if kind == "decode" else None,
            chunk=(fields.count(record, "n_ubatch") or count) if kind == "prefill" else None,
            engine="ik_llama.cpp",
            settings=settings(record),
            extra=fields.rest(record, _USED),
        )
