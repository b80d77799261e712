"""A file is written whole or not at all; a device or a pipe is written into as it is.

What was there before stays until the new file is complete and on the disk, and keeps its mode; a
link stays a link. Nothing else in the folder is touched.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
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
    handle, part = _beside(folder, name)
    try:
        try:
            yield handle
            os.fsync(handle)
            part = part or _named(handle, folder, name)
        finally:
            os.close(handle)
        _like(part, path)
        if shared := _names(path) > 1:
            _room(part, path)
        else:
            os.replace(part, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise
    if shared:
        _through(part, path)
    sync_folder(folder)


def _beside(folder: str, name: str) -> tuple[int, str]:
    """A new file in the folder and its name: none where the system has files without, which
    vanish with the process however it dies."""
    if hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            return os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o600), ""
    return tempfile.mkstemp(prefix=f".{name[:40]}-", suffix=".part", dir=folder)


def _named(handle: int, folder: str, name: str) -> str:
    """A name for a file that has none, just before it takes the other's place."""
    beside = os.open(folder, os.O_RDONLY)
    try:
        for _ in range(100):
            part = f".{name[:40]}-{secrets.token_hex(4)}.part"
            # With a folder's handle linkat() is called, which follows the link to the file.
            with contextlib.suppress(FileExistsError):
                os.link(f"/proc/self/fd/{handle}", part, dst_dir_fd=beside, follow_symlinks=True)
                return os.path.join(folder, part)
    finally:
        os.close(beside)
    raise OSError(errno.EEXIST, "no free name beside it")


def _names(path: str) -> int:
    """How many names the file at ``path`` has, none if there is no such file."""
    try:
        return os.stat(path).st_nlink
    except OSError:
        return 0


def _room(part: str, path: str) -> None:
    """Take the room on the disk that the new content needs, while the old one is still whole."""
    size, before = os.stat(part).st_size, os.stat(path).st_size
    if size <= before or not hasattr(os, "posix_fallocate"):
        return
    handle = os.open(path, os.O_RDWR)
    try:
        os.posix_fallocate(handle, before, size - before)
    except OSError as error:
        os.ftruncate(handle, before)
        if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):
            raise
    finally:
        os.close(handle)


def _through(part: str, path: str) -> None:
    """Write the new content into a file of several names, so that all of them show it. Where a
    disk breaks in the middle, the new content stays beside it and the error says where."""
    try:
        with open(part, "rb") as new, open(path, "r+b") as old:
            shutil.copyfileobj(new, old, 1 << 20)
            old.truncate()
            old.flush()
            os.fsync(old.fileno())
    except OSError as error:
        said = f"{os.strerror(error.errno or errno.EIO)}; the new content is whole in {part}"
        raise OSError(error.errno or errno.EIO, said) from error
    os.unlink(part)


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
