"""Safetensors: names, types and sizes of a checkpoint's tensors, without reading them.

Layout (huggingface/safetensors): eight bytes with the length N of a JSON header, the header
(for each tensor its dtype, shape and place), then the tensors without gaps. A large
checkpoint is several such files and ``model.safetensors.index.json``, which says in which
file each tensor is.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from ..errors import InputError, NotFound, UnsupportedError
from ..limits import SAFETENSORS_FILES, SAFETENSORS_HEADER_BYTES, SAFETENSORS_TENSORS
from .description import parse_json, read_json, short
from .regular import listed, opened

INDEX = "model.safetensors.index.json"

# Bits of an element.
DTYPES = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8, "U16": 16, "I16": 16, "F16": 16, "BF16": 16, "U32": 32, "I32": 32,
    "F32": 32, "U64": 64, "I64": 64, "F64": 64, "C64": 64, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor's entry.

    Attributes:
        name: ``model.layers.3.mlp.up_proj.weight``.
        dtype: ``BF16``.
        shape: its dimensions, the slowest first: ``(outputs, inputs)``.
        size: bytes.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    size: int

    @property
    def elements(self) -> int:
        """Numbers in it."""
        return prod(self.shape)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The tensors of a folder, or what its index says of them.

    Attributes:
        files: names of the files read, in order.
        tensors: their entries; empty where only the index is here.
        total: bytes of all tensors by the index, or ``None``.
        missing: files that the index names and that are not here.
    """

    files: tuple[str, ...]
    tensors: tuple[Tensor, ...]
    total: int | None = None
    missing: tuple[str, ...] = ()


def read(path: str) -> tuple[Tensor, ...]:
    """The entries of one file.

    Raises:
        InputError: not safetensors, truncated, or what it says of itself cannot be.
        UnsupportedError: a type of element that is not known.
    """
    with opened(path) as (file, size):
        start = file.read(8)
        if len(start) < 8:
            raise InputError(f"{path}: {size} bytes are too few for a safetensors file")
        length = int.from_bytes(start, "little")
        if length > SAFETENSORS_HEADER_BYTES:
            kind = _other(start)
            raise InputError(f"{path}: {kind or f'a header of {length} bytes'}: not safetensors")
        if 8 + length > size:
            raise InputError(
                f"{path}: truncated: its header ends at byte {8 + length}, the file at {size}"
            )
        text = file.read(length)
    if len(text) != length:
        raise InputError(f"{path}: truncated while it was read")
    if not text.startswith(b"{"):
        raise InputError(f"{path}: its header is not JSON: not safetensors")
    header = parse_json(text, path)
    header.pop("__metadata__", None)
    if len(header) > SAFETENSORS_TENSORS:
        raise InputError(f"{path}: {len(header)} tensors")
    result = [_entry(name, value, path) for name, value in header.items()]
    _check([place for _, place in result], size - 8 - length, path)
    return tuple(tensor for tensor, _ in result)


