"""A GGUF file of a real architecture with random weights: it runs as fast as the real model.

Speed does not depend on the values of the weights, as long as they are ordinary numbers. One block
of random, finite values is made per format and repeated; token ids are fed, so no vocabulary is
needed. Every matrix is written in the format asked for, norms and biases in fp32, as llama.cpp
keeps them.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..errors import InputError, MissingExtra, UnsupportedError

TILE = 1 << 20
"""Elements of the random tile that is repeated."""

FORMATS = ("fp32", "fp16", "bf16", "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "q4_k", "q5_k", "q6_k")

ARCHITECTURES = {
    "llama": "llama",
    "mistral": "llama",
    "qwen2": "qwen2",
    "qwen3": "qwen3",
    "mixtral": "llama",
    "qwen3_moe": "qwen3moe",
    "gemma3_text": "gemma3",
    "gemma3": "gemma3",
}
"""`model_type` of a config and the architecture that llama.cpp calls it."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The numbers of a config that a GGUF file needs."""

    architecture: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head: int
    ffn: int
    vocab: int
    tied: bool
    experts: int = 0
    active: int = 0
    expert_ffn: int = 0
    biases: bool = False
    qk_norm: bool = False
    context: int = 131072
    eps: float = 1e-5
    theta: float = 1e4
    window: int = 0


