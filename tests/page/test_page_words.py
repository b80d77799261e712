"""Every text exists, in every language, with the same values in it."""

from __future__ import annotations

import glob
import json
import os
import re
import string

import pytest

from roofline.page.bundle import FOLDER, read
from roofline.page.words import languages, page_words

HOLE = re.compile(r"\{(\w+)\}")
SCRIPTS = sorted(os.path.basename(p) for p in glob.glob(os.path.join(FOLDER, "*.js")))


@pytest.mark.parametrize("language", languages())
def test_languages_have_the_same_keys_and_values(language):
    english, other = page_words("en"), page_words(language)
    assert other.keys() == english.keys()
    for key, text in english.items():
        assert set(HOLE.findall(other[key])) == set(HOLE.findall(text)), key


def test_there_is_chinese():
    assert {"en", "zh"} <= set(languages())
    own = json.loads(read("zh.json"))
    terms = {"table.speed"}
    same = {k for k, v in json.loads(read("en.json")).items() if own[k] == v and v}
    for key in same - terms:
        letters = own[key].strip(string.punctuation + " {}")
        assert re.fullmatch(r"[\w\s/{}.:-]*", letters, re.ASCII), key


def test_every_text_that_the_scripts_ask_for_exists():
    words = page_words("en")
    asked = set()
    for name in SCRIPTS:
        text = read(name)
        asked |= set(re.findall(r'\bt\(\s*"([a-z][\w.-]*)"', text))
        asked |= set(re.findall(r'(?:button|tell)\([^"]*"((?:ui|table)\.[a-z]+)"', text))
    assert len(asked) > 60
    assert asked <= words.keys()
    html = set(re.findall(r'data-t="([\w.]+)"', read("index.html")))
    assert html
    assert html <= words.keys()


def test_texts_named_by_their_parts_exist():
    words = page_words("en")
    story = read("steps.js")
    told = {key.split(".")[1] for key in words if re.fullmatch(r"story\.\w+\.title", key)}
    assert 7 <= len(told) <= 10
    for key in re.findall(r'key: "(\w+)",\s+(?:values|set)', story):
        assert f"try.{key}" in words or key in told
    for key in told:
        assert f"story.{key}.text" in words
        assert f'key: "{key}"' in story
    presets = re.findall(r'\{\s+key: "(\w+)",\s+set', read("app.js"))
    assert len(presets) == 8
    for key in presets:
        assert f"preset.{key}" in words
    for phase in ("decode", "prefill", "verify", "mixed"):
        assert f"phase.{phase}.name" in words
    for name in ("batch", "context", "prompt"):
        assert f"ui.{name}.hint" in words
    reasons = {
        f"predicted.none.{name}" for name in re.findall(r'none: "(\w+)"', read("predicted.js"))
    }
    assert reasons == {key for key in words if key.startswith("predicted.none.")}


def test_no_page_text_is_unused():
    everything = "".join(read(name) for name in SCRIPTS) + read("index.html")
    built = re.compile(
        r"^(story|try|preset|phase|panel|note|predicted\.none|about|page|table\.caption|ui\.\w+\.(own|hint)|ui\.(batch|context|prompt))\b"
    )
    for key in json.loads(read("en.json")):
        assert built.match(key) or f'"{key}"' in everything, key
