"""Server-sent events of an OpenAI-style stream: bytes in, chunks out, nothing trusted.

    data: {"choices":[{"text":" the"}],"usage":null}
    data: [DONE]

Lines may be cut anywhere and end in LF or CRLF; comments and other fields are passed over. A chunk
that is no JSON object, an error object and an overlong line are faults, each with its name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..limits import EVENT_BYTES

Hide = Callable[[str], str]


class Fault(Exception):
    """What went wrong with a request: a code for counting, and a sentence.

    Codes: ``connect``, ``status``, ``timeout``, ``disconnect``, ``malformed``, ``empty``,
    ``error``, ``short``, ``long``.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Chunk:
    """One event of a stream.

    Attributes:
        text: what was generated, maybe empty.
        prompt_tokens, completion_tokens: of the usage object, where it has one.
        cached_tokens: prompt tokens that the server had cached.
        finish: the finish reason, once there is one.
        done: whether this is the end mark.
    """

    text: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    finish: str | None = None
    done: bool = False


class Parser:
    """Chunks of a stream, fed with bytes as they come.

    Args:
        hide: takes the key out of what the server says, before anything is cut off.
    """

    def __init__(self, hide: Hide = str) -> None:
        self._rest = b""
        self._hide = hide

    def feed(self, data: bytes) -> Iterator[Chunk]:
        """Chunks that these bytes complete.

        Raises:
            Fault: malformed or error events, overlong lines.
        """
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > EVENT_BYTES:
            raise Fault("malformed", f"an event longer than {EVENT_BYTES >> 20} MiB")
        for line in lines:
            result = self._line(line.rstrip(b"\r"))
            if result is not None:
                yield result

    def _line(self, line: bytes) -> Chunk | None:
        name, _, value = line.partition(b":")
        if name.strip() == b"error":
            raise Fault("error", "the server sent an error event")
        if name != b"data":
            return None  # a comment, an id, an event name, an empty line
        value = value.strip()
        if value == b"[DONE]":
            return Chunk(done=True)
        try:
            event = json.loads(value)
        except (ValueError, RecursionError):
            raise Fault(
                "malformed", f"an event that is no JSON: {_short(value, self._hide)}"
            ) from None
        if not isinstance(event, dict):
            raise Fault("malformed", f"an event that is no object: {_short(value, self._hide)}")
        return chunk(event, self._hide)


def chunk(event: dict[str, Any], hide: Hide = str) -> Chunk:
    """The chunk of one event object.

    Raises:
        Fault: it is an error, or its parts are not what they should be.
    """
    if event.get("error"):
        raise Fault("error", f"the server said: {_message(event['error'], hide)}")
    text, finish = "", None
    choices = event.get("choices")
    if choices is not None and not isinstance(choices, list):
        raise Fault("malformed", "choices is no list")
    for choice in choices or []:
        if not isinstance(choice, dict):
            raise Fault("malformed", "a choice is no object")
        delta = choice.get("delta")
        part = choice.get("text")
        if isinstance(delta, dict):
            part = delta.get("content") or delta.get("reasoning_content") or delta.get("reasoning")
        if isinstance(part, str):
            text += part
        if isinstance(choice.get("finish_reason"), str):
            finish = choice["finish_reason"]
    usage = event.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    details = usage.get("prompt_tokens_details")
    return Chunk(
        text=text,
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
        cached_tokens=_count(details.get("cached_tokens")) if isinstance(details, dict) else None,
        finish=finish,
    )


def _count(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 10**9:
        return None
    return value


def _message(error: Any, hide: Hide) -> str:
    text = error.get("message") if isinstance(error, dict) else error
    return _short(str(text)[:4000].encode(errors="replace"), hide)


def _short(value: bytes, hide: Hide, limit: int = 120) -> str:
    text = hide(value[:4000].decode(errors="replace"))
    text = "".join(char if char.isprintable() else " " for char in text)
    return text if len(text) <= limit else f"{text[:limit]}…"
