"""Mixtures of experts whose code came with their checkpoint.

DeepSeek-MoE, Grok, Ling, Hunyuan-Large, Arctic, MiniMax-01 and M1 under their own names, Step-3,
ERNIE 4.5 VL. The published code and parameter counts are their oracle.
"""

from __future__ import annotations

from ...errors import InputError
from ...record import replace
from ..attention import Attention
from ..config import Config
from ..ffn import Mlp
from ..model import Model
from ..parts import LayerPart, Unused
from .decoder import GROUPED, Family, Heads, always, attention, dense, grouped, read, span
from .dense import PLAIN
from .hybrid import ROWS as HYBRID
from .mixes import enumerated
from .mixture import (
    ALL_SPARSE,
    FFNS,
    Mixture,
    counted,
    ernie_layers,
    experts,
    leading,
    sparse,
    wide,
)

BAILING = Family(
    heads=Heads(qkv_bias="use_qkv_bias", out_bias="use_bias", qk_norm="use_qk_norm", names=(
        *("attention.query_key_value",) * 3, "attention.dense",
    )),
    ffns=FFNS, ffn_rule=leading("first_k_dense_replace"), draft=True,
    mixture=Mixture(shared=counted("num_shared_experts")),
)  # fmt: skip


def _residual(c: Config, f: Family, label: str) -> tuple[LayerPart, ...]:
    # Grok-2: a dense network beside the experts.
    return (*sparse(c, f, label), *dense(c, f, label))


def _arctic(c: Config, f: Family, label: str) -> tuple[LayerPart, ...]:
    # Arctic: a dense network as wide as the residual stream, with a norm of its own, beside.
    hidden = c.integer("hidden_size")
    beside = Mlp(hidden, hidden, prefix="residual_mlp", names=("w1", "w3", "w2"))
    return (*sparse(c, f, label), beside)


