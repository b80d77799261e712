"""Mixtures of experts over grouped-query attention: Mixtral, Qwen, gpt-oss, MiniMax, GLM, …"""

from __future__ import annotations

from ...record import replace
from ..config import Config
from ..model import Model
from .decoder import Family, Heads, after_first, every, late, read, windowed
from .mixture import ALL_SPARSE, FFNS, Mixture, counted, ernie_layers, leading, nth, wide

GLM4 = Family(
    heads=Heads(out_bias=False, qk_norm="use_qk_norm", floor=True), ffns=FFNS,
    ffn_rule=leading("first_k_dense_replace", default=1), draft=True,
    mixture=Mixture(
        experts=("n_routed_experts",), shared=counted("n_shared_experts"),
    ),
)  # fmt: skip


def _minimax(c: Config, f: Family) -> Family:
    if not all(c.integers("attn_type_list", most=1) or []):
        raise c.refuse("attn_type_list with layers that do not attend to everything")
    if c.flag("use_qk_norm", default=True):
        return f
    return replace(f, heads=replace(f.heads, qk_norm=""))


def _dbrx(c: Config, f: Family) -> Family:
    # Attention and experts have their keys in configs of their own.
    for name in ("attn_config", "ffn_config"):
        inner = c.sub(name)
        keys = ("kv_n_heads", "ffn_hidden_size", "moe_num_experts", "moe_top_k")
        c.data = {**c.data, **{k: inner.get(k) for k in keys if inner.has(k)}}
    return f


