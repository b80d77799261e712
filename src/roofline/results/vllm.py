"""`vllm bench` of vLLM: serve, throughput and latency (JSON).

`serve` writes a client's averages; `throughput` only requests, tokens and seconds; `latency` only
seconds: batch and lengths are options of the tool that its file leaves out. Fields as in
vllm/benchmarks of vLLM.
"""

from __future__ import annotations

from collections.abc import Iterator

from . import fields
from .fields import Record
from .reading import Reading
from .serving import averages

NAME = "vllm bench"

_SERVE = frozenset(
    "duration completed total_input_tokens total_output_tokens output_throughput mean_tpot_ms "
    "median_tpot_ms std_tpot_ms mean_ttft_ms median_ttft_ms model_id max_concurrency backend date "
    "input_lens output_lens ttfts itls generated_texts errors start_times".split()
)
_THROUGHPUT = frozenset(
    "elapsed_time num_requests total_num_tokens requests_per_second tokens_per_second".split()
)
_LATENCY = frozenset("avg_latency std_latency latencies percentiles".split())


def matches(record: Record) -> bool:
    """One of the three files."""
    return _is_serve(record) or _is_throughput(record) or "avg_latency" in record


def _is_serve(record: Record) -> bool:
    return {"total_output_tokens", "completed", "duration", "total_token_throughput"} <= (
        record.keys()
    ) and ("model_id" in record or "mean_tpot_ms" in record)


def _is_throughput(record: Record) -> bool:
    return {"elapsed_time", "num_requests", "total_num_tokens"} <= record.keys()


def readings(record: Record) -> Iterator[Reading]:
    """What the file allows."""
    if _is_serve(record):
        return _serve(record)
    return _throughput(record) if _is_throughput(record) else _latency(record)


def _serve(record: Record) -> Iterator[Reading]:
    return averages(
        record,
        format=f"{NAME} serve",
        engine=fields.text(record, "backend", "endpoint_type") or "vllm",
        model=fields.text(record, "model_id"),
        accept=fields.number(record, "spec_decode_acceptance_length"),
        time=fields.text(record, "date"),
        extra=fields.rest(record, _SERVE),
    ).readings()


def _throughput(record: Record) -> Iterator[Reading]:
    """The number of tokens mixes prompt and output, so one of the lengths has to be given."""
    requests = fields.need(record, "num_requests")
    yield Reading(
        format=f"{NAME} throughput",
        kind="run",
        seconds=fields.need(record, "elapsed_time"),
        requests=requests,
        total=fields.need(record, "total_num_tokens") / requests,
        engine="vllm",
        extra=fields.rest(record, _THROUGHPUT),
    )


def _latency(record: Record) -> Iterator[Reading]:
    mean = fields.need(record, "avg_latency")
    samples = fields.samples(record, "latencies")
    yield Reading(
        format=f"{NAME} latency",
        kind="run",
        seconds=mean,
        best=min(samples, default=None),
        spread=fields.relative(fields.number(record, "std_latency"), mean),
        samples=len(samples) or None,
        engine="vllm",
        extra=fields.rest(record, _LATENCY),
    )
