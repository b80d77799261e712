"""What the terminal can show: its width, and whether it speaks Unicode."""

from __future__ import annotations

import os
import sys


def columns() -> int:
    """The width to write in: ``COLUMNS``, the terminal's, or 100 where output is not one."""
    given = os.environ.get("COLUMNS", "")
    try:
        typed = given.isascii() and given.isdigit() and len(given) < 6
        width = int(given) if typed else os.get_terminal_size().columns
    except (OSError, ValueError):
        width = 100
    return max(40, min(140, width or 100))


def unicode() -> bool:
    """Whether standard output can show braille dots and box lines."""
    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower()
    return "utf" in encoding and os.environ.get("TERM") != "linux"
