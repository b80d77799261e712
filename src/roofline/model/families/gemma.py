"""Gemma 3n and Gemma 4: per-layer embeddings, caches shared across layers, parallel experts."""

from __future__ import annotations

from ...record import replace
from ..attention import Attention
from ..config import Config
from ..ffn import Mlp
from ..model import Model
from ..parts import LayerPart, Linear, Matrices
from .decoder import GROUPED, Family, Heads, attention, every, read, span
from .mixture import Mixture, sparse

SHARED = "+shared"
"""Suffix of the label of a layer that reads the cache of an earlier layer of its type."""


def first_shared(c: Config, depth: int) -> int:
    """The first layer that has no cache of its own."""
    shared = c.integer("num_kv_shared_layers", default=0, least=0)
    if shared > depth:
        raise c.refuse(f"{shared} layers of {depth} share a cache")
    return depth - shared


def sharing(c: Config, labels: list[str]) -> list[str]:
    """Labels of layers, those that share a cache marked."""
    first = first_shared(c, len(labels))
    own, shared = labels[:first], labels[first:]
    if first and not set(own) >= set(shared):
        raise c.refuse("a layer shares a cache that no layer before it has")
    return own + [label + SHARED for label in shared]


def _attention(c: Config, f: Family, label: str) -> Attention:
    shared = label.endswith(SHARED)
    plain = label.removesuffix(SHARED)
    core = attention(c, f, span(c, f, plain))
    if plain == "full_attention" and c.kind != "gemma3n_text":
        core = _global(c, core)
    if shared:
        # It norms queries only.
        core = replace(core, shares_cache=True, extra_vectors=core.key_width)
    return core


def _global(c: Config, core: Attention) -> Attention:
    # Gemma 4's full layers have wider heads, fewer of them, and keys for values.
    same = c.flag("attention_k_eq_v")
    width, kv_heads = core.key_width, core.kv_heads
    if "per_layer_config" not in c.data:
        width = c.integer("global_head_dim", default=512)
        if same:
            kv_heads = c.integer("num_global_key_value_heads", default=kv_heads)
    if core.heads % kv_heads:
        raise c.refuse(f"{core.heads} heads cannot share {kv_heads} key-value heads evenly")
    return replace(
        core, kv_heads=kv_heads, key_width=width, value_width=width, extra_vectors=2 * width,
        keys_are_values=same,
    )  # fmt: skip


def mixed(c: Config, f: Family, label: str) -> tuple[LayerPart, ...]:
    """Attention, with a cache of its own or another's."""
    return (_attention(c, f, label),)


def feed_forward(c: Config, f: Family, label: str) -> tuple[LayerPart, ...]:
    """An MLP, twice as wide where the label says so, and experts beside it."""
    hidden = c.integer("hidden_size")
    width = c.integer("intermediate_size") * (2 if label == "wide" else 1)
    mlp = Mlp(hidden, width)
    if not c.flag("enable_moe_block"):
        return (mlp,)
    # Three more norms: after the MLP, before and after the experts.
    return (mlp, *sparse(c, f, label), Matrices("norms", (), 3 * hidden))


def widths(c: Config, f: Family, depth: int) -> list[str]:
    """Which feed-forward parts are of double width: those of layers without a cache."""
    double = c.flag("use_double_wide_mlp")
    first = first_shared(c, depth)
    return ["wide" if double and i >= first else "dense" for i in range(depth)]


def per_layer(c: Config, f: Family, ffn: str) -> tuple[LayerPart, ...]:
    """The gate and projection of a layer's own embedding."""
    hidden = c.integer("hidden_size")
    own = c.integer("hidden_size_per_layer_input", default=0, least=0)
    if not own:
        return ()
    gate = Linear("per_layer_input_gate", hidden, own)
    return (Matrices("per_layer", (gate, Linear("per_layer_projection", own, hidden)), hidden),)


_MIXERS = {**dict.fromkeys(GROUPED, mixed), **{label + SHARED: mixed for label in GROUPED}}

