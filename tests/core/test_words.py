"""Words: complete in every language, with the same places to fill."""

from __future__ import annotations

import json
import os
import re
import string

import pytest

from roofline import words
from roofline.bound.verdict import CODES

TERMS = {"KV cache"}
FOLDER = os.path.dirname(words.__file__)


def texts(language):
    with open(os.path.join(FOLDER, f"{language}.json"), encoding="utf-8") as file:
        return json.load(file)


@pytest.mark.parametrize("language", words.languages())
def test_every_language_has_every_key_and_place(language):
    english, other = texts("en"), texts(language)
    assert english.keys() == other.keys()

    def places(text):
        return sorted({name for _, name, _, _ in string.Formatter().parse(text) if name})

    for key in english:
        assert places(other[key]) == places(english[key]), key


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
