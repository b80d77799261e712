"""MLPerf Inference: `mlperf_log_summary.txt` of LoadGen.

Offline runs give samples and tokens per second, a steady state of requests whose prompts the
summary does not say; where LoadGen infers tokens, they are its samples times a mean length. Server
and interactive runs give means of requests: latency less the time to the first token says how many
decode together. A single stream is one request at a time. Names changed over the versions. Format
as in results.cc of LoadGen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .reading import Reading
from .serving import ServingSummary

NAME = "mlperf"

_PAIR = re.compile(r"^\s*([A-Za-z0-9][^:]{1,60}?)\s*:\s*(\S.*?)\s*$")
_TOKENS = ("Completed tokens per second", "Tokens per second")
_SAMPLES = ("Completed samples per second", "Samples per second", "Scheduled samples per second")
_BETWEEN = ("Mean Time to Output Token (ns)", "Mean Time per Output Token (ns)")
_KEPT = ("SUT name", "Scenario", "Mode", "Result is", *_SAMPLES)


class Log:
    """The summary, line by line."""

    def __init__(self) -> None:
        """Start outside any summary."""
        self._inside = False
        self._said: dict[str, str] = {}

    def feed(self, line: str) -> Iterator[Reading]:
        """A reading where a new summary begins, of the one before."""
        if "MLPerf Results Summary" in line:
            yield from self.end()
            self._inside = True
        elif self._inside and len(self._said) < 200 and (result := _PAIR.match(line)):
            self._said.setdefault(result.group(1), result.group(2))

    def end(self) -> Iterator[Reading]:
        """The reading of what was collected."""
        said, self._said, self._inside = self._said, {}, False
        if not said:
            return
        samples = _first(said, *_SAMPLES)
        rate = _first(said, *_TOKENS, *(f"{name} (inferred)" for name in _TOKENS))
        latency = _seconds(said, "Mean latency (ns)")
        alone = said.get("Scenario", "").replace(" ", "").lower() == "singlestream"
        if alone and latency and (each := _first(said, "TPS w/o loadgen overhead")):
            samples, rate = 1 / latency, each
        between = _seconds(said, *_BETWEEN)
        if samples is None and (rate is None or between is None):
            return
        inferred = not any(name in said for name in _TOKENS)
        notes = () if said.get("Result is", "VALID").startswith("VALID") else ("invalid-run",)
        yield from ServingSummary(
            format=NAME,
            engine=said.get("SUT name"),
            output_rate=rate,
            output_tokens=rate / samples if rate and samples else None,
            between_tokens=between,
            latency=None if said.get("Scenario") == "Offline" else latency,
            mean_first=_seconds(said, "Mean First Token latency (ns)"),
            duration=1.0,
            requests=samples,
            rate_only=True,
            concurrency=1 if alone else None,
            notes=(*notes, "tokens-inferred") if rate and inferred and not alone else notes,
            extra={name: said[name] for name in _KEPT if name in said},
        ).readings()


def _first(said: dict[str, str], *names: str) -> float | None:
    for name in names:
        if (value := _number(said.get(name))) is not None:
            return value
    return None


def _seconds(said: dict[str, str], *names: str) -> float | None:
    value = _first(said, *names)
    return None if value is None else value / 1e9


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text else 0.0
    except ValueError:
        return None
    return value if 0 < value < 1e18 else None
