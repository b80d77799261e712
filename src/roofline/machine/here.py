"""Where this machine's own measured file is kept. Light: no measuring code is imported."""

from __future__ import annotations

import os
import sys


def data_folder() -> str:
    """The user's data folder for roofline: ``ROOFLINE_DATA``, else the platform's own."""
    if given := os.environ.get("ROOFLINE_DATA"):
        return given
    home = os.path.expanduser("~")
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", "roofline")
    if sys.platform == "win32":
        return os.path.join(os.environ.get("LOCALAPPDATA", home), "roofline")
    base = os.environ.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    return os.path.join(base, "roofline")


def path_of_here() -> str:
    """The file that ``--on here`` reads and ``roofline measure`` writes."""
    return os.path.join(data_folder(), "here.json")
