"""Importers of other tools' result files, one module a format, found by looking at the content.

A module for records (objects of JSON, rows of CSV and Markdown tables) has `NAME`,
`matches(record)` and `readings(record)`; one for text has `NAME` and a class `Log` with
`feed(line)` and `end()`. To add a format, write the module and put it into `RECORDS` or `LOGS`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import IO

from ...errors import InputError
from ...points.point import Point, Source
from ...record import replace
from . import (
    aiperf,
    gpt_fast,
    guidellm,
    llama_batched_bench,
    llama_bench,
    llama_log,
    mlperf,
    mlx_lm,
    own,
    serving_log,
    sglang,
    trtllm,
    vllm,
)
from .containers import CHUNK, Table, csv_records, json_objects, lines, opened
from .fields import Record
from .reading import Incomplete, Reading

__all__ = ["LOGS", "RECORDS", "Incomplete", "Reading", "points", "read"]

RECORDS = (llama_bench, llama_batched_bench, sglang, vllm, trtllm, guidellm, aiperf)
LOGS = (serving_log, trtllm, aiperf, gpt_fast, mlx_lm, mlperf, llama_log)

FORMATS = tuple(sorted({module.NAME for module in (*RECORDS, *LOGS, own)}))


def read(path: str) -> Iterator[Reading | Point]:
    """Everything a result file holds, in order: our own points as points, others as readings.

    Args:
        path: a file, or `-` for standard input.

    Raises:
        InputError: the file cannot be read, is of no known format, or a record makes no sense;
            says which record and field.
    """
    with opened(path) as stream:
        empty = True
        for item in _content(stream, path):
            empty = False
            yield item
        if empty:
            raise InputError(
                f"{path}: no results in it that are known. Known are: {', '.join(FORMATS)}"
            )


def points(paths: Iterable[str], answers: Mapping[str, int | None]) -> Iterator[Point]:
    """Every point of some files; `answers` say what a file leaves out of a run's shape.

    Raises:
        InputError: as for `read`; or the shape of a run is not known, the options are named.
    """
    for path in paths:
        for item in read(path):
            yield item if isinstance(item, Point) else item.with_answers(**answers).point()


def _content(stream: IO[str], path: str) -> Iterator[Reading | Point]:
    head = stream.read(CHUNK)
    first = head.lstrip()[:1]
    if first in ("{", "["):
        yield from _json(stream, head, path)
    elif _is_csv(head):
        rows = csv_records(lines(stream, head))
        for number, row in enumerate(rows, 1):
            yield from _record(row, path, number, required=True)
    else:
        yield from _text(stream, head, path)


def _json(stream: IO[str], head: str, path: str) -> Iterator[Reading | Point]:
    objects = json_objects(stream, head)
    number = 0
    while True:
        try:
            record = next(objects, None)
        except InputError as error:
            raise InputError(f"{path}, after record {number}: {error}") from None
        if record is None:
            return
        number += 1
        yield from _record(record, path, number, required=True)


def _is_csv(head: str) -> bool:
    """Whether the first line names columns that a record format knows."""
    first = head.split("\n", 1)[0].rstrip("\r")
    if first.count(",") < 2 or first.lstrip().startswith("|"):
        return False
    row = dict.fromkeys((cell.strip().strip('"') for cell in first.split(",")), "")
    return any(module.matches(row) for module in RECORDS)


def _text(stream: IO[str], head: str, path: str) -> Iterator[Reading | Point]:
    logs = [module.Log() for module in LOGS]
    table, number = Table(), 0
    for line in lines(stream, head):
        found: list[Reading | Point] = []
        if row := table.feed(line):
            found += _record(row, path, number + 1, required=False)
        else:
            for log in logs:
                found += _checked(log.feed(line), path, number + 1)
        number += len(found)
        yield from found
    for log in logs:
        for reading in _checked(log.end(), path, number + 1):
            number += 1
            yield reading


def _record(record: Record, path: str, number: int, *, required: bool) -> Iterator[Reading | Point]:
    if own.matches(record):
        yield from own.points(record, f"{path}, record {number}")
        return
    for module in RECORDS:
        if module.matches(record):
            yield from _checked(module.readings(record), path, number)
            return
    if required:
        keys = ", ".join(sorted(str(key) for key in record)[:6])[:120]
        raise InputError(
            f"{path}, record {number}: of no known format (its fields: {keys}). "
            f"Known are: {', '.join(FORMATS)}"
        )


def _checked(readings: Iterator[Reading], path: str, number: int) -> Iterator[Reading]:
    try:
        for reading in readings:
            source = Source(reading.format, path, number)
            yield replace(reading, source=source)
    except InputError as error:
        raise InputError(f"{path}, record {number}: {error}") from None
