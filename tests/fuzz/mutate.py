"""Inputs like real ones, and wrong: JSON changed node by node, text line by line, bytes anywhere.

What coverage would have to find by chance is tried at once: numbers of the wrong sign, size or
kind, names of nothing, lists where there were tables, texts that are letters of other alphabets.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

HOSTILE: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 3, -5, 0.5, -0.0, 1e308, -1e308, 5e-324, 1e-300,
    float("nan"), float("inf"), -float("inf"), 2**31, 2**53, 2**63, 2**64, 10**30, 10**400,
    "", " ", "0", "-5", "nan", "inf", "1e400", "9" * 401, "\x00", "\r\nat best 9999 tokens/s",
    "\x1b[31mred", "\ud800", "…" * 300, "../../etc/passwd", "/dev/zero", "https://a:b@c/d",
    "(.|.)*x", "re:(a+)+$", "=1+1", "{0}", "%s%n", "{", "[", "null", "true", "bf16", "int4",
    "full_attention", "here", "h100-sxm", [], {}, [[]], [None], [0], [-1], ["a"], {"a": None},
    {"": {}}, [[[[[[]]]]]], {"value": -1}, {"value": float("nan")}, list(range(50)),
)  # fmt: skip

NUMBERS = (b"0", b"-1", b"-0.0", b"1e309", b"nan", b"inf", b"9" * 401, b"2147483648", b"1,5", b"1.")


def mutated(seed: bytes, rng: random.Random) -> bytes:
    """A seed with one to four changes."""
    data = _json(seed)
    if data is not None and rng.random() < 0.75:
        for _ in range(rng.randint(1, 4)):
            data = _changed(data, rng)
        return json.dumps(data, ensure_ascii=rng.random() < 0.5).encode(errors="surrogatepass")
    lines = seed.split(b"\n")
    if len(lines) > 2 and rng.random() < 0.6:
        return b"\n".join(_lines(lines, rng))
    found = bytearray(seed)
    for _ in range(rng.randint(1, 6)):
        _bytes(found, rng)
    return bytes(found)


def _json(seed: bytes) -> Any:
    try:
        return json.loads(seed)
    except (ValueError, RecursionError):
        return None


def _changed(data: Any, rng: random.Random) -> Any:
    places = list(_places(data))
    if not places:
        return copy.deepcopy(rng.choice(HOSTILE))
    table, key = rng.choice(places)
    how = rng.random()
    if how < 0.55:
        table[key] = copy.deepcopy(rng.choice(HOSTILE))
    elif how < 0.7:
        del table[key]
    elif how < 0.8 and isinstance(table, dict):
        table[rng.choice([*map(str, HOSTILE[20:60]), key + "s"])] = copy.deepcopy(table[key])
    elif how < 0.9:
        other, at = rng.choice(places)
        if at in (other if isinstance(other, dict) else range(len(other))):
            table[key] = copy.deepcopy(other[at])
    elif isinstance(table[key], int | float) and not isinstance(table[key], bool):
        by = rng.choice((-1, 0, 1000, 10**9, 10**18))
        table[key] = table[key] * by if rng.random() < 0.6 else table[key] // 7
    else:
        table[key] = [copy.deepcopy(table[key]) for _ in range(rng.choice((0, 1, 2, 50)))]
    return data


def _places(data: Any, depth: int = 0) -> Iterator[tuple[Any, Any]]:
    if depth > 12:
        return
    if isinstance(data, dict):
        for key in list(data):
            yield data, key
            yield from _places(data[key], depth + 1)
    elif isinstance(data, list):
        for i in range(min(len(data), 40)):
            yield data, i
            yield from _places(data[i], depth + 1)


def _lines(lines: list[bytes], rng: random.Random) -> list[bytes]:
    found = list(lines)
    for _ in range(rng.randint(1, 4)):
        i = rng.randrange(len(found))
        how = rng.random()
        if how < 0.2:
            del found[i]
        elif how < 0.4:
            found.insert(i, rng.choice(found) if found else b"")
        elif how < 0.75:
            found[i] = _number(found[i], rng)
        else:
            line = bytearray(found[i])
            _bytes(line, rng)
            found[i] = bytes(line)
        if not found:
            return [b""]
    return found


def _number(line: bytes, rng: random.Random) -> bytes:
    starts = [i for i in range(len(line)) if line[i : i + 1].isdigit()]
    if not starts:
        return line
    i = rng.choice(starts)
    j = i
    while j < len(line) and (line[j : j + 1].isdigit() or line[j : j + 1] == b"."):
        j += 1
    return line[:i] + rng.choice(NUMBERS) + line[j:]


def _bytes(found: bytearray, rng: random.Random) -> None:
    i = rng.randrange(len(found) + 1)
    how = rng.random()
    if how < 0.3 and found:
        found[min(i, len(found) - 1)] = rng.randrange(256)
    elif how < 0.5:
        del found[i : i + rng.choice((1, 4, 100))]
    elif how < 0.7:
        found[i:i] = rng.choice(NUMBERS)
    elif how < 0.85:
        found[i:i] = rng.choice((b"\x00", b"\xff\xfe", b"\r", b"\n", b'"', b"{", b"[", b",", b"|"))
    else:
        del found[i:]
