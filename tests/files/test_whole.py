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


FAILING = {
    "open": 2, "link": 1, "replace": 1, "fsync": 2, "chmod": 1, "stat": 2,
    "posix_fallocate": 0, "unlink": 0,
}  # fmt: skip
"""Calls of the system's, and how often each is made at least for a file of one name."""
OF_TWO = {"replace": 0, "fsync": 3, "posix_fallocate": 1, "unlink": 1}
CALLS = 40


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO], ids=["full", "broken"])
@pytest.mark.parametrize("name", FAILING)
@pytest.mark.parametrize("linked", [False, True], ids=["one name", "two names"])
def test_whichever_call_fails_the_file_is_the_old_or_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, error: int, linked: bool
) -> None:
    """The n-th call of the system's failing, for every n; two names are one file written through,
    beside which the new content may stay."""
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
                file.write("a new one")
        assert path.read_text() in ("old", "a new one")
        for beside in set(os.listdir(folder)) - {"x.html", "kept.html"}:
            assert linked and (folder / beside).read_text() == "a new one"
        if seen < n:
            least = {**FAILING, **(OF_TWO if linked else {})}[name]
            assert n > least, f"{name} was called {n - 1} times: this test would fail nothing"
            break
    else:
        pytest.fail(f"{name} is called without end")


@pytest.mark.parametrize("linked", [False, True], ids=["one name", "two names"])
@pytest.mark.parametrize("room", [0, 1, 4096, 70_000, 99_999])
def test_a_disk_that_is_full_leaves_the_old_file(tmp_path: Path, room: int, linked: bool) -> None:
    """Files may have so many bytes: the write itself fails, at its start or after a part of it."""
    resource = pytest.importorskip("resource")
    path = tmp_path / "x.html"
    path.write_text("old")
    if linked:
        os.link(path, tmp_path / "kept.html")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        with pytest.raises(OSError) as raised, writing(str(path)) as file:
            file.write("x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert raised.value.errno == errno.EFBIG
    assert path.read_text() == "old"
    assert set(os.listdir(tmp_path)) <= {"x.html", "kept.html"}


def test_a_file_of_two_names_that_breaks_half_way_has_the_new_content_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.html"
    path.write_text("old")
    os.link(path, tmp_path / "kept.html")

    def half(new: object, old: object, size: int) -> None:
        old.write(b"a n")  # type: ignore[attr-defined]
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("roofline.files.whole.shutil.copyfileobj", half)
    said = r"the new content is whole in .*\.part"
    with pytest.raises(OSError, match=said) as raised, writing(str(path)) as file:
        file.write("a new one")
    (beside,) = set(os.listdir(tmp_path)) - {"x.html", "kept.html"}
    assert beside in str(raised.value)
    assert (tmp_path / beside).read_text() == "a new one"
