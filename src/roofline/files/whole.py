"""A file is written whole or not at all; a device or a pipe is written into as it is.

What was there before stays until the new file is complete and on the disk, and keeps its mode; a
link stays a link. Nothing else in the folder is touched.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, TextIO


def special(path: str) -> bool:
    """Whether ``path`` is there and no regular file: not to be read through, nor replaced."""
    return os.path.exists(path) and not os.path.isfile(path)


@contextmanager
def writing(path: str, newline: str | None = None) -> Iterator[TextIO]:
    """A text file that is at ``path`` once the block has ended; a failure leaves nothing of it.

    Raises OSError.
    """
    with (
        _replacing(path) as handle,
        open(handle, "w", encoding="utf-8", newline=newline, closefd=False) as file,
    ):
        yield file


@contextmanager
def writing_bytes(path: str) -> Iterator[BinaryIO]:
    """The same for bytes. Raises OSError."""
    with _replacing(path) as handle, open(handle, "wb", closefd=False) as file:
        yield file


@contextmanager
def _replacing(path: str) -> Iterator[int]:
    """A handle whose file takes the place of the one at ``path`` when all went well."""
    if special(path):
        handle = os.open(path, os.O_WRONLY | getattr(os, "O_BINARY", 0))
        try:
            yield handle
        finally:
            os.close(handle)
        return
    if "\0" in path:
        raise OSError(errno.EINVAL, "no file has such a name")
    path = os.path.realpath(path)
    folder, name = os.path.split(path)
    handle, part = tempfile.mkstemp(prefix=f".{name[:40]}-", suffix=".part", dir=folder)
    try:
        try:
            yield handle
            os.fsync(handle)
        finally:
            os.close(handle)
        _like(part, path)
        os.replace(part, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise
    sync_folder(folder)


def _like(part: str, path: str) -> None:
    """Give the new file the mode and owner of the old one, else the mode of any new file."""
    try:
        before = os.stat(path)
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(part, 0o666 & ~mask)
        return
    os.chmod(part, stat.S_IMODE(before.st_mode))
    if hasattr(os, "chown"):
        with contextlib.suppress(OSError):
            os.chown(part, before.st_uid, before.st_gid)


def sync_folder(folder: str) -> None:
    """Put the names in a folder on the disk, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder or ".", os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
