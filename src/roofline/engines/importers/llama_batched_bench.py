"""`llama-batched-bench` of llama.cpp: JSON Lines and its table.

`pl` parallel sequences of `pp` prompt tokens decode `tg` tokens in step with one another. With a
shared prompt (`is_pp_shared`) the prompt is computed once and its cache belongs to all. Fields as
in tools/batched-bench of llama.cpp.
"""

from __future__ import annotations

from collections.abc import Iterator

from . import fields
from .fields import Record
from .reading import Reading

NAME = "llama-batched-bench"

_COLUMNS = {
    **{"PP": "pp", "TG": "tg", "B": "pl", "N_KV": "n_kv", "T_PP s": "t_pp", "T_TG s": "t_tg"},
    **{"S_PP t/s": "speed_pp", "S_TG t/s": "speed_tg", "T s": "t", "S t/s": "speed"},
}
_USED = frozenset("pp tg pl t_pp t_tg speed_pp speed_tg t speed n_kv n_ubatch".split())


def matches(record: Record) -> bool:
    """A line of the JSON Lines output, or a row of the table."""
    return {"pp", "tg", "pl", "t_tg"} <= record.keys() or {"PP", "TG", "T_TG s"} <= record.keys()


def readings(record: Record) -> Iterator[Reading]:
    """The prefill and the decode of one row."""
    if "PP" in record:
        record = {_COLUMNS.get(name, name): value for name, value in record.items()}
    batch = int(fields.need(record, "pl"))
    prompt = fields.count(record, "pp") or 0
    output = fields.count(record, "tg") or 0
    shared = bool(fields.number(record, "is_pp_shared") or 0)
    extra = fields.rest(record, _USED)
    prefill, decode = fields.number(record, "t_pp"), fields.number(record, "t_tg")
    if prompt and prefill:
        yield Reading(
            format=NAME,
            kind="prefill",
            seconds=fields.need(record, "t_pp"),
            batch=1 if shared else batch,
            prompt=prompt,
            chunk=fields.count(record, "n_ubatch") or 512,
            engine="llama.cpp",
            extra=extra,
        )
    if output and decode:
        yield Reading(
            format=NAME,
            kind="decode",
            seconds=fields.need(record, "t_tg"),
            batch=batch,
            prompt=prompt,
            output=output,
            engine="llama.cpp",
            notes=("shared-prompt",) if shared and batch > 1 else (),
            extra=extra,
        )
