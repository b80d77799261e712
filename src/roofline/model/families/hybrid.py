"""Hybrids of attention and recurrent layers.

Qwen3-Next and Qwen3.5, OLMo hybrid (gated delta nets), Kimi-Linear, Ling (Kimi delta
attention), MiniMax-01 (lightning attention), Nemotron-H, Bamba, Granite 4, Falcon-H1, Jamba
(Mamba), LFM2 (short convolutions), RecurrentGemma (linear recurrent units).
"""

from __future__ import annotations

from ...errors import InputError
from ...record import replace
from ..attention import Span
from ..config import Config
from ..ffn import Mlp
from ..model import Model
from ..parts import LayerPart
from .decoder import (
    GROUPED,
    Family,
    Heads,
    Pattern,
    always,
    attention,
    dense,
    every,
    read,
)
from .latent import latent
from .mixers import bamba, conv, delta, gated_latent, jamba, kimi, lightning, nemotron, unit
from .mixture import ALL_SPARSE, FFNS, Mixture, counted, experts, leading, nth, sparse, wide


def both(c: Config, f: Family, label: str) -> tuple[LayerPart, ...]:
    """Falcon-H1: Mamba-2 and attention side by side in every layer."""
    return (*bamba(c, f, label), attention(c, f, Span()))


def nothing(c: Config, f: Family, label: str) -> tuple[LayerPart, ...]:
    """A layer has one part only."""
    return ()


def granite(c: Config, f: Family, label: str) -> tuple[LayerPart, ...]:
    """Granite 4: experts where there are any, and a shared MLP always."""
    if c.experts("num_local_experts", default=0, least=0):
        return sparse(c, f, label)
    width = c.integer("shared_intermediate_size")
    names = ("input_linear", "input_linear", "output_linear")
    return (Mlp(c.integer("hidden_size"), width, prefix="shared_mlp", names=names),)


def latents(c: Config, f: Family, label: str) -> tuple[LayerPart, ...]:
    """Nemotron's experts: ungated, behind a projection where the config names its width."""
    return (replace(experts(c, f), latent=c.optional("moe_latent_size")),)


def periodic(period: str, offset: str, one: str, rest: str) -> Pattern:
    """Layer i is ``one`` where i mod ``period`` is ``offset`` (Jamba)."""

    def pattern(c: Config, f: Family, depth: int) -> list[str]:
        step, first = c.integer(period), c.integer(offset, least=0)
        if first >= step:
            raise c.refuse(f"{offset} {first} is beyond {period} {step}")
        return [one if i % step == first else rest for i in range(depth)]

    return pattern


