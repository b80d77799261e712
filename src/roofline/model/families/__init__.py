"""From a config to a model: one reader per family of architectures.

A reader is a function from a :class:`~roofline.model.config.Config` to a
:class:`~roofline.model.model.Model`. To add an architecture, add its row to the table of
the family it belongs to, or a new file here with a ``READERS`` table.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from ...errors import UnsupportedError
from ..config import Config
from ..model import Model

Reader = Callable[[Config], Model]

# Which file reads which model_type; files are imported when one of theirs is read.
FILES: dict[str, tuple[str, ...]] = {
    "dense": (
        "llama", "mistral", "mistral3_text", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text",
        "phi", "phi3", "olmo", "olmo2", "falcon", "gpt_neox", "gpt2", "opt", "starcoder2",
        "cohere", "cohere2", "gptj", "bloom", "granite", "stablelm", "smollm3", "ministral",
    ),
    "experts": ("mixtral", "qwen2_moe", "qwen3_moe", "gpt_oss"),
    "latent": ("deepseek_v2", "deepseek_v3", "kimi_k2"),
    "vision": ("gemma3", "kimi_k25", "mistral3", "qwen3_vl"),
}  # fmt: skip

_HOME = {kind: file for file, kinds in FILES.items() for kind in kinds}


def architectures() -> tuple[str, ...]:
    """Every ``model_type`` that can be read, sorted."""
    return tuple(sorted(_HOME))


def read(config: Config) -> Model:
    """The model of a config.

    Raises:
        InputError: a value is missing or impossible.
        UnsupportedError: an architecture, or a part of one, that is not counted.
    """
    kind = config.word("model_type")
    reader = find(kind)
    if reader is None:
        import difflib

        near = difflib.get_close_matches(kind, _HOME, 3)
        hint = f" (the nearest known: {', '.join(near)})" if near else ""
        raise UnsupportedError(
            f"{config.where}: the architecture '{kind[:60]}' is not counted yet{hint}; "
            "'roofline models --architectures' lists those that are"
        )
    return reader(config)


def find(kind: str) -> Reader | None:
    """The reader of a ``model_type``, or ``None``."""
    file = _HOME.get(kind)
    if file is None:
        return None
    readers: dict[str, Reader] = import_module(f".{file}", __name__).READERS
    return readers[kind]
