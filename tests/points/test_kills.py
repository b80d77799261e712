"""A writer that is killed at any moment: what it had told as written is there, and goes on.

``ROOFLINE_KILLS=1000`` for more of them.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from roofline.points import read_points

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
    assert len(told) > KILLS
