"""The README's first line, word for word, as it meets the machines of strangers."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from roofline import install
from roofline.cli import main

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
SYSTEM = "/usr/bin:/bin"


def first_command(page):
    """The first line that a stranger types, and the first line that answers."""
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        return re.search(r"```console\n\$ ([^\n]*)\n([^\n]*)\n", file.read()).groups()


def shell(line, path, home):
    env = {"PATH": path, "HOME": str(home), "COLUMNS": "100", "LANG": "C.UTF-8"}
    done = subprocess.run(
        ["/bin/sh", "-c", line], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def version(python):
    try:
        text = subprocess.run([python, "-V"], capture_output=True, text=True, check=True).stdout
    except OSError:
        return (0,)
    return tuple(int(n) for n in re.findall(r"\d+", text)[:2])


@pytest.mark.parametrize("page", ["README.md", "README.zh.md"])
def test_the_systems_own_python_runs_it_in_a_clean_home(page, tmp_path):
    if version("/usr/bin/python3") < (3, 11):
        pytest.skip("this system's python3 is older than 3.11")
    line, answer = first_command(page)
    code, out, err = shell(line, SYSTEM, tmp_path)
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == answer
    assert os.listdir(tmp_path) == []


def test_a_virtual_environment_runs_the_same_line(tmp_path):
    place = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    line, answer = first_command("README.md")
    code, out, err = shell(line, f"{place}/bin:{SYSTEM}", tmp_path)
    assert (code, out.splitlines()[0], err) == (0, answer, "")


def test_an_old_python_hands_over_to_a_new_one_or_says_what_is_needed(tmp_path):
    # An old interpreter is played by one line before the launcher's own text.
    with open(os.path.join(ROOT, "roofline"), encoding="utf-8") as file:
        text = file.read()
    old = tmp_path / "roofline"
    old.write_text(text.replace("import sys\n", "import sys\nsys.version_info = (3, 9)\n", 1))
    code, out, err = shell(f"{sys.executable} {old} models", "/nowhere", tmp_path)
    assert (code, out) == (1, "")
    assert err.startswith("roofline: Python 3.11 or newer is needed, this is 3.9")
    assert len(err.splitlines()) == 1
    newer = tmp_path / "bin" / "python3.12"
    newer.parent.mkdir()
    newer.write_text("#!/bin/sh\necho took over: $2\n")
    newer.chmod(0o755)
    code, out, err = shell(f"{sys.executable} {old} models", f"{newer.parent}", tmp_path)
    assert (code, out, err) == (0, "took over: models\n", "")


def test_what_is_missing_comes_with_a_command_for_the_python_in_use(monkeypatch, tmp_path):
    monkeypatch.setattr(install, "checkout", lambda: None)
    monkeypatch.setattr(install, "managed", lambda: False)
    assert install.command("plot").endswith("pip install 'roofline[plot]'")
    monkeypatch.setattr(install, "checkout", lambda: "/src/roofline")
    assert install.command("plot").endswith("pip install '/src/roofline[plot]'")
    monkeypatch.setattr(install, "managed", lambda: True)
    assert install.command("plot") == (
        "python3 -m venv /src/roofline/.venv && "
        "/src/roofline/.venv/bin/pip install '/src/roofline[plot]', "
        "then /src/roofline/.venv/bin/roofline"
    )


def test_a_library_that_every_installation_has_is_asked_for_in_a_sentence(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 1
    assert re.match(r"roofline: completion needs shtab: .*install 'r", capsys.readouterr().err)
