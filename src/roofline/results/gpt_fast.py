"""gpt-fast's log: `Time for inference 1: 2.04 sec total, 98.08 tokens/sec`.

The time is wall clock from prompt to last token, prefill included. Its tokens/sec are those of one
sequence, whatever the batch (the log says the batch only at the end). Its bandwidth counts the
model without the input table, so it is kept but not used. Format as in generate.py of gpt-fast.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .reading import Reading

NAME = "gpt-fast"

_TIME = re.compile(
    r"Time for inference (\d{1,9}): (\d+(?:\.\d+)?) sec total,.*?(\d+(?:\.\d+)?) tokens/sec"
)
_FIELDS = {
    "Bandwidth achieved": "bandwidth_gb_s",
    "FLOPS achieved": "flops_tf_s",
    "Memory used": "memory_gb",
    "Compilation time": "compilation_s",
}
_SETTINGS = {"Batch Size": "batch", "Prompt Length": "prompt", "Generated tokens": "output"}
_PAIR = re.compile(r"^\s*(?:INFO:\S*\s*)?([A-Z][A-Za-z ]+): (\d+(?:\.\d+)?)")
_ACCEPTED = re.compile(r"^Mean Accepted: (\d+(?:\.\d+)?)")


class Log:
    """Runs are held back until the log ends: batch and lengths are printed last."""

    def __init__(self) -> None:
        """Start before any run."""
        self._count = 0
        self._times: list[tuple[float, float]] = []
        self._best: tuple[float, float] | None = None
        self._said: dict[str, float] = {}
        self._extra: dict[str, Any] = {}
        self._accept = 1.0

    def feed(self, line: str) -> Iterator[Reading]:
        """Collect a line."""
        if result := _TIME.search(line):
            seconds, rate = float(result.group(2)), float(result.group(3))
            if rate > 0:
                self._count += 1
                if len(self._times) < 10_000:
                    self._times.append((seconds, rate))
        elif result := _ACCEPTED.match(line):
            self._accept = 1 + float(result.group(1))
        elif result := _PAIR.match(line):
            name, value = result.group(1).strip(), float(result.group(2))
            if name in _SETTINGS:
                self._said[_SETTINGS[name]] = value
            elif name in _FIELDS:
                self._extra[_FIELDS[name]] = value
        yield from ()

    def end(self) -> Iterator[Reading]:
        """One reading over all runs of the log."""
        if not self._times:
            return
        rates = sorted(rate for _, rate in self._times)
        middle, fastest = rates[len(rates) // 2], rates[-1]
        # Seconds are printed with two digits; tokens over the printed rate are finer.
        long = max(self._times, key=lambda pair: pair[0])
        output = self._said.get("output") or max(1, round(long[0] * long[1]))
        yield Reading(
            format=NAME,
            kind="run",
            seconds=output / middle,
            best=output / fastest,
            samples=self._count,
            batch=self._said.get("batch"),
            prompt=self._said.get("prompt"),
            output=output,
            requests=self._said.get("batch"),
            accept=max(1.0, self._accept),
            engine=NAME,
            extra=self._extra,
        )
