"""One GGUF header, front to back, a chunk at a time."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import BinaryIO

from ..errors import InputError, UnsupportedError
from ..limits import GGUF_KEYS, GGUF_STRINGS, GGUF_TENSORS, GGUF_TEXT_BYTES
from .gguf_types import TYPES

MAGIC = b"GGUF"
VERSIONS = (1, 2, 3)

MOST_NAME = 1 << 10
MOST_KEPT = 1 << 13
"""Longer arrays are skipped, their length kept."""
CHUNK = 1 << 20

# Types of metadata: struct code; 8 is a string, 9 an array.
_SCALARS = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip
_STRING, _ARRAY = 8, 9


@dataclass(frozen=True, slots=True)
class SkippedValue:
    """A value that was walked over: ``length`` elements, or bytes of a string."""

    length: int


Scalar = int | float | bool | str
Value = Scalar | tuple[Scalar, ...] | SkippedValue


@dataclass(frozen=True, slots=True)
class GgufTensor:
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
    tensors: tuple[GgufTensor, ...]
    bytes: int


class Header:
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
    def _position(self) -> int:
        return self.base + self.at

    def _fault(self, what: str) -> InputError:
        return InputError(f"{self.path}: {what}")

    def _short(self) -> InputError:
        return self._fault(f"truncated: its header goes on after its end at byte {self.size}")

    def _take(self, n: int) -> bytes:
        if len(self.buffer) - self.at < n:
            self._refill(n)
        result = self.buffer[self.at : self.at + n]
        self.at += n
        return result

    def _refill(self, n: int) -> None:
        if self._position + n > self.size:
            raise self._short()
        rest = self.buffer[self.at :]
        self.base += self.at
        self.at = 0
        self.buffer = rest + self.file.read(max(CHUNK, n))
        if len(self.buffer) < n:
            raise self._short()

    def _skip(self, n: int) -> None:
        if self._position + n > self.size:
            raise self._short()
        if n <= len(self.buffer) - self.at:
            self.at += n
        else:
            self.base, self.at, self.buffer = self._position + n, 0, b""
            self.file.seek(self.base)

    def _number(self, code: str) -> Scalar:
        value: Scalar
        (value,) = struct.unpack(self.order + code, self._take(struct.calcsize("=" + code)))
        return value

    def _u32(self) -> int:
        return int.from_bytes(self._take(4), "little" if self.order == "<" else "big")

    def _count(self) -> int:
        n = 8 if self.wide else 4
        return int.from_bytes(self._take(n), "little" if self.order == "<" else "big")

    def _text(self, most: int, what: str) -> str:
        length = self._count()
        if length > most:
            raise self._fault(f"{what} of {length} bytes at byte {self._position}")
        try:
            return self._take(length).decode()
        except UnicodeDecodeError:
            raise self._fault(f"{what} that is not UTF-8 at byte {self._position}") from None

    def read(self) -> Gguf:
        """The header, checked against the file's size."""
        start = self.file.read(8)
        self.file.seek(0)
        if start[:4] != MAGIC:
            raise self._fault(_not_gguf(start, self.size))
        self._take(4)
        version = self._u32()
        if version not in VERSIONS and version & 0xFFFF == 0:
            self.order, version = ">", int.from_bytes(version.to_bytes(4, "little"), "big")
        if version not in VERSIONS:
            raise UnsupportedError(f"{self.path}: version {version} of GGUF is not known")
        self.wide = version > 1
        tensors, pairs = self._count(), self._count()
        if tensors > GGUF_TENSORS or pairs > GGUF_KEYS:
            raise self._fault(f"says it has {tensors} tensors and {pairs} metadata keys")
        metadata = self._metadata(pairs)
        entries = [self._entry() for _ in range(tensors)]
        self._check(entries, metadata)
        return Gguf((self.path,), version, metadata, tuple(t for t, _ in entries), self.size)

    def _metadata(self, pairs: int) -> dict[str, Value]:
        result: dict[str, Value] = {}
        for _ in range(pairs):
            key = self._text(MOST_NAME, "a metadata key")
            if key in result:
                raise self._fault(f"the metadata key '{key[:60]}' is there twice")
            result[key] = self._value(self._u32(), key)
        return result

    def _value(self, kind: int, key: str) -> Value:
        if kind in _SCALARS:
            return self._number(_SCALARS[kind])
        if kind == _STRING:
            length = self._count()
            if length > GGUF_TEXT_BYTES:
                self._skip(length)
                return SkippedValue(length)
            return self._take(length).decode(errors="replace")
        if kind == _ARRAY:
            return self._array(key)
        raise self._fault(f"the metadata key '{key[:60]}' has the unknown type {kind}")

    def _array(self, key: str) -> Value:
        kind, length = self._u32(), self._count()
        if kind in _SCALARS:
            width = struct.calcsize("=" + _SCALARS[kind])
            if length > MOST_KEPT:
                self._skip(length * width)
                return SkippedValue(length)
            return struct.unpack(
                f"{self.order}{length}{_SCALARS[kind]}", self._take(length * width)
            )
        if kind != _STRING:
            raise self._fault(f"the metadata key '{key[:60]}' is an array of type {kind}")
        self.words += length
        if self.words > GGUF_STRINGS:
            raise self._fault(f"the metadata key '{key[:60]}' says it has {length} strings")
        if self._position + 4 * length > self.size:
            raise self._short()
        if length <= 64:
            return tuple(str(self._value(_STRING, key)) for _ in range(length))
        self._walk(length)
        return SkippedValue(length)

    def _walk(self, strings: int) -> None:
        """Over that many strings, without keeping them."""
        width = 8 if self.wide else 4
        size = struct.Struct(self.order + ("Q" if self.wide else "I"))
        unpack = size.unpack_from
        buffer, at = self.buffer, self.at
        last = len(buffer) - width
        for _ in range(strings):
            if at > last:
                self.at = at
                self._refill(width)
                buffer, at = self.buffer, self.at
                last = len(buffer) - width
            at += width + unpack(buffer, at)[0]
            if at > len(buffer):
                self.at = len(buffer)
                self._skip(at - len(buffer))
                buffer, at = self.buffer, self.at
                last = len(buffer) - width
        self.at = at

    def _entry(self) -> tuple[GgufTensor, int]:
        name = self._text(MOST_NAME, "a tensor's name")
        dimensions = self._u32()
        if not 0 <= dimensions <= 4:
            raise self._fault(f"the tensor '{name[:60]}' has {dimensions} dimensions")
        shape = tuple(self._count() for _ in range(dimensions))
        kind, offset = self._u32(), self._offset()
        if kind not in TYPES:
            raise UnsupportedError(
                f"{self.path}: the tensor '{name[:60]}' is of type {kind}, which is not known"
            )
        title, weights, width = TYPES[kind]
        elements = prod(shape)
        if not 0 < elements < 1 << 48:
            raise self._fault(f"the tensor '{name[:60]}' has the dimensions {list(shape)}")
        if (shape[0] if shape else 1) % weights:
            raise self._fault(
                f"the tensor '{name[:60]}' has rows of {shape[0] if shape else 1}, "
                f"which blocks of {weights} ({title}) do not fill"
            )
        return GgufTensor(name, shape, title, elements // weights * width), offset

    def _offset(self) -> int:
        return int.from_bytes(self._take(8), "little" if self.order == "<" else "big")

    def _check(self, entries: list[tuple[GgufTensor, int]], metadata: Mapping[str, Value]) -> None:
        """That the tensors lie within the file and not on each other."""
        align = metadata.get("general.alignment", 32)
        if type(align) is not int or not 1 <= align <= 1 << 20 or align & (align - 1):
            raise self._fault(f"general.alignment is {align!r}")
        start = -(-self._position // align) * align
        seen: set[str] = set()
        for tensor, offset in entries:
            if tensor.name in seen:
                raise self._fault(f"the tensor '{tensor.name[:60]}' is there twice")
            seen.add(tensor.name)
            if offset % align:
                raise self._fault(f"the tensor '{tensor.name[:60]}' is not aligned to {align}")
            if start + offset + tensor.size > self.size:
                raise self._fault(
                    f"truncated: the tensor '{tensor.name[:60]}' ends at byte "
                    f"{start + offset + tensor.size}, the file at {self.size}"
                )
        end, before = 0, ""
        for tensor, offset in sorted(entries, key=lambda e: e[1]):
            if offset < end:
                raise self._fault(f"the tensors '{before[:60]}' and '{tensor.name[:60]}' overlap")
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
