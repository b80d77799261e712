"""Configs of the GGUF architectures whose layers differ among themselves."""

from __future__ import annotations

from typing import Any

from ...errors import InputError
from .metadata import Metadata

FULL, SLIDING = "full_attention", "sliding_attention"


def deci(m: Metadata) -> dict[str, Any]:
    """Nemotron Super and Ultra: a block's heads and width, or no attention, or no MLP."""
    heads = m.each("attention.head_count")
    kv_heads = m.each("attention.head_count_kv")
    widths = m.each("feed_forward_length")
    blocks = []
    for h, kv, width in zip(heads, kv_heads, widths, strict=True):
        if h and kv and h % kv:
            raise InputError(f"{m.where}: {h} heads cannot share {kv} key-value heads evenly")
        attention: dict[str, Any] = {"no_op": not h, "replace_with_linear": bool(h and not kv)}
        if h and kv:
            attention["n_heads_in_group"] = h // kv
        blocks.append(
            {
                "attention": attention,
                "ffn": {"no_op": not width, "intermediate_size": width or None},
            }
        )
    most = max(heads)
    return {
        "model_type": "nemotron-nas",
        "num_attention_heads": most,
        "head_dim": m.head_width(most),
        "block_configs": blocks,
    }


def deepseek4(m: Metadata) -> dict[str, Any]:
    """DeepSeek-V4: caches compressed at a ratio of each layer's own."""
    return {
        "model_type": "deepseek_v4",
        "mlp_layer_types": None,
        "num_key_value_heads": 1,
        "q_lora_rank": m.integer("attention.q_lora_rank"),
        "o_lora_rank": m.integer("attention.output_lora_rank"),
        "o_groups": m.integer("attention.output_group_count"),
        "compress_ratios": m.each("attention.compress_ratios"),
        "index_n_heads": m.integer("attention.indexer.head_count"),
        "index_head_dim": m.integer("attention.indexer.key_length"),
        "index_topk": m.integer("attention.indexer.top_k"),
        "hc_mult": m.integer("hyper_connection.count"),
        "num_hash_layers": m.integer("hash_layer_count", 0),
        "qk_rope_head_dim": m.integer("rope.dimension_count"),
    }


def minimax_m3(m: Metadata) -> dict[str, Any]:
    """MiniMax-M3: blocks of keys chosen by an indexer in some layers."""
    dense = [not m.holds("ffn_gate_inp.weight", i) for i in range(m.depth)]
    return {
        "model_type": "minimax_m3_vl_text",
        "dense_intermediate_size": m.integer("feed_forward_length"),
        "shared_intermediate_size": m.width("ffn_up_shexp"),
        "moe_layer_freq": [int(not d) for d in dense],
        "layer_types": [
            "minimax_m3_sparse" if m.holds("indexer.q_proj.weight", i) else FULL
            for i in range(m.depth)
        ],
        "index_n_heads": m.integer("attention.indexer.head_count"),
        "index_head_dim": m.integer("attention.indexer.key_length"),
        "index_block_size": m.integer("attention.indexer.block_size"),
        "index_local_blocks": m.integer("attention.indexer.local_blocks", 1),
        "index_topk_blocks": m.integer("attention.indexer.top_k"),
    }


def kimi_linear(m: Metadata) -> dict[str, Any]:
    """Kimi-Linear: Kimi delta attention, and latent attention in every fourth layer."""
    width = m.width("ffn_down_exps", 0)
    together = m.width("ffn_up_shexp")
    return {
        "model_type": "kimi_linear",
        "layer_types": m.mixers("ssm_a", "linear_attention"),
        "linear_head_dim": m.integer("kda.head_dim"),
        "linear_num_heads": m.integer("attention.head_count"),
        "linear_conv_kernel_dim": m.integer("ssm.conv_kernel"),
        "num_experts_per_token": m.integer("expert_used_count"),
        "num_shared_experts": together // width if together and width else 0,
    }


def nemotron_h(m: Metadata) -> dict[str, Any]:
    """Nemotron-H and 3: Mamba-2, attention, an MLP or experts, one in a layer."""
    types = []
    for i in range(m.depth):
        if m.holds("ssm_in.weight", i):
            types.append("linear_attention")
        elif m.holds("attn_q.weight", i):
            types.append(FULL)
        else:
            types.append("moe" if m.holds("ffn_gate_inp.weight", i) else "mlp")
    heads = m.integer("ssm.time_step_rank")
    result = {
        "model_type": "nemotron_h",
        "layer_types": types,
        "num_attention_heads": m.most("attention.head_count"),
        "num_key_value_heads": m.most("attention.head_count_kv"),
        "intermediate_size": m.most("feed_forward_length"),
        "mamba_num_heads": heads,
        "mamba_head_dim": m.share("ssm.inner_size", heads),
        "n_groups": m.integer("ssm.group_count"),
        "ssm_state_size": m.integer("ssm.state_size"),
        "conv_kernel": m.integer("ssm.conv_kernel"),
        "use_conv_bias": m.holds("ssm_conv1d.bias"),
    }
    if "moe" in types:
        result |= {
            "n_routed_experts": m.integer("expert_count"),
            "n_shared_experts": 1,
            "num_experts_per_tok": m.integer("expert_used_count"),
            "moe_intermediate_size": m.width("ffn_down_exps", 0),
            "moe_shared_expert_intermediate_size": m.width("ffn_up_shexp") or 0,
            "moe_latent_size": m.width("ffn_latent_down"),
        }
    return result


