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
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import BinaryIO

from ..errors import InputError, NotFound, UnsupportedError
from .regular import opened

MAGIC = b"GGUF"
VERSIONS = (1, 2, 3)

MOST_KEYS = 1 << 16
MOST_TENSORS = 1 << 17
MOST_WORDS = 4_000_000
"""Strings walked over in all; the largest vocabularies with their merges have 0.8 million."""
MOST_NAME = 1 << 10
MOST_TEXT = 1 << 12
"""Longer strings (chat templates) are skipped, not kept."""
MOST_KEPT = 1 << 13
"""Longer arrays are skipped, their length kept."""
MOST_PARTS = 10_000
CHUNK = 1 << 20

# Number, name, weights and bytes of a block (ggml.h, ggml-common.h).
TYPES: dict[int, tuple[str, int, int]] = {
    0: ("f32", 1, 4), 1: ("f16", 1, 2), 2: ("q4_0", 32, 18), 3: ("q4_1", 32, 20),
    6: ("q5_0", 32, 22), 7: ("q5_1", 32, 24), 8: ("q8_0", 32, 34), 9: ("q8_1", 32, 36),
    10: ("q2_k", 256, 84), 11: ("q3_k", 256, 110), 12: ("q4_k", 256, 144),
    13: ("q5_k", 256, 176), 14: ("q6_k", 256, 210), 15: ("q8_k", 256, 292),
    16: ("iq2_xxs", 256, 66), 17: ("iq2_xs", 256, 74), 18: ("iq3_xxs", 256, 98),
    19: ("iq1_s", 256, 50), 20: ("iq4_nl", 32, 18), 21: ("iq3_s", 256, 110),
    22: ("iq2_s", 256, 82), 23: ("iq4_xs", 256, 136), 24: ("i8", 1, 1), 25: ("i16", 1, 2),
    26: ("i32", 1, 4), 27: ("i64", 1, 8), 28: ("f64", 1, 8), 29: ("iq1_m", 256, 56),
    30: ("bf16", 1, 2), 34: ("tq1_0", 256, 54), 35: ("tq2_0", 256, 66),
    39: ("mxfp4", 32, 17), 40: ("nvfp4", 64, 36), 41: ("q1_0", 128, 18),
}  # fmt: skip

# Types of metadata: struct code; 8 is a string, 9 an array.
_SCALARS = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip
_STRING, _ARRAY = 8, 9


@dataclass(frozen=True, slots=True)
class Skipped:
    """A value that was walked over: ``length`` elements, or bytes of a string."""

    length: int


