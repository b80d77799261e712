"""AISBench: the two tables that it prints, its CSV of means and its JSON of the whole run.

The first table has means over requests (`E2EL`, `TTFT`, `TPOT`, …), the second the run
(`Benchmark Duration`, `Concurrency`, …); each cell carries its unit. Format as in ais_bench of
AISBench.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from . import fields
from .fields import Record, leading
from .reading import Reading
from .serving import ServingSummary, per_request

NAME = "aisbench"

_REQUESTS = {
    "E2EL": "latency",
    "TTFT": "first",
    "TPOT": "between",
    "ITL": "gap",
    "InputTokens": "prompt",
    "OutputTokens": "output",
}
_RUN = {
    "Benchmark Duration": "duration",
    "Success Requests": "requests",
    "Concurrency": "present",
    "Max Concurrency": "concurrency",
    "Total Input Tokens": "prompts",
    "Total Generated Tokens": "outputs",
    "Total Output Tokens": "outputs",
    "Output Token Throughput": "rate",
    "Request Throughput": "request_rate",
}
_UNITS = {"ms": 1e-3, "s": 1.0, "us": 1e-6}
_PARAMETER, _COMMON = "Performance Parameters", "Common Metric"


def matches(record: Record) -> bool:
    """A row of the tables or the CSV, or the JSON of a run."""
    if _PARAMETER in record or _COMMON in record:
        return True
    return isinstance(record.get("Benchmark Duration"), Mapping) and "Total Requests" in record


class Reader:
    """Rows are gathered; the next run's first row, or the end, completes one."""

    def __init__(self) -> None:
        """Start before any row."""
        self._said: dict[str, float] = {}

    def feed(self, record: Record) -> Iterator[Reading]:
        """The reading that the record completes."""
        if _PARAMETER not in record and _COMMON not in record:
            yield from self.end()
            for name, value in record.items():
                cells = value.values() if isinstance(value, Mapping) else (value,)
                self._take(_RUN.get(str(name)), next(iter(cells), None))
            yield from self.end()
        elif _PARAMETER in record:
            known = _REQUESTS.get(str(record[_PARAMETER]))
            if known == "latency" and "latency" in self._said:
                yield from self.end()
            self._take(known, record.get("Average"))
        else:
            self._take(_RUN.get(str(record[_COMMON])), record.get("Value"))

    def _take(self, name: str | None, cell: Any) -> None:
        number = leading(cell)
        if name is None or number is None or number <= 0:
            return
        unit = str(cell).split()[-1] if isinstance(cell, str) else ""
        self._said.setdefault(name, number * _UNITS.get(unit, 1.0))

    def end(self) -> Iterator[Reading]:
        """The reading of what was gathered."""
        said, self._said = self._said, {}
        if not said:
            return
        requests = said.get("requests")
        yield from ServingSummary(
            format=NAME,
            duration=said.get("duration"),
            requests=requests,
            input_tokens=said.get("prompt") or per_request(said.get("prompts"), requests),
            output_tokens=said.get("output") or per_request(said.get("outputs"), requests),
            output_rate=said.get("rate"),
            between_tokens=said.get("between"),
            token_gap=said.get("gap"),
            latency=said.get("latency"),
            mean_first=said.get("first"),
            first_token=said.get("first"),
            running=said.get("present"),
            concurrency=said.get("concurrency"),
            extra=fields.rest(dict(said), frozenset()),
        ).readings()
