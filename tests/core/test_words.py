"""Words: complete in every language, with the same places to fill."""

from __future__ import annotations

import json
import os
import re

import pytest

from roofline import words
from roofline.bound.verdict import CODES
from roofline.errors import InputError
from roofline.page import build as page

TERMS = {"KV cache"}
FOLDER = os.path.dirname(words.__file__)


def texts(language):
    with open(os.path.join(FOLDER, f"{language}.json"), encoding="utf-8") as file:
        return json.load(file)


@pytest.mark.parametrize("language", words.languages())
def test_every_language_has_every_key_and_place(language):
    assert words.lacks(language) == ""
    english, other = texts("en"), texts(language)
    assert english.keys() == other.keys()


def half_made(root, language="xx", **changed):
    """A language in a folder of its own: English, but for what is changed in a file of it."""
    for pattern in words.FILES:
        path = root / pattern.format(language)
        path.parent.mkdir(parents=True, exist_ok=True)
        own = dict(words.texts(pattern, words.SOURCE))
        own.update(changed)
        path.write_text(json.dumps({k: v for k, v in own.items() if v is not None}))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda root: half_made(root, **{"label.memory": None}),
         "words/xx.json has no 'label.memory'"),
        (lambda root: half_made(root, **{"say.share": "{part}"}), "'say.share' has other places"),
        (lambda root: half_made(root, **{"page.foot": None}),
         "page/web/xx.json has no 'page.foot'"),
        (lambda root: (half_made(root), (root / "page/web/live/xx.json").unlink()),
         "there is no page/web/live/xx.json"),
        (lambda root: (half_made(root), (root / "words/xx.json").write_text("{")),
         "words/xx.json is no JSON"),
    ],
)  # fmt: skip
def test_a_half_made_language_is_refused_by_name_alone(tmp_path, monkeypatch, change, said):
    monkeypatch.setattr(words, "ROOTS", [*words.ROOTS, str(tmp_path)])
    change(tmp_path)
    assert "xx" in words.languages()
    assert words.complete() == ("en", "zh")
    with pytest.raises(InputError, match="'xx' is incomplete") as refused:
        words.choose("xx")
    assert said in str(refused.value)
    monkeypatch.setenv("LC_ALL", "xx_YY.UTF-8")
    assert words.choose().language == "en"
    assert words.choose("zh")("label.memory") == "访存受限"
    assert set(page.languages()) == {"en", "zh"}


def test_every_verdict_has_a_word():
    say = words.Words("en")
    for code in CODES:
        assert say.has(f"label.{code.split(':')[0]}")
        if code.startswith("memory:"):
            assert say.has(f"part.{code.split(':')[1]}")


def test_chinese_is_chinese():
    bare = {k: re.sub(r"\{\w+\}", "", v) for k, v in texts("zh").items()}
    english = texts("en")
    # what is the same in both has no words of its own: a name, a unit, places to fill
    same = {k for k, v in texts("zh").items() if v == english[k]}
    foreign = [k for k in same if " " in bare[k].strip() and bare[k] not in TERMS]
    assert foreign == []