def _entry(name: str, value: Any, path: str) -> tuple[Tensor, tuple[int, int, str]]:
    if not isinstance(value, dict):
        raise InputError(f"{path}: the entry of '{name[:60]}' is not an object")
    dtype, shape, place = value.get("dtype"), value.get("shape"), value.get("data_offsets")
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise UnsupportedError(f"{path}: '{name[:60]}' is of the type {short(dtype)}: not known")
    if not isinstance(shape, list) or len(shape) > 16 or not all(_natural(n) for n in shape):
        raise InputError(f"{path}: '{name[:60]}' has the shape {short(shape)}")
    if not isinstance(place, list) or len(place) != 2 or not all(_natural(n) for n in place):
        raise InputError(f"{path}: '{name[:60]}' has the offsets {short(place)}")
    bits = prod(shape) * DTYPES[dtype]
    if bits % 8 or place[1] - place[0] != bits // 8:
        raise InputError(
            f"{path}: '{name[:60]}' takes {place[1] - place[0]} bytes, but {short(shape)} of "
            f"{dtype} are {bits / 8:g}"
        )
    return Tensor(name, dtype, tuple(shape), bits // 8), (place[0], place[1], name)


def _natural(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 48


def _check(places: list[tuple[int, int, str]], size: int, path: str) -> None:
    """That the tensors fill the file, without gaps and not on each other."""
    end = 0
    for first, last, name in sorted(places):
        if first != end:
            fault = "overlaps another" if first < end else "leaves a gap before it"
            raise InputError(f"{path}: the tensor '{name[:60]}' {fault}")
        end = last
    if end > size:
        raise InputError(f"{path}: truncated: its tensors take {end} bytes, and {size} are there")
    if end < size:
        raise InputError(f"{path}: {size - end} bytes after its last tensor")


def _other(start: bytes) -> str:
    if start.startswith((b"PK\x03\x04", b"\x80\x02")):
        return "a PyTorch checkpoint"
    if start.startswith(b"GGUF"):
        return "a GGUF file"
    if start.startswith((b"version ", b"<!doc", b"<!DOC", b"<html")):
        return "a pointer or a web page, which the download left in its place"
    return ""


def read_folder(folder: str) -> Checkpoint | None:
    """The checkpoint of a folder, or ``None`` where it has neither tensors nor an index.

    Raises:
        InputError: an index or a file that cannot be.
        NotFound: some of the files that the index names are missing, others not.
    """
    index = os.path.join(folder, INDEX)
    if os.path.lexists(index):
        return _indexed(folder, index)
    names = [n for n in listed(folder) if n.endswith(".safetensors")]
    names = [n for n in names if n.startswith("model")] or names
    if not names:
        return None
    return Checkpoint(tuple(names), _all(folder, names))


def _all(folder: str, names: list[str]) -> tuple[Tensor, ...]:
    result: dict[str, Tensor] = {}
    for name in names:
        for tensor in read(os.path.join(folder, name)):
            if tensor.name in result:
                raise InputError(f"{folder}: the tensor '{tensor.name[:60]}' is in two files")
            result[tensor.name] = tensor
        if len(result) > SAFETENSORS_TENSORS:
            raise InputError(f"{folder}: more than {SAFETENSORS_TENSORS} tensors")
    return tuple(result.values())


def _indexed(folder: str, path: str) -> Checkpoint:
    files, total = index(read_json(path), path)
    missing = [n for n in files if not os.path.exists(os.path.join(folder, n))]
    if missing and len(missing) < len(files):
        raise NotFound(
            f"{folder}: {len(missing)} of the {len(files)} files of its index are missing, "
            f"the first {missing[0]}"
        )
    if missing:
        return Checkpoint((), (), total, tuple(missing))
    return Checkpoint(tuple(files), _all(folder, files), total)


def index(data: Any, where: str) -> tuple[list[str], int | None]:
    """The files that a parsed index names, and the bytes of all tensors that it gives.

    Raises:
        InputError: it is not an index, or names files outside its folder.
    """
    if not isinstance(data, dict) or not isinstance(data.get("weight_map"), dict):
        raise InputError(f"{where}: an index has an object weight_map")
    files = sorted({_plain(name, where) for name in data["weight_map"].values()})
    if len(files) > SAFETENSORS_FILES:
        raise InputError(f"{where}: names {len(files)} files")
    about = data.get("metadata")
    total: Any = about.get("total_size") if isinstance(about, Mapping) else None
    if isinstance(total, float) and total.is_integer():
        total = int(total)
    return files, total if _natural(total) else None


def _plain(name: Any, where: str) -> str:
    if (
        not isinstance(name, str)
        or not name.endswith(".safetensors")
        or name != os.path.basename(name)
        or "\\" in name
        or "\0" in name
    ):
        raise InputError(f"{where}: {short(name)} is not the name of a file beside it")
    return name
