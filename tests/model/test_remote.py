"""Configs of the days of remote code, with their keys as published; totals as published.

Where a total has all its digits, it is the one that the hub counts in the repository's
safetensors, or the sum of the shapes that the repository's own modelling file builds; where it is
rounded, it is the model card's.
"""

from __future__ import annotations

from typing import Any

import pytest

from roofline.count.step import Step
from roofline.errors import RooflineError
from roofline.model.load import from_config


def shapes(hidden: int, width: int, depth: int, heads: int, vocab: int, **more: Any) -> dict:
    """Llama's names of the usual shapes."""
    return {
        "hidden_size": hidden, "intermediate_size": width, "num_hidden_layers": depth,
        "num_attention_heads": heads, "vocab_size": vocab, "tie_word_embeddings": False,
        "torch_dtype": "float16", "use_cache": True, "auto_map": {"AutoConfig": "a.B"},
        "rms_norm_eps": 1e-5, "initializer_range": 0.02, **more,
    }  # fmt: skip


CHATGLM = {
    "model_type": "chatglm", "architectures": ["ChatGLMModel"], "add_bias_linear": False,
    "add_qkv_bias": True, "apply_query_key_layer_scaling": True, "attention_dropout": 0.0,
    "apply_residual_connection_post_layernorm": False, "attention_softmax_in_fp32": True,
    "bias_dropout_fusion": True, "ffn_hidden_size": 13696, "fp32_residual_connection": False,
    "hidden_size": 4096, "kv_channels": 128, "layernorm_epsilon": 1e-5, "original_rope": True,
    "multi_query_attention": True, "multi_query_group_num": 2, "num_attention_heads": 32,
    "post_layer_norm": True, "rmsnorm": True, "tie_word_embeddings": False,
    "torch_dtype": "float16",
}  # fmt: skip

OPENELM = {
    "model_type": "openelm", "model_dim": 1280, "num_transformer_layers": 16, "head_dim": 64,
    "num_gqa_groups": 4, "num_query_heads": [12] * 5 + [16] * 7 + [20] * 4,
    "num_kv_heads": [3] * 5 + [4] * 7 + [5] * 4, "ffn_dim_divisor": 256, "ffn_with_glu": True,
    "ffn_multipliers": [
        0.5, 0.73, 0.97, 1.2, 1.43, 1.67, 1.9, 2.13, 2.37, 2.6, 2.83, 3.07, 3.3, 3.53, 3.77, 4.0,
    ],
    "normalize_qk_projections": True, "share_input_output_layers": True, "vocab_size": 32000,
    "qkv_multipliers": [0.5, 1.0], "max_context_length": 2048, "torch_dtype": "bfloat16",
}  # fmt: skip

GPT = {"torch_dtype": "float16", "tie_word_embeddings": False}

