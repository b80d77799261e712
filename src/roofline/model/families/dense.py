"""Dense decoders: Llama and what differs from it in norms, biases, gates and names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..attention import Attention
from ..config import Config
from ..ffn import Mlp
from ..model import Model, gather
from ..parts import Linear, Part
from .common import frame, head_width, windows


@dataclass(frozen=True, slots=True)
class Traits:
    """How a family differs from Llama.

    Attributes:
        norms: norms over the residual stream in one layer.
        norm_parameters: parameters per width of each of them (0, 1, or 2 with a bias).
        qk_norm: ``head`` (one width each), ``full`` (all heads), or empty.
        qkv_bias, out_bias: the config key, or a fixed value.
        sliding: whether layer i of n slides, where the config does not list it.
    """

    norms: int = 2
    norm_parameters: int = 1
    qk_norm: str = ""
    qkv_bias: str | bool = "attention_bias"
    out_bias: str | bool = "attention_bias"
    mlp_bias: str | bool = False
    gated: bool = True
    tied: bool = False
    kv_heads: str = "num_key_value_heads"
    window: str = ""
    default_window: int | None = None
    sliding: Callable[[Config], Callable[[int], bool]] | None = None
    head_bias: bool = False


def _every(key: str, default: int) -> Callable[[Config], Callable[[int], bool]]:
    # All layers slide but each n-th (Gemma 2 and 3, Cohere 2).
    def rule(c: Config) -> Callable[[int], bool]:
        n = c.integer(key, default=default)
        return lambda i: (i + 1) % n != 0

    return rule


def _after_first(c: Config) -> Callable[[int], bool]:
    # Qwen2: layers from max_window_layers on slide, where use_sliding_window is set.
    if not c.flag("use_sliding_window"):
        return lambda i: False
    first = c.integer("max_window_layers", default=28, least=0)
    return lambda i: i >= first


def _always(c: Config) -> Callable[[int], bool]:
    return lambda i: True


TRAITS = {
    "llama": Traits(mlp_bias="mlp_bias"),
    "granite": Traits(mlp_bias="mlp_bias"),
    "mistral": Traits(
        qkv_bias=False, out_bias=False, window="sliding_window", default_window=4096,
        sliding=_always,
    ),
    "ministral": Traits(
        qkv_bias=False, out_bias=False, window="sliding_window", sliding=_always
    ),
    "qwen2": Traits(
        qkv_bias=True, out_bias=False, window="sliding_window", sliding=_after_first
    ),
    "qwen3": Traits(qk_norm="head", window="sliding_window", sliding=_after_first),
    "smollm3": Traits(
        mlp_bias="mlp_bias", tied=True, window="sliding_window", sliding=_after_first
    ),
    "gemma": Traits(tied=True),
    "gemma2": Traits(
        norms=4, tied=True, window="sliding_window", default_window=4096,
        sliding=_every("sliding_window_pattern", 2),
    ),
    "gemma3_text": Traits(
        norms=4, tied=True, qk_norm="head", window="sliding_window", default_window=4096,
        sliding=_every("sliding_window_pattern", 6),
    ),
    "phi": Traits(
        norms=1, norm_parameters=2, qkv_bias=True, out_bias=True, mlp_bias=True, gated=False,
        head_bias=True,
    ),
    "phi3": Traits(qkv_bias=False, out_bias=False, window="sliding_window", sliding=_always),
    "olmo": Traits(norm_parameters=0),
    "olmo2": Traits(qk_norm="full"),
    "gpt_neox": Traits(
        norm_parameters=2, mlp_bias=True, gated=False, kv_heads="num_attention_heads"
    ),
    "starcoder2": Traits(
        norm_parameters=2, qkv_bias="use_bias", out_bias="use_bias", mlp_bias="use_bias",
        gated=False, tied=True, window="sliding_window", sliding=_always,
    ),
    "cohere": Traits(norms=1, tied=True),
    "cohere2": Traits(
        norms=1, tied=True, window="sliding_window", default_window=4096,
        sliding=_every("sliding_window_pattern", 4),
    ),
    "stablelm": Traits(
        norm_parameters=2, qkv_bias="use_qkv_bias", out_bias=False,
    ),
}  # fmt: skip

_BIAS_DEFAULTS = {"gpt_neox": True, "starcoder2": True, "gemma3_text": False}
_DEFAULT_HEAD_WIDTH = {"gemma": 256, "gemma2": 256, "gemma3_text": 256, "qwen3": 128}


def _switch(c: Config, rule: str | bool) -> bool:
    if isinstance(rule, bool):
        return rule
    return c.flag(rule, default=_BIAS_DEFAULTS.get(c.kind, False))


def attention(c: Config, t: Traits, window: int | None) -> Attention:
    """The attention of one layer by these traits."""
    hidden = c.integer("hidden_size")
    heads = c.integer("num_attention_heads")
    kv_heads = c.integer(t.kv_heads, default=heads)
    if heads % kv_heads:
        raise c.refuse(f"{heads} heads cannot share {kv_heads} key-value heads evenly")
    if c.kind in _DEFAULT_HEAD_WIDTH and not c.has("head_dim"):
        width = _DEFAULT_HEAD_WIDTH[c.kind]
    else:
        width = head_width(c, hidden, heads)
    norms = {"": 0, "head": 2 * width, "full": (heads + kv_heads) * width}[t.qk_norm]
    return Attention(
        hidden, heads, kv_heads, width, width, window,
        qkv_bias=_switch(c, t.qkv_bias), out_bias=_switch(c, t.out_bias), extra_vectors=norms,
    )  # fmt: skip


def layer_windows(c: Config, t: Traits, depth: int) -> list[int | None]:
    """Each layer's window by these traits."""
    if not t.window:
        return [None] * depth
    c.get(t.window)
    if t.window in c.data:
        window = c.optional(t.window)
    else:
        window = t.default_window
    rule = t.sliding(c) if t.sliding else (lambda i: False)
    return windows(c, depth, window, rule)


