"""JSON and CSV that others can read, whatever is in them."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import roofline
from roofline.bound.sweep import csv, jsonl
from roofline.cli import main
from roofline.files.written import json_text

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=20,
)


def strict(text: str) -> Any:
    def no(constant: str) -> None:
        raise AssertionError(constant)

    return json.loads(text, parse_constant=no)


@given(anything)
def test_json_is_json(data: Any) -> None:
    text = json_text(data)
    text.encode()
    strict(text)
    assert strict(json_text([1.5, {"a": "词"}])) == [1.5, {"a": "词"}]
    assert strict(json_text({"x": [math.nan, math.inf], "y": "\ud800"})) == {
        "x": [None, None], "y": "\ud800"
    }  # fmt: skip


def test_a_link_without_end_is_null_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    """Where nothing is known of a link, a second card is held against a perfect one."""
    line = ["explain", "llama-3.1-8b", "--on", "rtx-4090", "--weights", "int4", "--json"]
    assert main(line) == 0
    strict(capsys.readouterr().out)


@pytest.mark.parametrize("name", ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", 'a,"b'])
def test_a_cell_is_no_formula(name: str) -> None:
    model = roofline.load_model("llama-3.1-8b").altered(name=name)
    found = roofline.sweep(model, "h100-sxm", batch=[1])
    lines: list[str] = []
    csv(found.curves, lines.append)
    first = "".join(lines).split("\n")[1]
    assert first[0] in "'\"" and first.strip('"')[0] not in "=+-@"
    rows: list[str] = []
    jsonl(found.curves, rows.append)
    assert strict("".join(rows).split("\n")[0])["model"] == name
