"""NVIDIA's AIPerf and GenAI-Perf: the exported profile (JSON, CSV).

Each metric is an object with its unit and statistics. `inter_token_latency` is without the first
token. Units are written down, and are honoured. Fields as in the exporters of both tools.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any

from ..errors import InputError
from . import fields
from .fields import Record, inside
from .reading import Reading
from .serving import ServingSummary

NAME = "aiperf"

_UNITS = {"s": 1.0, "sec": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


def matches(record: Record) -> bool:
    """A profile: metrics that are objects with a unit."""
    return "unit" in inside(record, "request_throughput") or "unit" in inside(
        record, "inter_token_latency"
    )


def readings(record: Record) -> Iterator[Reading]:
    """What the profile allows."""
    setup = inside(record, "input_config")
    between = _seconds(record, "inter_token_latency")
    deviation = _seconds(record, "inter_token_latency", "std")
    requests = fields.number(inside(record, "request_count"), "avg")
    request_rate = fields.number(inside(record, "request_throughput"), "avg")
    duration = _seconds(record, "benchmark_duration")
    if duration is None and requests and request_rate:
        duration = requests / request_rate
    return ServingSummary(
        format=NAME,
        model=_model(setup),
        duration=duration,
        requests=requests,
        input_tokens=fields.number(inside(record, "input_sequence_length"), "avg"),
        output_tokens=fields.number(inside(record, "output_sequence_length"), "avg"),
        output_rate=fields.number(inside(record, "output_token_throughput"), "avg"),
        between_tokens=between,
        between_spread=fields.relative(deviation, between or 0),
        mean_first=_seconds(record, "time_to_first_token"),
        first_token=_seconds(record, "time_to_first_token"),
        latency=_seconds(record, "request_latency"),
        concurrency=_concurrency(setup),
        machine=_gpu(record),
        extra=fields.rest(record, frozenset({"telemetry_data", "telemetry_stats"})),
    ).readings()


def _seconds(record: Record, name: str, statistic: str = "avg") -> float | None:
    metric = inside(record, name)
    value = fields.number(metric, statistic)
    if value is None:
        return None
    unit = fields.text(metric, "unit") or "ms"
    if unit not in _UNITS:
        raise InputError(f"{name} has the unit {unit!r}, not one of time")
    return value * _UNITS[unit]


def _model(setup: Record) -> str | None:
    """AIPerf keeps `models.items[].name` or `endpoint.model_names`, GenAI-Perf a list `model`."""
    items = inside(setup, "models").get("items")
    if isinstance(items, list) and items and isinstance(items[0], dict):
        return fields.text(items[0], "name")
    for names in (inside(setup, "endpoint").get("model_names"), setup.get("model")):
        if isinstance(names, list) and names and isinstance(names[0], str):
            return names[0]
    return fields.text(setup, "model", "formatted_model_name")


def _concurrency(setup: Record) -> float | None:
    for place in (
        inside(setup, "loadgen"),
        inside(setup, "perf_analyzer", "stimulus"),
        inside(setup, "stimulus"),
        setup,
    ):
        value = place.get("concurrency")
        if isinstance(value, int | float | str):
            return fields.number(place, "concurrency")
    return None


def _gpu(record: Record) -> str | None:
    for endpoint in inside(record, "telemetry_data", "endpoints").values():
        if isinstance(endpoint, dict):
            for gpu in inside(endpoint, "gpus").values():
                if isinstance(gpu, dict):
                    return fields.text(gpu, "gpu_name")
    return None


_CSV = {
    "inter token latency": "inter_token_latency",
    "time to first token": "time_to_first_token",
    "request latency": "request_latency",
    "output sequence length": "output_sequence_length",
    "input sequence length": "input_sequence_length",
    "output token throughput": "output_token_throughput",
    "request throughput": "request_throughput",
    "request count": "request_count",
    "benchmark duration": "benchmark_duration",
}


class Log:
    """The CSV export: rows `Metric (unit),avg,min,…`, then rows `Metric (unit),value`."""

    def __init__(self) -> None:
        """Start outside the table."""
        self._columns: list[str] | None = None
        self._record: dict[str, Any] = {}

    def feed(self, line: str) -> Iterator[Reading]:
        """Collect a row."""
        if not line.strip():
            self._columns = None
            return
        try:
            cells = next(csv.reader([line[:4096]]), [])
        except csv.Error:
            return
        if len(cells) < 2:
            return
        if cells[0].strip() == "Metric":
            self._columns = [cell.strip().lower() for cell in cells[1:]]
        elif self._columns is not None:
            name, _, unit = cells[0].partition("(")
            metric = _CSV.get(name.strip().lower())
            if metric is not None:
                row = {"unit": unit.rstrip(") ").split("/")[0] or "ms"}
                for column, cell in zip(self._columns, cells[1:], strict=False):
                    row["avg" if column == "value" else column] = cell.replace(",", "")
                self._record[metric] = row
        yield from ()

    def end(self) -> Iterator[Reading]:
        """The reading of what was collected."""
        record, self._record = self._record, {}
        if "inter_token_latency" in record or (
            "request_throughput" in record and "request_count" in record
        ):
            yield from readings(record)
