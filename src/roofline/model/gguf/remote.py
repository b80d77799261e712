"""Configs of GGUF architectures of the days of remote code, and of states without attention."""

from __future__ import annotations

from typing import Any

from .kinds import experts
from .metadata import Metadata


def plamo(m: Metadata) -> dict[str, Any]:
    """PLaMo: so many heads share keys and values."""
    shared = m.share("attention.head_count", m.integer("attention.head_count_kv"))
    return {"model_type": "plamo", "n_shared_head": shared}


def jais(m: Metadata) -> dict[str, Any]:
    """Jais: a gated MLP, positions by slopes; every head has its own keys."""
    gated = m.holds("ffn_gate.weight")
    return {
        "model_type": "jais",
        "num_key_value_heads": None,
        "position_embedding_type": "alibi",
        "activation_function": "swiglu" if gated else "gelu",
    }


def pangu(m: Metadata) -> dict[str, Any]:
    """openPangu-Embedded: biases on all of attention."""
    return {"model_type": "PanguEmbedded", "bias": m.holds("attn_output.bias")}


def grok(m: Metadata) -> dict[str, Any]:
    """Grok, with a dense network beside the experts in the second."""
    return {"model_type": "grok-1", "residual_moe": m.holds("ffn_up.weight")}


def dbrx(m: Metadata) -> dict[str, Any]:
    """DBRX: its keys nested."""
    result = experts("moe_num_experts", "ffn_hidden_size", "moe_top_k")(m)
    return {
        "model_type": "dbrx",
        "attn_config": {"kv_n_heads": m.integer("attention.head_count_kv")},
        "ffn_config": {k: v for k, v in result.items() if k != "mlp_layer_types"},
    }


def selective(m: Metadata) -> dict[str, Any]:
    """Mamba and Falcon-Mamba."""
    return {
        "model_type": "mamba",
        "intermediate_size": m.integer("ssm.inner_size"),
        "state_size": m.integer("ssm.state_size"),
        "conv_kernel": m.integer("ssm.conv_kernel"),
        "time_step_rank": m.integer("ssm.time_step_rank"),
        "use_conv_bias": m.holds("ssm_conv1d.bias"),
    }


def state_space(m: Metadata) -> dict[str, Any]:
    """Mamba-2."""
    heads = m.integer("ssm.time_step_rank")
    return {
        "model_type": "mamba2",
        "num_heads": heads,
        "head_dim": m.share("ssm.inner_size", heads),
        "expand": m.share("ssm.inner_size", m.integer("embedding_length"), exact=False),
        "n_groups": m.integer("ssm.group_count", 1) or 1,
        "state_size": m.integer("ssm.state_size"),
        "conv_kernel": m.integer("ssm.conv_kernel"),
        "use_conv_bias": m.holds("ssm_conv1d.bias"),
    }
