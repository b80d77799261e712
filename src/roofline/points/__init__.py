"""Measured points: what an engine did, in a form that can be held against a roof.

A point says which steps ran and how long they took. It knows nothing of a roof; `place` puts it
under one. Points come from `roofline bench` (`engines`) or from the result files of other tools
(`results`), and live in append-only files (`points.file`, `points.journal`).
"""

from .file import read_points
from .journal import PointsWriter
from .point import BASES, MeasuredRoof, Part, Point, Seconds, Source

__all__ = [
    "BASES",
    "MeasuredRoof",
    "Part",
    "Point",
    "PointsWriter",
    "Seconds",
    "Source",
    "read_points",
]
