"""LLMPerf: its summary, and the individual responses beside it (JSON).

Its `inter_token_latency_s` is the whole latency over all tokens, so it has the time to the first in
it and is not used: the decode is the latency less the time to the first token. Of individual
responses one reading is made of all. Fields as in token_benchmark_ray.py of LLMPerf.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import fields
from .fields import Record, inside
from .reading import Reading
from .serving import ServingSummary

NAME = "llmperf"

_RESPONSE = {"ttft_s", "end_to_end_latency_s", "number_output_tokens", "number_input_tokens"}
_USED = frozenset({"additional_sampling_params", "version", "name"})


def matches(record: Record) -> bool:
    """A summary, flat or nested, or one response."""
    return (
        "results_end_to_end_latency_s_mean" in record
        or "end_to_end_latency_s" in inside(record, "results")
        or record.keys() >= _RESPONSE
    )


class Reader:
    """Summaries one by one; responses are gathered until the end."""

    def __init__(self) -> None:
        """Start without responses."""
        self._sums = dict.fromkeys((*_RESPONSE, "count", "begin", "end"), 0.0)

    def feed(self, record: Record) -> Iterator[Reading]:
        """The reading of a summary."""
        if record.keys() >= _RESPONSE:
            self._add(record)
        else:
            yield from _summary(record)

    def _add(self, record: Record) -> None:
        if record.get("error_code") not in (None, ""):
            return
        said = {name: fields.number(record, name) or 0.0 for name in _RESPONSE}
        if said["end_to_end_latency_s"] <= 0 or said["number_output_tokens"] <= 0:
            return
        for name, value in said.items():
            self._sums[name] += value
        self._sums["count"] += 1
        begin = fields.number(record, "request_start_time", "start_time") or 0.0
        self._sums["end"] = max(self._sums["end"], begin + said["end_to_end_latency_s"])

    def end(self) -> Iterator[Reading]:
        """One reading over all responses."""
        sums, count = self._sums, self._sums["count"]
        self._sums = dict.fromkeys(sums, 0.0)
        if not count:
            return
        yield from _served(
            requests=count,
            duration=sums["end"] or None,
            input_tokens=sums["number_input_tokens"] / count,
            output_tokens=sums["number_output_tokens"] / count,
            latency=sums["end_to_end_latency_s"] / count,
            first=sums["ttft_s"] / count,
            extra={"responses": count},
        )


def _summary(record: Record) -> Iterator[Reading]:
    def mean(name: str) -> float | None:
        nested = inside(record, "results", name)
        return fields.number(record, f"results_{name}_mean") or fields.number(nested, "mean")

    def said(name: str) -> float | None:
        return fields.number(record, f"results_{name}") or fields.number(
            inside(record, "results"), name
        )

    rate = said("mean_output_throughput_token_per_s")
    requests, a_minute = said("num_completed_requests"), said("num_completed_requests_per_min")
    duration = requests / a_minute * 60 if requests and a_minute else None
    yield from _served(
        requests=requests,
        duration=duration,
        input_tokens=mean("number_input_tokens"),
        output_tokens=mean("number_output_tokens"),
        output_rate=rate,
        latency=mean("end_to_end_latency_s"),
        first=mean("ttft_s"),
        model=fields.text(record, "model"),
        concurrency=fields.number(record, "num_concurrent_requests"),
        extra=fields.rest(record, _USED),
    )


def _served(first: float | None, **more: Any) -> Iterator[Reading]:
    latency, tokens = more.get("latency"), more.get("output_tokens")
    between = None
    if latency and first and tokens and tokens > 1 and latency > first:
        between = (latency - first) / (tokens - 1)
    served = ServingSummary(
        format=NAME, mean_first=first, first_token=first, between_tokens=between, **more
    )
    yield from served.readings()
