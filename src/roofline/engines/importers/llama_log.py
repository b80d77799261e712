"""What llama.cpp and Ollama print after a chat: seconds and tokens of prompt and generation.

llama.cpp: `eval time = 4820.04 ms / 127 runs (37.95 ms per token, 26.35 tokens per second)`;
Ollama (`--verbose`): `eval count: 298 token(s)` and `eval rate: 51.24 tokens/s`. One sequence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .reading import Reading

NAME = "llama.cpp log"

_LLAMA = re.compile(
    r"(prompt eval|(?<!prompt )eval) time\s*=\s*(\d+(?:\.\d+)?) ms /\s*(\d{1,12}) (?:tokens|runs)"
)
_OLLAMA = re.compile(r"^\s*(prompt eval|eval) (count|rate):\s*(\d+(?:\.\d+)?)")


class Log:
    """Lines of one or more chats."""

    def __init__(self) -> None:
        """Start before any chat."""
        self._prompt: float | None = None
        self._counts: dict[str, float] = {}

    def feed(self, line: str) -> Iterator[Reading]:
        """Readings that the line completes."""
        if found := _LLAMA.search(line):
            kind, tokens = found.group(1), float(found.group(3))
            yield from self._chat(kind, float(found.group(2)) / 1e3, tokens, "llama.cpp")
        elif found := _OLLAMA.match(line):
            kind, what, value = found.group(1), found.group(2), float(found.group(3))
            if what == "count":
                self._counts[kind] = value
            elif value > 0 and (tokens := self._counts.pop(kind, 0)):
                yield from self._chat(kind, tokens / value, tokens, "ollama")

    def _chat(self, kind: str, seconds: float, tokens: float, engine: str) -> Iterator[Reading]:
        if seconds <= 0 or tokens <= 0:
            return
        if kind == "prompt eval":
            self._prompt = tokens
            yield Reading(
                format=NAME,
                kind="prefill",
                seconds=seconds,
                batch=1,
                prompt=tokens,
                chunk=512,
                engine=engine,
            )
        else:
            yield Reading(
                format=NAME,
                kind="decode",
                seconds=seconds,
                batch=1,
                prompt=self._prompt,
                output=tokens,
                engine=engine,
            )

    def end(self) -> Iterator[Reading]:
        """Nothing is held back."""
        yield from ()