PUBLISHED: dict[str, tuple[dict[str, Any], int]] = {
    "chatglm2-6b": (
        {**CHATGLM, "num_layers": 28, "padded_vocab_size": 65024, "seq_length": 32768},
        6_243_584_000,
    ),
    "glm-4-9b-chat": (
        {**CHATGLM, "num_layers": 40, "num_hidden_layers": 40, "padded_vocab_size": 151552,
         "vocab_size": 151552, "seq_length": 131072, "rope_ratio": 500},
        9_399_951_360,
    ),
    "internlm2-7b": (
        {"model_type": "internlm2", "bias": False, "rope_scaling": {"type": "dynamic"},
         **shapes(4096, 14336, 32, 32, 92544, num_key_value_heads=8)},
        7_737_708_544,
    ),
    "qwen-7b": (
        {"model_type": "qwen", "kv_channels": 128, "no_bias": True, "rotary_pct": 1.0,
         "seq_length": 8192, "use_logn_attn": True, **shapes(4096, 22016, 32, 32, 151936)},
        7_721_324_544,
    ),
    "qwen-72b": (
        {"model_type": "qwen", "kv_channels": 128, "no_bias": True,
         **shapes(8192, 49152, 80, 64, 152064)},
        72_287_920_128,
    ),
    "deepseek-moe-16b": (
        {"model_type": "deepseek", "moe_intermediate_size": 1408, "n_routed_experts": 64,
         "n_shared_experts": 2, "num_experts_per_tok": 6, "first_k_dense_replace": 1,
         "moe_layer_freq": 1, "aux_loss_alpha": 0.001, "scoring_func": "softmax",
         **shapes(2048, 10944, 28, 16, 102400, num_key_value_heads=16)},
        16_375_728_128,
    ),
    "baichuan2-13b": (
        {"model_type": "baichuan", "z_loss_weight": 0, **shapes(5120, 13696, 40, 40, 125696)},
        13_896_668_160,
    ),
    "phi-2": (
        {"model_type": "phi-msft", "n_embd": 2560, "n_head": 32, "n_head_kv": None,
         "n_inner": None, "n_layer": 32, "n_positions": 2048, "rotary_dim": 32,
         "vocab_size": 51200, "img_processor": None, **GPT},
        2_779_683_840,
    ),
    "stablelm-3b-4e1t": (
        {"model_type": "stablelm_epoch", "num_heads": 32, "rope_pct": 0.25, "norm_eps": 1e-5,
         **shapes(2560, 6912, 32, 32, 50304, num_key_value_heads=32)},
        2_795_443_200,
    ),
    "yi-34b": (
        {"model_type": "Yi", **shapes(7168, 20480, 60, 56, 64000, num_key_value_heads=8)},
        34_388_917_248,
    ),
    "falcon-7b": (
        {"model_type": "RefinedWebModel", "alibi": False, "bias": False, "hidden_size": 4544,
         "multi_query": True, "n_head": 71, "n_layer": 32, "parallel_attn": True,
         "vocab_size": 65024, "torch_dtype": "bfloat16"},
        6_921_720_704,
    ),
    "minicpm-2b": (
        {"model_type": "minicpm", "scale_emb": 12, "dim_model_base": 256, "scale_depth": 1.4,
         **shapes(2304, 5760, 40, 36, 122753, num_key_value_heads=36),
         "tie_word_embeddings": True},
        2_724_880_896,
    ),
    "mpt-7b": (
        {"model_type": "mpt", "d_model": 4096, "n_heads": 32, "n_layers": 32,
         "attn_config": {"alibi": True, "attn_type": "multihead_attention", "qk_ln": False},
         "expansion_ratio": 4, "learned_pos_emb": True, "max_seq_len": 2048, "no_bias": True,
         "norm_type": "low_precision_layernorm", "vocab_size": 50432, "logit_scale": None,
         "torch_dtype": "bfloat16"},
        6_649_286_656,
    ),
    "exaone-3.0-7.8b": (
        {"model_type": "exaone", "hidden_size": 4096, "intermediate_size": 14336,
         "num_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
         "vocab_size": 102400, "activation_function": "silu", **GPT},
        7_818_448_896,
    ),
    "openelm-270m": (OPENELM, 271_527_168),
}  # fmt: skip

