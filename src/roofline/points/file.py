"""Points files: JSON Lines, one point a line, only ever appended to (:mod:`.journal`)."""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import InputError
from ..files.description import parse_json
from ..limits import POINT_BYTES
from .point import Point
from .reader import point_from_json


def read_points(path: str, *, finished_only: bool = False) -> Iterator[Point]:
    """Points of a file, in order, one at a time.

    Args:
        path: a points file.
        finished_only: pass over an unfinished last line (no newline, no whole JSON), which a
            run that was cut off may leave, instead of refusing the file.

    Raises:
        InputError: the file cannot be read, or a line is no point; says which line and why.
    """
    try:
        with open(path, "rb") as file:
            number = 0
            while line := file.readline(POINT_BYTES + 1):
                number += 1
                where = f"{path}, line {number}"
                if len(line) > POINT_BYTES:
                    raise InputError(f"{where}: longer than {POINT_BYTES >> 20} MiB, no point")
                if not line.strip():
                    continue
                try:
                    value = parse_json(line, where)
                except InputError:
                    if finished_only and not line.endswith(b"\n"):
                        return
                    raise
                yield point_from_json(value, where)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
