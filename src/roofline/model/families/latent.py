"""Latent attention: DeepSeek-V2 and V3, Kimi-K2, MiniCPM3, Youtu; with experts or without."""

from __future__ import annotations

from ...record import replace
from ..attention import ALL, Span
from ..config import Config
from ..latent import LatentAttention
from ..model import Model
from ..parts import LayerPart, Matrices
from .decoder import GROUPED, Family, Heads, always, read
from .mixture import FFNS, Mixture, counted, leading, sparse


def mixer(c: Config, seen: Span = ALL) -> LatentAttention:
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
        span=seen,
    )


def latent(c: Config, f: Family, label: str) -> tuple[LayerPart, ...]:
    """Latent attention over the whole context."""
    return (mixer(c),)


LATENT = {"full_attention": latent}
DEEPSEEK = Mixture(experts=("n_routed_experts",), shared=counted("n_shared_experts"))

V3 = Family(
    mixers=LATENT, ffns=FFNS, ffn_rule=leading("first_k_dense_replace"), mixture=DEEPSEEK,
    aliases={"num_nextn_predict_layers": ("num_mtp_layers",)}, draft=True,
)  # fmt: skip

DENSE = Family(mixers=LATENT)


def _normed(c: Config, f: Family, label: str) -> tuple[LayerPart, ...]:
    # A.X K1: a norm after the experts.
    return (*sparse(c, f, label), Matrices("norm", (), c.integer("hidden_size")))


ROWS: dict[str, Family] = {
    "deepseek_v2": V3,
    "deepseek_v3": V3,
    "kimi_k2": V3,
    "sarvam_mla": V3,
    "axk1": replace(
        V3, ffns={**FFNS, "sparse": _normed}, ffn_rule=leading("first_k_dense_replace", default=1)
    ),
    "glm4_moe_lite": replace(V3, ffn_rule=leading("first_k_dense_replace", default=1)),
    "minicpm3": replace(DENSE, tied=True),
    "youtu": replace(DENSE, tied=True),
}  # fmt: skip


def row(c: Config) -> Model:
    """A model by its family's row."""
    f = ROWS[c.kind]
    if c.kind == "minicpm3" and c.flag("mlp_bias"):
        raise c.refuse("mlp_bias is not counted")
    if f.mixture and not c.has("n_routed_experts"):
        f = replace(f, ffn_rule=always("dense"), draft=False)
    if c.kind == "deepseek_v2" and not c.flag("use_mla", default=True):
        # DeepSeek-VL2 tiny and DeepSeek-OCR: plain attention; the widths of the latent are zeros.
        for key in ("kv_lora_rank", "q_lora_rank", "qk_rope_head_dim"):
            c.get(key)
        zero = {"head_dim": None} if c.get("head_dim") == 0 else {}
        c.data = {**c.data, **zero}
        f = replace(f, mixers=GROUPED, heads=Heads())
    frequency = c.integer("moe_layer_freq", default=1) if f.mixture else 1
    if frequency != 1:
        raise c.refuse("moe_layer_freq other than 1")
    return read(c, f)


READERS = dict.fromkeys(ROWS, row)
