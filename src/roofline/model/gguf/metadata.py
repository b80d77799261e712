"""What a GGUF file says of its architecture: the keys, checked as they are read, and the tensors.

llama.cpp's keys are the same for all architectures, after the architecture's name
(``llama.block_count``, ``qwen3moe.expert_count``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...errors import InputError
from ...files.gguf import Gguf, GgufTensor, SkippedValue
from ..config import LIMITS, short


class Metadata:
    """An architecture's keys, checked as they are read, and the names of the tensors."""

    def __init__(self, file: Gguf) -> None:
        self.where = file.paths[0]
        self.pairs = file.metadata
        self.tensors: Mapping[str, GgufTensor] = {t.name: t for t in file.tensors}
        name = self.pairs.get("general.architecture")
        if not isinstance(name, str) or not name:
            raise InputError(f"{self.where}: general.architecture is missing")
        self.architecture = name
        self.depth = self.integer("block_count") - self.integer("nextn_predict_layers", 0)
        if not 1 <= self.depth <= LIMITS["layers"]:
            raise InputError(f"{self.where}: {name}.block_count leaves {self.depth} layers")

    def has(self, key: str) -> bool:
        """Whether the architecture's key is there."""
        return f"{self.architecture}.{key}" in self.pairs

    def get(self, key: str) -> Any:
        """The value of an architecture's key, ``None`` where absent or too long to keep."""
        value = self.pairs.get(f"{self.architecture}.{key}")
        return None if isinstance(value, SkippedValue) else value

    def integer(self, key: str, default: int | None = None) -> int:
        """A whole number; of a list, the number that all layers share."""
        value = self.get(key)
        if isinstance(value, tuple) and value and len(set(value)) == 1:
            value = value[0]
        if value is None and default is not None:
            return default
        if type(value) is not int or not 0 <= value < 1 << 40:
            raise InputError(
                f"{self.where}: {self.architecture}.{key} must be a whole number, "
                f"not {short(value)}"
            )
        return value

    def each(self, key: str, default: int | None = None) -> list[int]:
        """A whole number for each layer."""
        value = self.get(key)
        if isinstance(value, tuple):
            if len(value) < self.depth or not all(type(v) is int for v in value):
                raise InputError(
                    f"{self.where}: {self.architecture}.{key} has {len(value)} values "
                    f"for {self.depth} layers"
                )
            return [int(v) for v in value[: self.depth]]
        return [self.integer(key, default)] * self.depth

    def most(self, key: str) -> int:
        """The largest of a number for each layer."""
        return max(self.each(key))

    def share(self, key: str, parts: int, *, exact: bool = True) -> int:
        """A number divided evenly."""
        whole = self.integer(key)
        if parts < 1 or (exact and whole % parts):
            raise InputError(
                f"{self.where}: {self.architecture}.{key} is {whole}, not {parts} equal parts"
            )
        return max(whole // parts, 1)

    def windows(self) -> list[str] | None:
        """Which layers slide: as the file lists it, or every n-th not; ``None`` if it is silent."""
        value = self.get("attention.sliding_window_pattern")
        names = ("full_attention", "sliding_attention")
        if isinstance(value, tuple) and len(value) >= self.depth:
            return [names[bool(v)] for v in value[: self.depth]]
        if type(value) is int and value > 0:
            return [names[(i + 1) % value != 0] for i in range(self.depth)]
        return None

    def mixers(self, tensor: str, label: str) -> list[str]:
        """Layers that have a tensor are of that kind, the others attend."""
        return [label if self.holds(tensor, i) else "full_attention" for i in range(self.depth)]

    def holds(self, name: str, layer: int | None = None) -> bool:
        """Whether there is a tensor of that name in a layer, or in any."""
        if layer is not None:
            return f"blk.{layer}.{name}" in self.tensors
        return any(f"blk.{i}.{name}" in self.tensors for i in range(self.depth))

    def width(self, stem: str, side: int = 1) -> int | None:
        """Outputs (1) or inputs (0) of a matrix, from the first layer that has it."""
        for i in range(self.depth):
            result = self.tensors.get(f"blk.{i}.{stem}.weight")
            if result is not None and len(result.shape) > side:
                return result.shape[side]
        return None

    def head_width(self, heads: int) -> int | None:
        """The width of a head: given, or the residual stream's share."""
        given = self.integer("attention.key_length", 0)
        if given or not heads:
            return given or None
        return self.integer("embedding_length") // heads


Extra = Callable[[Metadata], dict[str, Any]]
"""What makes some keys of an architecture's config."""
