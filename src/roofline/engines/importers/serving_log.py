"""The blocks that serving benchmarks print and people paste: vLLM's and SGLang's `serve` result.

    ============ Serving Benchmark Result ============
    Successful requests:                     100
    Mean TPOT (ms):                          23.41

and, from offline tools, `Throughput: 8.50 requests/s, 3263.21 total tokens/s, …` and SGLang's
`Decode.  median latency: …`. The blocks carry the same numbers as the JSON files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .reading import Reading
from .serving import Served, milliseconds, per_request

NAME = "serving benchmark log"

_START = "Serving Benchmark Result"
_PAIR = re.compile(r"^\s*([A-Z][\w ()/.]{2,50}?):\s+(\S+)\s*$")
_ONE_BATCH = re.compile(r"^\s*(Prefill|Decode)\.\s+(median )?latency:\s*(\d+(?:\.\d+)?) s,")
_THROUGHPUT = re.compile(
    r"^\s*Throughput: (?P<requests>\d+(?:\.\d+)?) requests/s"
    r"(?:, (?P<total>\d+(?:\.\d+)?) (?:total )?tokens/s)?"
    r"(?:, (?P<output>\d+(?:\.\d+)?) output tokens/s)?"
)


class Log:
    """The blocks of a text, line by line."""

    def __init__(self) -> None:
        """Start outside any block."""
        self._said: dict[str, str] | None = None
        self._rules = 0

    def feed(self, line: str) -> Iterator[Reading]:
        """Readings that the line completes."""
        if _START in line:
            yield from self.end()
            self._said = {}
        elif self._said is not None:
            if line.startswith("====="):
                yield from self.end()
            elif len(self._said) < 200 and (found := _PAIR.match(line)):
                self._said.setdefault(found.group(1), found.group(2))
        elif found := _ONE_BATCH.match(line):
            yield from self._one_batch(found)
        elif found := _THROUGHPUT.match(line):
            yield from _rates(found)

    def _one_batch(self, found: re.Match[str]) -> Iterator[Reading]:
        kind, median, seconds = found.group(1), found.group(2), float(found.group(3))
        if seconds <= 0:
            return
        if kind == "Prefill":
            yield Reading(format=NAME, kind="prefill", seconds=seconds, engine="sglang")
        elif median:
            yield Reading(format=NAME, kind="token", seconds=seconds, engine="sglang")

    def end(self) -> Iterator[Reading]:
        """The readings of the block collected."""
        said, self._said = self._said, None
        if not said:
            return
        requests = _number(said, "Successful requests")
        duration = _number(said, "Benchmark duration (s)")
        between = milliseconds(_number(said, "Mean TPOT (ms)"))
        token_gap = milliseconds(_number(said, "Mean ITL (ms)"))
        if between is None and token_gap is None and (duration is None or requests is None):
            return
        yield from Served(
            format=NAME,
            engine=said.get("Backend"),
            duration=duration,
            requests=requests,
            input_tokens=per_request(_number(said, "Total input tokens"), requests),
            output_tokens=per_request(_number(said, "Total generated tokens"), requests),
            output_rate=_number(said, "Output token throughput (tok/s)"),
            between_tokens=between,
            first_token=milliseconds(_number(said, "Median TTFT (ms)")),
            token_gap=token_gap,
            latency=milliseconds(_number(said, "Mean E2EL (ms)", "Mean E2E Latency (ms)")),
            mean_first=milliseconds(_number(said, "Mean TTFT (ms)")),
            running=_number(said, "Concurrency"),
            concurrency=_number(said, "Maximum request concurrency", "Max request concurrency"),
            accept=_number(said, "Accept length", "Acceptance length"),
            extra=dict(said),
        ).readings()


def _rates(found: re.Match[str]) -> Iterator[Reading]:
    """Requests, all tokens and output tokens a second; their ratios are a request's lengths."""
    rates = {name: float(text) for name, text in found.groupdict().items() if text}
    requests = rates["requests"]
    if requests <= 0:
        return
    total, output = rates.get("total"), rates.get("output")
    yield Reading(
        format=NAME,
        kind="rate",
        seconds=1.0,
        requests=requests,
        prompt=(total - output) / requests if total and output and total > output else None,
        output=output / requests if output else None,
        total=total / requests if total else None,
        engine="vllm",
    )


def _number(said: dict[str, str], *names: str) -> float | None:
    for name in names:
        try:
            value = float(said.get(name, ""))
        except ValueError:
            continue
        if 0 < value < 1e18:
            return value
    return None
