"""LMDeploy's profilers, of throughput, of generation and of its server: text and CSV.

So many clients, each always with a request open (`concurrency`, in the CSV `batch`): that many
sequences share the rate of generated tokens. Where a run says its mean latencies, a token's time
is the latency less the first token's. Older versions print `name: value`, newer ones columns.
Format as in benchmark/ and lmdeploy/profiler.py of LMDeploy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from . import fields
from .fields import Record
from .reading import Reading
from .serving import ServingSummary, per_request

NAME = "lmdeploy"

_NUMBER = r"(\d{1,15}(?:\.\d{1,9})?)"
_LINES = {
    "duration": re.compile(rf"^\s*(?:elapsed_time|total time):\s*{_NUMBER}\s*s"),
    "concurrency": re.compile(rf"^\s*concurrency:\s*{_NUMBER}"),
    "rounds": re.compile(rf"test_round:\s*{_NUMBER}"),
    "prompt": re.compile(rf"^\s*input_tokens:\s*{_NUMBER}"),
    "output": re.compile(rf"output_tokens:\s*{_NUMBER}"),
    "first": re.compile(
        rf"first[ _]token latency(?:\(s\))?\s*\(min, max, ave\):[^,]+,[^,]+,\s*{_NUMBER}"
    ),
    "latency": re.compile(
        rf"total_token latency(?:\(s\))?\s*\(min, max, ave\):[^,]+,[^,]+,\s*{_NUMBER}"
    ),
    "prompts": re.compile(rf"number of prompt tokens:\s*{_NUMBER}"),
    "outputs": re.compile(rf"number of completion tokens:\s*{_NUMBER}"),
    "rate": re.compile(
        rf"(?:token throughput \(completion token\)|throughput\(output\)):\s*{_NUMBER} token/s"
    ),
    "requests": re.compile(rf"RPS \(request per second\):\s*{_NUMBER} req/s"),
}
_HINTS = ("elapsed_time", "total time", "oken", "concurrency:", "RPS (", "throughput(")
_ROW = re.compile(rf"^([A-Z][A-Za-z0-9 _()/\-]{{2,38}}?)\s{{2,}}{_NUMBER}")
_ROWS = {
    "Benchmark duration": "duration",
    "Successful requests": "count",
    "Concurrency": "concurrency",
    "concurrency": "concurrency",
    "Total input tokens": "prompts",
    "Total generated tokens": "outputs",
    "Output throughput (tok/s)": "rate",
    "Request throughput (req/s)": "requests",
    "End-to-end Latency": "latency",
    "Time to First Token (TTFT)": "first",
    "Time per Output Token (TPOT)": "between",
    "Inter-token Latency (ITL)": "gap",
}
_TITLE = re.compile(r"^=+ (?:Profile|.*[Pp]rofil\w*|.*Throughput) .*=+$")
_OUT, _ALL = "throughput(out tok/s)", "throughput(total tok/s)"


def matches(record: Record) -> bool:
    """A row of either CSV."""
    return _OUT in record and _ALL in record and ("RPS" in record or "completion_tokens" in record)


def readings(record: Record) -> Iterator[Reading]:
    """One row of a CSV."""
    out, both = fields.need(record, _OUT), fields.need(record, _ALL)
    requests = fields.number(record, "RPS")
    prompt = fields.number(record, "prompt_tokens")
    output = fields.number(record, "completion_tokens")
    if requests and requests > 0:
        prompt, output = (both - out) / requests, out / requests
    yield from _served(
        {
            "rate": out,
            "requests": requests or (out / output if output else 0.0),
            "concurrency": fields.number(record, "batch", "concurrency", "Concurrency") or 0.0,
            "prompt": prompt or 0.0,
            "output": output or 0.0,
        },
        fields.rest(record, frozenset()),
    )


class Log:
    """Printed results, line by line."""

    def __init__(self) -> None:
        """Start outside any result."""
        self._said: dict[str, float] = {}
        self._rows = False

    def feed(self, line: str) -> Iterator[Reading]:
        """A reading where a result is over."""
        if _TITLE.match(line) and "Benchmark Result" not in line:
            yield from self.end()
            self._rows = True
        elif self._rows and line.startswith("===="):
            yield from self.end()
        elif self._rows and (row := _ROW.match(line)):
            name = _ROWS.get(row.group(1).strip())
            if name:
                self._said.setdefault(name, float(row.group(2)))
        elif line.startswith("-----") and "rate" in self._said and not self._rows:
            yield from self.end()
        elif any(hint in line for hint in _HINTS) and not self._rows:
            for name, pattern in _LINES.items():
                if result := pattern.search(line):
                    if name == "concurrency":
                        self._said.clear() if "rate" in self._said else None
                    self._said[name] = float(result.group(1))

    def end(self) -> Iterator[Reading]:
        """The reading of the result collected."""
        said, self._said, self._rows = self._said, {}, False
        if said.get("rate") and (said.get("concurrency") or said.get("between")):
            yield from _served(said, {})


def _served(said: dict[str, float], extra: dict[str, Any]) -> Iterator[Reading]:
    rate, requests, duration = said["rate"], said.get("requests"), said.get("duration")
    count = said.get("count")
    if not requests and said.get("rounds") and duration:
        requests = said["rounds"] * said.get("concurrency", 0.0) / duration
    if not requests and count and duration:
        requests = count / duration
    if not count and requests and duration:
        count = requests * duration
    output = said.get("output") or per_request(said.get("outputs"), count)
    between = said.get("between")
    first, latency = said.get("first"), said.get("latency")
    if not between and first and latency and output and output > 1 and latency > first:
        between = (latency - first) / (output - 1)
    yield from ServingSummary(
        format=NAME,
        engine=NAME,
        duration=1.0 if requests else None,
        requests=requests or None,
        rate_only=True,
        input_tokens=said.get("prompt") or per_request(said.get("prompts"), count),
        output_tokens=output or None,
        output_rate=rate,
        between_tokens=between,
        token_gap=said.get("gap"),
        latency=latency if "between" in said else None,
        mean_first=first if "between" in said else None,
        first_token=first,
        decoding=None if "between" in said else said.get("concurrency") or None,
        concurrency=said.get("concurrency") or None,
        extra=extra,
    ).readings()
