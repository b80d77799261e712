"""GuideLLM's benchmark report (JSON): one benchmark per rate or concurrency.

Its `inter_token_latency_ms` is the time between tokens; its `time_per_output_token_ms` divides the
whole request, first token included, and is not used. Fields as in GuideLLM's schemas.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import InputError
from . import fields
from .fields import Record, inside
from .reading import Reading
from .serving import ServingSummary, milliseconds

NAME = "guidellm"


def matches(record: Record) -> bool:
    """A report: a list of benchmarks with metrics."""
    runs = record.get("benchmarks")
    return (
        isinstance(runs, list)
        and bool(runs)
        and isinstance(runs[0], dict)
        and "metrics" in runs[0]
        and "inter_token_latency_ms" in inside(runs[0], "metrics")
    )


def readings(record: Record) -> Iterator[Reading]:
    """The readings of every benchmark of the report."""
    version = fields.text(inside(record, "metadata"), "guidellm_version")
    arguments = inside(record, "args")
    backend = inside(arguments, "backend_kwargs")
    model = fields.text(arguments, "model") or fields.text(backend, "model")
    for run in record["benchmarks"]:
        if not isinstance(run, dict):
            raise InputError("an entry of benchmarks is no object")
        yield from _benchmark(run, model, version)


def _benchmark(run: dict[str, Any], model: str | None, version: str | None) -> Iterator[Reading]:
    metrics = inside(run, "metrics")

    def mean(name: str, group: str = "successful") -> float | None:
        return fields.number(inside(metrics, name, group), "mean")

    between = mean("inter_token_latency_ms")
    deviation = fields.number(inside(metrics, "inter_token_latency_ms", "successful"), "std_dev")
    config = inside(run, "config")
    strategy = inside(config, "strategy") or inside(run, "args", "strategy")
    totals = inside(metrics, "request_totals")
    return ServingSummary(
        format=NAME,
        model=model or fields.text(inside(config, "backend"), "model"),
        duration=fields.number(run, "duration"),
        requests=fields.number(totals, "successful"),
        input_tokens=mean("prompt_token_count"),
        output_tokens=mean("output_token_count"),
        output_rate=mean("output_tokens_per_second"),
        between_tokens=milliseconds(between),
        between_spread=fields.relative(deviation, between or 0),
        mean_first=milliseconds(mean("time_to_first_token_ms")),
        first_token=milliseconds(mean("time_to_first_token_ms")),
        latency=mean("request_latency"),
        running=mean("request_concurrency"),
        concurrency=fields.number(strategy, "max_concurrency", "streams"),
        extra={"strategy": dict(strategy), "guidellm_version": version},
    ).readings()
