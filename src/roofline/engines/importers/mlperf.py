"""MLPerf Inference: `mlperf_log_summary.txt` of LoadGen.

Server runs give the mean time per output token; offline runs only tokens or samples per second,
which is a whole run over a data set whose lengths the summary does not say. Format as in
results.cc of LoadGen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .reading import Reading
from .serving import Served

NAME = "mlperf"

_PAIR = re.compile(r"^\s*([A-Za-z0-9][^:]{1,60}?)\s*:\s*(\S.*?)\s*$")
_KEPT = (
    "SUT name",
    "Scenario",
    "Mode",
    "Result is",
    "Samples per second",
    "Completed samples per second",
)


class Log:
    """The summary, line by line."""

    def __init__(self) -> None:
        """Start outside any summary."""
        self._inside = False
        self._said: dict[str, str] = {}

    def feed(self, line: str) -> Iterator[Reading]:
        """A reading where a new summary begins, of the one before."""
        if line.startswith("MLPerf Results Summary"):
            yield from self.end()
            self._inside = True
        elif self._inside and len(self._said) < 200 and (found := _PAIR.match(line)):
            self._said.setdefault(found.group(1), found.group(2))

    def end(self) -> Iterator[Reading]:
        """The reading of what was collected."""
        said, self._said, self._inside = self._said, {}, False
        between = _number(said.get("Mean Time per Output Token (ns)"))
        rate = _number(said.get("Completed tokens per second") or said.get("Tokens per second"))
        samples = _number(
            said.get("Completed samples per second") or said.get("Samples per second")
        )
        if between is None and (rate is None or samples is None):
            return
        notes = () if said.get("Result is", "VALID").startswith("VALID") else ("invalid-run",)
        extra = {name: said[name] for name in _KEPT if name in said}
        if between is None:
            assert rate is not None and samples is not None
            yield Reading(
                format=NAME,
                kind="rate",
                seconds=1.0,
                requests=samples,
                output=rate / samples,
                engine=said.get("SUT name"),
                notes=notes,
                extra=extra,
            )
            return
        yield from Served(
            format=NAME,
            engine=said.get("SUT name"),
            output_rate=rate,
            output_tokens=rate / samples if rate and samples else None,
            between_tokens=between / 1e9,
            notes=notes,
            extra=extra,
        ).readings()


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text else 0.0
    except ValueError:
        return None
    return value if 0 < value < 1e18 else None
