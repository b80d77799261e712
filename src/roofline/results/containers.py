"""The shapes that result files come in: JSON, JSON Lines, text with JSON in it, lines.

A file is read once, from the front, in bounded memory: JSON objects one at a time (alone, one a
line, one after another, or in one array), everything else line by line. Tables are in `tables`.
"""

from __future__ import annotations

import io
import json
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from ..errors import InputError
from ..limits import LINE_CHARACTERS, RECORD_CHARACTERS

CHUNK = 1 << 16
EMBEDDED = 2**20
"""Characters of one JSON object within a text."""

_DECODER = json.JSONDecoder()
_SPACE = " \t\r\n,\x1e"
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_OBJECT = re.compile(r"\[?\s*\{\s*(\"|\}|$)|\[\s*$")


@contextmanager
def opened(path: str) -> Iterator[IO[str]]:
    """A text stream over `path`, or over standard input for `-`.

    Raises:
        InputError: it cannot be opened or read.
    """
    try:
        if path == "-":
            yield sys.stdin
        else:
            with open(path, "rb") as raw:  # once: a pipe gives what it holds only once
                if stat.S_ISCHR(os.fstat(raw.fileno()).st_mode) and not raw.isatty():
                    raise InputError(f"{path}: a device, which may never end; not a file")
                wide = raw.peek(2)[:2] in (b"\xff\xfe", b"\xfe\xff")  # as PowerShell writes
                encoding = "utf-16" if wide else "utf-8-sig"
                with io.TextIOWrapper(raw, encoding, errors="replace", newline="") as file:
                    yield file
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None


def json_objects(stream: IO[str], start: str = "") -> Iterator[dict[str, Any]]:
    """The JSON objects of a stream, at top level or in one top-level array.

    Args:
        stream: text, read in chunks.
        start: what was already read from it.

    Raises:
        InputError: something in it is not JSON, or one object is too large.
    """
    buffer, position, done, in_array = start, 0, False, False
    while True:
        while position < len(buffer) and buffer[position] in _SPACE:
            position += 1
        if position < len(buffer) and buffer[position] in "[]":
            in_array = buffer[position] == "["
            position += 1
            continue
        if position >= len(buffer):
            buffer, position = stream.read(CHUNK), 0
            if not buffer:
                if in_array:
                    raise InputError("not JSON: the file ends within an array")
                return
            continue
        try:
            value, position = _DECODER.raw_decode(buffer, position)
        except RecursionError:
            raise InputError("not JSON: nested too deeply") from None
        except ValueError as error:
            if done or not _unfinished(error, len(buffer)):
                raise InputError(f"not JSON: {_reason(error)}") from None
            buffer, position = buffer[position:], 0
            if len(buffer) > RECORD_CHARACTERS:
                raise InputError(
                    f"one object is longer than {RECORD_CHARACTERS >> 20} MiB; "
                    "save the result without its per-request lists"
                ) from None
            more = stream.read(max(CHUNK, len(buffer)))
            done = not more
            buffer += more
            continue
        if not isinstance(value, dict):
            raise InputError("not a result file: JSON, but not of objects")
        yield value


def _unfinished(error: ValueError, length: int) -> bool:
    """Whether more text could still make sense of what was read."""
    if not isinstance(error, json.JSONDecodeError):
        return False
    return error.pos >= length - 32 or error.msg.startswith("Unterminated string")


def _reason(error: ValueError) -> str:
    return error.msg.lower() if isinstance(error, json.JSONDecodeError) else str(error)[:80]


def lines(stream: IO[str], start: str = "") -> Iterator[str]:
    """Lines of a stream without their ends; of an overlong line only its first part.

    A carriage return ends a line as well: progress bars write over their own.
    """
    buffer = start
    while True:
        *whole, buffer = buffer.split("\n")
        for line in whole:
            yield from line[:LINE_CHARACTERS].rstrip("\r").split("\r")
        if len(buffer) > 2 * LINE_CHARACTERS:
            buffer = buffer[:LINE_CHARACTERS]
        more = stream.read(CHUNK)
        if not more:
            if buffer:
                yield from buffer[:LINE_CHARACTERS].rstrip("\r").split("\r")
            return
        buffer += more


def is_json(head: str) -> bool:
    """Whether a text that begins like this is JSON all through, not a log whose lines begin so.

    `[12:34:56] …`, `[INFO] …` and `{draft: …}` begin like JSON and are none.
    """
    start = head.lstrip()
    if start[:1] not in ("{", "["):
        return False
    try:
        value, end = _DECODER.raw_decode(start)
    except RecursionError:
        return True
    except ValueError as error:
        cut = len(head) >= CHUNK and _unfinished(error, len(start))
        return cut or bool(_OBJECT.match(start))
    if isinstance(value, dict) or (isinstance(value, list) and any(map(_is_object, value))):
        return True
    return not start[end:].strip(_SPACE)


def text_after(head: str) -> bool:
    """Whether a text that begins as JSON goes on as something else, as what a shell shows does."""
    at = 0
    while True:
        while at < len(head) and head[at] in _SPACE + "[]":
            at += 1
        if at >= len(head):
            return False
        try:
            _, at = _DECODER.raw_decode(head, at)
        except (ValueError, RecursionError):
            return at > 0 and head[at] not in '{"-0123456789'


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


class Embedded:
    """JSON within a text: objects that begin on a line of their own, over one line or many.

    Lines are fed one by one; what comes out are objects, and lines that turned out to be text.
    """

    def __init__(self) -> None:
        """Start outside any object."""
        self._held: list[str] = []
        self._length = 0
        self._depth = 0

    def feed(self, line: str) -> Iterator[dict[str, Any] | str]:
        """What is now known to be an object or text, in order."""
        if not self._held:
            start = line.lstrip().removeprefix("data:").lstrip()
            if not _OBJECT.match(start):
                yield line
                return
            line = start
        self._held.append(line)
        self._length += len(line)
        bare = _STRING.sub("", line)
        self._depth += sum(map(bare.count, "{[")) - sum(map(bare.count, "}]"))
        if self._depth > 0 and self._length < EMBEDDED:
            return  # no object ends here
        text = "\n".join(self._held)
        try:
            value, end = _DECODER.raw_decode(text.lstrip())
        except RecursionError:
            yield from self.end()
        except ValueError as error:
            if self._length > EMBEDDED or not _unfinished(error, len(text.lstrip())):
                yield from self.end()
        else:
            self._held, self._length, self._depth = [], 0, 0
            yield from (item for item in _flat(value) if isinstance(item, dict))
            rest = text.lstrip()[end:].strip(" ,;")
            if rest:
                yield rest

    def end(self) -> Iterator[str]:
        """Held lines, which are text after all."""
        held, self._held, self._length, self._depth = self._held, [], 0, 0
        yield from held


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        yield from value
    else:
        yield value
