"""Mixtures of experts over grouped-query attention: Mixtral, Qwen MoE, gpt-oss."""

from __future__ import annotations

from dataclasses import replace

from ..config import Config
from ..ffn import Experts, Mlp
from ..model import Model, gather
from ..parts import Part
from .common import frame
from .dense import Traits, _after_first, _always, attention, layer_windows


def active(c: Config, experts: int, *names: str) -> int:
    """Experts a token uses: at least 1, at most all."""
    found = c.experts(*names)
    if found > experts:
        raise c.refuse(f"{found} experts a token, of {experts}")
    return found


def mixtral(c: Config) -> Model:
    """Mixtral: every layer's MLP is a mixture."""
    t = Traits(qkv_bias=False, out_bias=False, window="sliding_window", sliding=_always)
    hidden, depth = c.integer("hidden_size"), c.layers()
    experts = c.experts("num_local_experts", default=8)
    ffn = Experts(
        hidden,
        experts,
        active(c, experts, "num_experts_per_tok"),
        c.integer("intermediate_size"),
        router="block_sparse_moe.gate",
        prefix="block_sparse_moe.experts",
    )
    spans = layer_windows(c, t, depth)
    return frame(
        c,
        hidden=hidden,
        layers=gather(depth, lambda i: ((attention(c, t, spans[i]), ffn), 2 * hidden)),
        tied=c.flag("tie_word_embeddings"),
        vectors=hidden,
    )


def qwen(c: Config) -> Model:
    """Qwen2-MoE (shared expert with a gate) and Qwen3-MoE; sparse every n-th layer."""
    second = c.kind == "qwen2_moe"
    t = Traits(window="sliding_window", sliding=_after_first)
    if second:
        t = replace(t, qkv_bias=c.flag("qkv_bias", default=True), out_bias=False)
    else:
        t = replace(t, qk_norm="head")
    hidden, depth = c.integer("hidden_size"), c.layers()
    experts = c.experts("num_experts", "num_local_experts")
    shared = c.integer("shared_expert_intermediate_size", default=5632) if second else 0
    ffn = Experts(
        hidden,
        experts,
        active(c, experts, "num_experts_per_tok"),
        c.integer("moe_intermediate_size"),
        shared=Mlp(hidden, shared, prefix="mlp.shared_expert", title="experts.shared")
        if shared
        else None,
        shared_gate=bool(shared),
    )
    every = c.integer("decoder_sparse_step", default=1)
    dense_layers = set(c.integers("mlp_only_layers") or [])
    mlp = Mlp(hidden, c.integer("intermediate_size"))
    spans = layer_windows(c, t, depth)

    def make(i: int) -> tuple[tuple[Part, ...], int]:
        sparse = i not in dense_layers and (i + 1) % every == 0
        return (attention(c, t, spans[i]), ffn if sparse else mlp), 2 * hidden

    return frame(
        c,
        hidden=hidden,
        layers=gather(depth, make),
        tied=c.flag("tie_word_embeddings"),
        vectors=hidden,
    )


def gpt_oss(c: Config) -> Model:
    """gpt-oss: biases everywhere, a sink per head, every other layer slides."""
    t = Traits(
        qkv_bias=c.flag("attention_bias", default=True),
        out_bias=c.flag("attention_bias", default=True),
        window="sliding_window",
        default_window=128,
        sliding=lambda _: lambda i: i % 2 == 0,
    )
    hidden, depth = c.integer("hidden_size"), c.layers()
    experts = c.experts("num_local_experts", "num_experts")
    ffn = Experts(
        hidden,
        experts,
        active(c, experts, "num_experts_per_tok", "experts_per_token"),
        c.integer("intermediate_size"),
        bias=True,
        router_bias=experts,
        router="mlp.router",
    )
    spans = layer_windows(c, t, depth)

    def make(i: int) -> tuple[tuple[Part, ...], int]:
        mixer = attention(c, t, spans[i])
        return (replace(mixer, extra_vectors=mixer.heads), ffn), 2 * hidden

    return frame(
        c,
        hidden=hidden,
        layers=gather(depth, make),
        tied=c.flag("tie_word_embeddings"),
        vectors=hidden,
    )


READERS = {"mixtral": mixtral, "qwen2_moe": qwen, "qwen3_moe": qwen, "gpt_oss": gpt_oss}
