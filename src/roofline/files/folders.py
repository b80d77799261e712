"""Where roofline keeps its own files, by the system's custom."""

import os
import sys


def data_folder() -> str:
    """The user's folder for roofline's files: ``ROOFLINE_DATA``, else the system's custom."""
    return _folder(
        "ROOFLINE_DATA", "~/Library/Application Support", "XDG_DATA_HOME", "~/.local/share"
    )


def cache_folder() -> str:
    """The folder of what can be fetched again: ``ROOFLINE_CACHE``, else the system's custom."""
    return _folder("ROOFLINE_CACHE", "~/Library/Caches", "XDG_CACHE_HOME", "~/.cache")


def _folder(chosen_by: str, apple: str, xdg: str, other: str) -> str:
    chosen = os.environ.get(chosen_by)
    if chosen:
        return os.path.expanduser(chosen)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~\\AppData\\Local"
    elif sys.platform == "darwin":
        base = apple
    else:
        base = os.environ.get(xdg) or other
    return os.path.join(os.path.expanduser(base), "roofline")
