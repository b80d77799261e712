"""One result file: which shape it has, and each record and line of it given to who can read it."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from typing import IO, Any

from ..errors import InputError
from ..limits import RECORD_CHARACTERS
from ..points.point import Point, Source
from ..record import replace
from . import own
from .containers import (
    CHUNK,
    Embedded,
    is_json,
    json_objects,
    lines,
    opened,
    text_after,
)
from .fields import Record
from .reading import Reading
from .surroundings import Surroundings
from .tables import Inserts, TextTable, csv_records, delimiter_of, is_rule
from .yaml_subset import is_yaml, parse

Item = Reading | Point

BEYOND = "a number in it is beyond any that is measured"

LONG = 8192
"""Characters of a line of text that are read."""

_COLOUR = re.compile(r"\x1b\[[\d;]*m")


class File:
    """A file and what was gathered of it so far.

    Args:
        path: a file, or `-` for standard input.
        records, logs: the modules that read records and text.
        plain: the module of `records` for tables of any kind, whose rows within a text are only
            taken where they make sense.
        formats: names of all formats, for messages.
    """

    def __init__(
        self,
        path: str,
        records: tuple[Any, ...],
        logs: tuple[Any, ...],
        plain: Any,
        formats: tuple[str, ...],
    ) -> None:
        """Remember where to read and who reads."""
        self._path, self._records, self._plain, self._formats = path, records, plain, formats
        self._logs = [module.Log() for module in logs]
        self._readers: dict[Any, Any] = {}
        self._around = Surroundings()
        self._number = 0

    def items(self) -> Iterator[Item]:
        """Points of our own and readings of others, in order.

        Raises:
            InputError: as for `results.read`.
        """
        with opened(self._path) as stream:
            empty = True
            head = stream.read(CHUNK)
            for item in self._content(stream, head):
                empty = False
                yield item
            for item in self._ends():
                empty = False
                yield item
            if empty:
                raise InputError(f"{self._path}: {self._nothing(head)}")

    def _nothing(self, head: str) -> str:
        first = next((line for line in head.split("\n") if line.strip()), "").strip()
        mark = delimiter_of(first) if len(first) < 500 else None
        names = f" (its first line: {first[:80]!r})" if mark else ""
        return (
            f"no results in it that are known{names}. Known are: {', '.join(self._formats)}. Any "
            "other: as CSV with columns such as batch,context,tokens_per_s, or typed in, "
            "--tokens-per-s with --batch and --context"
        )

    def _content(self, stream: IO[str], head: str) -> Iterator[Item]:
        start = _after_comments(head)
        if is_json(start):
            if len(head) < CHUNK and text_after(start):
                yield from self._text(lines(stream, head))
            else:
                yield from self._json(stream, head)
        elif (mark := self._csv(start)) is not None:
            yield from self._rows(lines(stream, start), mark)
        elif is_yaml(head):
            yield from self._yaml(stream, head)
        else:
            yield from self._text(lines(stream, head))

    def _json(self, stream: IO[str], head: str) -> Iterator[Item]:
        objects = json_objects(stream, head)
        count = 0
        while True:
            try:
                record = next(objects, None)
            except InputError as error:
                raise InputError(f"{self._path}, after record {count}: {error}") from None
            if record is None:
                return
            count += 1
            yield from self._record(record, required=True)

    def _csv(self, head: str) -> str | None:
        """The delimiter, where the first line names columns that a record format knows."""
        first = head.split("\n", 1)[0].rstrip("\r")
        if len(first) > 10_000 or first.lstrip().startswith(("|", ">", "#")):
            return None
        mark = delimiter_of(first)
        if mark is None:
            cells = first.split()
            if len(cells) < 2 or any(cell[0] in "[({=0123456789" for cell in cells):
                return None
            mark = " "
        if first.count("|") > (0 if mark == " " else first.count(mark)):
            return None
        names = next(csv_records(iter([first, first]), mark), {})
        row = dict.fromkeys(names, "")
        return mark if any(module.matches(row) for module in self._records) else None

    def _rows(self, rows: Iterator[str], mark: str) -> Iterator[Item]:
        filled = (row for row in rows if row.strip() and not is_rule(row))
        for row in csv_records(filled, mark):
            if mark != "," and (two := _two_ways(row)):
                raise InputError(
                    f"{self._path}, record {self._number + 1}: {two} is a thousand or a fraction: "
                    "write it with a point, or without a comma"
                )
            yield from self._record(row, required=True)

    def _yaml(self, stream: IO[str], head: str) -> Iterator[Item]:
        text = head
        while len(text) <= RECORD_CHARACTERS and (more := stream.read(CHUNK)):
            text += more
        try:
            if len(text) > RECORD_CHARACTERS:
                raise InputError(f"longer than {RECORD_CHARACTERS >> 20} MiB; save it as JSON")
            record = parse(text)
        except InputError as error:
            if "\nbenchmarks:" not in f"\n{head}":
                yield from self._text(lines(io.StringIO(text)))
                return
            raise InputError(f"{self._path}: {error}") from None
        if isinstance(record, Mapping) and any(m.matches(record) for m in self._records):
            yield from self._record(record, required=True)
        else:
            yield from self._text(lines(io.StringIO(text)))

    def _text(self, rows: Iterator[str]) -> Iterator[Item]:
        table, inserts, embedded = TextTable(), Inserts(), Embedded()
        for row in rows:
            for item in embedded.feed(row):
                if isinstance(item, str):
                    yield from self._line(item, table, inserts)
                else:
                    yield from self._record(item, required=False)
        for item in embedded.end():
            yield from self._line(item, table, inserts)
        for log in self._logs:
            yield from self._filled(log.end())

    def _line(self, line: str, table: TextTable, inserts: Inserts) -> Iterator[Item]:
        if len(line) > LONG:  # no form has such lines; patterns would search them for long
            line = line.strip()[:LONG]
        if "\x1b" in line:
            line = _COLOUR.sub("", line)
        self._around.feed(line)
        for row in inserts.feed(line):
            yield from self._record(row, required=False)
        cells = table.feed(line)
        if cells is not None and self._known(cells):
            if "PP" in cells and "TG" in cells:
                cells = {**self._around.run, **cells}
            yield from self._record(cells, required=False)
            return
        for log in self._logs:
            yield from self._filled(log.feed(line))

    def _known(self, record: Record) -> bool:
        return own.matches(record) or any(module.matches(record) for module in self._records)

    def _record(self, record: Record, *, required: bool) -> Iterator[Item]:
        if own.matches(record):
            self._number += 1
            yield from own.points(record, f"{self._path}, record {self._number}")
            return
        for module in self._records:
            if module.matches(record):
                lenient = module is self._plain and not required
                yield from self._filled(self._of(module, record), lenient=lenient)
                return
        if required:
            keys = ", ".join(sorted(str(key) for key in record)[:6])[:120]
            raise InputError(
                f"{self._path}, record {self._number + 1}: of no known format (its fields: "
                f"{keys}). Known are: {', '.join(self._formats)}"
            )

    def _of(self, module: Any, record: Record) -> Iterator[Reading]:
        if not hasattr(module, "Reader"):
            return iter(module.readings(record))
        if module not in self._readers:
            self._readers[module] = module.Reader()
        return iter(self._readers[module].feed(record))

    def _ends(self) -> Iterator[Item]:
        for reader in self._readers.values():
            yield from self._filled(reader.end())

    def _filled(self, readings: Iterator[Reading], *, lenient: bool = False) -> Iterator[Reading]:
        """The readings with their source, and what stands around them."""
        try:
            for reading in readings:
                self._number += 1
                source = Source(reading.format, self._path, self._number)
                yield replace(self._around.fill(reading), source=source)
        except (OverflowError, ZeroDivisionError) as error:
            where = f"{self._path}, record {self._number + 1}"
            raise InputError(f"{where}: {BEYOND} ({error})") from None
        except InputError as error:
            if not lenient:
                where = f"{self._path}, record {self._number + 1}"
                raise InputError(f"{where}: {error}") from None


def _two_ways(row: Record) -> str | None:
    """A cell that is one number with a decimal comma and another with thousands grouped."""
    for name, cell in row.items():
        if isinstance(cell, str) and re.match(r"^[1-9]\d{0,2},\d{3}$", cell.strip()):
            return f"{name} {cell.strip()!r}"
    return None


def _after_comments(head: str) -> str:
    """A text without the lines of comment and the empty ones that it begins with."""
    start = head.lstrip("\ufeff")
    while True:
        line, newline, rest = start.partition("\n")
        if not newline or (line.strip() and not line.startswith("#")):
            return start
        start = rest
