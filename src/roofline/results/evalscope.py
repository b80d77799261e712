"""EvalScope's `perf`: a summary as JSON, table or lines, and the report of all runs.

Latency less the time to the first token says how many requests decode together. Names and units
changed over the versions (`Average time per output token (s)`, `TPOT (ms)`); in the oldest that
time was the inverse of the rate, which is known by that. Fields as in evalscope/perf of EvalScope.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from . import fields
from .fields import Record, leading
from .reading import Reading
from .serving import ServingSummary

NAME = "evalscope"

_NAMES = {
    "test duration (s)": ("duration", 1.0),
    "time taken for tests (s)": ("duration", 1.0),
    "time taken for tests": ("duration", 1.0),
    "concurrency": ("concurrency", 1.0),
    "number of concurrency": ("concurrency", 1.0),
    "success requests": ("requests", 1.0),
    "succeed requests": ("requests", 1.0),
    "req throughput (req/s)": ("request_rate", 1.0),
    "request throughput (req/s)": ("request_rate", 1.0),
    "average qps": ("request_rate", 1.0),
    "avg latency (s)": ("latency", 1.0),
    "average latency (s)": ("latency", 1.0),
    "average latency": ("latency", 1.0),
    "ttft (ms)": ("first", 1e-3),
    "average time to first token (s)": ("first", 1.0),
    "average time to first token": ("first", 1.0),
    "tpot (ms)": ("between", 1e-3),
    "average time per output token (s)": ("between", 1.0),
    "average time per output token": ("between", 1.0),
    "itl (ms)": ("gap", 1e-3),
    "average inter-token latency (s)": ("gap", 1.0),
    "avg input tokens": ("prompt", 1.0),
    "average input tokens per request": ("prompt", 1.0),
    "avg output tokens": ("output", 1.0),
    "average output tokens per request": ("output", 1.0),
    "output throughput (tok/s)": ("rate", 1.0),
    "output token throughput (tok/s)": ("rate", 1.0),
    "throughput(average output tokens per second)": ("rate", 1.0),
    "throughput(average tokens/s)": ("rate", 1.0),
    "decoded tok/iter": ("accept", 1.0),
    "kv cache hit rate (%)": ("cached", 1e-2),
}
_COUNTS = "total / success / failed"
_REPORT = ("Conc.", "RPS", "Gen. toks/s")
_LINE = re.compile(r"^\s*([A-Z][\w /()%.\-]{2,60}?)\s*:\s+(\d[\d.,]*)(?: seconds)?\s*$")
_BARS = str.maketrans("│┃║", "|||")
_MODEL = re.compile(r"^\s*\|\s*Model\s*\|\s*(\S[^|]{0,120}?)\s*\|")


def matches(record: Record) -> bool:
    """A summary, a row of the report, or a file of several summaries."""
    return _is_summary(record) or set(_REPORT) <= record.keys() or bool(_inner(record))


def _is_summary(record: Record) -> bool:
    names = {str(name).lower() for name in record}
    return bool(names & {"test duration (s)", "time taken for tests (s)"}) and bool(
        names & {"avg latency (s)", "average latency (s)"}
    )


def _inner(record: Record) -> list[Mapping[str, Any]]:
    """Summaries within: `{"parallel_1_number_10": {"metrics": …}}`."""
    return [
        value["metrics"]
        for value in record.values()
        if isinstance(value, Mapping)
        and isinstance(value.get("metrics"), Mapping)
        and _is_summary(value["metrics"])
    ]


def readings(record: Record) -> Iterator[Reading]:
    """One reading a summary."""
    if _is_summary(record):
        yield from _served(_values(record), fields.rest(record, frozenset()))
    elif set(_REPORT) <= record.keys():
        yield from _row(record)
    else:
        for inner in _inner(record):
            yield from _served(_values(inner), fields.rest(inner, frozenset()))


def _values(record: Record) -> dict[str, float]:
    said: dict[str, float] = {}
    for name, value in record.items():
        known, number = _NAMES.get(str(name).strip().lower()), leading(value)
        if known and number is not None and number > 0:
            said.setdefault(known[0], number * known[1])
    return said


def _row(record: Record) -> Iterator[Reading]:
    """A row of the report: no token counts but those that rate over requests/s gives."""
    rate, requests = leading(record["Gen. toks/s"]), leading(record["RPS"])
    scale = 1e-3 if "Avg TPOT(ms)" in record else 1.0
    yield from _served(
        {
            name: value * unit
            for name, value, unit in (
                ("rate", rate, 1.0),
                ("request_rate", requests, 1.0),
                ("concurrency", leading(record.get("Conc.")), 1.0),
                ("latency", leading(record.get("Avg Lat.(s)")), 1.0),
                ("first", leading(record.get("Avg TTFT(s)", record.get("Avg TTFT(ms)"))), scale),
                ("between", leading(record.get("Avg TPOT(s)", record.get("Avg TPOT(ms)"))), scale),
                ("output", rate / requests if rate and requests else None, 1.0),
            )
            if value is not None and value > 0
        },
        {},
    )


class Log:
    """Printed summaries, line by line."""

    def __init__(self) -> None:
        """Start outside any summary."""
        self._said: dict[str, float] = {}
        self._model: str | None = None

    def feed(self, line: str) -> Iterator[Reading]:
        """A reading where the next summary begins, of the one before."""
        text = line.translate(_BARS)
        if result := _MODEL.match(text):
            self._model = result.group(1)
            return
        cells = [cell.strip() for cell in text.strip().strip("|").split("|")]
        if len(cells) == 2 and text.lstrip().startswith("|"):
            name, value = cells
        elif pair := _LINE.match(line):
            name, value = pair.groups()
        else:
            return
        if name.lower() == _COUNTS:
            name, value = "success requests", [*value.split("/"), "", ""][1]
        known, number = _NAMES.get(name.lower()), leading(value)
        if known and number is not None and number > 0:
            if known[0] == "duration" and "duration" in self._said:
                yield from self.end()
            self._said.setdefault(known[0], number * known[1])

    def end(self) -> Iterator[Reading]:
        """The reading of the summary collected."""
        said, self._said = self._said, {}
        if "duration" in said and "latency" in said and "rate" in said:
            yield from _served(said, {}, self._model)


def _served(said: dict[str, float], extra: Any, model: str | None = None) -> Iterator[Reading]:
    between, rate, latency = said.get("between"), said.get("rate"), said.get("latency")
    first, together = said.get("first"), said.get("concurrency", 1.0)
    if latency and first and first > 0.999 * latency:  # answers came in one piece
        between, first = None, None
    if between and rate and together > 1 and 0.95 < between * rate < 1.05:
        between = None  # the inverse of the rate
    requests = said.get("request_rate")
    if not requests and said.get("requests") and said.get("duration"):
        requests = said["requests"] / said["duration"]
    yield from ServingSummary(
        format=NAME,
        model=model,
        duration=1.0 if requests else None,
        requests=requests,
        rate_only=True,
        input_tokens=said.get("prompt"),
        output_tokens=said.get("output"),
        output_rate=rate,
        between_tokens=between,
        token_gap=said.get("gap") if between else None,
        latency=latency,
        mean_first=first,
        first_token=first,
        concurrency=said.get("concurrency"),
        accept=said.get("accept"),
        cached=said.get("cached"),
        extra=extra,
    ).readings()
