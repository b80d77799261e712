"""Scripts and style sheets without what only their readers need: comments, types, white space.

The modules are written in one normal form (the formatter's: a semicolon ends every statement),
so that a line's end means nothing, and a slash begins a regular expression just where no
operand can end before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)
      | (?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
      | (?P<name>[\w$#.]+)
      | (?P<mark>.)""",
    re.X | re.S,
)
_PATTERN = re.compile(r"/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/[a-z]*")
_PIECE = re.compile(r"(?:\\.|\$(?!\{)|[^`$\\])*", re.S)
_SHADER = re.compile(r"\n[ \t]*(?://[^\n]*(?=\n))?")
_BEFORE_PATTERN = {*"(,=:[!&|?{};", "return", ""}


@lru_cache(256)
def script(text: str) -> str:
    """A module's text as short as can be without another meaning or other names."""
    out: list[str] = []
    last = ""
    for token, apart in _tokens(text):
        # Words apart stay apart, and so do + + and - -.
        if apart and last and _joined(last[-1], token[0]):
            out.append(" ")
        if token in ("}", "]", ")") and last == ",":
            out.pop()
        out.append(token)
        last = token
    return "".join(out)


def _joined(before: str, after: str) -> bool:
    # Whether two tokens would be another one without a space between them.
    words = all(char.isalnum() or char in "_$#" for char in (before, after))
    return words or (before == after and before in "+-/")


def _tokens(text: str) -> Iterator[tuple[str, bool]]:
    """The tokens of a script, each with whether white space or a comment stood before it."""
    at, last, apart = 0, "", False
    open_braces: list[bool] = []  # of those open, which end a value within a template
    while at < len(text):
        if text[at] == "/" and text[at : at + 2] not in ("//", "/*") and last in _BEFORE_PATTERN:
            result = _PATTERN.match(text, at)
        else:
            result = _TOKEN.match(text, at)
        if result is None:
            raise ValueError(f"cannot be read as a script: {text[at : at + 40]!r}")
        token = result[0]
        at = result.end()
        if result.lastgroup == "space":
            apart = True
            continue
        if token == "`" or (token == "}" and open_braces and open_braces[-1]):
            if token == "}":
                open_braces.pop()
            piece = _PIECE.match(text, at)
            until = piece.end() if piece else at
            end = "`" if text[until : until + 1] == "`" else "${"
            token += _SHADER.sub("\n", text[at:until]) + end
            at = until + len(end)
            if end == "${":
                open_braces.append(True)
            yield token, apart
            apart, last = False, "" if end == "${" else "`"
            continue
        if token == "{":
            open_braces.append(False)
        elif token == "}" and open_braces:
            open_braces.pop()
        yield token, apart
        last, apart = token, False


def style(css: str) -> str:
    """A style sheet without its comments, and without white space that means nothing."""
    css = re.sub(r"/\*.*?\*/", "", css, flags=re.S)
    css = re.sub(r"\s+", " ", css).strip()
    return re.sub(r" ?([{};,]) ?", r"\1", css).replace(";}", "}").replace(": ", ":")
