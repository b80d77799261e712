"""Folders that vanish with the process, however it dies: what a killed one left goes at the next
start.

A folder is named by the process that made it; one whose process is gone is nobody's.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile

_NAME = re.compile(r"roofline-(\d+)-\w+\Z")


def folder() -> str:
    """A new folder in the system's place for temporary files, to be removed when done."""
    _sweep(tempfile.gettempdir())
    return tempfile.mkdtemp(prefix=f"roofline-{os.getpid()}-")


def _sweep(place: str) -> None:
    with contextlib.suppress(OSError):
        for entry in os.scandir(place):
            match = _NAME.match(entry.name)
            if match and _ours(entry) and not _lives(int(match[1])):
                shutil.rmtree(entry.path, ignore_errors=True)


def _ours(entry: os.DirEntry[str]) -> bool:
    if not entry.is_dir(follow_symlinks=False):
        return False
    return not hasattr(os, "getuid") or entry.stat(follow_symlinks=False).st_uid == os.getuid()


def _lives(process: int) -> bool:
    if os.name != "posix":
        return True  # not to be found out without harm
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