Scalar = int | float | bool | str
Value = Scalar | tuple[Scalar, ...] | Skipped


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor's entry.

    Attributes:
        name: ``blk.3.ffn_up.weight``.
        shape: its dimensions, the fastest first: ``(inputs, outputs)`` or
            ``(inputs, outputs, experts)``.
        type: ``q4_k``.
        size: bytes.
    """

    name: str
    shape: tuple[int, ...]
    type: str
    size: int

    @property
    def elements(self) -> int:
        """Numbers in it."""
        return prod(self.shape)


@dataclass(frozen=True, slots=True)
class Gguf:
    """A GGUF file's header; of a split one, all parts together.

    Attributes:
        paths: its files.
        version: of the format.
        metadata: its pairs, long values as :class:`Skipped`.
        tensors: in the order in which they are listed.
        bytes: of all files.
    """

    paths: tuple[str, ...]
    version: int
    metadata: Mapping[str, Value]
    tensors: tuple[Tensor, ...]
    bytes: int


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
    if count > MOST_PARTS:
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
        return _Header(file, size, path).read()


class _Header:
    """Reads one file's header front to back, a chunk at a time."""

    def __init__(self, file: BinaryIO, size: int, path: str) -> None:
        self.file, self.size, self.path = file, size, path
        self.buffer = b""
        self.at = 0  # in the buffer
        self.base = 0  # of the buffer in the file
        self.words = 0
        self.order = "<"
        self.wide = True

    @property
    def position(self) -> int:
        return self.base + self.at

    def fault(self, what: str) -> InputError:
        return InputError(f"{self.path}: {what}")

    def short(self) -> InputError:
        return self.fault(f"truncated: its header goes on after its end at byte {self.size}")

    def take(self, n: int) -> bytes:
        if len(self.buffer) - self.at < n:
            self.refill(n)
        found = self.buffer[self.at : self.at + n]
        self.at += n
        return found

    def refill(self, n: int) -> None:
        if self.position + n > self.size:
            raise self.short()
        rest = self.buffer[self.at :]
        self.base += self.at
        self.at = 0
        self.buffer = rest + self.file.read(max(CHUNK, n))
        if len(self.buffer) < n:
            raise self.short()

    def skip(self, n: int) -> None:
        if self.position + n > self.size:
            raise self.short()
        if n <= len(self.buffer) - self.at:
            self.at += n
        else:
            self.base, self.at, self.buffer = self.position + n, 0, b""
            self.file.seek(self.base)

    def number(self, code: str) -> Scalar:
        value: Scalar
        (value,) = struct.unpack(self.order + code, self.take(struct.calcsize("=" + code)))
        return value

    def u32(self) -> int:
        return int.from_bytes(self.take(4), "little" if self.order == "<" else "big")

    def count(self) -> int:
        n = 8 if self.wide else 4
        return int.from_bytes(self.take(n), "little" if self.order == "<" else "big")

    def text(self, most: int, what: str) -> str:
        length = self.count()
        if length > most:
            raise self.fault(f"{what} of {length} bytes at byte {self.position}")
        try:
            return self.take(length).decode()
        except UnicodeDecodeError:
            raise self.fault(f"{what} that is not UTF-8 at byte {self.position}") from None

    def read(self) -> Gguf:
        start = self.file.read(8)
        self.file.seek(0)
        if start[:4] != MAGIC:
            raise self.fault(_not_gguf(start, self.size))
        self.take(4)
        version = self.u32()
        if version not in VERSIONS and version & 0xFFFF == 0:
            self.order, version = ">", int.from_bytes(version.to_bytes(4, "little"), "big")
        if version not in VERSIONS:
            raise UnsupportedError(f"{self.path}: version {version} of GGUF is not known")
        self.wide = version > 1
        tensors, pairs = self.count(), self.count()
        if tensors > MOST_TENSORS or pairs > MOST_KEYS:
            raise self.fault(f"says it has {tensors} tensors and {pairs} metadata keys")
        metadata = self.metadata(pairs)
        entries = [self.entry() for _ in range(tensors)]
        self.check(entries, metadata)
        return Gguf((self.path,), version, metadata, tuple(t for t, _ in entries), self.size)

    def metadata(self, pairs: int) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for _ in range(pairs):
            key = self.text(MOST_NAME, "a metadata key")
            if key in found:
                raise self.fault(f"the metadata key '{key[:60]}' is there twice")
            found[key] = self.value(self.u32(), key)
        return found

    def value(self, kind: int, key: str) -> Value:
        if kind in _SCALARS:
            return self.number(_SCALARS[kind])
        if kind == _STRING:
            length = self.count()
            if length > MOST_TEXT:
                self.skip(length)
                return Skipped(length)
            return self.take(length).decode(errors="replace")
        if kind == _ARRAY:
            return self.array(key)
        raise self.fault(f"the metadata key '{key[:60]}' has the unknown type {kind}")

    def array(self, key: str) -> Value:
        kind, length = self.u32(), self.count()
        if kind in _SCALARS:
            width = struct.calcsize("=" + _SCALARS[kind])
            if length > MOST_KEPT:
                self.skip(length * width)
                return Skipped(length)
            return struct.unpack(f"{self.order}{length}{_SCALARS[kind]}", self.take(length * width))
        if kind != _STRING:
            raise self.fault(f"the metadata key '{key[:60]}' is an array of type {kind}")
        self.words += length
        if self.words > MOST_WORDS or self.position + 4 * length > self.size:
            raise self.fault(f"the metadata key '{key[:60]}' says it has {length} strings")
        if length <= 64:
            return tuple(str(self.value(_STRING, key)) for _ in range(length))
        self.walk(length)
        return Skipped(length)

    def walk(self, strings: int) -> None:
        """Over that many strings, without keeping them."""
        width = 8 if self.wide else 4
        size = struct.Struct(self.order + ("Q" if self.wide else "I"))
        unpack = size.unpack_from
        buffer, at = self.buffer, self.at
        last = len(buffer) - width
        for _ in range(strings):
            if at > last:
                self.at = at
                self.refill(width)
                buffer, at = self.buffer, self.at
                last = len(buffer) - width
            at += width + unpack(buffer, at)[0]
            if at > len(buffer):
                self.at = len(buffer)
                self.skip(at - len(buffer))
                buffer, at = self.buffer, self.at
                last = len(buffer) - width
        self.at = at

    def entry(self) -> tuple[Tensor, int]:
        name = self.text(MOST_NAME, "a tensor's name")
        dimensions = self.u32()
        if not 0 <= dimensions <= 4:
            raise self.fault(f"the tensor '{name[:60]}' has {dimensions} dimensions")
        shape = tuple(self.count() for _ in range(dimensions))
        kind, offset = self.u32(), self.offset()
        if kind not in TYPES:
            raise UnsupportedError(
                f"{self.path}: the tensor '{name[:60]}' is of type {kind}, which is not known"
            )
        title, weights, width = TYPES[kind]
        elements = prod(shape)
        if not 0 < elements < 1 << 48:
            raise self.fault(f"the tensor '{name[:60]}' has the dimensions {list(shape)}")
        if (shape[0] if shape else 1) % weights:
            raise self.fault(
                f"the tensor '{name[:60]}' has rows of {shape[0] if shape else 1}, "
                f"which blocks of {weights} ({title}) do not fill"
            )
        return Tensor(name, shape, title, elements // weights * width), offset

    def offset(self) -> int:
        return int.from_bytes(self.take(8), "little" if self.order == "<" else "big")

    def check(self, entries: list[tuple[Tensor, int]], metadata: Mapping[str, Value]) -> None:
        """That the tensors lie within the file and not on each other."""
        align = metadata.get("general.alignment", 32)
        if type(align) is not int or not 1 <= align <= 1 << 20 or align & (align - 1):
            raise self.fault(f"general.alignment is {align!r}")
        start = -(-self.position // align) * align
        seen: set[str] = set()
        for tensor, offset in entries:
            if tensor.name in seen:
                raise self.fault(f"the tensor '{tensor.name[:60]}' is there twice")
            seen.add(tensor.name)
            if offset % align:
                raise self.fault(f"the tensor '{tensor.name[:60]}' is not aligned to {align}")
            if start + offset + tensor.size > self.size:
                raise self.fault(
                    f"truncated: the tensor '{tensor.name[:60]}' ends at byte "
                    f"{start + offset + tensor.size}, the file at {self.size}"
                )
        end, before = 0, ""
        for tensor, offset in sorted(entries, key=lambda e: e[1]):
            if offset < end:
                raise self.fault(f"the tensors '{before[:60]}' and '{tensor.name[:60]}' overlap")
            end, before = offset + tensor.size, tensor.name


def _not_gguf(start: bytes, size: int) -> str:
    if size == 0:
        return "empty, not a GGUF file"
    if start[:4] in (b"ggml", b"lmgg", b"ggjt", b"tjgg", b"ggla", b"fmgg"):
        return "a GGML file from before GGUF: convert it with llama.cpp"
    if start[:4] in (b"PK\x03\x04", b"\x80\x02ck"):
        return "a PyTorch checkpoint, not a GGUF file"
    if start.startswith((b"version ", b"<!doc", b"<!DOC", b"<html")):
        return "a pointer or a web page, not a GGUF file: the download did not bring it"
    return f"not a GGUF file: it begins with {start[:4]!r}"
