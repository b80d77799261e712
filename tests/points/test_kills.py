"""A writer that is killed at any moment: what it had told as written is there, and goes on.

``ROOFLINE_KILLS=1000`` for more of them.
"""

from __future__ import annotations

import contextlib
import errno
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from roofline.count.group import Group
from roofline.errors import InputError
from roofline.points import Part, Point, PointsWriter, Seconds, read_points

ENOUGH = 300
"""Points of a file, after which another is begun."""

KILLS = int(os.environ.get("ROOFLINE_KILLS", "12"))

WRITER = """
import sys
from roofline.count.group import Group
from roofline.points import Part, Point, PointsWriter, Seconds
first = int(sys.argv[2])
with PointsWriter(sys.argv[1]) as writer:
    print("begun", flush=True)
    for n in range(first, first + 100_000):
        part, length = Part((Group(n, 1, 1),)), n % 700
        writer.add(Point(parts=(part,), seconds=Seconds(1.0), model="m" * length))
        print(n, flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_what_was_told_is_there_whenever_it_was_killed(tmp_path: Path) -> None:
    path, rng = tmp_path / "points.jsonl", random.Random(7)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    told: list[int] = []
    for _ in range(KILLS):
        first = told[-1] + 1 if told else 1
        command = [sys.executable, "-c", WRITER, str(path), str(first)]
        with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "begun\n"
            time.sleep(rng.random() * 0.02)
            writer.send_signal(signal.SIGKILL)
            said = writer.stdout.read().split("\n")
        told += [int(n) for n in said[:-1]]  # the last may be torn
        there = [int(point.batch) for point in read_points(str(path), finished_only=True)]
        assert set(told) <= set(there), "a point that was told is lost"
        told = there  # one more may be on the disk than was told
        assert there == sorted(set(there)), "a point is there twice, or out of order"
        if len(told) > ENOUGH:
            path.unlink()
            told = []


CALLS = ("write", "fsync", "ftruncate", "fstat", "stat", "open", "lseek", "read")


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO], ids=["full", "broken"])
@pytest.mark.parametrize("torn", [False, True], ids=["whole", "torn"])
@pytest.mark.parametrize("name", CALLS)
def test_whichever_call_fails_no_point_that_was_told_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, error: int, torn: bool
) -> None:
    """The n-th call of the system's failing, for every n, with writes that come up short."""
    real, write = getattr(os, name), os.write
    for n in range(1, 200):
        path = tmp_path / f"{n}.jsonl"
        told = _begun(path, torn)
        seen = 0

        def fails(*args: Any, n: int = n, **kwargs: Any) -> Any:
            nonlocal seen
            seen += 1
            if seen == n:
                raise OSError(error, os.strerror(error))
            if name == "write":
                return write(args[0], args[1][: max(1, len(args[1]) // 2)])
            return real(*args, **kwargs)

        with monkeypatch.context() as patch:
            patch.setattr(os, name, fails)
            with contextlib.suppress(InputError), PointsWriter(str(path)) as writer:
                for batch in (3, 4, 5):
                    with contextlib.suppress(InputError):
                        writer.add(_point(batch))
                        told.append(batch)
        there = [int(point.batch) for point in read_points(str(path), finished_only=True)]
        assert [b for b in there if b in told] == told, (n, told, there)
        with PointsWriter(str(path)) as writer:
            writer.add(_point(9))
        assert int(list(read_points(str(path)))[-1].batch) == 9
        if seen < n:
            return
    pytest.fail(f"{name} is called without end")


def _point(batch: int) -> Point:
    return Point(parts=(Part((Group(batch, 1, 1),)),), seconds=Seconds(1.0), model="m" * 300)


def _begun(path: Path, torn: bool) -> list[int]:
    with PointsWriter(str(path)) as writer:
        writer.add(_point(1))
        writer.add(_point(2))
    if torn:
        data = path.read_bytes()
        path.write_bytes(data + data[: len(data) // 3])
    return [1, 2]