MOE: dict[str, tuple[dict[str, Any], str, str]] = {
    "ling-lite": (
        {"model_type": "bailing_moe", "moe_intermediate_size": 1408, "num_experts": 64,
         "num_shared_experts": 2, "num_experts_per_tok": 6, "first_k_dense_replace": 0,
         "use_bias": False, "use_qkv_bias": False, "norm_head": False, "norm_softmax": False,
         **shapes(2048, 1408, 28, 16, 126464, num_key_value_heads=4)},
        "16.8", "2.75",
    ),
    "ling-mini-2.0": (
        {"model_type": "bailing_moe", "architectures": ["BailingMoeV2ForCausalLM"],
         "head_dim": 128, "moe_intermediate_size": 512, "num_experts": 256,
         "moe_shared_expert_intermediate_size": 512, "num_shared_experts": 1,
         "num_experts_per_tok": 8, "first_k_dense_replace": 1, "use_qk_norm": True,
         "use_bias": False, "n_group": 8, "topk_group": 4, "num_nextn_predict_layers": 0,
         "moe_router_enable_expert_bias": True, "router_dtype": "fp32",
         **shapes(2048, 5120, 20, 16, 157184, num_key_value_heads=4)},
        "16", "1.4",
    ),
    "grok-2": (
        {"model_type": "git", "architectures": ["Grok1ForCausalLM"], "head_dim": 128,
         "moe_intermediate_size": 16384, "num_local_experts": 8, "num_experts_per_tok": 2,
         "residual_moe": True, "final_logit_softcapping": 50, "output_multiplier_scale": 0.5,
         **shapes(8192, 32768, 64, 64, 131072, num_key_value_heads=8),
         "tie_word_embeddings": True},
        "268", "114",
    ),
    "hunyuan-large": (
        {"model_type": "hunyuan", "moe_topk": 1, "num_experts": 16, "num_shared_expert": 1,
         "use_cla": True, "cla_share_factor": 2, "use_qk_norm": True, "attention_head_dim": 80,
         "use_mixed_mlp_moe": True, **shapes(6400, 18304, 64, 80, 128512, num_key_value_heads=8),
         "tie_word_embeddings": True},
        "389", "51",
    ),
    "arctic": (
        {"model_type": "arctic", "num_local_experts": 128, "num_experts_per_tok": 2,
         "moe_layer_frequency": 1, "parallel_attn_mlp_res": True, "use_residual": True,
         **shapes(7168, 4864, 35, 56, 32000, num_key_value_heads=8)},
        "479", "17",
    ),
    "minimax-text-01": (
        {"model_type": "minimax_text_01", "head_dim": 128, "num_local_experts": 32,
         "num_experts_per_tok": 2, "shared_intermediate_size": 0,
         "attn_type_list": ([0] * 7 + [1]) * 10, "layernorm_full_attention_alpha": 3.5,
         "postnorm": True, "rotary_dim": 64, "shared_moe_mode": "sigmoid",
         **shapes(6144, 9216, 80, 64, 200064, num_key_value_heads=8)},
        "456", "48",
    ),
    "step3": (
        {"model_type": "step3_vl", "vision_config": {"hidden_size": 1792}, "text_config": {
            "model_type": "step3_text", "hidden_size": 7168, "intermediate_size": 18432,
            "num_attention_heads": 64, "num_attention_groups": 1, "num_hidden_layers": 61,
            "max_seq_len": 65536, "vocab_size": 128815, "moe_intermediate_size": 5120,
            "moe_num_experts": 48, "moe_top_k": 3, "share_expert_dim": 5120,
            "share_q_dim": 2048, "head_dim": 256, "norm_expert_weight": False,
            "moe_layers_enum": ",".join(map(str, range(4, 60))), "torch_dtype": "bfloat16"}},
        "316", "39",
    ),
    "ernie-4.5-vl-28b-a3b": (
        {"model_type": "ernie4_5_moe_vl", "moe_num_experts": [64, 64],
         "moe_intermediate_size": [1536, 512], "moe_k": 6, "moe_num_shared_experts": 2,
         "moe_layer_start_index": [1, 1], "moe_layer_end_index": [29, 28],
         "moe_layer_interval": 1, "moe_capacity": [128, 128, 128], "use_bias": False,
         "vision_config": {"depth": 32},
         **shapes(2560, 12288, 28, 20, 103424, num_key_value_heads=4),
         "tie_word_embeddings": True},
        "29", "3",
    ),
}  # fmt: skip
"""Total and active parameters in billions, as their makers round them (Grok-2's are the sums of
its shapes: 270B is what is printed; MiniMax's active ones and Hunyuan's count tables)."""


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_total(name: str) -> None:
    config, total = PUBLISHED[name]
    model = from_config(config, name)
    assert model.parameters == total
    assert model.work().resident == pytest.approx(2 * total, rel=1e-6)


@pytest.mark.parametrize("name", MOE)
def test_published_total_of_experts(name: str) -> None:
    config, total, active = MOE[name]
    model = from_config(config, name)
    for printed, count in ((total, model.parameters), (active, model.active_parameters)):
        assert f"{count / 1e9:.{len(printed.partition('.')[2])}f}" == printed
    model.work()


def test_the_cache_of_chatglm_is_two_heads_a_layer() -> None:
    work = from_config(PUBLISHED["chatglm2-6b"][0], "chatglm2-6b").work()
    assert work.total("held", Step.decode(1, 1000)) == 1000 * 28 * 2 * 2 * 128 * 2


def test_layers_of_hunyuan_share_a_cache_by_twos() -> None:
    work = from_config(MOE["hunyuan-large"][0], "hunyuan").work()
    assert work.total("held", Step.decode(1, 1)) == 32 * 2 * 8 * 80 * 2


def test_step_3_reads_queries_through_a_low_rank() -> None:
    # 7168·(2048 + 2·256) + 2048·64·256 + 64·256·7168 a layer, one head of 256 cached.
    work = from_config(MOE["step3"][0], "step3").work()
    of = {op.name: op for op in work.operators}
    assert sum(c for _, c in of["attention.qkv"].flops) == 2 * 7168 * (2048 + 512)
    assert sum(c for _, c in of["attention.q"].flops) == 2 * 2048 * 64 * 256
    assert work.total("held", Step.decode(1, 1)) == 61 * 2 * 256 * 2


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("chatglm2-6b", {"position_encoding_2d": True}, "both ways"),
        ("qwen-7b", {"no_bias": False}, "no_bias"),
        ("minicpm-2b", {"num_experts_per_tok": 2}, "num_experts_per_tok"),
        ("deepseek-moe-16b", {"moe_layer_freq": 2}, "moe_layer_freq"),
    ],
)
def test_other_variants_are_refused(name: str, change: dict[str, Any], said: str) -> None:
    with pytest.raises(RooflineError, match=said):
        from_config({**PUBLISHED[name][0], **change}, name)