GEMMA4 = Family(
    heads=Heads(width=256, qk_norm="head", default_window=512), mixers=_MIXERS,
    mixer_rule=every("", 6), relabel=sharing, ffns=dict.fromkeys(("dense", "wide"), feed_forward),
    ffn_rule=widths, norms=4, tied=True, beside=per_layer,
    mixture=Mixture(
        active=("top_k_experts",), router="router.proj", prefix="experts", router_bias=1,
        router_extra=1,
    ),
)  # fmt: skip


def _altup(c: Config, f: Family, ffn: str) -> tuple[LayerPart, ...]:
    # Gemma 3n: alternating updates of n streams (arXiv 2301.13310), a low-rank residual.
    hidden, n = c.integer("hidden_size"), c.integer("altup_num_inputs", default=4, most=64)
    rank = c.integer("laurel_rank", default=64)
    mixing = Matrices(
        "altup",
        (
            Linear("altup.modality_router", hidden, n),
            Linear("altup.prediction_coefs", n, n * n),
            Linear("altup.correction_coefs", n, n),
        ),
        2 * hidden,
        # Predictions are n×n times n×h; the router runs once more to correct them.
        products=2 * n * n * hidden + 2 * hidden * n,
    )
    low_rank = Matrices(
        "laurel",
        (Linear("laurel.linear_left", hidden, rank), Linear("laurel.linear_right", rank, hidden)),
        hidden,
    )
    return (mixing, low_rank, *per_layer(c, f, ffn))


def _listed_width(c: Config, f: Family, label: str) -> tuple[LayerPart, ...]:
    return (Mlp(c.integer("hidden_size"), int(label)),)


def _widths_listed(c: Config, f: Family, depth: int) -> list[str]:
    if isinstance(c.get("intermediate_size"), list):
        result = c.integers("intermediate_size", depth, least=1) or []
    else:
        result = [c.integer("intermediate_size")] * depth
    return [str(width) for width in result]


GEMMA3N = replace(
    GEMMA4, mixer_rule=every("", 5), beside=_altup, ffn_rule=_widths_listed, mixture=None,
    heads=replace(GEMMA4.heads, default_window=512),
)  # fmt: skip


def row(c: Config) -> Model:
    """Gemma 3n or 4."""
    return read(c, ROWS[c.kind])


def _causal(c: Config) -> None:
    if c.get("use_bidirectional_attention") not in (None, False, "vision"):
        raise c.refuse("bidirectional attention is not counted")


def _fourth(c: Config, f: Family) -> Family:
    _causal(c)
    for key in ("num_experts", "moe_intermediate_size", "top_k_experts"):
        c.get(key)  # unread where there are no experts
    return f


def _nano(c: Config, f: Family) -> Family:
    _causal(c)
    labels = set(_widths_listed(c, f, c.layers()))
    return replace(f, ffns=dict.fromkeys(labels, _listed_width))


def _streams(c: Config, model: Model) -> Model:
    # What makes the first streams, and joins the last.
    model = _layer_inputs(c, model)
    hidden = model.hidden
    count = c.integer("altup_num_inputs", default=4, most=64) - 1
    names = ("altup_projections", "altup_unembed_projections")
    streams = [Linear(f"model.{n}.{i}", hidden, hidden) for n in names for i in range(count)]
    return model.altered(outer=(*model.outer, *streams))


def _layer_inputs(c: Config, model: Model) -> Model:
    # Tables of rows for each layer, and what makes the first per-layer inputs.
    hidden, depth = model.hidden, model.depth
    own = c.integer("hidden_size_per_layer_input", default=0, least=0)
    if not own:
        return model
    rows = c.integer("vocab_size_per_layer_input", most=1 << 28)
    return model.altered(
        outer=(*model.outer, Linear("model.per_layer_model_projection", hidden, depth * own)),
        tables=model.tables + rows * depth * own,
        looked_up=hidden + depth * own,
        vectors=model.vectors + own,
    )


def _unified(c: Config, model: Model) -> Model:
    c.integer("hidden_size_per_layer_input", default=0, least=0)  # none of it
    return model


ROWS = {
    "gemma3n_text": replace(GEMMA3N, adapt=_nano, finish=_streams),
    "gemma4_text": replace(GEMMA4, adapt=_fourth, finish=_layer_inputs),
    "gemma4_unified_text": replace(GEMMA4, beside=None, adapt=_fourth, finish=_unified),
}
READERS = dict.fromkeys(ROWS, row)
