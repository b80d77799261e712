"""What the configs of GGUF architectures have besides the common keys, kind by kind.

Widths come from the shapes of the tensors, which cannot be wrong; numbers of heads, experts
used and windows from the metadata. Kinds of layer (experts or not, attention or a state) are
read from which tensors a layer has.
"""

from __future__ import annotations

from typing import Any

from .metadata import Extra, Metadata


def kind(name: str) -> Extra:
    """Says the ``model_type``."""
    return lambda m: {"model_type": name}


def llama(m: Metadata) -> dict[str, Any]:
    """Llama and Mistral; with experts Mixtral; with biases on queries alone Qwen2's shape."""
    if m.holds("ffn_gate_inp.weight"):
        mixtral = experts("num_local_experts", "intermediate_size")(m)
        return {**mixtral, "model_type": "mixtral", "sliding_window": None}
    biased = m.holds("attn_q.bias") and not m.holds("attn_output.bias")
    return {"model_type": "qwen2" if biased else "llama", "use_sliding_window": False}


def experts(
    count: str = "num_experts",
    width: str = "moe_intermediate_size",
    active: str = "num_experts_per_tok",
) -> Extra:
    """Numbers and widths of experts under a family's keys, and which layers have them."""

    def extra(m: Metadata) -> dict[str, Any]:
        return {
            count: m.integer("expert_count"),
            active: m.integer("expert_used_count"),
            width: m.width("ffn_down_exps", 0),
            "mlp_layer_types": [
                "sparse" if m.holds("ffn_gate_inp.weight", i) else "dense" for i in range(m.depth)
            ],
        }

    return extra


def gated(m: Metadata) -> dict[str, Any]:
    """The width of an expert that every token passes through, by itself."""
    return {"shared_expert_intermediate_size": m.width("ffn_up_shexp")}


def shared(*names: str) -> Extra:
    """How many experts every token passes through, under these keys."""

    def extra(m: Metadata) -> dict[str, Any]:
        width, together = m.width("ffn_down_exps", 0), m.width("ffn_up_shexp")
        number = together // width if together and width else 0
        return dict.fromkeys(names, number)

    return extra


def sliding(m: Metadata) -> dict[str, Any]:
    """Which layers slide, where the file says it."""
    return {"layer_types": m.windows()}


def no_window(m: Metadata) -> dict[str, Any]:
    """A window that llama.cpp does not use."""
    return {"sliding_window": None, "use_sliding_window": False}


def latent(m: Metadata) -> dict[str, Any]:
    """Latent attention's widths (DeepSeek-V2, V3, Kimi-K2, GLM-4.7-Flash)."""
    rope = m.integer("rope.dimension_count")
    mla = m.has("attention.key_length_mla")
    key = m.integer("attention.key_length_mla" if mla else "attention.key_length")
    value = m.integer("attention.value_length_mla" if mla else "attention.value_length")
    return {
        "model_type": "deepseek_v3",
        "head_dim": None,
        "num_key_value_heads": None,
        "q_lora_rank": m.integer("attention.q_lora_rank", 0) or None,
        "kv_lora_rank": m.integer("attention.kv_lora_rank"),
        "qk_rope_head_dim": rope,
        "qk_nope_head_dim": key - rope,
        "v_head_dim": value,
    }


def routed(m: Metadata) -> dict[str, Any]:
    """DeepSeek's experts."""
    dense = [i for i in range(m.depth) if not m.holds("ffn_gate_inp.weight", i)]
    return {
        **experts("n_routed_experts")(m),
        **shared("n_shared_experts")(m),
        "first_k_dense_replace": len(dense),
    }


def indexed(m: Metadata) -> dict[str, Any]:
    """DeepSeek's indexer: which layers choose, and how many keys."""
    types = ["full" if m.holds("indexer.attn_k.weight", i) else "shared" for i in range(m.depth)]
    return {
        "index_n_heads": m.integer("attention.indexer.head_count"),
        "index_head_dim": m.integer("attention.indexer.key_length"),
        "index_topk": m.integer("attention.indexer.top_k"),
        "indexer_types": types,
    }


def delta(m: Metadata) -> dict[str, Any]:
    """Gated delta net: heads and widths from llama.cpp's state-space keys."""
    heads = m.integer("ssm.time_step_rank")
    return {
        "layer_types": m.mixers("ssm_a", "linear_attention"),
        "linear_num_key_heads": m.integer("ssm.group_count"),
        "linear_num_value_heads": heads,
        "linear_key_head_dim": m.integer("ssm.state_size"),
        "linear_value_head_dim": m.share("ssm.inner_size", heads),
        "linear_conv_kernel_dim": m.integer("ssm.conv_kernel"),
    }


def mamba2(m: Metadata) -> dict[str, Any]:
    """Mamba-2's widths as Bamba, Granite 4 and Falcon-H1 name them."""
    heads = m.integer("ssm.time_step_rank")
    inner = m.integer("ssm.inner_size")
    return {
        "mamba_n_heads": heads,
        "mamba_d_head": m.share("ssm.inner_size", heads),
        "mamba_d_ssm": inner,
        "mamba_expand": m.share("ssm.inner_size", m.integer("embedding_length"), exact=False),
        "mamba_n_groups": m.integer("ssm.group_count", 1) or 1,
        "mamba_d_state": m.integer("ssm.state_size"),
        "mamba_d_conv": m.integer("ssm.conv_kernel"),
        "mamba_conv_bias": m.holds("ssm_conv1d.bias"),
        "mamba_rms_norm": m.holds("ssm_norm.weight"),
    }


