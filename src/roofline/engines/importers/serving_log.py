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
_THROUGHPUT = re.compile(r"^\s*Throughput: (\d+(?:\.\d+)?) requests/s")


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
            rate = float(found.group(1))
            if rate > 0:
                yield Reading(format=NAME, kind="run", seconds=1.0, requests=rate, engine="vllm")

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
        if between is None and (duration is None or requests is None):
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
            running=_number(said, "Concurrency"),
            concurrency=_number(said, "Maximum request concurrency", "Max request concurrency"),
            accept=_number(said, "Accept length", "Acceptance length"),
            extra=dict(said),
        ).readings()


def _number(said: dict[str, str], *names: str) -> float | None:
    for name in names:
        try:
            value = float(said.get(name, ""))
        except ValueError:
            continue
        if 0 < value < 1e18:
            return value
    return None
