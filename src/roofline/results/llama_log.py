"""What llama.cpp prints after a chat: seconds and tokens of prompt and generation, and its drafts.

`eval time = 4820.04 ms / 127 runs (37.95 ms per token, 26.35 tokens per second)`, one sequence.
Under speculation the server says below how many drafted tokens were accepted: each was a token
without a step of its own. `prompt done, n_past = 4097` is the cache when the decode begins, of
which the prompt's tokens may be the smaller part. Newer clients print `[ Prompt: 95.1 t/s |
Generation: … ]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..record import replace
from .reading import UNKNOWN, Reading

NAME = "llama.cpp log"

_NUMBER = r"(\d{1,12}(?:\.\d{1,9})?)"
_LLAMA = re.compile(
    rf"(prompt eval|(?<!prompt )eval) time\s*=\s*{_NUMBER} ms /\s*(\d{{1,12}}) (?:tokens|runs)"
)
_PAST = re.compile(r"prompt (?:processing )?done, n_(?:past|tokens) = (\d{1,9})")
_DRAFTS = re.compile(r"\(\s*(\d{1,12}) accepted /\s*(\d{1,12}) generated\)")
_CODED = re.compile(rf"^\s*(en|de)coded\s+(\d{{1,12}}) tokens in\s+{_NUMBER} seconds")
_COUNT = re.compile(r"^\s*n_(drafted|accept)\s*= (\d{1,12})\s*$")
_SHORT = re.compile(rf"\[ Prompt: {_NUMBER} t/s \| Generation: {_NUMBER} t/s \]")


class Log:
    """Lines of one or more chats."""

    def __init__(self) -> None:
        """Start before any chat."""
        self._prompt: float | None = None
        self._past: float | None = None
        self._decode: Reading | None = None
        self._drafted: float | None = None

    def feed(self, line: str) -> Iterator[Reading]:
        """Readings that the line completes: a decode waits for the drafts below it."""
        if result := _LLAMA.search(line):
            yield from self.end()
            yield from self._times(result.group(1), float(result.group(2)), float(result.group(3)))
        elif self._decode is not None and (result := _DRAFTS.search(line)):
            self._decode = drafted(self._decode, float(result.group(1)), float(result.group(2)))
            yield from self.end()
        elif result := _CODED.match(line):
            yield from self.end()
            kind = "prompt eval" if result.group(1) == "en" else "eval"
            yield from self._times(kind, float(result.group(3)) * 1e3, float(result.group(2)))
        elif self._decode is not None and (result := _COUNT.match(line)):
            if result.group(1) == "drafted":
                self._drafted = float(result.group(2))
            elif self._drafted is not None:
                self._decode = drafted(self._decode, float(result.group(2)), self._drafted)
                yield from self.end()
        elif result := _PAST.search(line):
            self._past = float(result.group(1))
        elif (result := _SHORT.search(line)) and float(result.group(2)) > 0:
            yield from self.end()
            yield Reading(
                format=NAME,
                kind="token",
                seconds=1 / float(result.group(2)),
                batch=1,
                engine="llama.cpp",
                notes=(UNKNOWN,),
            )

    def _times(self, kind: str, milliseconds: float, tokens: float) -> Iterator[Reading]:
        if milliseconds <= 0 or tokens <= 0:
            return
        if kind == "prompt eval":
            past, self._past = self._past, None
            depth = max(0.0, past - tokens) if past else 0.0
            self._prompt = depth + tokens
            yield Reading(
                format=NAME,
                kind="prefill",
                seconds=milliseconds / 1e3,
                batch=1,
                prompt=tokens,
                depth=depth,
                chunk=512,
                engine="llama.cpp",
            )
        else:
            self._decode = Reading(
                format=NAME,
                kind="decode",
                seconds=milliseconds / 1e3,
                batch=1,
                prompt=self._prompt,
                output=tokens,
                engine="llama.cpp",
            )

    def end(self) -> Iterator[Reading]:
        """The decode that was held back."""
        held, self._decode, self._drafted = self._decode, None, None
        if held is not None:
            yield held


def drafted(reading: Reading, accepted: float, proposed: float) -> Reading:
    """A decode in which so many drafted tokens were accepted: fewer steps, of more tokens each."""
    tokens = reading.output or 0
    steps = tokens - accepted
    if steps < 1 or accepted < 0 or proposed < accepted:
        return reading
    said = {"drafts_accepted": round(accepted), "drafts_proposed": round(proposed)}
    return replace(
        reading,
        accept=max(1.0, tokens / steps),
        drafted=proposed / steps,
        settings={**reading.settings, **said},
    )