def shape(config: dict[str, Any], where: str) -> Shape:
    """The shape of a Hugging Face config.

    Raises:
        UnsupportedError: an architecture that cannot be written here; named.
        InputError: a number is missing.
    """
    inner = config.get("text_config")
    part: dict[str, Any] = {**config, **inner} if isinstance(inner, dict) else config
    kind = str(part.get("model_type"))
    if kind not in ARCHITECTURES:
        known = ", ".join(ARCHITECTURES)
        raise UnsupportedError(
            f"{where}: no random GGUF of '{kind}' can be written (known: {known}); "
            "give a GGUF file with --gguf"
        )
    try:
        heads, hidden = int(part["num_attention_heads"]), int(part["hidden_size"])
        experts = int(part.get("num_local_experts") or part.get("num_experts") or 0)
        tied = part.get("tie_word_embeddings")
        return Shape(
            architecture=ARCHITECTURES[kind],
            layers=int(part["num_hidden_layers"]),
            hidden=hidden,
            heads=heads,
            kv_heads=int(part.get("num_key_value_heads") or heads),
            head=int(part.get("head_dim") or hidden // heads),
            ffn=int(part["intermediate_size"]),
            vocab=int(part["vocab_size"]),
            tied=bool(tied) if tied is not None else kind.startswith("gemma"),
            experts=experts,
            active=int(part.get("num_experts_per_tok") or 0),
            expert_ffn=int(part.get("moe_intermediate_size") or part["intermediate_size"]),
            biases=kind == "qwen2",
            qk_norm=kind in ("qwen3", "qwen3_moe", "gemma3_text", "gemma3"),
            eps=float(part.get("rms_norm_eps") or 1e-5),
            theta=float(part.get("rope_theta") or 1e4),
            window=int(part.get("sliding_window") or 0) if kind.startswith("gemma3") else 0,
        )
    except KeyError as error:
        raise InputError(f"{where}: its config has no {error.args[0]}") from None


def matrices(s: Shape) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Matrices by name, shapes as NumPy has them (outputs, inputs)."""
    yield "token_embd.weight", (s.vocab, s.hidden)
    if not s.tied:
        yield "output.weight", (s.vocab, s.hidden)
    for i in range(s.layers):
        block = f"blk.{i}"
        yield f"{block}.attn_q.weight", (s.heads * s.head, s.hidden)
        yield f"{block}.attn_k.weight", (s.kv_heads * s.head, s.hidden)
        yield f"{block}.attn_v.weight", (s.kv_heads * s.head, s.hidden)
        yield f"{block}.attn_output.weight", (s.hidden, s.heads * s.head)
        if s.experts:
            yield f"{block}.ffn_gate_exps.weight", (s.experts, s.expert_ffn, s.hidden)
            yield f"{block}.ffn_up_exps.weight", (s.experts, s.expert_ffn, s.hidden)
            yield f"{block}.ffn_down_exps.weight", (s.experts, s.hidden, s.expert_ffn)
        else:
            yield f"{block}.ffn_gate.weight", (s.ffn, s.hidden)
            yield f"{block}.ffn_up.weight", (s.ffn, s.hidden)
            yield f"{block}.ffn_down.weight", (s.hidden, s.ffn)


def vectors(s: Shape) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Norms, biases and routers: kept in fp32."""
    yield "output_norm.weight", (s.hidden,)
    for i in range(s.layers):
        block = f"blk.{i}"
        yield f"{block}.attn_norm.weight", (s.hidden,)
        yield f"{block}.ffn_norm.weight", (s.hidden,)
        if s.architecture == "gemma3":
            yield f"{block}.post_attention_norm.weight", (s.hidden,)
            yield f"{block}.post_ffw_norm.weight", (s.hidden,)
        if s.qk_norm:
            yield f"{block}.attn_q_norm.weight", (s.head,)
            yield f"{block}.attn_k_norm.weight", (s.head,)
        if s.biases:
            yield f"{block}.attn_q.bias", (s.heads * s.head,)
            yield f"{block}.attn_k.bias", (s.kv_heads * s.head,)
            yield f"{block}.attn_v.bias", (s.kv_heads * s.head,)
        if s.experts:
            yield f"{block}.ffn_gate_inp.weight", (s.experts, s.hidden)


def write(
    path: str,
    config: dict[str, Any],
    weights: str,
    where: str = "config",
    *,
    vocabulary: bool = False,
) -> None:
    """Write a model of this config, every matrix in the format `weights`.

    With `vocabulary`, tokens that are bytes and numbers come with it, so that a server can read
    and write text; an engine that is fed with token ids needs none.

    Raises:
        MissingExtra: the `gguf` package is not installed.
        UnsupportedError: the architecture or format cannot be written.
        InputError: the file cannot be.
    """
    try:
        import gguf
    except ImportError:
        raise MissingExtra("gguf", "llamacpp", "writing a GGUF file") from None
    s = shape(config, where)
    kind = _kind(gguf, weights)
    block, _ = gguf.GGML_QUANT_SIZES[kind]
    for name, dims in matrices(s):
        if dims[-1] % block:
            raise UnsupportedError(
                f"{where}: {name} has rows of {dims[-1]}, which {weights} cannot hold "
                f"(blocks of {block}); choose another format"
            )
    folder, name = os.path.split(os.path.abspath(path))
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{name[:40]}-", suffix=".part", dir=folder)
        os.close(handle)
        _write(gguf, temporary, s, kind, vocabulary)
        os.replace(temporary, path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from None
    finally:
        if temporary and os.path.exists(temporary):
            os.remove(temporary)


def _kind(gguf: Any, weights: str) -> Any:
    names = {"fp32": "F32", "fp16": "F16", "bf16": "BF16"}
    if weights not in FORMATS:
        raise UnsupportedError(
            f"no random GGUF in '{weights}' can be written (known: {', '.join(FORMATS)})"
        )
    name = names.get(weights) or weights.upper()
    return gguf.GGMLQuantizationType[name]


def _write(gguf: Any, path: str, s: Shape, kind: Any, vocabulary: bool) -> None:
    import numpy as np

    writer = gguf.GGUFWriter(path, s.architecture)
    writer.add_name("random")
    writer.add_block_count(s.layers)
    writer.add_context_length(s.context)
    writer.add_embedding_length(s.hidden)
    writer.add_feed_forward_length(s.ffn)
    writer.add_head_count(s.heads)
    writer.add_head_count_kv(s.kv_heads)
    writer.add_key_length(s.head)
    writer.add_value_length(s.head)
    writer.add_rope_dimension_count(s.head)
    writer.add_rope_freq_base(s.theta)
    writer.add_layer_norm_rms_eps(s.eps)
    writer.add_vocab_size(s.vocab)
    if vocabulary:
        _vocabulary(writer, s.vocab)
    else:
        writer.add_tokenizer_model("no_vocab")
    if s.experts:
        writer.add_expert_count(s.experts)
        writer.add_expert_used_count(s.active)
        writer.add_expert_feed_forward_length(s.expert_ffn)
    if s.window:
        writer.add_sliding_window(s.window)
    names = {"F32": 0, "F16": 1}
    writer.add_file_type(names.get(kind.name, 7))
    rows = dict(vectors(s))
    whole = dict(matrices(s))
    block, size = gguf.GGML_QUANT_SIZES[kind]
    for name, dims in rows.items():
        count = int(np.prod(dims))
        writer.add_tensor_info(name, dims, np.dtype(np.float32), count * 4)
    for name, dims in whole.items():
        nbytes = int(np.prod(dims)) // block * size
        stored = (*dims[:-1], dims[-1] // block * size)
        writer.add_tensor_info(name, stored, np.dtype(np.uint8), nbytes, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    tile = blocks(gguf, kind)
    for dims in rows.values():
        writer.write_tensor_data(np.ones(dims, dtype=np.float32))
    for dims in whole.values():
        nbytes = int(np.prod(dims)) // block * size
        repeats = -(-nbytes // tile.nbytes)
        writer.write_tensor_data(np.tile(tile, repeats)[:nbytes])
    writer.close()


def _vocabulary(writer: Any, size: int) -> None:
    """Unknown, begin, end, the 256 bytes, and numbers up to `size` tokens."""
    special, bytes_ = ["<unk>", "<s>", "</s>"], [f"<0x{value:02X}>" for value in range(256)]
    words = [f"\u2581{number}" for number in range(max(0, size - 259))]
    writer.add_tokenizer_model("llama")
    writer.add_token_list([*special, *bytes_, *words][:size])
    writer.add_token_scores([-float(index) for index in range(size)])
    writer.add_token_types(([2, 3, 3] + [6] * 256 + [1] * len(words))[:size])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)


def blocks(gguf: Any, kind: Any) -> Any:
    """`TILE` random weights in a format, as bytes; all of them small and finite."""
    import numpy as np

    rng = np.random.default_rng(0)
    block, size = gguf.GGML_QUANT_SIZES[kind]
    if kind.name in ("F32", "F16", "BF16"):
        values = (rng.standard_normal(TILE) * 0.02).astype(np.float32)
        if kind.name == "BF16":
            return (values.view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)
        return values.astype(np.float32 if kind.name == "F32" else np.float16).view(np.uint8)
    count = TILE // block
    data = rng.integers(0, 256, (count, size), dtype=np.uint8)
    size_of_one = 2e-5 if kind.name.endswith("_K") else 0.002  # K blocks scale twice
    scale = np.frombuffer(np.array([size_of_one], np.float16).tobytes(), np.uint8)
    for offset in _SCALES[kind.name]:
        data[:, offset : offset + 2] = scale
    return data.reshape(-1)


# Byte offsets of the fp16 scales within one block, ggml-common.h of llama.cpp.
_SCALES = {
    **{"Q8_0": (0,), "Q4_0": (0,), "Q4_1": (0, 2), "Q5_0": (0,), "Q5_1": (0, 2)},
    **{"Q4_K": (0, 2), "Q5_K": (0, 2), "Q6_K": (208,)},
}
