"""ExLlamaV2's `test_inference.py`, ExLlamaV3's `eval/perf.py`, TabbyAPI's line an answer.

V2 prints `** Position 1 + 127 tokens: 55.12 t/s` and `** Length 128 tokens: …`, V3 `Context 256:
55.10 tokens/s` (100 tokens from there) and `Length 256: …`; TabbyAPI `Metrics: 120 tokens
generated in 5.4 seconds (Queue: …, Process: 512 cached tokens and 20 new tokens at 300.5 T/s,
Generate: 30.2 T/s, Context: 532 tokens)`. One sequence. Formats as in those files and
common/gen_logging.py of TabbyAPI.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .reading import Reading

NAME = "exllama"

_NUMBER = r"(\d{1,12}(?:\.\d{1,9})?)"
_POSITION = re.compile(rf"^\s*\*\* Position\s+(\d{{1,9}}) \+\s+(\d{{1,9}}) tokens:\s+{_NUMBER} t/s")
_LENGTH = re.compile(rf"^\s*\*\* Length\s+(\d{{1,9}}) tokens:\s+{_NUMBER} t/s")
_PERF = re.compile(rf"^\s*(Length|Context)\s+(\d{{1,9}}):\s+{_NUMBER} tokens/s")
_RESPONSE = re.compile(
    rf"Response generated in {_NUMBER} seconds, (\d{{1,9}}) tokens, {_NUMBER} tokens/second"
)
_MODEL = re.compile(r"^\s*-- Model:\s+(\S+)")
_BITS = re.compile(rf"^\s*-- Bitrate: {_NUMBER} bpw")
_CHUNK = re.compile(r"^\s*-- Chunk size: (\d{1,7})")
_METRICS = re.compile(rf"(\d{{1,9}}) tokens generated in {_NUMBER} seconds \((.*)\)")
_GENERATE = re.compile(rf"Generate: {_NUMBER} T/s")
_PROCESS = re.compile(
    rf"Process: (?:(?:(\d{{1,9}}) cached tokens and )?(\d{{1,9}}) new tokens at )?{_NUMBER} T/s"
)
_CONTEXT = re.compile(r"[Cc]ontext:? (\d{1,9}) tokens")
_WHOLE = re.compile(rf"^{_NUMBER} T/s, context (\d{{1,9}}) tokens")

PERF_TOKENS = 100
"""Tokens that V3's `perf.py` generates at each context."""


class Log:
    """Lines of one or more runs."""

    def __init__(self) -> None:
        """Start before any line."""
        self._model: str | None = None
        self._weights: str | None = None
        self._chunk: int | None = None

    def feed(self, line: str) -> Iterator[Reading]:
        """Readings that the line completes."""
        if len(line) > 4096:
            return
        if result := _MODEL.match(line):
            self._model, self._weights = result.group(1).rstrip("/\\"), None
        elif result := _BITS.match(line):
            self._weights = f"{result.group(1)}bits"
        elif result := _CHUNK.match(line):
            self._chunk = int(result.group(1))
        elif result := _POSITION.match(line):
            past, count, rate = int(result.group(1)), int(result.group(2)), float(result.group(3))
            yield from self._decode("exllamav2", past, count, rate)
        elif result := _LENGTH.match(line):
            yield from self._prefill("exllamav2", int(result.group(1)), float(result.group(2)))
        elif result := _PERF.match(line):
            tokens, rate = int(result.group(2)), float(result.group(3))
            if result.group(1) == "Length":
                yield from self._prefill("exllamav3", tokens, rate)
            else:
                yield from self._decode("exllamav3", tokens, PERF_TOKENS, rate)
        elif result := _RESPONSE.search(line):
            yield from self._whole(float(result.group(1)), float(result.group(2)), None)
        elif "tokens generated in" in line and (result := _METRICS.search(line)):
            yield from self._tabby(float(result.group(1)), float(result.group(2)), result.group(3))

    def _tabby(self, output: float, seconds: float, rest: str) -> Iterator[Reading]:
        if result := _WHOLE.match(rest):
            yield from self._whole(seconds, output, float(result.group(2)))
            return
        context = _CONTEXT.search(rest)
        prompt = float(context.group(1)) if context else None
        if result := _PROCESS.search(rest):
            cached, new = float(result.group(1) or 0), float(result.group(2) or prompt or 0)
            yield from self._prefill("exllama", new, float(result.group(3)), cached)
            prompt = prompt or cached + new or None
        if result := _GENERATE.search(rest):
            yield from self._decode("exllama", prompt, output, float(result.group(1)))

    def _prefill(
        self, engine: str, tokens: float, rate: float, depth: float = 0
    ) -> Iterator[Reading]:
        if tokens > 0 and rate > 0:
            yield self._reading(
                kind="prefill",
                seconds=tokens / rate,
                prompt=tokens,
                depth=depth,
                chunk=self._chunk or 2048,
                engine=engine,
            )

    def _decode(
        self, engine: str, past: float | None, tokens: float, rate: float
    ) -> Iterator[Reading]:
        if tokens > 0 and rate > 0:
            yield self._reading(
                kind="decode", seconds=tokens / rate, prompt=past, output=tokens, engine=engine
            )

    def _whole(self, seconds: float, output: float, prompt: float | None) -> Iterator[Reading]:
        if seconds > 0 and output > 0:
            yield self._reading(
                kind="run", seconds=seconds, prompt=prompt, output=output, engine="exllamav2"
            )

    def _reading(self, **more: Any) -> Reading:
        return Reading(format=NAME, batch=1, model=self._model, weights=self._weights, **more)

    def end(self) -> Iterator[Reading]:
        """Nothing is held back."""
        yield from ()
