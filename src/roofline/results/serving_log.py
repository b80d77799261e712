"""The blocks that serving benchmarks print and people paste: vLLM's, SGLang's and lmdeploy's.

    ============ Serving Benchmark Result ============
    Successful requests:                     100
    Mean TPOT (ms):                          23.41

and SGLang's `Offline Throughput Benchmark Result`. The blocks carry the same numbers as the JSON
files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .reading import Reading
from .serving import ServingSummary, milliseconds, per_request

NAME = "serving benchmark log"

_START = re.compile(r"=+ .*?(?:Serving|Throughput) Benchmark Result .*?=+")
_PAIR = re.compile(r"^\s*([A-Z][\w ()/.%\-]{2,50}?):\s+(\S+)\s*$")


class Log:
    """The blocks of a text, line by line."""

    def __init__(self) -> None:
        """Start outside any block."""
        self._said: dict[str, str] | None = None

    def feed(self, line: str) -> Iterator[Reading]:
        """Readings that the line completes."""
        if "Benchmark Result" in line and _START.search(line):
            yield from self.end()
            self._said = {}
        elif self._said is not None:
            if line.lstrip().startswith("====="):
                yield from self.end()
            elif len(self._said) < 200 and (result := _PAIR.match(line)):
                self._said.setdefault(result.group(1), result.group(2))

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
        drafts = _number(said, "Drafts")
        yield from ServingSummary(
            format=NAME,
            engine=said.get("Backend"),
            duration=duration,
            requests=requests,
            input_tokens=per_request(_number(said, "Total input tokens"), requests),
            output_tokens=per_request(_number(said, "Total generated tokens"), requests),
            output_rate=_number(said, "Output token throughput (tok/s)"),
            between_tokens=between,
            token_gap=milliseconds(_number(said, "Mean ITL (ms)")),
            latency=milliseconds(
                _number(said, "Mean E2EL (ms)", "Mean E2E Latency (ms)", "Mean E2E latency (ms)")
            ),
            mean_first=milliseconds(_number(said, "Mean TTFT (ms)")),
            first_token=milliseconds(_number(said, "Median TTFT (ms)")),
            running=_number(said, "Concurrency"),
            concurrency=_number(said, "Maximum request concurrency", "Max request concurrency"),
            accept=_number(said, "Accept length", "Acceptance length"),
            drafted=per_request(_number(said, "Draft tokens"), drafts),
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
