"""The key for a server: from the environment, bound to its hosts, and never shown.

`ROOFLINE_API_KEY` is meant for the server that is named. `OPENAI_API_KEY` belongs to OpenAI: it
goes to its hosts, and to the one of `OPENAI_BASE_URL`. Over plain http a key goes no further than
this machine, unless that is said.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

from ..errors import InputError

OURS = "ROOFLINE_API_KEY"
OPENAI = "OPENAI_API_KEY"
OPENAI_BASE = "OPENAI_BASE_URL"
OPENAI_HOST = "api.openai.com"

LONGEST = 16384
"""Characters of a key: no server takes a longer header."""

GRAM = 8
"""As many characters of a key on end are not shown, wherever they stand."""


class Key:
    """A key, or none: what goes into the header, and what is cut out of every text.

    >>> Key("sk-0123456789").hide("no such key: sk-0123456789, sorry")
    'no such key: ***, sorry'
    """

    def __init__(self, value: str = "", name: str = OURS) -> None:
        self.name = name
        self._value = value
        small = value.casefold()
        self._grams = {small[i : i + GRAM] for i in range(len(small) - GRAM + 1)}

    def __repr__(self) -> str:
        """Whether there is one, and no more."""
        return f"Key({self.name})" if self._value else "Key()"

    def __bool__(self) -> bool:
        """Whether there is one."""
        return bool(self._value)

    @property
    def headers(self) -> dict[str, str]:
        """The one header that it goes into."""
        return {"Authorization": f"Bearer {self._value}"} if self._value else {}

    def hide(self, text: str) -> str:
        """The text with ``***`` for the key, and for every piece of it of `GRAM` characters."""
        if not self._value:
            return text
        small = text.casefold()
        if len(small) != len(text):  # a letter whose small form is two: as it is, then
            small = text
        covered = bytearray(len(text))
        if self._grams:
            for i in range(len(small) - GRAM + 1):
                if small[i : i + GRAM] in self._grams:
                    covered[i : i + GRAM] = b"\1" * GRAM
        else:
            _cover_words(covered, small, self._value.casefold())
        out, i = [], 0
        while i < len(text):
            if not covered[i]:
                out.append(text[i])
                i += 1
                continue
            out.append("***")
            while i < len(text) and covered[i]:
                i += 1
        return "".join(out)


def _cover_words(covered: bytearray, text: str, key: str) -> None:
    # A short key ("none", "x") is also a piece of other words, which stay.
    at = text.find(key)
    while at >= 0:
        end = at + len(key)
        if not text[at - 1 : at].isalnum() and not text[end : end + 1].isalnum():
            covered[at:end] = b"\1" * len(key)
        at = text.find(key, at + 1)


def key_for(base: str, environment: Mapping[str, str], *, plain: bool = False) -> Key:
    """The key that may go to the server at `base`.

    Args:
        base: its address, ``https://host:port``.
        environment: where keys are.
        plain: whether one may go over plain http to another machine.

    Raises:
        InputError: a key that no header can carry, or one that would go over plain http.
    """
    to = urlsplit(base)
    name, value = OURS, _clean(environment, OURS)
    if not value and _openais(to, environment):
        name, value = OPENAI, _clean(environment, OPENAI)
    if value and to.scheme != "https" and not plain and not loopback(to.hostname or ""):
        raise InputError(
            f"the key of {name} would go to {to.hostname} over plain http, for all on the way to "
            f"read: use https, or a tunnel to 127.0.0.1, or unset {name}, or say --plain-key"
        )
    return Key(value, name)


def wanted(environment: Mapping[str, str]) -> str:
    """What to do where a server wants a key and got none or another."""
    if environment.get(OPENAI, "").strip() and not environment.get(OURS, "").strip():
        return f"set {OURS}; {OPENAI} goes to {OPENAI_HOST} and the host of {OPENAI_BASE} alone"
    return f"set {OURS}"


def _clean(environment: Mapping[str, str], name: str) -> str:
    """The key without what files and shells leave around it.

    Raises:
        InputError: what no header can carry within it; without showing any of it.
    """
    value = environment.get(name, "").strip().strip("\ufeff\0").strip()
    if len(value) > LONGEST:
        raise InputError(f"{name} has {len(value)} characters: no key is that long")
    for place, char in enumerate(value, 1):
        if not "!" <= char <= "~":
            raise InputError(
                f"{name} has a character that no key has, {_named(char)}, at place {place} of "
                f"{len(value)}: set it again"
            )
    return value


def _named(char: str) -> str:
    names = {"\r": "a carriage return", "\n": "a line break", " ": "a space", "\t": "a tab"}
    return names.get(char, f"U+{ord(char):04X}")


def _openais(to: SplitResult, environment: Mapping[str, str]) -> bool:
    host = to.hostname or ""
    if to.scheme == "https" and (host == OPENAI_HOST or host.endswith(f".{OPENAI_HOST}")):
        return True
    try:
        said = urlsplit(environment.get(OPENAI_BASE, "").strip())
        return bool(said.hostname) and _place(said) == _place(to)
    except ValueError:
        return False


def _place(address: SplitResult) -> tuple[str, str, int]:
    port = address.port or {"https": 443, "http": 80}.get(address.scheme, 0)
    return address.scheme, address.hostname or "", port


def loopback(host: str) -> bool:
    """Whether a host is this machine, by its name or address.

    >>> [loopback(h) for h in ("localhost", "127.0.0.53", "::1", "127.0.0.1.evil.org")]
    [True, True, True, False]
    """
    name = host.casefold().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        result = ipaddress.ip_address(name)
    except ValueError:
        return False
    mapped = getattr(result, "ipv4_mapped", None) or result
    return bool(mapped.is_loopback or mapped.is_unspecified)