def _extras(c: Config, t: Traits) -> tuple[Traits, int]:
    # Switches of single families that change norms.
    from dataclasses import replace

    if c.kind in ("cohere", "stablelm") and c.flag(
        "use_qk_norm" if c.kind == "cohere" else "qk_layernorm"
    ):
        t = replace(t, qk_norm="full")
    if c.kind == "phi" and c.flag("qk_layernorm"):
        raise c.refuse("qk_layernorm is not counted")
    if c.kind == "stablelm" and c.flag("use_parallel_residual"):
        t = replace(t, norms=1)
    return t, t.norms


def read(c: Config) -> Model:
    """A dense decoder by its family's traits."""
    t, norms = _extras(c, TRAITS[c.kind])
    hidden = c.integer("hidden_size")
    depth = c.layers()
    width = c.integer("intermediate_size")
    mlp = Mlp(hidden, width, t.gated, _switch(c, t.mlp_bias))
    spans = layer_windows(c, t, depth)

    def make(i: int) -> tuple[tuple[Part, ...], int]:
        return (attention(c, t, spans[i]), mlp), norms * t.norm_parameters * hidden

    return frame(
        c,
        hidden=hidden,
        layers=gather(depth, make),
        tied=c.flag("tie_word_embeddings", default=t.tied),
        vectors=t.norm_parameters * hidden,
        head_bias=t.head_bias,
    )


def _classic(
    c: Config,
    *,
    hidden: int,
    heads: int,
    kv_heads: int,
    depth: int,
    width: int,
    norms: int,
    attention_bias: tuple[bool, bool],
    mlp_bias: bool,
    tied: bool,
    vectors: int,
    positions: int = 0,
    head_bias: bool = False,
    embedding: int | None = None,
    gated: bool = False,
) -> Model:
    if hidden % heads:
        raise c.refuse(f"a width of {hidden} is not a multiple of {heads} heads")
    d = hidden // heads
    qkv, out = attention_bias
    mixer = Attention(hidden, heads, kv_heads, d, d, qkv_bias=qkv, out_bias=out)
    mlp = Mlp(hidden, width, gated, mlp_bias)
    outer: tuple[Linear, ...] = ()
    if embedding is not None and embedding != hidden:
        outer = (Linear("project_in", embedding, hidden), Linear("project_out", hidden, embedding))
    return frame(
        c,
        hidden=hidden,
        layers=gather(depth, lambda i: ((mixer, mlp), norms)),
        tied=tied,
        vectors=vectors,
        positions=positions,
        head_bias=head_bias,
        head_inputs=embedding,
        outer=outer,
    )


