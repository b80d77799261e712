"""What asks for too much ends soon, in little memory, with a sentence: under real limits."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

SRC = str(Path(__file__).parents[2] / "src")
MEMORY = 3 << 30
"""Address space; Python with NumPy takes a third of it."""

LINE = b'{"schema": "roofline.points/1", '


def confined() -> None:
    """So much memory and CPU time, for the child alone."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (20, 20))


def ask(folder: Path, *argv: str) -> tuple[int, str]:
    """Exit code, and what was said."""
    done = subprocess.run(
        [sys.executable, "-m", "roofline", *argv, "--lang", "en"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": SRC},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=confined,
    )
    return done.returncode, done.stderr if done.returncode else done.stdout


ON = ("llama-3.1-8b", "--on", "h100-sxm")


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (("predict", *ON, "--concurrency", "1000000", "--chunk", "1"), "too many steps"),
        (("predict", *ON, "--rate", "0.5", "--chunk", "1"), "too many steps"),
        (("predict", *ON, "--concurrency", "0"), "at least 1"),
        (("sweep", *ON, "--batch", "1:1000000000:1", "--steps"), "no table to read"),
        (("sweep", *ON, "--batch", "1:100000000000:1"), "too many for one sweep"),
        (("place", "/dev/zero", "--on", "h100-sxm"), "a device"),
        (("explain", "/dev/zero", "--on", "h100-sxm"), "not a regular file"),
        (("explain", "llama-3.1-8b", "--on", "dotted.toml"), "dotted.toml"),
        (("place", "endless.jsonl", "--on", "h100-sxm"), "longer than 64 MiB"),
        (("explain", *ON, "--batch", "9" * 401), "whole number"),
        (("explain", *ON, "--bandwidth", ""), "--bandwidth"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else None,
)
def test_it_ends_with_a_sentence(tmp_path: Path, argv: tuple[str, ...], told: str) -> None:
    if "dotted.toml" in argv:
        keys = "\n".join(f"a{'.a' * 2000}.b{i} = 1" for i in range(30))
        (tmp_path / "dotted.toml").write_text(keys)
    if "endless.jsonl" in argv:
        with open(tmp_path / "endless.jsonl", "wb") as file:
            file.write(LINE)
            file.writelines(b'"a":1,' * 100_000 for _ in range(120))
    code, said = ask(tmp_path, *argv)
    assert code == 2 and told in said and said.count("\n") == 1, said[-400:]


def test_a_thousand_million_batches_are_a_line_of_a_table(tmp_path: Path) -> None:
    code, said = ask(tmp_path, "sweep", *ON, "--batch", "1:1000000000:1")
    assert code == 0 and "h100-sxm" in said


def test_a_pipe_gives_what_it_holds(tmp_path: Path) -> None:
    sample = Path(__file__).parents[1] / "results" / "samples" / "llama-bench-old.md"
    command = f"cat '{sample}' | {sys.executable} -m roofline place /dev/stdin --on rtx-4090 --json"
    done = subprocess.run(
        command, shell=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": SRC},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and done.stdout.count("\n") == 2, done.stderr
