"""Models without attention, and Zamba: Mamba, Mamba-2, Falcon-Mamba, RWKV-4, xLSTM."""

from __future__ import annotations

from ..attention import Attention
from ..config import Config, short
from ..ffn import Mlp
from ..model import Layer, Model, gather
from ..parts import LayerPart, Linear, Matrices
from ..recurrent import Mamba1, Mamba2, MatrixMemory, Rwkv4
from .common import frame, head_width
from .mixers import kept


def _rank(c: Config, hidden: int) -> int:
    given = c.get("time_step_rank")
    return -(-hidden // 16) if given in (None, "auto") else c.integer("time_step_rank")


def mamba(c: Config) -> Model:
    """Mamba and Falcon-Mamba: a norm and a selective scan in each layer."""
    hidden = c.integer("hidden_size", "d_model")
    inner = c.integer("intermediate_size", default=c.integer("expand", default=2) * hidden)
    part = Mamba1(
        hidden, inner, c.integer("state_size"), _rank(c, hidden), c.integer("conv_kernel"),
        c.flag("use_conv_bias", default=True), c.flag("use_bias"),
    )  # fmt: skip
    return _plain(c, hidden, part, tied=True)


def mamba2(c: Config) -> Model:
    """Mamba-2."""
    hidden = c.integer("hidden_size")
    heads, width = c.integer("num_heads"), c.integer("head_dim")
    inner = c.integer("expand", default=2) * hidden
    if heads * width != inner:
        raise c.refuse(f"{heads} heads of {width} channels are not {inner}")
    bias = c.flag("use_bias")
    part = Mamba2(
        hidden, heads, width, c.integer("n_groups"), c.integer("state_size"),
        c.integer("conv_kernel"), c.flag("use_conv_bias", default=True), bias, bias, path="mixer",
    )  # fmt: skip
    return _plain(c, hidden, part, tied=False)


def _plain(c: Config, hidden: int, part: LayerPart, *, tied: bool) -> Model:
    return frame(
        c,
        hidden=hidden,
        layers=gather(c.layers(), lambda i: ((part,), hidden), "backbone.layers"),
        tied=c.flag("tie_word_embeddings", default=tied),
        vectors=hidden,
    )


def rwkv(c: Config) -> Model:
    """RWKV-4: its state is a few vectors, its mixing element-wise."""
    hidden = c.integer("hidden_size")
    inner = c.integer("attention_hidden_size", default=hidden)
    width = c.integer("intermediate_size", default=4 * hidden)
    part = Rwkv4(hidden, inner, width)

    def make(i: int) -> tuple[tuple[LayerPart, ...], int]:
        return (part,), (6 if i == 0 else 4) * hidden

    return frame(
        c,
        hidden=hidden,
        layers=gather(c.layers(), make, "rwkv.blocks"),
        tied=c.flag("tie_word_embeddings"),
        vectors=2 * hidden,
    )


def xlstm(c: Config) -> Model:
    """xLSTM with matrix memories (mLSTM)."""
    hidden, heads = c.integer("hidden_size", "embedding_dim"), c.integer("num_heads")
    c.get("num_blocks")
    keys, values = (_scaled(c, hidden, heads, k, d) for k, d in (
        ("qk_dim_factor", 0.5), ("v_dim_factor", 1.0),
    ))  # fmt: skip
    if c.word("weight_mode", default="single") != "single":
        raise c.refuse("weight_mode other than single is not counted")
    if c.flag("use_bias") or c.flag("tie_word_embeddings"):
        raise c.refuse("biases and a tied head are not counted")
    part = MatrixMemory(hidden, heads, keys, values, False, kept(c, "inference_state_dtype"))
    of = c.integer("ffn_round_up_to_multiple_of", default=64)
    wanted = _number(c, "ffn_proj_factor", 2.667) * hidden
    mlp = Mlp(hidden, -(-int(wanted) // of) * of, prefix="ffn")
    return frame(
        c,
        hidden=hidden,
        layers=gather(c.layers(), lambda i: ((part, mlp), 2 * hidden), "backbone.blocks"),
        tied=c.flag("tie_word_embeddings"),
        vectors=hidden,
    )


def _number(c: Config, key: str, default: float) -> float:
    value = c.get(key)
    value = default if value is None else value
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1000:
        raise c.refuse(f"{key} is {short(value)}, not a number above 0")
    return float(value)


def _scaled(c: Config, hidden: int, heads: int, key: str, default: float) -> int:
    width = int(hidden * _number(c, key, default))
    if width % heads:
        raise c.refuse(f"{key} leaves {width} columns for {heads} heads")
    return width // heads


def zamba(c: Config) -> Model:
    """Zamba: Mamba layers; at some of them one shared block of attention and MLP runs first.

    The block reads the hidden state beside the first layer's input (twice the width). It is
    held once, and run, with a cache of its own, at every such layer. Zamba2 alternates between
    several, with an adapter of low rank at each layer.
    """
    second = c.kind == "zamba2"
    hidden, depth = c.integer("hidden_size"), c.layers()
    hybrid = _hybrid_layers(c, depth)
    mamba_part = _zamba_mamba2(c, hidden) if second else _zamba_mamba1(c, hidden)
    plain = tuple(i for i in range(depth) if i not in set(hybrid))
    layers = [Layer((mamba_part,), plain, hidden)] if plain else []
    blocks = c.integer("num_mem_blocks", default=1) if second else 1
    inner = c.integer("intermediate_size", default=4 * hidden)
    bias = c.flag("add_bias_linear") if second else False
    join = Matrices("shared.out", (Linear("linear", hidden, hidden),))
    beside: tuple[LayerPart, ...] = (join, mamba_part)
    if second:
        rank = c.integer("adapter_rank", default=128)
        path = "shared_transformer.feed_forward.gate_up_proj_adapter"
        low = (Linear(f"{path}.0", hidden, rank), Linear(f"{path}.1", rank, 2 * inner))
        beside = (Matrices("shared.adapter", low), *beside)
        if c.flag("use_shared_attention_adapter"):
            raise c.refuse("use_shared_attention_adapter is not counted")
    if hybrid:
        layers.append(Layer(beside, tuple(hybrid), hidden))
    block = (_zamba_attention(c, hidden), Mlp(hidden, inner, True, bias, "shared.feed_forward"))
    for b in range(min(blocks, len(hybrid))):
        mine = hybrid[b::blocks]
        layers.append(Layer(block, mine[:1], 3 * hidden, runs=len(mine)))
    return frame(
        c,
        hidden=hidden,
        layers=tuple(layers),
        tied=c.flag("tie_word_embeddings", default=True),
        vectors=hidden,
    )


def _hybrid_layers(c: Config, depth: int) -> tuple[int, ...]:
    types = c.words("layers_block_type", depth)
    if types is None:
        period = c.integer("attn_layer_period", default=6)
        offset = c.integer("attn_layer_offset", default=4, least=0)
        rest = ["hybrid" if i % period == offset else "mamba" for i in range(depth - 3)]
        types = ["mamba", "mamba", "hybrid"][:depth] + rest
    for key in ("attn_layer_period", "hybrid_layer_ids"):
        c.get(key)
    names = {"hybrid", "mamba", "linear_attention"}
    unknown = sorted(set(types) - names)
    if unknown:
        raise c.refuse(f"the layer type '{unknown[0][:40]}' is not counted")
    return tuple(i for i, t in enumerate(types) if t == "hybrid")


def _zamba_attention(c: Config, hidden: int) -> Attention:
    heads = c.integer("num_attention_heads")
    kv_heads = c.integer("num_key_value_heads", default=heads)
    if heads % kv_heads:
        raise c.refuse(f"{heads} heads cannot share {kv_heads} key-value heads evenly")
    width = head_width(c, 2 * hidden, heads, "attention_head_dim")
    if c.integer("attention_hidden_size", default=2 * hidden) != 2 * hidden:
        raise c.refuse("attention_hidden_size other than twice hidden_size is not counted")
    names = ("q_proj", "k_proj", "v_proj", "o_proj")
    q, k, v, o = (f"shared.self_attn.{name}" for name in names)
    return Attention(hidden, heads, kv_heads, width, width, width=2 * hidden, names=(q, k, v, o))


def _zamba_mamba1(c: Config, hidden: int) -> Mamba1:
    inner, heads = c.integer("mamba_expand", default=2) * hidden, c.integer("n_mamba_heads")
    if inner % heads:
        raise c.refuse(f"{inner} channels are not {heads} equal heads")
    given = c.get("mamba_dt_rank")
    rank = -(-hidden // 16) if given in (None, "auto") else c.integer("mamba_dt_rank")
    return Mamba1(
        hidden, inner, c.integer("mamba_d_state"), rank, c.integer("mamba_d_conv"),
        c.flag("mamba_conv_bias", default=True), c.flag("mamba_proj_bias"), heads=heads,
        path="mamba",
    )  # fmt: skip


def _zamba_mamba2(c: Config, hidden: int) -> Mamba2:
    inner, heads = c.integer("mamba_expand", default=2) * hidden, c.integer("n_mamba_heads")
    if inner % heads:
        raise c.refuse(f"{inner} channels are not {heads} equal heads")
    bias = c.flag("add_bias_linear")
    return Mamba2(
        hidden, heads, inner // heads, c.integer("mamba_ngroups", default=1),
        c.integer("mamba_d_state"), c.integer("mamba_d_conv"),
        c.flag("use_conv_bias", default=True), bias, bias,
    )  # fmt: skip


READERS = {
    "mamba": mamba, "falcon_mamba": mamba, "mamba2": mamba2, "rwkv": rwkv, "xlstm": xlstm,
    "zamba": zamba, "zamba2": zamba,
}  # fmt: skip
