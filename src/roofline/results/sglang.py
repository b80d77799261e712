"""SGLang's `bench_serving` and `bench_one_batch` (and its server form), JSON Lines.

`bench_one_batch` times steps without a server: a prefill of the whole batch, and the median decode
step. `bench_serving` writes a client's averages, with the mean concurrency it saw and, under
speculation, the mean accepted length. Fields as in python/sglang of SGLang.
"""

from __future__ import annotations

from collections.abc import Iterator

from . import fields
from .fields import Record
from .reading import Reading
from .serving import averages

NAME = "sglang"

_ONE_BATCH = frozenset(
    "batch_size input_len output_len prefill_latency prefill_throughput median_decode_latency "
    "median_decode_throughput total_latency overall_throughput".split()
)
_SERVER = frozenset("batch_size input_len output_len latency ttft acc_length".split())
_SERVING = frozenset(
    "duration completed total_input_tokens total_output_tokens output_throughput mean_tpot_ms "
    "std_tpot_ms mean_ttft_ms median_ttft_ms max_concurrency concurrency accept_length backend "
    "input_lens output_lens ttfts itls generated_texts errors".split()
)


def matches(record: Record) -> bool:
    """A line of one of the tools."""
    return _is_serving(record) or _is_one_batch(record) or _is_server(record)


def _is_one_batch(record: Record) -> bool:
    return {"batch_size", "input_len", "output_len", "prefill_latency"} <= record.keys()


def _is_server(record: Record) -> bool:
    return {"batch_size", "input_len", "output_len", "latency", "ttft"} <= record.keys()


def _is_serving(record: Record) -> bool:
    return {"completed", "duration", "total_output_tokens"} <= record.keys() and (
        "total_output_tokens_retokenized" in record or "accept_length" in record
    )


def readings(record: Record) -> Iterator[Reading]:
    """What the line allows."""
    if _is_serving(record):
        return _serving(record)
    return _one_batch(record) if _is_one_batch(record) else _one_batch_server(record)


def _one_batch(record: Record) -> Iterator[Reading]:
    batch, prompt = fields.need(record, "batch_size"), fields.need(record, "input_len")
    output, extra = fields.need(record, "output_len"), fields.rest(record, _ONE_BATCH)
    yield Reading(
        format=f"{NAME} bench_one_batch",
        kind="prefill",
        seconds=fields.need(record, "prefill_latency"),
        batch=batch,
        prompt=prompt,
        engine="sglang",
        extra=extra,
    )
    if step := fields.number(record, "median_decode_latency"):
        yield Reading(
            format=f"{NAME} bench_one_batch",
            kind="step",
            seconds=step,
            batch=batch,
            prompt=prompt,
            output=output,
            engine="sglang",
            extra=extra,
        )


def _one_batch_server(record: Record) -> Iterator[Reading]:
    """`latency` is that of the whole batch; without `ttft` the rest is decode and the server."""
    batch, prompt = fields.need(record, "batch_size"), fields.need(record, "input_len")
    output = fields.need(record, "output_len")
    latency, first = fields.need(record, "latency"), fields.number(record, "ttft") or 0
    if output > 1 and 0 < first < latency:
        yield Reading(
            format=f"{NAME} bench_one_batch_server",
            kind="token",
            seconds=(latency - first) / (output - 1),
            batch=batch,
            prompt=prompt,
            output=output,
            accept=max(1.0, fields.number(record, "acc_length") or 1.0),
            engine="sglang",
            extra=fields.rest(record, _SERVER),
        )
    else:
        yield Reading(
            format=f"{NAME} bench_one_batch_server",
            kind="run",
            seconds=latency,
            batch=batch,
            prompt=prompt,
            output=output,
            requests=batch,
            engine="sglang",
            extra=fields.rest(record, _SERVER),
        )


def _serving(record: Record) -> Iterator[Reading]:
    return averages(
        record,
        format=f"{NAME} bench_serving",
        engine=fields.text(record, "backend") or "sglang",
        running=fields.number(record, "concurrency"),
        accept=fields.number(record, "accept_length"),
        extra=fields.rest(record, _SERVING),
    ).readings()