def _reused(c: Config, f: Family, label: str) -> tuple[LayerPart, ...]:
    # Hunyuan-Large: a layer reads the keys and values of the one before (arXiv 2405.12981).
    core = attention(c, f, span(c, f, "full_attention"))
    return (replace(core, shares_cache=True, extra_vectors=core.extra_vectors // 2),)


def _cross(c: Config, f: Family, depth: int) -> list[str]:
    step = c.integer("cla_share_factor", default=2) if c.flag("use_cla") else 1
    return ["reused_attention" if i % step else "full_attention" for i in range(depth)]


def _factored(c: Config, f: Family, label: str) -> tuple[LayerPart, ...]:
    # Step-3 (arXiv 2507.19427): queries through a low rank, with a norm there.
    (core,) = grouped(c, f, label)
    assert isinstance(core, Attention)
    rank = c.integer("share_q_dim")
    return (replace(core, query_rank=rank, extra_vectors=core.extra_vectors + rank),)


def _modal(c: Config, f: Family, label: str) -> tuple[LayerPart, ...]:
    # ERNIE 4.5 VL: experts for text, and experts for images that text never takes.
    each = c.integers("moe_intermediate_size", 2, least=1)
    if each is None:
        raise InputError(f"{c.where}: moe_intermediate_size is missing: a width for text, and one "
                         "for images")  # fmt: skip
    count = c.get("moe_num_experts")
    counts = c.integers("moe_num_experts", 2, least=1) if isinstance(count, list) else None
    text, image = counts or [c.experts("moe_num_experts")] * 2
    one = c.layer({"moe_intermediate_size": each[0], "moe_num_experts": text})
    other = c.layer({"moe_intermediate_size": each[1], "moe_num_experts": image})
    aside = replace(experts(other, f), shared=None, prefix="mlp.vision_moe.experts",
                    router="mlp.vision_moe.gate")  # fmt: skip
    return (experts(one, f), Unused(aside.linears(), aside.vectors))


def _ernie(c: Config, f: Family, depth: int) -> list[str]:
    # Starts and ends are given for text and images apart; those of text count.
    changes = {}
    for key in ("moe_layer_start_index", "moe_layer_end_index"):
        value = c.get(key)
        if isinstance(value, list):
            changes[key] = (c.integers(key, 2, least=-1) or [0])[0]
    return ernie_layers(c.layer(changes), f, depth)


ROWS: dict[str, Family] = {
    "deepseek": Family(
        heads=Heads(), ffns=FFNS, ffn_rule=leading("first_k_dense_replace"),
        mixture=Mixture(experts=("n_routed_experts",), shared=counted("n_shared_experts")),
    ),
    "bailing_moe": BAILING,
    "bailing_moe_v2": BAILING,
    "grok-1": Family(
        heads=PLAIN, norms=4, tied=True, ffns={"sparse": sparse, "residual": _residual},
        ffn_rule=ALL_SPARSE,
        mixture=Mixture(
            width=("moe_intermediate_size", "intermediate_size"), router="moe_block.gate",
            prefix="moe_block.experts", names=("linear", "linear_v", "linear_1"),
        ),
        aliases={"num_experts": ("num_local_experts",)},
    ),
    "hunyuan": Family(
        heads=Heads(qk_norm="use_qk_norm"), mixers={**GROUPED, "reused_attention": _reused},
        mixer_rule=_cross, ffns=FFNS, ffn_rule=ALL_SPARSE, tied=True,
        mixture=Mixture(
            active=("moe_topk",), width=("moe_intermediate_size", "intermediate_size"),
            shared=counted("num_shared_expert", default=1), shared_path="mlp.shared_mlp",
            router="mlp.gate.wg",
        ),
    ),
    "arctic": Family(
        heads=PLAIN, norms=3, ffns={"sparse": _arctic}, ffn_rule=ALL_SPARSE,
        mixture=Mixture(
            experts=("num_local_experts",), width=("intermediate_size",),
            router="block_sparse_moe.gate", prefix="block_sparse_moe.experts",
            names=("w1", "w3", "w2"),
        ),
    ),
    "minimax_text_01": HYBRID["minimax"],
    "minimax_m1": HYBRID["minimax"],
    "step3_text": Family(
        heads=replace(PLAIN, width=256), mixers={"full_attention": _factored}, ffns=FFNS,
        ffn_rule=enumerated,
        mixture=Mixture(
            experts=("moe_num_experts",), active=("moe_top_k",), shared=wide("share_expert_dim"),
            router="moe.gate", prefix="moe", shared_path="share_expert",
        ),
        aliases={
            "num_key_value_heads": ("num_attention_groups",),
            "moe_num_experts": ("n_routed_experts",), "moe_top_k": ("num_experts_per_tok",),
        },
    ),
    "ernie4_5_vl_moe_text": Family(
        heads=Heads(qkv_bias="use_bias", out_bias="use_bias"), mlp_bias="use_bias", tied=True,
        ffns={"dense": dense, "sparse": _modal}, ffn_rule=_ernie,
        mixture=Mixture(
            experts=("moe_num_experts",), active=("moe_k",), router_bias=1, bias="use_bias",
            shared=counted("moe_num_shared_experts", default=2), router="mlp.text_moe.gate",
            prefix="mlp.text_moe.experts",
        ),
    ),
}  # fmt: skip


def row(c: Config) -> Model:
    """A model by its family's row."""
    f = ROWS[c.kind]
    prepare = _PREPARE.get(c.kind)
    return read(c, prepare(c, f) if prepare else f)


def _deepseek(c: Config, f: Family) -> Family:
    if not c.has("n_routed_experts"):
        return replace(f, ffn_rule=always("dense"))
    if c.integer("moe_layer_freq", default=1) != 1:
        raise c.refuse("moe_layer_freq other than 1")
    return f


def _grok(c: Config, f: Family) -> Family:
    return replace(f, ffn_rule=always("residual")) if c.flag("residual_moe") else f


def _hunyuan(c: Config, f: Family) -> Family:
    c.get("cla_share_factor")
    if c.experts("num_experts", default=1) == 1:
        for key in ("moe_topk", "num_shared_expert"):
            c.get(key)
        return replace(f, ffn_rule=always("dense"))
    return f


def _frequent(c: Config, f: Family) -> Family:
    if c.integer("moe_layer_frequency", default=1) != 1:
        raise c.refuse("moe_layer_frequency other than 1")
    if not all(c.flag(k, default=True) for k in ("use_residual", "parallel_attn_mlp_res")):
        raise c.refuse("experts without the dense network beside are not counted")
    return f


def _minimax(c: Config, f: Family) -> Family:
    # attn_type_list has a 1 for each layer that attends to everything.
    flags = c.integers("attn_type_list", c.layers(), most=1)
    if flags is not None:
        names = ["full_attention" if flag else "linear_attention" for flag in flags]
        c.data = {**c.data, "layer_types": names}
    if c.integer("shared_intermediate_size", default=0, least=0):
        raise c.refuse("shared_intermediate_size other than 0 is not counted")
    return f


_PREPARE = {
    "deepseek": _deepseek, "grok-1": _grok, "hunyuan": _hunyuan, "arctic": _frequent,
    "minimax_text_01": _minimax, "minimax_m1": _minimax,
}  # fmt: skip
READERS = dict.fromkeys(ROWS, row)
