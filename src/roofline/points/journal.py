"""Writing a points file: what is there is never touched, what was added is on the disk.

A point is on disk as soon as `PointsWriter.add` returns. Whatever stops the writer (Ctrl-C, a
full disk, a power cut) costs at most the line being written: a writer that could not finish a line
takes it back, and one that finds an unfinished point at the end of a file removes it before it
adds its own. A file that does not begin as points, or ends in something else than a point, is not
ours: it is refused as it is. So is one that somebody moved, replaced or wrote to meanwhile.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
from types import TracebackType

from ..errors import InputError
from ..files.whole import sync_folder
from ..limits import POINT_BYTES
from .point import SCHEMA, Point
from .reader import point_from_json

HEAD = f'{{"schema": "{SCHEMA}", '.encode()
"""How each line begins that a `PointsWriter` writes."""


class PointsWriter:
    """Appends points to a file; a context manager.

    Raises:
        InputError: the file cannot be opened or written, or is none of points. What is in it
            stays as it is.
    """

    def __init__(self, path: str) -> None:
        """Open `path` for appending, making it where it does not exist."""
        self.path = path
        self.added = 0
        self._fd = -1
        self._done = 0
        self._made = not os.path.exists(path)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
        flags |= getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
        try:
            self._fd = os.open(path, flags, 0o666)
            status = os.fstat(self._fd)
            if not stat.S_ISREG(status.st_mode):
                raise InputError(f"{path}: not a regular file; points are kept in one")
            self._file = (status.st_dev, status.st_ino)
            _lock(self._fd)
            self._size = os.fstat(self._fd).st_size
            self._whole, self._mend = self._looked_at()
        except (OSError, ValueError) as error:
            self._made = False  # another run may have made it in the same moment
            self.close()
            number = getattr(error, "errno", None)
            if number in (errno.EAGAIN, errno.EACCES) and os.access(path, os.W_OK):
                raise InputError(f"{path}: another run is writing to it") from None
            why = getattr(error, "strerror", None) or error
            raise InputError(f"{path}: cannot be written ({why})") from None
        except InputError:
            self.close()
            raise

    # -- what is there

    def _looked_at(self) -> tuple[int, bytes]:
        """How many bytes of the file stay, and what the next point is written after.

        Raises:
            InputError: it does not begin or end as points do.
        """
        if self._size == 0:
            return 0, b""
        begin = self._first_line()
        tail, start = self._tail()
        if not tail:
            self._held(begin)
            return self._size, b""
        if start > 0:
            self._held(begin)
        if _whole(tail, self.path):
            return self._size, b"\n"
        if _torn(tail, alone=start == 0):
            return start, b""
        raise InputError(
            f"{self.path}: "
            + ("no points file" if start == 0 else "what stands at its end is no point")
            + "; nothing is added to it: name another with -o"
        )

    def _held(self, line: bytes) -> None:
        """Hold the file to its first line."""
        try:
            point_from_json(json.loads(line), "its first line")
        except InputError as error:
            reason = str(error)
        except (ValueError, RecursionError):
            reason = "its first line is no JSON"
        else:
            return
        raise InputError(
            f"{self.path}: no points file, nothing is added to it ({reason}); name another with -o"
        )

    def _first_line(self) -> bytes:
        """The first line that is not empty, its end included."""
        os.lseek(self._fd, 0, os.SEEK_SET)
        with os.fdopen(os.dup(self._fd), "rb") as file:
            while line := file.readline(POINT_BYTES):
                if line.strip():
                    return line
        return b""

    def _tail(self) -> tuple[bytes, int]:
        """What follows the last newline, and where it begins; as much of it as a line may have."""
        start, block, pieces = self._size, 1 << 16, []
        while start > 0 and self._size - start <= POINT_BYTES:
            step = min(block, start)
            data = self._read(start - step, step)
            newline = data.rfind(b"\n")
            pieces.append(data[newline + 1 :])
            start -= len(data) - newline - 1
            if newline >= 0:
                break
        return b"".join(reversed(pieces)), start

    def _read(self, start: int, length: int) -> bytes:
        os.lseek(self._fd, start, os.SEEK_SET)
        return os.read(self._fd, length)

    def intact(self) -> bool:
        """Whether the file still lies where it was opened, and holds what was written."""
        try:
            there, ours = os.stat(self.path), os.fstat(self._fd)
        except (OSError, ValueError):
            return False
        same = (there.st_dev, there.st_ino) == self._file and ours.st_nlink > 0
        return same and ours.st_size == self._size

    # -- adding

    def add(self, point: Point) -> None:
        """Write one point through to the disk.

        Raises:
            InputError: it could not be written; the file is as it was before.
        """
        line = json.dumps(point.to_json(), ensure_ascii=False, allow_nan=False) + "\n"
        data = line.encode("utf-8", "replace")
        if not self.intact():
            raise InputError(
                f"{self.path}: was moved, replaced or written to by others since this run began; "
                "the point was not written"
            )
        self._done = 0
        try:
            if self._whole < self._size:
                os.ftruncate(self._fd, self._whole)
                self._size = self._whole
            self._write(self._mend + data)
            os.fsync(self._fd)
        except OSError as error:
            self._take_back()
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            hint = "; free some space and go on with --resume" if full else ""
            reason = error.strerror or str(error)
            raise InputError(
                f"{self.path}: the point could not be written ({reason}){hint}"
            ) from None
        except BaseException:
            # Ctrl-C may come between a write and our note of it.
            tail = self._read(self._size, len(self._mend + data) + 1)
            if (self._mend + data).startswith(tail):
                self._done = len(tail)
            if tail == self._mend + data:  # the line is whole: it stays
                self._added()
            else:
                self._take_back()
            raise
        if self._made and self.added == 0:
            sync_folder(os.path.dirname(os.path.abspath(self.path)))
        self._added()

    def _added(self) -> None:
        self._size += self._done
        self._whole, self._mend = self._size, b""
        self.added += 1

    def _write(self, data: bytes) -> None:
        self._done = 0
        while self._done < len(data):
            self._done += os.write(self._fd, data[self._done :])

    def _take_back(self) -> None:
        """Remove what was written of a line, unless others wrote behind it."""
        with contextlib.suppress(OSError):
            if os.fstat(self._fd).st_size == self._size + self._done:
                os.ftruncate(self._fd, self._size)

    def close(self) -> None:
        """Close the file; one that was made here and got no point goes again."""
        if self._fd >= 0:
            if self._made and self.added == 0 and self._unwritten():
                with contextlib.suppress(OSError):
                    os.unlink(self.path)
            os.close(self._fd)
            self._fd = -1

    def _unwritten(self) -> bool:
        """Whether the file is still the empty one that was made here."""
        try:
            there, ours = os.stat(self.path), os.fstat(self._fd)
        except (OSError, ValueError):
            return False
        return ours.st_size == 0 and (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)

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


def _whole(line: bytes, path: str) -> bool:
    try:
        point_from_json(json.loads(line), path)
    except (InputError, ValueError, RecursionError):
        return False
    return True


def _torn(line: bytes, *, alone: bool) -> bool:
    """Whether these bytes are the begin of a line of ours, or what a power cut left of one.

    Args:
        alone: whether no whole point stands before them: then they must say that they are ours.
    """
    written = line.rstrip(b"\0")
    if alone and len(written) < len(HEAD):
        return False
    return HEAD.startswith(written) or written.startswith(HEAD)


def _lock(fd: int) -> None:
    """Keep a second run out, where the system can; it would write into our lines."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
