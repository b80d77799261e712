"""llama-server's JSON: the `timings` of an answer, alone, within it, or in its last piece.

`prompt_n` tokens were computed and `cache_n` taken from the cache; `draft_n_accepted` of
`draft_n` drafted tokens were accepted. One sequence. Fields as in tools/server of llama.cpp.
"""

from __future__ import annotations

from collections.abc import Iterator

from . import fields
from .fields import Record, inside
from .llama_log import drafted
from .reading import Reading

NAME = "llama-server"


def matches(record: Record) -> bool:
    """An answer with its timings, the timings alone, or a piece of a streamed answer."""
    return (
        "predicted_ms" in record
        or "predicted_ms" in inside(record, "timings")
        or record.get("object") == "chat.completion.chunk"
        or ("content" in record and record.get("stop") is False)
    )


def readings(record: Record) -> Iterator[Reading]:
    """Prefill and decode of one answer; nothing of a piece."""
    timings = record if "predicted_ms" in record else inside(record, "timings")
    prompt = fields.count(timings, "prompt_n") or 0
    cached = fields.count(timings, "cache_n") or 0
    output = fields.count(timings, "predicted_n") or 0
    ahead, behind = fields.number(timings, "prompt_ms"), fields.number(timings, "predicted_ms")
    model = fields.text(record, "model")
    if prompt and ahead and ahead > 0:
        yield Reading(
            format=NAME,
            kind="prefill",
            seconds=ahead / 1e3,
            batch=1,
            prompt=prompt,
            depth=cached,
            chunk=512,
            cached=cached / (prompt + cached),
            model=model,
            engine="llama.cpp",
        )
    if output and behind and behind > 0:
        decode = Reading(
            format=NAME,
            kind="decode",
            seconds=behind / 1e3,
            batch=1,
            prompt=prompt + cached,
            output=output,
            model=model,
            engine="llama.cpp",
        )
        proposed = fields.count(timings, "draft_n") or 0
        yield drafted(decode, fields.count(timings, "draft_n_accepted") or 0, proposed)