def gpt2(c: Config) -> Model:
    """GPT-2: learned positions, biases everywhere, norms with bias, tied head."""
    h = c.integer("n_embd", "hidden_size")
    heads = c.integer("n_head", "num_attention_heads")
    return _classic(
        c, hidden=h, heads=heads, kv_heads=heads,
        depth=c.layers("n_layer", "num_hidden_layers"),
        width=c.optional("n_inner") or 4 * h, norms=4 * h, attention_bias=(True, True),
        mlp_bias=True, tied=c.flag("tie_word_embeddings", default=True), vectors=2 * h,
        positions=h * c.integer("n_positions", "n_ctx", "max_position_embeddings"),
    )  # fmt: skip


def gptj(c: Config) -> Model:
    """GPT-J: one norm a layer, no bias in attention, a head with bias."""
    h = c.integer("n_embd", "hidden_size")
    heads = c.integer("n_head", "num_attention_heads")
    return _classic(
        c, hidden=h, heads=heads, kv_heads=heads,
        depth=c.layers("n_layer", "num_hidden_layers"),
        width=c.optional("n_inner") or 4 * h, norms=2 * h, attention_bias=(False, False),
        mlp_bias=True, tied=c.flag("tie_word_embeddings"), vectors=2 * h, head_bias=True,
    )  # fmt: skip


def opt(c: Config) -> Model:
    """OPT: learned positions (offset by two), norms with bias; 350M projects its table."""
    h = c.integer("hidden_size")
    heads = c.integer("num_attention_heads")
    bias = c.flag("enable_bias", default=True)
    norm = 2 * h if c.flag("layer_norm_elementwise_affine", default=True) else 0
    last = c.flag("do_layer_norm_before", default=True) and not c.flag("_remove_final_layer_norm")
    return _classic(
        c, hidden=h, heads=heads, kv_heads=heads, depth=c.layers(), width=c.integer("ffn_dim"),
        norms=2 * norm, attention_bias=(bias, bias), mlp_bias=bias,
        tied=c.flag("tie_word_embeddings", default=True), vectors=norm if last else 0,
        positions=h * (c.integer("max_position_embeddings") + 2),
        embedding=c.optional("word_embed_proj_dim") or h,
    )  # fmt: skip


def bloom(c: Config) -> Model:
    """BLOOM: ALiBi, a norm after the table, biases everywhere, tied head."""
    h = c.integer("hidden_size", "n_embed")
    heads = c.integer("n_head", "num_attention_heads")
    return _classic(
        c, hidden=h, heads=heads, kv_heads=heads,
        depth=c.layers("n_layer", "num_hidden_layers"), width=4 * h, norms=4 * h,
        attention_bias=(True, True), mlp_bias=True,
        tied=c.flag("tie_word_embeddings", default=True), vectors=4 * h,
    )  # fmt: skip


def falcon(c: Config) -> Model:
    """Falcon: multi-query (7B) or grouped (40B, 180B), parallel attention."""
    h = c.integer("hidden_size")
    heads = c.integer("num_attention_heads", "n_head")
    new = c.flag("new_decoder_architecture")
    parallel = c.flag("parallel_attn", default=True)
    if new:
        kv_heads = c.integer("num_kv_heads", "n_head_kv", default=heads)
    else:
        kv_heads = 1 if c.flag("multi_query", default=True) else heads
    bias = c.flag("bias")
    norms = c.optional("num_ln_in_parallel_attn") or (2 if new else 1)
    if not (new or parallel):
        norms = 2
    return _classic(
        c, hidden=h, heads=heads, kv_heads=kv_heads,
        depth=c.layers("num_hidden_layers", "n_layer"),
        width=c.integer("ffn_hidden_size", default=4 * h), norms=2 * h * norms,
        attention_bias=(bias, bias), mlp_bias=bias,
        tied=c.flag("tie_word_embeddings", default=True), vectors=2 * h,
    )  # fmt: skip


READERS = {
    **dict.fromkeys(TRAITS, read),
    "mistral3_text": read,
    "gpt2": gpt2,
    "gptj": gptj,
    "opt": opt,
    "bloom": bloom,
    "falcon": falcon,
}
TRAITS["mistral3_text"] = TRAITS["mistral"]
