"""Rows of tables as records: CSV in its dialects, Markdown with or without outer pipes, SQL.

A record is the header's names with a row's cells, all of them text.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import Any

from ..errors import InputError

DELIMITERS = (",", ";", "\t")

_QUOTE = re.compile(r"^\s*(?:>\s*)+")
_BOX = str.maketrans("│┃║", "|||")
_RULE = re.compile(r"^[\s+|:=\-─━═┄┈╌┌┐└┘├┤┬┴┼┏┓┗┛┣┫┳┻╋╒╕╘╛╞╡╤╧╪╔╗╚╝╠╣╦╩╬╭╮╰╯┡┩╇╈┢┪╀╁┠┨┯┷┿╟╢]+$")
_BOTTOM = "└┗╘╚╰"
_INSERT = re.compile(r"^\s*INSERT\s+INTO\s+\S+\s*\(([^)]*)\)\s*VALUES\s*", re.I)


def delimiter_of(line: str) -> str | None:
    """What separates the columns of a header line; `None` where nothing does.

    The one that makes most columns, outside quotes; between equals the earlier of `DELIMITERS`.
    """
    try:
        counts = {mark: len(next(csv.reader([line], delimiter=mark), [])) for mark in DELIMITERS}
    except csv.Error:
        return None
    best = max(DELIMITERS, key=lambda mark: counts[mark])
    return best if counts[best] > 1 else None


def csv_records(rows: Iterator[str], delimiter: str = ",") -> Iterator[dict[str, Any]]:
    """Rows of a CSV text with a header line; for a blank as delimiter, of columns set apart by
    blanks, by two or more where the header has such.

    Raises:
        InputError: a field is too long for a table.
    """
    if delimiter == " ":
        yield from _aligned(rows)
        return
    reader = csv.DictReader(
        (line + "\n" for line in rows), restkey="?", delimiter=delimiter, skipinitialspace=True
    )
    try:
        for row in reader:
            yield {
                str(key).strip(): value.strip() if isinstance(value, str) else value
                for key, value in row.items()
                if value is not None
            }
    except csv.Error as error:
        raise InputError(f"not CSV: {error}") from None


def _aligned(rows: Iterator[str]) -> Iterator[dict[str, Any]]:
    header = next(rows, "").strip()
    apart = re.compile(r"\s{2,}|\t" if re.search(r"\S\s{2,}\S", header) else r"\s+")
    names = apart.split(header)
    for row in rows:
        cells = apart.split(row.strip())
        if len(cells) != len(names):
            cells = row.split()
        if len(cells) == len(names):
            yield dict(zip(names, cells, strict=True))


def is_rule(line: str) -> bool:
    """Whether a line only draws: the rule under a header, the edge of a box."""
    return bool(_RULE.match(line)) and not line.isspace()


class TextTable:
    """Rows of the tables in a text, fed line by line; rows come out as records.

    Tables may be quoted (`> | … |`), indented, drawn as boxes, or without their outer pipes, where
    a rule under the header shows that it is one.
    """

    def __init__(self) -> None:
        """Start outside any table."""
        self._header: list[str] | None = None
        self._maybe: list[str] | None = None
        self._bare = False

    def feed(self, line: str) -> dict[str, Any] | None:
        """The record of a table row; `None` for a header, a rule, or a line of no table."""
        text = _QUOTE.sub("", line).strip().translate(_BOX)
        if "|" not in text and not is_rule(text):
            self._header = self._maybe = None
            return None
        if is_rule(text):
            under = self._header is None and self._maybe is not None and "-" in text
            if under and len(text.strip("|").split("|")) == len(self._maybe or ()):
                self._header, self._bare = self._maybe, True
            self._maybe = None
            if text[0] in _BOTTOM:
                self._header = None
            return None
        framed = text.startswith("|") and text.count("|") >= 3
        cells = [cell.strip() for cell in (text.strip("|") if framed else text).split("|")]
        if framed:
            return self._framed(cells, heavy="┃" in line)
        if self._header is not None and self._bare and len(cells) == len(self._header):
            return dict(zip(self._header, cells, strict=True))
        self._header, self._maybe = None, [cell.strip("*` ") for cell in cells]
        return None

    def _framed(self, cells: list[str], *, heavy: bool) -> dict[str, Any] | None:
        """A header, whose lines a heavy frame may wrap over several, or a row."""
        self._maybe = None
        if heavy and self._header is not None and len(cells) == len(self._header):
            self._header = [f"{a} {b}".strip() for a, b in zip(self._header, cells, strict=True)]
            return None
        fresh = self._header is None or self._bare or len(cells) > len(self._header)
        if heavy or fresh:
            self._header, self._bare = [cell.strip("*` ") for cell in cells], False
            return None
        return dict(zip(self._header or (), cells, strict=False))


class Inserts:
    """Rows of SQL `INSERT INTO t (names) VALUES (values), …;`, fed line by line."""

    def __init__(self) -> None:
        """Start before any statement."""
        self._names: list[str] = []

    def feed(self, line: str) -> list[dict[str, Any]]:
        """The records of a line."""
        result = _INSERT.match(line)
        if result:
            self._names = [name.strip(' `"[]') for name in result.group(1).split(",")]
            rest = line[result.end() :]
        elif self._names and line.lstrip().startswith("("):
            rest = line.strip()
        else:
            return []
        rows = []
        for row in _tuples(rest):
            if len(row) == len(self._names):
                rows.append(dict(zip(self._names, row, strict=True)))
        if rest.rstrip().endswith(";"):
            self._names = []
        return rows


def _tuples(text: str) -> Iterator[list[str | None]]:
    """The rows of a VALUES list: text in single quotes, doubled inside; numbers; NULL."""
    row: list[str | None] = []
    at, inside = 0, False
    value: list[str] = []
    quoted = False
    while at < len(text):
        char = text[at]
        if not inside:
            inside = char == "("
            row, value, quoted = [], [], False
        elif char == "'":
            quoted = True
            end = at + 1
            while (end := text.find("'", end)) >= 0 and text[end + 1 : end + 2] == "'":
                end += 2
            if end < 0:
                return
            value.append(text[at + 1 : end].replace("''", "'"))
            at = end
        elif char in ",)":
            word = "".join(value) if quoted else "".join(value).strip()
            row.append(None if not quoted and word.upper() == "NULL" else word)
            value, quoted = [], False
            if char == ")":
                inside = False
                yield row
        elif not quoted:
            value.append(char)
        at += 1
