"""Opening a file that is to be trusted with nothing: regular, sized, read in pieces."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager

from ..errors import InputError, NotFound

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO


def size_of(path: str) -> int:
    """The size of a regular file; links are followed.

    Raises:
        NotFound: nothing there.
        InputError: not a file (a folder, a pipe, a device), or links in a circle.
    """
    try:
        status = os.stat(path)
    except FileNotFoundError:
        raise NotFound(f"{path}: no such file") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be opened: {reason(error)}") from None
    if stat.S_ISDIR(status.st_mode):
        raise InputError(f"{path}: a folder, not a file")
    if not stat.S_ISREG(status.st_mode):
        raise InputError(f"{path}: not a regular file")
    return status.st_size


@contextmanager
def opened(path: str) -> Iterator[tuple[BinaryIO, int]]:
    """The file and its size.

    Raises:
        InputError: it cannot be opened, or cannot be read while it is open.
    """
    size_of(path)
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise InputError(f"{path}: not a regular file")
            yield file, status.st_size
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {reason(error)}") from None


def reason(error: Exception) -> str:
    """Why the system refused, in its words."""
    return getattr(error, "strerror", None) or str(error)


def listed(folder: str, most: int = 100_000) -> list[str]:
    """The names in a folder, sorted.

    Raises:
        InputError: it cannot be listed, or has more than ``most`` entries.
    """
    names: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                names.append(entry.name)
                if len(names) > most:
                    raise InputError(f"{folder}: more than {most} files in one folder")
    except OSError as error:
        raise InputError(f"{folder}: cannot be listed: {reason(error)}") from None
    return sorted(names)
