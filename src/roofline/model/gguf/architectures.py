"""llama.cpp's architectures: the ``model_type`` of each, and what its config has besides."""

from __future__ import annotations

from typing import Any

from .config import Extra, Metadata


def kind(name: str) -> Extra:
    """Says the ``model_type``."""
    return lambda m: {"model_type": name}


def take(**keys: str) -> Extra:
    """Config keys from metadata keys (dots as double underscores), where they are there."""

    def extra(m: Metadata) -> dict[str, Any]:
        return {
            name: m.integer(key.replace("__", "."))
            for name, key in keys.items()
            if m.has(key.replace("__", "."))
        }

    return extra


def fixed(**values: Any) -> Extra:
    """Config keys that conversion does not keep."""
    return lambda m: values


def llama(m: Metadata) -> dict[str, Any]:
    """Llama and Mistral, or with experts Mixtral."""
    if not m.integer("expert_count", 0):
        return {"model_type": "llama", "sliding_window": None}
    return {
        "model_type": "mixtral",
        "sliding_window": None,
        "num_local_experts": m.integer("expert_count"),
        "num_experts_per_tok": m.integer("expert_used_count"),
    }


def sliding(m: Metadata) -> dict[str, Any]:
    """Which layers slide, where the file lists it."""
    found = m.flags("attention.sliding_window_pattern")
    if found is None:
        return {}
    names = ("full_attention", "sliding_attention")
    return {"layer_types": [names[slides] for slides in found]}


EXPERTS = take(
    num_experts="expert_count",
    num_experts_per_tok="expert_used_count",
    moe_intermediate_size="expert_feed_forward_length",
    shared_expert_intermediate_size="expert_shared_feed_forward_length",
)


def latent(m: Metadata) -> dict[str, Any]:
    """DeepSeek-V2, V3 and Kimi-K2: widths of latent attention, leading dense layers."""
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
        "n_routed_experts": m.integer("expert_count"),
        "n_shared_experts": m.integer("expert_shared_count", 0),
        "num_experts_per_tok": m.integer("expert_used_count"),
        "moe_intermediate_size": m.integer("expert_feed_forward_length"),
        "first_k_dense_replace": m.integer("leading_dense_block_count", 0),
    }


def gpt_oss(m: Metadata) -> dict[str, Any]:
    """gpt-oss: the experts' width is the config's only one."""
    return {
        "model_type": "gpt_oss",
        "intermediate_size": m.integer("expert_feed_forward_length"),
        "num_local_experts": m.integer("expert_count"),
        "num_experts_per_tok": m.integer("expert_used_count"),
        "attention_bias": True,
    }


ARCHITECTURES: dict[str, tuple[Extra, ...]] = {
    "llama": (llama,),
    "mistral3": (kind("mistral"), sliding),
    "qwen2": (kind("qwen2"),),
    "qwen2vl": (kind("qwen2"),),
    "qwen2moe": (kind("qwen2_moe"), EXPERTS),
    "qwen3": (kind("qwen3"),),
    "qwen3vl": (kind("qwen3"),),
    "qwen3moe": (kind("qwen3_moe"), EXPERTS),
    "qwen3vlmoe": (kind("qwen3_moe"), EXPERTS),
    "gemma": (kind("gemma"),),
    "gemma2": (kind("gemma2"),),
    "gemma3": (kind("gemma3_text"), sliding),
    "phi2": (kind("phi"),),
    "phi3": (kind("phi3"),),
    "gptneox": (kind("gpt_neox"),),
    "olmo": (kind("olmo"),),
    "olmo2": (kind("olmo2"),),
    "starcoder2": (kind("starcoder2"),),
    "command-r": (kind("cohere"),),
    "cohere2": (kind("cohere2"),),
    "granite": (kind("granite"),),
    "stablelm": (kind("stablelm"),),
    "smollm3": (kind("smollm3"),),
    "deepseek2": (latent,),
    "gpt-oss": (gpt_oss,),
}
"""For each ``general.architecture``, what makes its config, the later over the earlier."""
