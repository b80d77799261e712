"""Latent attention with experts: DeepSeek-V2, DeepSeek-V3 and R1, Kimi-K2."""

from __future__ import annotations

from ..config import Config
from ..ffn import Experts, Mlp
from ..latent import LatentAttention
from ..model import Model, gather
from ..parts import Part
from .common import frame
from .experts import active


def mixer(c: Config) -> LatentAttention:
    """The latent attention of a config."""
    return LatentAttention(
        hidden=c.integer("hidden_size"),
        heads=c.integer("num_attention_heads"),
        query_rank=c.optional("q_lora_rank"),
        latent=c.integer("kv_lora_rank"),
        rope=c.integer("qk_rope_head_dim"),
        nope=c.integer("qk_nope_head_dim"),
        value=c.integer("v_head_dim"),
        bias=c.flag("attention_bias"),
    )


def experts(c: Config) -> Experts:
    """Routed and shared experts of a config."""
    hidden = c.integer("hidden_size")
    routed = c.experts("n_routed_experts")
    width = c.integer("moe_intermediate_size")
    shared = c.experts("n_shared_experts", default=0, least=0)
    return Experts(
        hidden,
        routed,
        active(c, routed, "num_experts_per_tok"),
        width,
        shared=Mlp(hidden, shared * width, prefix="mlp.shared_experts", title="experts.shared")
        if shared
        else None,
    )


def read(c: Config) -> Model:
    """Leading dense layers, then experts; multi-token-prediction layers are set aside."""
    hidden, depth = c.integer("hidden_size"), c.layers()
    attention = mixer(c)
    mlp = Mlp(hidden, c.integer("intermediate_size"))
    first = depth
    ffn: Experts | None = None
    if c.has("n_routed_experts"):
        ffn = experts(c)
        first = c.integer("first_k_dense_replace", default=0, least=0)
        if c.integer("moe_layer_freq", default=1) != 1:
            raise c.refuse("moe_layer_freq other than 1")

    def make(i: int) -> tuple[tuple[Part, ...], int]:
        return (attention, mlp if ffn is None or i < first else ffn), 2 * hidden

    extra = c.integer("num_nextn_predict_layers", default=0, least=0)
    note = f"{extra} multi-token-prediction layer(s) set aside" if extra else ""
    return frame(
        c,
        hidden=hidden,
        layers=gather(depth, make),
        tied=c.flag("tie_word_embeddings"),
        vectors=hidden,
        notes=(note,) if note else (),
    )


READERS = {"deepseek_v2": read, "deepseek_v3": read, "kimi_k2": read}
