"""GGUF: the header of a llama.cpp file, alone or split, without its tensors.

Layout (ggml's ``docs/gguf.md``): magic ``GGUF``, version, number of tensors, number of
metadata pairs; the pairs (key, type, value); for each tensor its name, dimensions, type and
offset; then, aligned, the tensors. A vocabulary of 256,000 words is walked over, not kept:
a file of 40 GB is known after a few megabytes.

The ``gguf`` package reads this too, but makes an array of every word and imports NumPy:
2–10 s for such a vocabulary, and it believes the counts that a file states.
"""

from __future__ import annotations

import os
import re

from ..errors import InputError, NotFound
from ..limits import GGUF_PARTS
from .gguf_header import Gguf, GgufTensor, Header, SkippedValue, Value
from .gguf_types import TYPES
from .regular import opened

_SPLIT = re.compile(r"(.*)-(\d{5})-of-(\d{5})\.gguf\Z", re.DOTALL)


def read(path: str) -> Gguf:
    """The header of a GGUF file; given one part of a split one, of all of them.

    Raises:
        NotFound: no such file, or a part of it is missing.
        InputError: not GGUF, truncated, or what it says of itself cannot be.
        UnsupportedError: a version or a type of tensor that is not known.
    """
    first = _one(path)
    count = _integer(first, "split.count", 1, path)
    if count <= 1:
        return first
    match = _SPLIT.match(path)
    if match is None or int(match[3]) != count:
        raise InputError(
            f"{path}: says it is one of {count} parts, so its name should end in "
            f"-00001-of-{count:05d}.gguf"
        )
    if count > GGUF_PARTS:
        raise InputError(f"{path}: says it is one of {count} parts")
    here = _integer(first, "split.no", 0, path)
    parts: list[Gguf] = []
    for i in range(count):
        name = f"{match[1]}-{i + 1:05d}-of-{count:05d}.gguf"
        if i == here and int(match[2]) == i + 1:
            part = first
        elif not os.path.lexists(name):
            raise NotFound(f"{name}: part {i + 1} of {count} is missing")
        else:
            part = _one(name)
        number = (_integer(part, "split.no", 0, name), _integer(part, "split.count", 1, name))
        if number != (i, count):
            raise InputError(f"{name}: says it is part {number[0] + 1} of {number[1]}")
        parts.append(part)
    return _joined(parts, path)


def _joined(parts: list[Gguf], path: str) -> Gguf:
    tensors = tuple(t for part in parts for t in part.tensors)
    expected = parts[0].metadata.get("split.tensors.count")
    if isinstance(expected, int) and expected != len(tensors):
        raise InputError(f"{path}: {len(tensors)} tensors in its parts, {expected} expected")
    seen: set[str] = set()
    for tensor in tensors:
        if tensor.name in seen:
            raise InputError(f"{path}: the tensor '{tensor.name}' is there twice")
        seen.add(tensor.name)
    return Gguf(
        tuple(p for part in parts for p in part.paths),
        parts[0].version,
        parts[0].metadata,
        tensors,
        sum(part.bytes for part in parts),
    )


def _integer(found: Gguf, key: str, default: int, path: str) -> int:
    value = found.metadata.get(key, default)
    if type(value) is not int or value < 0:
        raise InputError(f"{path}: {key} is not a number of parts")
    return value


def _one(path: str) -> Gguf:
    with opened(path) as (file, size):
        return Header(file, size, path).read()


__all__ = ["TYPES", "Gguf", "GgufTensor", "SkippedValue", "Value", "read"]