def gemma3n(m: Metadata) -> dict[str, Any]:
    """Gemma 3n: several streams, low-rank residuals, embeddings for each layer."""
    table = m.tensors.get("per_layer_token_embd.weight")
    return {
        "model_type": "gemma3n_text",
        "intermediate_size": m.each("feed_forward_length"),
        "hidden_size_per_layer_input": m.width("inp_gate"),
        "vocab_size_per_layer_input": table.shape[-1] if table else None,
        "altup_num_inputs": m.integer("altup.num_inputs", 4),
        "laurel_rank": m.width("laurel_l"),
        "num_kv_shared_layers": m.integer("attention.shared_kv_layers", 0),
    }


def gemma4(m: Metadata) -> dict[str, Any]:
    """Gemma 4: wider heads in layers that see everything, experts beside the MLP."""
    types = m.windows() or []
    kv_heads = m.each("attention.head_count_kv")
    wide = [k for k, t in zip(kv_heads, types, strict=False) if t == FULL] or kv_heads
    narrow = [k for k, t in zip(kv_heads, types, strict=False) if t == SLIDING] or kv_heads
    full = [i for i, t in enumerate(types) if t == FULL]
    table = m.tensors.get("per_layer_token_embd.weight")
    result = {
        "model_type": "gemma4_text",
        "head_dim": m.integer("attention.key_length_swa"),
        "global_head_dim": m.integer("attention.key_length"),
        "num_key_value_heads": narrow[0],
        "num_global_key_value_heads": wide[0],
        "attention_k_eq_v": bool(full) and not m.holds("attn_v.weight", full[0]),
        "num_kv_shared_layers": m.integer("attention.shared_kv_layers", 0),
        "hidden_size_per_layer_input": m.width("inp_gate") or 0,
        "vocab_size_per_layer_input": table.shape[-1] if table else None,
        "enable_moe_block": m.holds("ffn_gate_inp.weight"),
    }
    widths = m.each("feed_forward_length")
    result["intermediate_size"] = min(widths)
    result["use_double_wide_mlp"] = max(widths) == 2 * min(widths)
    if result["enable_moe_block"]:
        result |= {
            "num_experts": m.integer("expert_count"),
            "top_k_experts": m.integer("expert_used_count"),
            "moe_intermediate_size": m.width("ffn_down_exps", 0),
        }
    return result


def llama4(m: Metadata) -> dict[str, Any]:
    """Llama 4: chunks of 8192 tokens (in llama.cpp's code), every fourth layer without."""
    return {
        "model_type": "llama4_text",
        "intermediate_size": m.width("ffn_down_exps", 0),
        "intermediate_size_mlp": m.width("ffn_up") or m.integer("feed_forward_length"),
        "attention_chunk_size": m.integer("attention.chunk_size", 8192),
        "no_rope_layer_interval": 4,
    }


def mimo(m: Metadata) -> dict[str, Any]:
    """MiMo-V2: other key-value heads, and sinks, in layers that slide."""
    types = m.windows() or [FULL] * m.depth
    kv_heads = m.each("attention.head_count_kv")
    at = dict(zip(types, kv_heads, strict=True))
    return {
        "model_type": "mimo_v2_flash",
        "v_head_dim": m.integer("attention.value_length"),
        "num_key_value_heads": at.get(FULL, kv_heads[0]),
        "swa_num_key_value_heads": at.get(SLIDING, kv_heads[0]),
        "hybrid_layer_pattern": [int(t == SLIDING) for t in types],
        "moe_layer_freq": [int(m.holds("ffn_gate_inp.weight", i)) for i in range(m.depth)],
        "mlp_layer_types": None,
        "n_shared_experts": 0,
        "add_swa_attention_sink_bias": m.holds("attn_sinks.weight"),
    }


def step(m: Metadata) -> dict[str, Any]:
    """Step-3.5: other heads in layers that slide."""
    types = m.windows() or [FULL] * m.depth
    heads = m.each("attention.head_count")
    at = dict(zip(types, heads, strict=True))
    return {
        "model_type": "step3p5",
        "layer_types": types,
        "num_attention_heads": at.get(FULL, heads[0]),
        "num_sliding_attention_heads": at.get(SLIDING),
        "num_key_value_heads": m.most("attention.head_count_kv"),
        "share_expert_dim": m.width("ffn_up_shexp"),
        "moe_layers_enum": [i for i in range(m.depth) if m.holds("ffn_gate_inp.weight", i)],
        "mlp_layer_types": None,
    }


def laguna(m: Metadata) -> dict[str, Any]:
    """Laguna: heads by layer, a gate a head or an element."""
    heads = m.each("attention.head_count")
    wide = (m.width("attn_gate") or 0) > max(heads)
    return {
        "model_type": "laguna",
        "num_attention_heads": heads[0],
        "num_attention_heads_per_layer": heads,
        "gating": "per-element" if wide else "per-head",
    }