LINEAR_THEN_FULL = every("full_attention_interval", 4, rest="linear_attention")
QWEN = Heads(width=256, qk_norm="head", gate="query")
QWEN_EXPERTS = Mixture(
    shared=wide("shared_expert_intermediate_size"), shared_gate=True,
    shared_path="mlp.shared_expert",
)  # fmt: skip
DELTA = {**GROUPED, "linear_attention": delta}
KIMI = Family(
    mixers={"linear_attention": kimi, "full_attention": latent}, ffns=FFNS,
    ffn_rule=leading("first_k_dense_replace", default=1), draft=True, untied=True,
    mixture=Mixture(
        active=("num_experts_per_token",), shared=counted("num_shared_experts"),
    ),
    aliases={"num_experts_per_token": ("num_experts_per_tok",)},
)  # fmt: skip
BAMBA = {**GROUPED, "linear_attention": bamba, "hybrid": both}
LFM = Family(
    heads=Heads(qkv_bias=False, out_bias=False, qk_norm="head",
                names=("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                       "self_attn.out_proj")),
    mixers={**GROUPED, "conv": conv}, mlp=("w1", "w3", "w2"), mlp_path="feed_forward", tied=True,
    aliases={"intermediate_size": ("block_ff_dim",), "tie_word_embeddings": ("tie_embedding",)},
)  # fmt: skip

ROWS: dict[str, Family] = {
    "qwen3_next": Family(
        heads=QWEN, mixers=DELTA, mixer_rule=LINEAR_THEN_FULL, ffns=FFNS, ffn_rule=nth,
        mixture=QWEN_EXPERTS,
    ),
    "qwen3_5_text": Family(
        heads=QWEN, mixers=DELTA, mixer_rule=LINEAR_THEN_FULL, draft=True
    ),
    "qwen3_5_moe_text": Family(
        heads=QWEN, mixers=DELTA, mixer_rule=LINEAR_THEN_FULL, ffns=FFNS, ffn_rule=ALL_SPARSE,
        mixture=QWEN_EXPERTS, draft=True,
    ),
    "lara_mini": Family(
        heads=Heads(width=128, qk_norm="head", default_window=512), mixers=DELTA, ffns=FFNS,
        ffn_rule=ALL_SPARSE, tied=True, mixture=replace(QWEN_EXPERTS, shared_gate=False),
    ),
    "olmo_hybrid": Family(
        heads=Heads(qk_norm="full"), mixers=DELTA,
        mixer_rule=every("", 4, rest="linear_attention"),
    ),
    "kimi_linear": KIMI,
    "bailing_hybrid": replace(
        KIMI, mixers={"linear_attention": kimi, "full_attention": gated_latent}
    ),
    "minimax": Family(
        heads=Heads(qkv_bias=False, out_bias=False),
        mixers={**GROUPED, "linear_attention": lightning}, ffns=FFNS, ffn_rule=ALL_SPARSE,
        mixer_rule=lambda c, f, n: [
            "linear_attention" if i % 2 else "full_attention" for i in range(n)
        ],
        mixture=Mixture(
            experts=("num_local_experts",), width=("intermediate_size",),
            router="block_sparse_moe.gate", prefix="block_sparse_moe.experts",
            names=("w1", "w3", "w2"),
        ),
    ),
    "nemotron_h": Family(
        heads=Heads(width=128, names=(
            "mixer.q_proj", "mixer.k_proj", "mixer.v_proj", "mixer.o_proj",
        )),
        mixers={"linear_attention": nemotron, "full_attention": GROUPED["full_attention"],
                "moe": latents, "mlp": dense},
        ffns={"none": nothing}, ffn_rule=always("none"), norms=1, untied=True, mlp_bias="mlp_bias",
        gated=False, mlp=("", "up_proj", "down_proj"), mlp_path="mixer",
        mixture=Mixture(
            experts=("n_routed_experts",), shared=wide("moe_shared_expert_intermediate_size"),
            gated=False, bias="mlp_bias", router="mixer.gate", prefix="mixer.experts",
            shared_path="mixer.shared_experts", shared_names=("", "up_proj", "down_proj"),
        ),
        aliases={
            "layer_types": ("layers_block_type",), "head_dim": ("attention_head_dim",),
            "n_groups": ("mamba_n_groups",), "conv_kernel": ("mamba_d_conv",),
            "use_conv_bias": ("mamba_conv_bias",), "expand": ("mamba_expand",),
        },
        prefix="backbone.layers",
    ),
    "bamba": Family(
        mixers=BAMBA, mlp_bias="mlp_bias", mlp_path="feed_forward",
        mixer_rule=lambda c, f, n: _indexed(c, "attn_layer_indices", n, "linear_attention"),
    ),
    "granitemoehybrid": Family(
        mixers=BAMBA, mixer_rule=always("linear_attention"), ffns={"sparse": granite},
        ffn_rule=ALL_SPARSE,
        mixture=Mixture(
            experts=("num_local_experts",), width=("intermediate_size",),
            router="block_sparse_moe.router.layer", prefix="block_sparse_moe",
            shared=wide("shared_intermediate_size"), shared_path="shared_mlp",
            shared_names=("input_linear", "input_linear", "output_linear"),
        ),
    ),
    "falcon_h1": Family(
        mixers=BAMBA, mixer_rule=always("hybrid"), mlp_bias="mlp_bias", mlp_path="feed_forward"
    ),
    "jamba": Family(
        heads=Heads(qkv_bias=False, out_bias=False),
        mixers={**GROUPED, "linear_attention": jamba}, ffns=FFNS, mlp_path="feed_forward",
        mixer_rule=periodic(
            "attn_layer_period", "attn_layer_offset", "full_attention", "linear_attention"
        ),
        ffn_rule=periodic("expert_layer_period", "expert_layer_offset", "sparse", "dense"),
        mixture=Mixture(
            width=("intermediate_size",), router="feed_forward.router",
            prefix="feed_forward.experts",
        ),
    ),
    "lfm2": replace(
        LFM, mixer_rule=lambda c, f, n: _indexed(c, "full_attn_idxs", n, "conv", every=True)
    ),
    "lfm2_moe": replace(
        LFM, ffns=FFNS, ffn_rule=leading("num_dense_layers", default=2),
        mixture=Mixture(
            router="feed_forward.gate", prefix="feed_forward.experts", names=("w1", "w3", "w2"),
        ),
    ),
    "lfm3": replace(
        LFM, heads=Heads(width=128, qk_norm="head", gate="head", gate_name="self_attn.g_proj",
                         default_window=256),
        norms=4,
        mixer_rule=lambda c, f, n: [
            "full_attention" if i % 4 == 2
            else "sliding_attention" if i % 4 == 0 and i
            else "conv"
            for i in range(n)
        ],
    ),
    "recurrent_gemma": Family(
        heads=Heads(qkv_bias="attention_bias", out_bias=True, window="attention_window_size",
                    default_window=2048),
        mixers={**GROUPED, "linear_attention": unit}, mlp_bias=True, mlp_path="mlp_block",
        mixer_rule=lambda c, f, n: _cycle(c, n), tied=True,
    ),
}  # fmt: skip


def _indexed(c: Config, key: str, depth: int, rest: str, *, every: bool = False) -> list[str]:
    # The layers listed under a key attend; without the key all do, or none.
    result = c.integers(key, most=depth - 1)
    if result is None:
        return ["full_attention" if every else rest] * depth
    listed = set(result)
    return ["full_attention" if i in listed else rest for i in range(depth)]


def _cycle(c: Config, depth: int) -> list[str]:
    # RecurrentGemma repeats its block types; its attention is always local.
    names = {"recurrent": "linear_attention", "attention": "sliding_attention"}
    types = c.words("block_types") or ["recurrent", "recurrent", "attention"]
    unknown = sorted(set(types) - names.keys())
    if unknown:
        raise c.refuse(f"the block type '{unknown[0][:40]}' is not counted")
    return [names[types[i % len(types)]] for i in range(depth)]


_PATTERN = {"M": "linear_attention", "E": "moe", "*": "full_attention", "-": "mlp"}


def _nemotron(c: Config) -> None:
    # hybrid_override_pattern is a letter a layer; layers_block_type a name.
    names = c.get("layers_block_type") or c.get("layer_types")
    if c.has("hybrid_override_pattern") and names is None:
        pattern = c.word("hybrid_override_pattern")
        unknown = sorted(set(pattern) - _PATTERN.keys())
        if unknown:
            raise c.refuse(f"the layer '{unknown[0]}' of hybrid_override_pattern is not counted")
        depth = c.layers()
        if len(pattern) != depth:
            raise InputError(
                f"{c.where}: hybrid_override_pattern has {len(pattern)} letters for {depth} layers"
            )
        c.data = {**c.data, "layer_types": [_PATTERN[letter] for letter in pattern]}
    elif isinstance(names, list) and "num_hidden_layers" not in c.data and names:
        c.data = {**c.data, "num_hidden_layers": len(names)}
    for key in ("hybrid_override_pattern", "expand", "chunk_size"):
        c.get(key)
    if c.flag("attention_bias"):
        raise c.refuse("attention_bias is not counted")
    count = c.experts("n_shared_experts", default=1, least=0)
    if c.has("n_routed_experts") and count != 1:
        raise c.refuse(f"{count} shared experts are not counted")


def _lfm2(c: Config, f: Family) -> Family:
    # The published width is that of an ungated network; it is cut to two thirds and rounded up.
    if not c.flag("block_auto_adjust_ff_dim", default=True):
        return f
    width = 2 * c.integer("intermediate_size", "block_ff_dim") // 3
    scale = c.get("block_ffn_dim_multiplier")
    if scale is not None:
        if isinstance(scale, bool) or not isinstance(scale, (int, float)) or not 0 < scale < 100:
            raise InputError(f"{c.where}: block_ffn_dim_multiplier must be a number above 0")
        of = c.integer("block_multiple_of", default=256)
        width = -(-int(scale * width) // of) * of
    return replace(f, mlp_width="", mlp_fixed=width)


def _kimi_keys(c: Config) -> None:
    # Kimi-Linear nests its keys, layers counted from 1; Ling names the same otherwise.
    data = dict(c.data)
    depth = c.layers()
    if c.kind == "bailing_hybrid":
        data.setdefault("linear_head_dim", c.get("head_dim"))
        data.setdefault("linear_num_heads", c.get("num_attention_heads"))
        data.setdefault("linear_conv_kernel_dim", c.get("short_conv_kernel_size"))
        step = c.integer("layer_group_size", default=6)
        data.setdefault(
            "layer_types",
            ["linear_attention" if (i + 1) % step else "full_attention" for i in range(depth)],
        )
    elif c.has("linear_attn_config"):
        inner = c.sub("linear_attn_config")
        data.setdefault("linear_head_dim", inner.get("head_dim"))
        data.setdefault("linear_num_heads", inner.get("num_heads"))
        data.setdefault("linear_conv_kernel_dim", inner.get("short_conv_kernel_size"))
        full = set(inner.integers("full_attn_layers", least=1, most=depth) or [])
        data.setdefault(
            "layer_types",
            ["full_attention" if i + 1 in full else "linear_attention" for i in range(depth)],
        )
    c.data = data


def row(c: Config) -> Model:
    """A model by its family's row."""
    f = ROWS[c.kind]
    if c.kind == "nemotron_h":
        _nemotron(c)
    elif c.kind in ("kimi_linear", "bailing_hybrid"):
        _kimi_keys(c)
    elif c.kind == "lfm2":
        f = _lfm2(c, f)
    elif c.kind == "lfm3":
        gate = "head" if c.flag("use_attention_gate", default=True) else ""
        norms = 4 if c.flag("use_sandwich_norm", default=True) else 2
        f = replace(f, heads=replace(f.heads, gate=gate), norms=norms)
    elif c.kind == "recurrent_gemma":
        f = replace(f, mlp_width="", mlp_fixed=c.integer("intermediate_size") // 2)
    elif c.kind in ("qwen3_5_text", "qwen3_5_moe_text"):
        c.get("full_attention_interval")  # unread where layer_types says it
        if not c.flag("attn_output_gate", default=True):
            raise c.refuse("attention without an output gate is not counted")
    elif c.kind == "jamba" and c.experts("num_experts") == 1:
        f = replace(f, ffn_rule=always("dense"))
    return read(c, f)


READERS = dict.fromkeys(ROWS, row)
