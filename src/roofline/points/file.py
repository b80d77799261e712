"""Points files: JSON Lines, one point a line, only ever appended to.

A point is on disk as soon as `PointsWriter.add` returns. Whatever stops the writer (Ctrl-C, a
full disk, a power cut) costs at most the line being written: a writer that could not finish a line
takes it back, and one that opens a file with an unfinished last line removes that line.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Iterator
from types import TracebackType

from ..errors import InputError
from .point import Point, point_from_json

LONGEST_LINE = 64 * 2**20
"""Bytes. A longer line is no point; reading it would only fill memory."""


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
            while line := file.readline(LONGEST_LINE + 1):
                number += 1
                where = f"{path}, line {number}"
                if len(line) > LONGEST_LINE:
                    raise InputError(f"{where}: longer than {LONGEST_LINE >> 20} MiB, no point")
                if not line.strip():
                    continue
                try:
                    value = json.loads(line)
                except (ValueError, RecursionError) as error:
                    if finished_only and not line.endswith(b"\n"):
                        return
                    raise InputError(f"{where}: not JSON ({_reason(error)})") from None
                yield point_from_json(value, where)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at column {error.colno}"
    if isinstance(error, UnicodeDecodeError):
        return f"no UTF-8 at byte {error.start}"
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)[:80]


def _lock(fd: int) -> None:
    """Keep a second run out, where the system can; it would write into our lines."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


class PointsWriter:
    """Appends points to a file; a context manager.

    Raises:
        InputError: the file cannot be opened or written. What was in it before is untouched.
    """

    def __init__(self, path: str) -> None:
        """Open `path` for appending, making it where it does not exist."""
        self.path = path
        self._fd = -1
        self._size = 0
        self._made = not os.path.exists(path)
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o644)
            _lock(self._fd)
            self._size = self._whole_size()
        except OSError as error:
            self.close()
            if error.errno in (errno.EAGAIN, errno.EACCES) and os.access(path, os.W_OK):
                raise InputError(f"{path}: another run is writing to it") from None
            raise InputError(f"{path}: cannot be written ({error.strerror or error})") from None

    def _whole_size(self) -> int:
        """Bytes up to the last newline; what comes after was never finished, and goes."""
        size = os.lseek(self._fd, 0, os.SEEK_END)
        end, block = size, 1 << 16
        while end > 0:
            start = max(0, end - block)
            newline = self._read(start, end - start).rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
        if end < size:
            self._keep_or_cut(end, size)
        return os.lseek(self._fd, 0, os.SEEK_END)

    def _keep_or_cut(self, end: int, size: int) -> None:
        """Keep a last line that is whole but for its newline; cut one that is not."""
        try:
            json.loads(self._read(end, size - end))
        except (ValueError, RecursionError):
            os.ftruncate(self._fd, end)
        else:
            os.lseek(self._fd, 0, os.SEEK_END)
            os.write(self._fd, b"\n")

    def _read(self, start: int, length: int) -> bytes:
        os.lseek(self._fd, start, os.SEEK_SET)
        return os.read(self._fd, length)

    def add(self, point: Point) -> None:
        """Write one point through to the disk.

        Raises:
            InputError: it could not be written; the file is as it was before.
        """
        line = json.dumps(point.to_json(), ensure_ascii=False, allow_nan=False) + "\n"
        data = line.encode("utf-8", "replace")
        try:
            self._write(data)
            os.fsync(self._fd)
        except OSError as error:
            os.ftruncate(self._fd, self._size)
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            hint = "; free some space and go on with --resume" if full else ""
            reason = error.strerror or str(error)
            raise InputError(
                f"{self.path}: the point could not be written ({reason}){hint}"
            ) from None
        except BaseException:
            os.ftruncate(self._fd, self._size)
            raise
        self._size += len(data)

    def _write(self, data: bytes) -> None:
        os.lseek(self._fd, self._size, os.SEEK_SET)
        done = 0
        while done < len(data):
            done += os.write(self._fd, data[done:])

    def close(self) -> None:
        """Close the file; one that was made here and got no point goes again."""
        if self._fd >= 0:
            if self._made and self._size == 0:
                with contextlib.suppress(OSError):
                    os.unlink(self.path)
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> PointsWriter:
        """Return the writer itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the file, whatever happened."""
        self.close()