ROWS: dict[str, Family] = {
    "mixtral": Family(
        heads=Heads(qkv_bias=False, out_bias=False), mixer_rule=windowed, ffns=FFNS,
        ffn_rule=ALL_SPARSE,
        mixture=Mixture(
            experts=("num_local_experts",), width=("intermediate_size",),
            router="block_sparse_moe.gate", prefix="block_sparse_moe.experts",
            names=("w1", "w3", "w2"),
        ),
        defaults={"num_local_experts": 8},
    ),
    "qwen2_moe": Family(
        heads=Heads(qkv_bias="qkv_bias", out_bias=False), mixer_rule=after_first, ffns=FFNS,
        ffn_rule=nth, defaults={"qkv_bias": True},
        mixture=Mixture(
            shared=wide("shared_expert_intermediate_size", default=5632), shared_gate=True,
            shared_path="mlp.shared_expert",
        ),
    ),
    "qwen3_moe": Family(
        heads=Heads(qk_norm="head", floor=True), mixer_rule=after_first, ffns=FFNS, ffn_rule=nth,
        mixture=Mixture(), aliases={"num_experts": ("num_local_experts",)},
    ),
    "gpt_oss": Family(
        heads=Heads(width=64, sinks="all", default_window=128), mixer_rule=every("", 2),
        ffns=FFNS, ffn_rule=ALL_SPARSE, defaults={"attention_bias": True},
        mixture=Mixture(
            experts=("num_local_experts",), width=("intermediate_size",), bias=True,
            router_bias=1, router="mlp.router",
        ),
        aliases={
            "num_local_experts": ("num_experts",), "num_experts_per_tok": ("experts_per_token",),
        },
    ),
    "afmoe": Family(
        heads=Heads(width=128, qk_norm="head", gate="wide", default_window=1024),
        mixer_rule=every("global_attn_every_n_layers", 4), ffns=FFNS, norms=4,
        ffn_rule=leading("num_dense_layers", default=1),
        mixture=Mixture(
            shared=counted("num_shared_experts"), router_bias=1, router="mlp.router.gate"
        ),
    ),
    "aria_text": Family(
        mlp_bias="mlp_bias", ffns=FFNS, ffn_rule=ALL_SPARSE,
        mixture=Mixture(
            experts=("moe_num_experts",), active=("moe_topk",), width=("intermediate_size",),
            shared=counted("moe_num_shared_experts"), router="mlp.router",
        ),
    ),
    "beam": Family(
        heads=Heads(width=128, qk_norm="head", gate="wide", sinks="all", default_window=512),
        ffns=FFNS, ffn_rule=leading("", default=3), norms=4, mixer_rule=every("", 4),
        mixture=Mixture(),
    ),
    "cohere2_moe": Family(
        heads=Heads(default_window=4096), norms=1, tied=True, ffns=FFNS, ffn_rule=ALL_SPARSE,
        mixer_rule=every("sliding_window_pattern", 4),
        mixture=Mixture(
            width=("intermediate_size",), shared=counted("num_shared_experts"),
            shared_path="mlp.shared_expert",
        ),
        mlp_width="prefix_dense_intermediate_size",
    ),
    "dots1": Family(
        heads=Heads(qk_norm="head"), ffns=FFNS, ffn_rule=leading("first_k_dense_replace"),
        mixer_rule=late,
        mixture=Mixture(experts=("n_routed_experts",), shared=counted("n_shared_experts")),
    ),
    "ernie4_5_moe": Family(
        heads=Heads(qkv_bias="use_bias", out_bias="use_bias"), mlp_bias="use_bias", tied=True,
        ffns=FFNS, ffn_rule=ernie_layers,
        mixture=Mixture(
            experts=("moe_num_experts",), active=("moe_k",), router_bias=1,
            shared=counted("moe_num_shared_experts", default=2),
        ),
    ),
    "exaone_moe": Family(
        heads=Heads(qkv_bias=False, out_bias=False, qk_norm="head", default_window=4096),
        mixer_rule=every("sliding_window_pattern", 4), ffns=FFNS,
        ffn_rule=leading("first_k_dense_replace", default=1),
        mixture=Mixture(shared=counted("num_shared_experts", default=1)),
    ),
    "flex_olmo": Family(
        heads=Heads(qk_norm="full"), ffns=FFNS, ffn_rule=ALL_SPARSE,
        mixture=Mixture(width=("intermediate_size",)),
    ),
    "olmoe": Family(
        heads=Heads(qk_norm="full"), ffns=FFNS, ffn_rule=ALL_SPARSE,
        mixture=Mixture(width=("intermediate_size",)),
    ),
    "flint": Family(
        heads=Heads(width=128, qk_norm="head", sinks="all", default_window=513),
        ffns=FFNS, ffn_rule=nth,
        mixture=Mixture(
            shared=wide("shared_expert_intermediate_size"), shared_path="mlp.shared_expert"
        ),
    ),
    "glm4_moe": GLM4,
    "sarvam_moe": GLM4,
    "granitemoe": Family(
        ffns=FFNS, ffn_rule=ALL_SPARSE,
        mixture=Mixture(
            experts=("num_local_experts",), width=("intermediate_size",),
            router="block_sparse_moe.router.layer", prefix="block_sparse_moe",
        ),
    ),
    "hunyuan_v1_moe": Family(
        heads=Heads(qk_norm="head"), ffns=FFNS, ffn_rule=ALL_SPARSE,
        mixture=Mixture(
            active=("moe_topk",), width=("moe_intermediate_size", "intermediate_size"),
            shared=counted("num_shared_expert", default=1), shared_path="mlp.shared_mlp",
            router="mlp.gate.wg",
        ),
    ),
    "hy_v3": Family(
        heads=Heads(width=128, qk_norm="head"), mlp_bias="mlp_bias", ffns=FFNS,
        ffn_rule=leading("first_k_dense_replace", default=1),
        mixture=Mixture(shared=counted("num_shared_experts")),
    ),
    "kolibri1": Family(
        heads=Heads(width=128, qk_norm="head", default_window=513, qkv_bias=False,
                    out_bias=False),
        mixer_rule=every("", 5), norms=4, ffns=FFNS, ffn_rule=ALL_SPARSE,
        mixture=Mixture(shared=wide("shared_expert_intermediate_size")),
        aliases={"num_experts": ("num_local_experts",)},
    ),
    "mellum": Family(
        heads=Heads(width=128, qk_norm="head", default_window=1024), ffns=FFNS,
        ffn_rule=ALL_SPARSE, mixture=Mixture(),
        aliases={"num_experts": ("num_local_experts",)},
    ),
    "minimax_m2": Family(
        adapt=_minimax,
        heads=Heads(qkv_bias=False, out_bias=False, width=128, qk_norm="full"), ffns=FFNS,
        ffn_rule=ALL_SPARSE,
        mixture=Mixture(
            width=("intermediate_size",), router="block_sparse_moe.gate",
            prefix="block_sparse_moe.experts", names=("w1", "w3", "w2"),
            shared=wide("shared_intermediate_size"),
        ),
        aliases={"num_experts": ("num_local_experts",)},
    ),
    "phimoe": Family(
        heads=Heads(), mixer_rule=windowed, ffns=FFNS, ffn_rule=ALL_SPARSE, norm_parameters=2,
        head_bias="lm_head_bias",
        mixture=Mixture(
            experts=("num_local_experts",), width=("intermediate_size",),
            router="block_sparse_moe.gate", prefix="block_sparse_moe.experts",
            names=("w1", "w3", "w2"),
        ),
        defaults={"num_local_experts": 16},
    ),
    "solar_open": Family(
        heads=Heads(width=128, out_bias=False), ffns=FFNS, ffn_rule=ALL_SPARSE,
        mixture=Mixture(experts=("n_routed_experts",), shared=counted("n_shared_experts")),
    ),
}  # fmt: skip
ROWS["granitemoeshared"] = replace(
    ROWS["granitemoe"],
    mixture=replace(
        ROWS["granitemoe"].mixture, shared=wide("shared_intermediate_size"),
        shared_path="shared_mlp", shared_names=("input_linear", "input_linear", "output_linear"),
    ),
)  # fmt: skip
ROWS["granitemoe_swa"] = replace(
    ROWS["granitemoeshared"], heads=Heads(sinks="all", default_window=128),
    mixer_rule=lambda c, f, n: [
        "sliding_attention" if i % 4 else "full_attention" for i in range(n)
    ],
)  # fmt: skip


ROWS["dbrx"] = Family(
    adapt=_dbrx,
    heads=Heads(qkv_bias=False, out_bias=False, names=(
        *("norm_attn_norm.attn.Wqkv",) * 3, "norm_attn_norm.attn.out_proj",
    )),
    ffns=FFNS, ffn_rule=ALL_SPARSE, prefix="transformer.blocks",
    mixture=Mixture(
        experts=("moe_num_experts",), active=("moe_top_k",), width=("ffn_hidden_size",),
        router="ffn.router.layer", prefix="ffn.experts.mlp", names=("w1", "v1", "w2"),
    ),
    aliases={
        "hidden_size": ("d_model",), "num_attention_heads": ("n_heads",),
        "num_hidden_layers": ("n_layers",), "max_position_embeddings": ("max_seq_len",),
        "num_key_value_heads": ("kv_n_heads",),
    },
)  # fmt: skip


def row(c: Config) -> Model:
    """A model by its family's row."""
    return read(c, ROWS[c.kind])


READERS = dict.fromkeys(ROWS, row)
