"""vLLM's server log: running requests, and the rate at which they were given tokens.

    Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 238.7 tokens/s,
    Running: 10 reqs, Waiting: 0 reqs, GPU KV cache usage: 4.1%, Prefix cache hit rate: 53.7%

A line is a mean over seconds: running over rate is the time between two tokens of a request.
Lines of as many running requests are samples of one step. How long the contexts were follows
where the log says the size of its cache. Format as in vllm/v1/metrics of vLLM, and V0 before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..record import replace
from .reading import Reading
from .samples import RateSamples

NAME = "vllm server log"

_NUMBER = r"(\d{1,12}(?:\.\d{1,9})?)"
_LINE = re.compile(
    rf"Avg prompt throughput: {_NUMBER} tokens/s, Avg generation throughput: {_NUMBER} tokens/s, "
    rf"Running: (\d{{1,9}}) reqs"
)
_USAGE = re.compile(rf"KV cache usage: {_NUMBER}%")
_HITS = re.compile(rf"[Pp]refix cache hit rate: (?:GPU: )?{_NUMBER}%")
_SIZE = re.compile(r"KV cache size: ([\d,]{1,20}) tokens")
_DRAFTS = re.compile(
    rf"Mean acceptance length: {_NUMBER}"
    rf"(?:.*?Accepted: (\d{{1,15}}) tokens, Drafted: (\d{{1,15}}) )?"
)
_ENGINE = re.compile(r"Engine (\d{1,4}):")
_VERSION = re.compile(r"LLM engine \(v([\w.+\-]{1,40})\)")


class Log:
    """Lines of a server's log."""

    def __init__(self) -> None:
        """Start before any line."""
        self._samples = RateSamples()
        self._size: float | None = None
        self._accept = 1.0
        self._drafted: float | None = None
        self._version: str | None = None
        self._engines: set[str] = set()

    def feed(self, line: str) -> Iterator[Reading]:
        """Take note of a line; readings come at the end."""
        if "KV cache size" in line and (result := _SIZE.search(line)):
            self._size = float(result.group(1).replace(",", "") or 0) or None
        elif "cceptance length" in line and (result := _DRAFTS.search(line)):
            self._speculation(*result.groups())
        elif "LLM engine" in line and (result := _VERSION.search(line)):
            self._version = result.group(1)
        elif result := _LINE.search(line):
            rate, running = float(result.group(2)), int(result.group(3))
            self._engines.update(_ENGINE.findall(line)[:1])
            if rate > 0 and running > 0:
                self._samples.add(running, self._context(line, running), rate, self._rest(line))
        yield from ()

    def _speculation(self, length: str, accepted: str | None, drafted: str | None) -> None:
        self._accept = max(1.0, float(length))
        if accepted and drafted and float(accepted) > 0 and self._accept > 1:
            steps = float(accepted) / (self._accept - 1)
            self._drafted = float(drafted) / steps

    def _context(self, line: str, running: int) -> float | None:
        result = _USAGE.search(line)
        if not result or not self._size:
            return None
        return max(1.0, float(result.group(1)) / 100 * self._size / running)

    def _rest(self, line: str) -> dict[str, Any]:
        hits = _HITS.search(line)
        return {
            "accept": self._accept,
            "drafted": self._drafted,
            "cached": float(hits.group(1)) / 100 if hits else None,
        }

    def end(self) -> Iterator[Reading]:
        """One reading for each number of running requests; data-parallel engines log each its own,
        and as many run at once."""
        version, replicas = self._version, max(1, len(self._engines))
        for reading in self._samples.readings(format=NAME, engine="vllm", engine_version=version):
            yield replace(reading, batch=(reading.batch or 1) * replicas)
        self._samples = RateSamples()
