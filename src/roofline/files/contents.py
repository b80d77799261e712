"""What a checkpoint file or folder holds: its tensors by type, counted and weighed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from ..errors import InputError, NotFound
from . import gguf, safetensors
from .regular import listed, opened, size_of


@dataclass(frozen=True, slots=True)
class Kind:
    """The tensors of one type.

    Attributes:
        type: ``q4_k``, ``BF16``.
        tensors, elements, bytes: how many of them, numbers in them, bytes they take.
    """

    type: str
    tensors: int
    elements: int
    bytes: int

    @property
    def bits(self) -> float:
        """Bits an element, scales within the type included."""
        return 8 * self.bytes / self.elements if self.elements else 0.0


@dataclass(frozen=True, slots=True)
class Contents:
    """A checkpoint's tensors.

    Attributes:
        path: as asked for.
        format: ``gguf`` or ``safetensors``.
        files: paths of its files.
        kinds: its tensors by type, the type with the most bytes first.
        metadata: of a GGUF file, the values short enough to keep.
    """

    path: str
    format: str
    files: tuple[str, ...]
    kinds: tuple[Kind, ...]
    metadata: Mapping[str, gguf.Value]

    @property
    def tensors(self) -> int:
        """Tensors in all."""
        return sum(k.tensors for k in self.kinds)

    @property
    def elements(self) -> int:
        """Numbers in all tensors; packed weights count as the integers that hold them."""
        return sum(k.elements for k in self.kinds)

    @property
    def bytes(self) -> int:
        """Bytes of all tensors."""
        return sum(k.bytes for k in self.kinds)


class _Tensor(Protocol):
    @property
    def size(self) -> int: ...
    @property
    def elements(self) -> int: ...


def inspect(path: str) -> Contents:
    """What the checkpoint at ``path`` holds, from headers alone.

    Args:
        path: a GGUF file, a safetensors file, or a folder of them.

    Raises:
        NotFound: nothing there, or a folder without tensors.
        InputError: a file of another kind, or one that cannot be.
    """
    if os.path.isdir(path):
        return _folder(path)
    size_of(path)
    with opened(path) as (file, _):
        start = file.read(4)
    if path.endswith(".safetensors"):
        tensors = safetensors.read(path)
        return _counted(path, "safetensors", (path,), [(t.dtype, t) for t in tensors])
    if start == b"GGUF" or path.endswith(".gguf"):
        return _gguf(path, path)
    raise InputError(f"{path}: neither a GGUF nor a safetensors file")


def _folder(path: str) -> Contents:
    found = safetensors.read_folder(path)
    if found is not None and found.tensors:
        files = tuple(os.path.join(path, f) for f in found.files)
        return _counted(path, "safetensors", files, [(t.dtype, t) for t in found.tensors])
    names = [n for n in listed(path) if n.endswith(".gguf")]
    if not names:
        raise NotFound(f"{path}: no safetensors and no GGUF files in it")
    return _gguf(path, os.path.join(path, names[0]))


def _gguf(path: str, file: str) -> Contents:
    found = gguf.read(file)
    kept = {k: v for k, v in found.metadata.items() if not isinstance(v, gguf.SkippedValue)}
    return _counted(path, "gguf", found.paths, [(t.type, t) for t in found.tensors], kept)


def _counted(
    path: str,
    name: str,
    files: tuple[str, ...],
    tensors: Iterable[tuple[str, _Tensor]],
    metadata: Mapping[str, gguf.Value] | None = None,
) -> Contents:
    totals: dict[str, list[int]] = {}
    for kind, tensor in tensors:
        row = totals.setdefault(kind, [0, 0, 0])
        row[0] += 1
        row[1] += tensor.elements
        row[2] += tensor.size
    kinds = [Kind(kind, *row) for kind, row in totals.items()]
    kinds.sort(key=lambda k: (-k.bytes, k.type))
    return Contents(path, name, files, tuple(kinds), metadata or {})
