"""A language is its files: a third one dropped in is on the page; a half-made one is on none."""

from __future__ import annotations

import json
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import roofline

HOME = pathlib.Path(roofline.__file__).parent
FILES = ("words", "page/web", "page/web/live")

MAKE = """
import sys
from roofline.errors import RooflineError
from roofline.page import page
try:
    made = page("llama-3.1-8b", "h100-sxm", models=[], machines=[], language=sys.argv[1] or None)
    sys.stdout.write(made)
except RooflineError as error:
    sys.stdout.write(f"refused: {error}")
"""


@pytest.fixture
def make(tmp_path):
    """make(language, locale): a page by a copy of the package, in ``make.home``."""
    home = tmp_path / "roofline"
    shutil.copytree(HOME, home, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in FILES:
        texts = json.loads((home / folder / "en.json").read_text("utf-8"))
        if "page.language" in texts:
            texts |= {"page.language": "Esperanto", "page.order": "3"}
        if "joint.list" in texts:
            texts["joint.list"] = " | "
        (home / folder / "eo.json").write_text(json.dumps(texts), encoding="utf-8")
    shutil.copy(home / "words/en.notes.json", home / "words/eo.notes.json")

    def run(language="", locale="C"):
        done = subprocess.run(
            [sys.executable, "-c", MAKE, language],
            check=True,
            capture_output=True,
            env={"PYTHONPATH": str(tmp_path), "LC_ALL": locale, "PYTHONIOENCODING": "utf-8"},
        )
        return done.stdout.decode()

    run.home = home
    return run


def offered(page):
    return re.findall(r'data-lang="(\w+)"', page)


def test_a_third_language_is_on_the_page(make):
    page = make("eo")
    assert offered(page) == ["zh", "en", "eo"]
    assert '<html lang="eo">' in page
    words = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])["words"]
    assert words["eo"].keys() == words["en"].keys() and words["eo"]["joint.list"] == " | "


def test_a_half_made_language_is_refused_by_name_and_harms_nobody(make):
    path = make.home / "page/web/eo.json"
    texts = json.loads(path.read_text("utf-8"))
    del texts["page.title"]
    path.write_text(json.dumps(texts), encoding="utf-8")
    page = make("", locale="eo_XX.UTF-8")
    assert offered(page) == ["zh", "en"] and '<html lang="en">' in page
    assert make("eo") == (
        "refused: the language 'eo' is incomplete: page/web/eo.json has no 'page.title'"
    )
    path.write_text("{", encoding="utf-8")
    assert "page/web/eo.json is no JSON object" in make("eo")
    path.unlink()
    assert make("eo") == "refused: the language 'eo' is incomplete: there is no page/web/eo.json"
