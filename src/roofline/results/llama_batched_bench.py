"""`llama-batched-bench` of llama.cpp: JSON Lines and its table.

`pl` parallel sequences of `pp` prompt tokens decode `tg` tokens in step with one another. With a
shared prompt (`is_pp_shared`) the prompt is computed once and its cache belongs to all; generated
apart (`is_tg_separate`), one sequence is decoded after the other. How many tokens a step of the
prefill takes (`n_ubatch`) stands in each JSON line, and over the table. Fields as in
tools/batched-bench of llama.cpp.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..record import replace
from . import fields
from .fields import Record
from .llama_cpp import settings
from .reading import Reading

NAME = "llama-batched-bench"

COLUMNS = {
    **{"PP": "pp", "TG": "tg", "B": "pl", "N_KV": "n_kv", "T_PP s": "t_pp", "T_TG s": "t_tg"},
    **{"S_PP t/s": "speed_pp", "S_TG t/s": "speed_tg", "T s": "t", "S t/s": "speed"},
}
_USED = frozenset("pp tg pl t_pp t_tg speed_pp speed_tg t speed n_kv n_ubatch".split())


def matches(record: Record) -> bool:
    """A line of the JSON Lines output, or a row of the table."""
    return {"pp", "tg", "pl", "t_tg"} <= record.keys() or {"PP", "TG", "B", "T_TG s"} <= (
        record.keys()
    )


def readings(record: Record) -> Iterator[Reading]:
    """The prefill and the decode of one row."""
    record = {COLUMNS.get(name, name): value for name, value in record.items()}
    batch = int(fields.need(record, "pl"))
    prompt = fields.count(record, "pp") or 0
    output = fields.count(record, "tg") or 0
    shared = bool(fields.number(record, "is_pp_shared") or 0)
    apart = batch if fields.number(record, "is_tg_separate") else 1
    prefill, decode = fields.number(record, "t_pp"), fields.number(record, "t_tg")
    common = Reading(
        format=NAME,
        kind="prefill",
        seconds=prefill or 0,
        prompt=prompt,
        engine="llama.cpp",
        settings=settings(record),
        extra=fields.rest(record, _USED),
    )
    if prompt and prefill:
        yield replace(
            common,
            seconds=fields.need(record, "t_pp"),
            batch=1 if shared else batch,
            chunk=fields.count(record, "n_ubatch") or 512,
        )
    if output and decode:
        yield replace(
            common,
            kind="decode",
            seconds=fields.need(record, "t_tg") / apart,
            batch=batch // apart,
            output=output,
            notes=("shared-prompt",) if shared and batch > 1 else (),
        )
