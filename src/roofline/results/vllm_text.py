"""What `vllm bench throughput` and `latency` print: one line of rates, one of seconds.

`Throughput: 7.77 requests/s, 3259.16 total tokens/s, 1569.15 output tokens/s` is a steady state:
the mean prompt and output of a request are differences and quotients of the three. Older versions
print `tokens/s` of both together; newer ones count the tokens of prompts and outputs below.
`latency` prints its options first. Format as in vllm/benchmarks of vLLM.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..record import replace
from .reading import Reading

NAME = "vllm bench text"

_NUMBER = r"(\d{1,12}(?:\.\d{1,12})?)"
_RATES = re.compile(
    rf"Throughput: {_NUMBER} requests?/s(?:, {_NUMBER} (total )?tokens/s)?"
    rf"(?:, {_NUMBER} output tokens/s)?"
)
_TOTAL = re.compile(r"Total num (prompt|output) tokens:\s*(\d{1,15})")
_LATENCY = re.compile(rf"Avg latency: {_NUMBER} seconds")
_OPTIONS = re.compile(r"\b(input_len|output_len|batch_size|max_num_seqs)=(\d{1,9})\b")


class Log:
    """Lines of one or more runs."""

    def __init__(self) -> None:
        """Start before any run."""
        self._options: dict[str, int] = {}
        self._totals: dict[str, float] = {}
        self._held: Reading | None = None

    def feed(self, line: str) -> Iterator[Reading]:
        """Readings that the line completes: a rate waits for the totals below it."""
        if line.startswith("Namespace("):
            yield from self.end()
            self._options = {name: int(value) for name, value in _OPTIONS.findall(line)}
        elif result := _RATES.search(line):
            yield from self.end()
            self._held = self._rates(*result.groups())
        elif result := _TOTAL.search(line):
            self._totals[result.group(1)] = float(result.group(2))
        elif (result := _LATENCY.search(line)) and float(result.group(1)) > 0:
            yield Reading(
                format=NAME,
                kind="run",
                seconds=float(result.group(1)),
                batch=self._options.get("batch_size"),
                prompt=self._options.get("input_len"),
                output=self._options.get("output_len"),
                engine="vllm",
            )

    def _rates(
        self, requests: str, tokens: str | None, total: str | None, output: str | None
    ) -> Reading | None:
        rate = float(requests)
        if rate <= 0:
            return None
        both, made = float(tokens or 0), float(output or 0)
        said = Reading(format=NAME, kind="rate", seconds=1.0, requests=rate, engine="vllm")
        if made > 0 and both > made:
            lengths = {"prompt": (both - made) / rate, "output": made / rate}
            return replace(said, **lengths, total=both / rate)
        if both > 0:
            return replace(said, total=both / rate)
        return said

    def end(self) -> Iterator[Reading]:
        """The rate that was held back, with the lengths that its totals give."""
        held, self._held = self._held, None
        totals, self._totals = self._totals, {}
        if held is None:
            return
        prompt, output = totals.get("prompt"), totals.get("output")
        if held.prompt is None and prompt and output:
            length = held.total or 0.0
            share = prompt / (prompt + output)
            held = replace(held, prompt=length * share, output=length * (1 - share))
        yield held
