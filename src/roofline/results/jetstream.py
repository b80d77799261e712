"""JetStream's `benchmark_serving.py`: its JSON (`metrics` and `dimensions`) and what it prints.

Its TPOT divides the whole latency by the tokens, the time to the first included: times the mean
output it is the latency, and that less the time to the first token is the decode. A warm-up that it
prints first is no point. Fields as in benchmarks/benchmark_serving.py of JetStream.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from . import fields
from .fields import Record, inside
from .reading import Reading
from .serving import ServingSummary, milliseconds, per_request

NAME = "jetstream"

_LINE = re.compile(
    r"^\s*(Successful requests|Benchmark duration|Total input tokens|Total generated tokens"
    r"|Output token throughput|Mean TTFT|Median TTFT|Mean TPOT): (\d{1,15}(?:\.\d{1,15})?)"
    r"(?: (?:s|ms|tokens/s|requests/s))?\s*$"
)
_NAMES = {
    "Successful requests": "completed",
    "Benchmark duration": "duration",
    "Total input tokens": "total_input_tokens",
    "Total generated tokens": "total_output_tokens",
    "Output token throughput": "output_throughput",
    "Mean TTFT": "mean_ttft_ms",
    "Median TTFT": "median_ttft_ms",
    "Mean TPOT": "mean_tpot_ms",
}


def matches(record: Record) -> bool:
    """A result with its metrics and dimensions."""
    metrics = inside(record, "metrics")
    return "dimensions" in record and "completed" in metrics and "mean_tpot_ms" in metrics


def readings(record: Record) -> Iterator[Reading]:
    """The reading of one result."""
    said = inside(record, "dimensions")
    machine = fields.text(said, "accelerator")
    yield from _served(
        inside(record, "metrics"),
        model=fields.text(said, "model_id"),
        machine=None if machine == "no_accelerator" else machine,
        time=fields.text(said, "date"),
        extra=fields.rest(said, frozenset()),
    )


class Log:
    """Printed results, line by line."""

    def __init__(self) -> None:
        """Start before any result."""
        self._said: dict[str, float] = {}
        self._warm = False

    def feed(self, line: str) -> Iterator[Reading]:
        """A reading where the last of its lines has come."""
        if line.startswith("Warm up start"):
            self._warm = True
        elif line.startswith("Warm up done"):
            self._said, self._warm = {}, False
        elif not self._warm and (result := _LINE.match(line)):
            name = _NAMES[result.group(1)]
            if name == "completed":
                self._said = {}
            self._said[name] = float(result.group(2))
            if name == "mean_tpot_ms":
                said, self._said = self._said, {}
                if said.get("completed") and said.get("duration"):
                    yield from _served(said)

    def end(self) -> Iterator[Reading]:
        """Nothing is held back."""
        yield from ()


def _served(metrics: Record, **more: Any) -> Iterator[Reading]:
    completed = fields.need(metrics, "completed")
    output = per_request(fields.number(metrics, "total_output_tokens"), completed)
    each = milliseconds(fields.number(metrics, "mean_tpot_ms"))
    yield from ServingSummary(
        format=NAME,
        engine=NAME,
        duration=fields.need(metrics, "duration"),
        requests=completed,
        input_tokens=per_request(fields.number(metrics, "total_input_tokens"), completed),
        output_tokens=output,
        output_rate=fields.number(metrics, "output_throughput"),
        latency=each * output if each and output else None,
        mean_first=milliseconds(fields.number(metrics, "mean_ttft_ms")),
        first_token=milliseconds(fields.number(metrics, "median_ttft_ms", "mean_ttft_ms")),
        **more,
    ).readings()