def granite_hybrid(m: Metadata) -> dict[str, Any]:
    """Granite 4: Mamba-2 or attention, a shared MLP, experts or none."""
    result: dict[str, Any] = {
        "model_type": "granitemoehybrid",
        "layer_types": m.mixers("ssm_a", "linear_attention"),
        "num_local_experts": 0,
        "shared_intermediate_size": m.width("ffn_up_shexp") or m.width("ffn_up"),
        **mamba2(m),
    }
    if m.holds("ffn_gate_inp.weight"):
        result |= {
            "num_local_experts": m.integer("expert_count"),
            "num_experts_per_tok": m.integer("expert_used_count"),
            "intermediate_size": m.width("ffn_down_exps", 0),
        }
    return result


def jamba(m: Metadata) -> dict[str, Any]:
    """Jamba: Mamba-1 or attention, experts in some layers."""
    sparse = m.holds("ffn_gate_inp.weight")
    return {
        "model_type": "jamba",
        "layer_types": m.mixers("ssm_a", "linear_attention"),
        "mlp_layer_types": [
            "sparse" if m.holds("ffn_gate_inp.weight", i) else "dense" for i in range(m.depth)
        ],
        "num_experts": m.integer("expert_count") if sparse else 1,
        "num_experts_per_tok": m.integer("expert_used_count") if sparse else None,
        "mamba_expand": m.share("ssm.inner_size", m.integer("embedding_length")),
        "mamba_dt_rank": m.integer("ssm.time_step_rank"),
        "mamba_d_state": m.integer("ssm.state_size"),
        "mamba_d_conv": m.integer("ssm.conv_kernel"),
        "mamba_conv_bias": m.holds("ssm_conv1d.bias"),
    }


def lfm(name: str) -> Extra:
    """LFM2: short convolutions or attention."""

    def extra(m: Metadata) -> dict[str, Any]:
        return {
            "model_type": name,
            "layer_types": m.mixers("shortconv.conv.weight", "conv"),
            "conv_L_cache": m.integer("shortconv.l_cache"),
            "block_auto_adjust_ff_dim": False,
            "tie_word_embeddings": "output.weight" not in m.tensors,
        }

    return extra


def falcon(m: Metadata) -> dict[str, Any]:
    """Falcon: the new kind has two norms in parallel."""
    kv_heads = m.integer("attention.head_count_kv")
    new = m.holds("attn_norm_2.weight") or kv_heads not in (1, m.integer("attention.head_count"))
    return {
        "model_type": "falcon",
        "new_decoder_architecture": new,
        "num_kv_heads": kv_heads,
        "multi_query": kv_heads == 1,
        "ffn_hidden_size": m.integer("feed_forward_length"),
        "bias": m.holds("attn_qkv.bias"),
    }


def mpt(m: Metadata) -> dict[str, Any]:
    """MPT."""
    ratio = m.share("feed_forward_length", m.integer("embedding_length"))
    return {"model_type": "mpt", "expansion_ratio": ratio}


def starcoder(m: Metadata) -> dict[str, Any]:
    """StarCoder: one key-value head."""
    one = m.integer("attention.head_count_kv", 1) == 1
    return {
        "model_type": "gpt_bigcode",
        "multi_query": one,
        "num_key_value_heads": 1 if one else None,
    }


def stablelm(m: Metadata) -> dict[str, Any]:
    """StableLM 2: a parallel residual has one norm."""
    return {
        "model_type": "stablelm",
        "use_qkv_bias": m.holds("attn_q.bias"),
        "use_parallel_residual": not m.holds("ffn_norm.weight"),
        "qk_layernorm": m.holds("attn_q_norm.weight"),
    }


def olmo2(m: Metadata) -> dict[str, Any]:
    """OLMo 2, or OLMo 3 where layers slide."""
    if not m.has("attention.sliding_window"):
        return {"model_type": "olmo2"}
    return {"model_type": "olmo3", "layer_types": m.windows()}


def cohere(m: Metadata) -> dict[str, Any]:
    """Command-R, with norms of queries and keys in the large ones."""
    return {"model_type": "cohere", "use_qk_norm": m.holds("attn_q_norm.weight")}


def granite_moe(m: Metadata) -> dict[str, Any]:
    """Granite 3's experts, with or without a shared one."""
    width = m.width("ffn_up_shexp")
    name = "granitemoeshared" if width else "granitemoe"
    return {"model_type": name, "shared_intermediate_size": width}


def cohere_moe(m: Metadata) -> dict[str, Any]:
    """Command A's experts, after dense layers of another width."""
    width = m.integer("feed_forward_length")
    return {"model_type": "cohere2_moe", "prefix_dense_intermediate_size": width}


def minicpm3(m: Metadata) -> dict[str, Any]:
    """MiniCPM3: latent attention, its cache kept whole as heads."""
    rope = m.integer("rope.dimension_count")
    return {
        "model_type": "minicpm3",
        "head_dim": None,
        "num_key_value_heads": None,
        "q_lora_rank": m.integer("attention.q_lora_rank"),
        "kv_lora_rank": m.integer("attention.kv_lora_rank"),
        "qk_rope_head_dim": rope,
        "qk_nope_head_dim": m.integer("attention.key_length") - rope,
        "v_head_dim": m.share("embedding_length", m.integer("attention.head_count")),
    }
