"""Every ending is one sentence on the error output and the documented code."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import pytest

from roofline.cli import endings, main
from roofline.errors import InputError, RooflineError
from roofline.say import screen

ROOT = os.path.join(os.path.dirname(__file__), "..", "..", "src")
EXPLAIN = "explain llama-3.1-8b --on h100-sxm --lang en"


def shell(line: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """A line of a shell in which $R is roofline."""
    more = {"PYTHONPATH": ROOT, "R": f"{sys.executable} -m roofline", **environment}
    return subprocess.run(
        ["bash", "-c", line],
        check=False,
        env={**os.environ, **more},
        capture_output=True,
        timeout=120,
    )


@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        (f"$R {EXPLAIN} >/dev/full", 1, b"No space left on device"),
        (f"$R {EXPLAIN} >&-", 1, b"standard output is closed"),
        (f"$R {EXPLAIN} 2>&-", 0, b""),
        ("$R explain nothing --on h100-sxm 2>&-", 2, b""),
        (f"$R {EXPLAIN} <&-", 0, b""),
        ("$R place - --model llama-3.1-8b --on h100-sxm <&-", 2, b"no results"),
        (f"set -o pipefail; $R {EXPLAIN} | true", 0, b""),
        ("$R explain nothing --on h100-sxm 2>/dev/full", 2, b""),
    ],
)
def test_streams_that_are_full_or_closed(line: str, code: int, says: bytes) -> None:
    done = shell(line)
    assert done.returncode == code
    assert says in done.stderr
    assert done.stderr.count(b"\n") <= 1
    assert b"roofline:" not in done.stdout
    assert b"Traceback" not in done.stdout + done.stderr
    assert b"Exception ignored" not in done.stderr


def test_an_encoding_without_the_letters() -> None:
    done = shell(f"$R {EXPLAIN}; $R {EXPLAIN} --lang zh --json", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert done.stderr == b""
    text, _, data = done.stdout.partition(b"{")
    assert text.isascii()
    assert json.loads(b"{" + data)["model"]["name"] == "Llama-3.1-8B"


def test_letters_that_json_escapes() -> None:
    endings.narrow_json()
    escaped = "a·文😀\udc80".encode("ascii", endings.JSON).decode()
    assert json.loads(f'"{escaped}"') == "a·文😀\udc80"


@pytest.mark.parametrize("given", ["²", "9" * 5000, "-3", "1e3", "", "\x00", "0", "١٠٠"])
def test_columns_of_any_content(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if "\0" not in given:
        monkeypatch.setenv("COLUMNS", given)
    assert 40 <= screen.columns() <= 140


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (RooflineError("so"), 1, "roofline: so"),
        (InputError("so\x1b[2J"), 2, "roofline: so [2J"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (MemoryError(), 1, "not enough memory"),
        (OSError(28, "No space left on device", "x.svg"), 1, "x.svg: No space left"),
        (PermissionError(13, "Permission denied"), 1, "Permission denied"),
        (BrokenPipeError(32, "Broken pipe"), 0, ""),
        (ModuleNotFoundError("no", name="numpy"), 1, "NumPy"),
    ],
)
def test_each_ending_has_its_sentence(
    error: BaseException, code: int, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, err = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)

    def fails(*_: object) -> int:
        raise error

    monkeypatch.setattr("roofline.cli.explain.run", fails)
    assert main(EXPLAIN.split()) == code
    assert says in err.getvalue()
    assert err.getvalue().count("\n") == (1 if says else 0)
    assert out.getvalue() == ""


def test_a_fault_of_ours_is_one_line_with_its_place(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        raise TypeError("two\nlines")
    except TypeError as error:
        endings.fault(type(error), error, error.__traceback__)
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "TypeError: two lines (test_endings.py, line" in said
