"""The YAML that result files are written in: block mappings and lists, scalars plain and quoted.

It is what `yaml.dump` makes of JSON. Anchors, aliases, tags, complex keys and flow collections
other than JSON's are refused: the same result saved as JSON has none of them.
"""

from __future__ import annotations

import json
import re
from typing import Any

from ..errors import InputError
from ..limits import YAML_LEVELS

_START = re.compile(
    r"^(?:---[^\S\n]*\n)?(?:[^\S\n]*(?:#.*)?\n)*"
    r"(?:- )?[\"']?[A-Za-z_][\w.\-]*[\"']?:[^\S\n]*\n\s*[\w\"'\-]"
)
_KEY = re.compile(
    r"""^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#\-"'\[\]{},&*!|>%@?:][^:#]*?|-?\w[^:#]*?)\s*:(?:\s+|$)"""
)
_HEX = re.compile(r"\\x([0-9A-Fa-f]{2})")
_NUMBER = re.compile(r"^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$")
_WORDS = {"null": None, "~": None, "": None, "true": True, "false": False, ".inf": float("inf")}


def is_yaml(head: str) -> bool:
    """Whether a text begins as a block mapping whose first key has something below it."""
    return bool(_START.match(head))


def parse(text: str) -> Any:
    """The value of a document.

    Raises:
        InputError: it is not of this subset; says the line.
    """
    return _Parser(text).document()


class _Parser:
    """Lines with their indents, read once from the front."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._at = 0

    def document(self) -> Any:
        if self._peek() is not None and self._lines[self._at].strip() == "---":
            self._at += 1
        result = self._peek()
        value = None if result is None else self._block(result[0], 0)
        rest = self._peek()
        if rest is not None and rest[1] not in ("...", "---"):
            raise self._error()
        return value

    def _error(self) -> InputError:
        return InputError(f"not YAML that is read here, line {self._at + 1}; save it as JSON")

    def _peek(self) -> tuple[int, str] | None:
        """Indent and content of the next line with something on it."""
        while self._at < len(self._lines):
            line = self._lines[self._at]
            content = line.strip()
            if content and not content.startswith("#"):
                return len(line) - len(line.lstrip(" ")), content
            self._at += 1
        return None

    def _block(self, indent: int, depth: int) -> Any:
        if depth > YAML_LEVELS:
            raise self._error()
        result = self._peek()
        if result is None:
            return None
        if result[1] == "-" or result[1].startswith("- "):
            return self._list(indent, depth)
        return self._mapping(indent, depth)

    def _list(self, indent: int, depth: int) -> list[Any]:
        items = []
        while (result := self._peek()) is not None:
            here, content = result
            if here != indent or not (content == "-" or content.startswith("- ")):
                break
            rest = content[1:].lstrip()
            if not rest:
                self._at += 1
                items.append(self._below(indent, depth))
                continue
            inner = indent + len(content) - len(rest)
            if _KEY.match(rest) or rest == "-" or rest.startswith("- "):
                self._lines[self._at] = " " * inner + rest
                items.append(self._block(inner, depth + 1))
            else:
                self._at += 1
                items.append(self._scalar(rest, indent))
        return items

    def _mapping(self, indent: int, depth: int) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        while (result := self._peek()) is not None:
            here, content = result
            if here != indent:
                if here > indent:
                    raise self._error()
                break
            key = _KEY.match(content)
            if key is None:
                if content in ("...", "---") or content.startswith("- "):
                    break
                raise self._error()
            name = str(self._plain(key.group(1))) if key.group(1)[0] in "'\"" else key.group(1)
            rest = content[key.end() :]
            self._at += 1
            if not rest or rest.startswith("#"):
                entries[name] = self._below(indent, depth, lists=True)
            else:
                entries[name] = self._scalar(rest, indent)
        return entries

    def _below(self, indent: int, depth: int, *, lists: bool = False) -> Any:
        """What stands deeper than `indent`; a mapping's list may stand at its own."""
        result = self._peek()
        if result is None:
            return None
        here, content = result
        if here > indent or (lists and here == indent and content.startswith("-")):
            return self._block(here, depth + 1)
        return None

    def _scalar(self, text: str, indent: int) -> Any:
        if text[0] in "&*!%@?`":
            self._at -= 1
            raise self._error()
        if text[0] in "|>":
            return "\n".join(self._deeper(indent))
        if text[0] in "'\"":
            return self._quoted(text)
        if text[0] in "[{":
            return self._flow(text)
        continued = [text, *(line.strip() for line in self._deeper(indent))]
        return self._plain(" ".join(continued).split(" #")[0].strip())

    def _deeper(self, indent: int) -> list[str]:
        """The lines that a scalar goes on over."""
        lines = []
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.strip() and len(line) - len(line.lstrip(" ")) <= indent:
                break
            lines.append(line)
            self._at += 1
        return lines

    def _quoted(self, text: str) -> str:
        quote, start = text[0], self._at
        pattern = re.compile(r"'(?:[^']|'')*'(?!')" if quote == "'" else r'"(?:[^"\\]|\\.)*"', re.S)
        while not (result := pattern.match(text)):
            if self._at >= len(self._lines) or self._at - start > 100_000:
                self._at = start
                raise self._error()
            text += " " + self._lines[self._at].strip()
            self._at += 1
        return str(self._plain(result.group(0)))

    def _flow(self, text: str) -> Any:
        start = self._at
        while True:
            try:
                return json.loads(text)
            except (ValueError, RecursionError):
                if self._at >= len(self._lines) or self._at - start > 200:
                    self._at = start
                    raise self._error() from None
            text += " " + self._lines[self._at].strip()
            self._at += 1

    def _plain(self, text: str) -> Any:
        if text[:1] == "'":
            return text[1:-1].replace("''", "'")
        if text[:1] == '"':
            try:
                return json.loads(_HEX.sub(r"\\u00\1", text).replace("\\ ", " "))
            except ValueError:
                return text[1:-1]
        if text.lower() in _WORDS:
            return _WORDS[text.lower()]
        if _NUMBER.match(text):
            return float(text) if not text.lstrip("+-").isdigit() else int(text[:400])
        return text
