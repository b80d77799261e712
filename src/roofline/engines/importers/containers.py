"""The shapes that result files come in: JSON, JSON Lines, CSV, Markdown tables, text.

A file is read once, from the front, in bounded memory: JSON objects one at a time (alone, one a
line, one after another, or in one array), table rows one at a time, everything else line by line.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from ...errors import InputError

CHUNK = 1 << 16
LARGEST_RECORD = 64 * 2**20
"""Characters of one JSON object. A longer one is refused: it would not fit in memory."""

LONGEST_LINE = 2**20
"""Characters of one line of text. A longer one is cut; no number stands that far out."""

_DECODER = json.JSONDecoder()
_SPACE = " \t\r\n,\x1e"


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
            with open(path, encoding="utf-8-sig", errors="replace", newline="") as file:
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
            if len(buffer) > LARGEST_RECORD:
                raise InputError(
                    f"one object is longer than {LARGEST_RECORD >> 20} MiB; "
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
    """Lines of a stream without their ends; of an overlong line only its first part."""
    buffer = start
    while True:
        *whole, buffer = buffer.split("\n")
        for line in whole:
            yield line[:LONGEST_LINE].rstrip("\r")
        if len(buffer) > 2 * LONGEST_LINE:
            buffer = buffer[:LONGEST_LINE]
        more = stream.read(CHUNK)
        if not more:
            if buffer:
                yield buffer[:LONGEST_LINE].rstrip("\r")
            return
        buffer += more


def csv_records(rows: Iterator[str]) -> Iterator[dict[str, Any]]:
    """Rows of a CSV text with a header line.

    Raises:
        InputError: a field is too long for a table.
    """
    reader = csv.DictReader((line + "\n" for line in rows), restkey="?")
    try:
        for row in reader:
            yield {str(key): value for key, value in row.items() if value is not None}
    except csv.Error as error:
        raise InputError(f"not CSV: {error}") from None


class Table:
    """Rows of the Markdown tables in a text, fed line by line; rows come out as records."""

    def __init__(self) -> None:
        """Start outside any table."""
        self._header: list[str] | None = None

    def feed(self, line: str) -> dict[str, Any] | None:
        """The record of a table row; `None` for a header, a rule, or a line of no table."""
        stripped = line.strip()
        if not stripped.startswith("|") or stripped.count("|") < 3:
            self._header = None
            return None
        cells = [cell.strip() for cell in stripped.strip("|").split("|")]
        if self._header is None:
            self._header = [cell.strip("*` ") for cell in cells]
            return None
        if all(set(cell) <= set("-: ") for cell in cells):
            return None
        return dict(zip(self._header, cells, strict=False))
