"""Messages are for people: one line, no control characters, so long at most."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.errors import MOST, InputError, MissingExtra, RooflineError, plain


@given(st.text(st.characters(), max_size=300))
def test_a_message_is_one_line(text: str) -> None:
    said = str(InputError(f"config: no '{text}' is known"))
    assert said.isprintable() and len(said) <= MOST


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\r\nat best 9999 tokens/s", "a  at best 9999 tokens/s"),
        ("\x1b[31mred", " [31mred"),
        ("\ud800", " "),
        ("right\u202eleft", "right left"),
        ("词元 …", "词元 …"),
    ],
)
def test_what_forges_a_line_does_not(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_long_messages_end_and_say_so() -> None:
    assert plain("x" * 5000, 10) == "x" * 9 + "…"
    assert len(str(RooflineError("x" * 5000))) == MOST
    assert "pip" in str(MissingExtra("matplotlib", "plot", "a figure"))
