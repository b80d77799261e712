"""Folders for a while: gone when done, and at the next start where the process was killed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from roofline.files import scratch

pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes of POSIX")
KILLED = """
import os
from roofline.files import scratch
print(scratch.folder(), flush=True)
os.kill(os.getpid(), 9)
"""


def test_what_a_killed_process_left_goes_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", KILLED], check=False, env=env, capture_output=True, text=True
    )
    left = Path(done.stdout.strip())
    assert done.returncode == -9 and left.is_dir() and left.parent == tmp_path
    (left / "random.gguf").write_bytes(b"GGUF")
    others = [tmp_path / "roofline-notes", tmp_path / f"roofline-{os.getpid()}-alive"]
    for other in others:
        other.mkdir()
    (tmp_path / "roofline-1-link").symlink_to(tmp_path / "roofline-notes")
    made = scratch.folder()
    assert not left.exists() and os.path.isdir(made)
    assert all(other.is_dir() for other in others)
    assert (tmp_path / "roofline-1-link").is_symlink()
