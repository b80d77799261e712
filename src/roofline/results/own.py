"""roofline's own points files."""

from __future__ import annotations

from collections.abc import Iterator

from ..points.point import SCHEMA, Point
from ..points.reader import point_from_json
from .fields import Record

NAME = "roofline"


def matches(record: Record) -> bool:
    """A line of a points file, of any version."""
    schema = record.get("schema")
    return isinstance(schema, str) and schema.split("/")[0] == SCHEMA.split("/")[0]


def points(record: Record, where: str) -> Iterator[Point]:
    """The point of the line."""
    yield point_from_json(dict(record), where)
