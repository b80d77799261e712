"""A file is written whole or not at all, and nothing else is touched."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from roofline.cli import main
from roofline.files.whole import writing, writing_bytes

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes and links of POSIX")


def test_a_users_own_part_file_stays(tmp_path: Path) -> None:
    path, part = tmp_path / "x.html", tmp_path / "x.html.part"
    part.write_text("mine")
    with writing(str(path)) as file:
        file.write("new")
    assert (path.read_text(), part.read_text()) == ("new", "mine")
    assert sorted(os.listdir(tmp_path)) == ["x.html", "x.html.part"]


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "x.html"
    path.write_text("old")

    def fail() -> None:
        with writing(str(path)) as file:
            file.write("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["x.html"]


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o640, 0o755])
def test_the_mode_of_a_file_stays(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "x.json"
    path.write_text("old")
    path.chmod(mode)
    with writing(str(path)) as file:
        file.write("new")
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_new_file_has_the_mode_of_new_files(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with writing_bytes(str(tmp_path / "x.png")) as file:
            file.write(b"new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "x.png").stat().st_mode) == 0o640


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    target = tmp_path / "there" / "real.json"
    target.write_text("old")
    for name, to in (("link", target), ("dangling", tmp_path / "there" / "new.json")):
        link = tmp_path / name
        link.symlink_to(to)
        with writing(str(link)) as file:
            file.write("new")
        assert link.is_symlink()
        assert to.read_text() == "new"


def test_a_device_is_written_into(tmp_path: Path) -> None:
    with writing(os.devnull) as file:
        file.write("gone")
    assert not os.path.isfile(os.devnull)


@pytest.mark.parametrize("path", ["no/folder/x.json", "a\0b.json", "/dev/full"])
def test_what_cannot_be_written_is_an_error_of_the_system(tmp_path: Path, path: str) -> None:
    with pytest.raises(OSError), writing(os.path.join(tmp_path, path)) as file:
        file.write("new")


def test_a_figure_that_fails_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    path = tmp_path / "paper.svg"
    path.write_text("old")
    real = Figure.savefig

    def full(self: Figure, file: object, **more: object) -> None:
        real(self, file, **more)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Figure, "savefig", full)
    assert main(f"plot llama-3.2-1b --on a10 -o {path}".split()) == 2
    assert "No space left" in capsys.readouterr().err
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["paper.svg"]


def test_another_name_of_the_file_shows_the_new_content(tmp_path: Path) -> None:
    path, other = tmp_path / "x.html", tmp_path / "kept.html"
    path.write_text("old and longer")
    os.link(path, other)
    with writing(str(path)) as file:
        file.write("new")
    assert (path.read_text(), other.read_text()) == ("new", "new")
    assert path.stat().st_nlink == 2 and sorted(os.listdir(tmp_path)) == ["kept.html", "x.html"]


KILLED = """
import os, sys
from roofline.files.whole import writing
with writing(sys.argv[1]) as file:
    file.write("half")
    file.flush()
    os.kill(os.getpid(), 9)
"""


def test_a_kill_leaves_nothing_but_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "x.html"
    path.write_text("old")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False, env=env)
    assert done.returncode == -9
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["x.html"]


FAILING = ("open", "link", "replace", "fsync", "write", "chmod", "stat")
CALLS = 40


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO], ids=["full", "broken"])
@pytest.mark.parametrize("name", FAILING)
@pytest.mark.parametrize("linked", [False, True], ids=["one name", "two names"])
def test_whichever_call_fails_the_file_is_the_old_or_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, error: int, linked: bool
) -> None:
    """The n-th call of the system's failing, for every n; two names are one file written through,
    which a disk that fails in the middle may leave half written: there the new one is beside it."""
    real = getattr(os, name)
    for n in range(1, CALLS):
        folder = tmp_path / f"{n}"
        folder.mkdir()
        path = folder / "x.html"
        path.write_text("old")
        if linked:
            os.link(path, folder / "kept.html")
        seen = 0

        def fails(*args: object, n: int = n, **kwargs: object) -> object:
            nonlocal seen
            seen += 1
            if seen == n:
                raise OSError(error, os.strerror(error))
            return real(*args, **kwargs)

        with monkeypatch.context() as patch:
            patch.setattr(os, name, fails)
            with contextlib.suppress(OSError), writing(str(path)) as file:
                file.write("new")
        assert path.read_text() in ("old", "new")
        left = set(os.listdir(folder)) - {"x.html", "kept.html"}
        assert not left or name in ("unlink",), left
        if seen < n:
            break
    else:
        pytest.fail(f"{name} is called without end")
