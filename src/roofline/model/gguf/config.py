"""From a GGUF file's metadata to the config that its model had before it was converted.

Each architecture of :mod:`~roofline.model.gguf.architectures` says which ``model_type`` it was,
and which of its config's keys are more than the common ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...catalogue import nearest
from ...errors import InputError, UnsupportedError
from ..config import short
from .architectures import ARCHITECTURES
from .metadata import Metadata

# The config's key for each of llama.cpp's, whatever the architecture.
_COMMON = {
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim",
    "context_length": "max_position_embeddings",
    "attention.sliding_window": "sliding_window",
}


def read(m: Metadata, as_type: str | None = None) -> dict[str, Any]:
    """The config.

    Args:
        as_type: the architecture to read it as, by llama.cpp's name.

    Raises:
        InputError: metadata that are missing or cannot be.
        UnsupportedError: an architecture that is not counted, named.
    """
    if as_type is not None and as_type not in ARCHITECTURES:
        raise InputError(
            f"--as {short(as_type)}: no GGUF architecture that is counted"
            f"{_near(as_type, ARCHITECTURES)}"
        )
    result = ARCHITECTURES.get(as_type or m.architecture)
    if result is None:
        raise UnsupportedError(
            f"{m.where}: the GGUF architecture '{m.architecture[:40]}' is not counted"
            f"{_near(m.architecture, ARCHITECTURES)}; if it is a known one under another name, "
            "'--as TYPE' counts it so"
        )
    config = common(m)
    for extra in result:
        config.update(extra(m))
    return {k: v for k, v in config.items() if v is not None}


def _near(name: str, known: Iterable[str]) -> str:
    result = nearest(name, known)
    return f" (the nearest known: {', '.join(result)})" if result else ""


def common(m: Metadata) -> dict[str, Any]:
    """What every decoder's config has."""
    table = m.tensors.get("token_embd.weight")
    if table is None or len(table.shape) != 2:
        raise InputError(f"{m.where}: no tensor token_embd.weight")
    config: dict[str, Any] = {
        "torch_dtype": "bfloat16",
        "num_hidden_layers": m.depth,
        "vocab_size": table.shape[1],
        "tie_word_embeddings": "output.weight" not in m.tensors,
        "attention_bias": m.holds("attn_q.bias") or m.holds("attn_qkv.bias"),
        "attention_out_bias": m.holds("attn_output.bias"),
        "use_bias": m.holds("ffn_up.bias"),
        "mlp_bias": m.holds("ffn_up.bias"),
    }
    for key, name in _COMMON.items():
        value = m.get(key)
        if isinstance(value, tuple) and value and all(type(v) is int for v in value):
            value = max(value)
        if isinstance(value, int) and not isinstance(value, bool):
            config[name] = value
    heads = config.get("num_attention_heads")
    if "head_dim" not in config and heads:
        config["head_dim"] = m.head_width(heads)
    return config
