"""Layers of different shapes: windows or chunks with heads of their own, blocks that a search
left, experts in some layers.

Llama 4 (chunks, interleaved experts), MiMo-V2-Flash, Step-3.5 and 3.7 (heads by kind of
layer), Laguna, Nemotron Super (a block configuration for each layer).
"""

from __future__ import annotations

from typing import Any

from ...errors import InputError
from ...record import replace
from ...words.note import Note
from ..attention import Attention, Span
from ..config import Config, short
from ..ffn import Mlp
from ..model import Layer, Model, gather
from ..parts import LayerPart, Linear, Matrices, Unused
from .common import frame, head_width
from .decoder import GROUPED, Family, Heads, attention, build, dense, read, span
from .mixture import FFNS, Mixture, counted, flagged, leading, wide


def _chunks(c: Config, f: Family, depth: int) -> list[str]:
    # Llama 4: layers with rotary positions attend within chunks, each n-th sees everything.
    rotary = c.integers("no_rope_layers", depth, most=1)
    if not rotary:
        step = c.integer("no_rope_layer_interval", default=4)
        rotary = [1 if (i + 1) % step else 0 for i in range(depth)]
    if c.optional("attention_chunk_size") is None:
        return ["full_attention"] * depth
    return ["chunked_attention" if r else "full_attention" for r in rotary]


def _interleaved(c: Config, f: Family, depth: int) -> list[str]:
    layers = c.integers("moe_layers", most=depth - 1)
    if layers is None:
        step = c.integer("interleave_moe_layer_step", default=1)
        layers = list(range(step - 1, depth, step))
    sparse = set(layers)
    return ["sparse" if i in sparse else "dense" for i in range(depth)]


LLAMA4 = Family(
    heads=Heads(width=128), mixer_rule=_chunks, ffns=FFNS, ffn_rule=_interleaved,
    mlp_width="intermediate_size_mlp", mlp_path="feed_forward",
    mixture=Mixture(
        experts=("num_local_experts",), width=("intermediate_size",),
        shared=lambda c, width: width, router="feed_forward.router",
        prefix="feed_forward.experts", shared_path="feed_forward.shared_expert",
    ),
    aliases={"num_local_experts": ("num_experts",)},
)  # fmt: skip


def _mimo(c: Config, f: Family, label: str) -> tuple[LayerPart, ...]:
    # MiMo-V2-Flash: sliding layers have more key-value heads, and sinks.
    heads, kv_heads = c.integer("num_attention_heads"), c.integer("num_key_value_heads")
    width, values = c.integer("head_dim", default=192), c.integer("v_head_dim", default=128)
    seen = span(c, f, label)
    if seen.window is not None:
        heads = c.integer("swa_num_attention_heads", default=heads)
        kv_heads = c.integer("swa_num_key_value_heads", default=2 * kv_heads)
        width = c.integer("swa_head_dim", default=width)
        values = c.integer("swa_v_head_dim", default=values)
        sinks = c.flag("add_swa_attention_sink_bias", default=True)
    else:
        sinks = c.flag("add_full_attention_sink_bias")
    if heads % kv_heads:
        raise c.refuse(f"{heads} heads cannot share {kv_heads} key-value heads evenly")
    return (
        Attention(
            c.integer("hidden_size"), heads, kv_heads, width, values, seen,
            qkv_bias=c.flag("attention_bias"), extra_vectors=heads if sinks else 0,
        ),
    )  # fmt: skip


def _mimo_layers(c: Config, f: Family, depth: int) -> list[str]:
    flags = c.integers("hybrid_layer_pattern", depth, most=1)
    if flags is None:
        flags = [0 if i == 0 or (i + 1) % 6 == 0 else 1 for i in range(depth)]
    return ["sliding_attention" if flag else "full_attention" for flag in flags]


MIMO = Family(
    heads=Heads(), mixers=dict.fromkeys(GROUPED, _mimo), mixer_rule=_mimo_layers, ffns=FFNS,
    ffn_rule=flagged("moe_layer_freq", leading("", default=1)),
    mixture=Mixture(experts=("n_routed_experts",), shared=counted("n_shared_experts")),
)  # fmt: skip


def _step(c: Config, f: Family, label: str) -> tuple[LayerPart, ...]:
    # Step: sliding layers may have another number of heads; one gate a head.
    c.get("num_sliding_attention_heads")
    if label.startswith("sliding") and "per_layer_config" not in c.data:
        heads = c.optional("num_sliding_attention_heads")
        if heads is None and c.has("attention_other_setting"):
            other = c.sub("attention_other_setting")
            heads = other.optional("num_attention_heads")
            kv_heads = other.optional("num_attention_groups")
            if kv_heads is not None and kv_heads != c.integer("num_key_value_heads"):
                raise c.refuse("attention_other_setting with other key-value heads")
            if other.has("head_dim") and other.integer("head_dim") != c.integer("head_dim"):
                raise c.refuse("attention_other_setting with another head_dim")
        if heads is not None:
            c = c.layer({"num_attention_heads": heads})
    return (attention(c, f, span(c, f, label)),)


def enumerated(c: Config, f: Family, depth: int) -> list[str]:
    """Step: ``moe_layers_enum`` lists the layers with experts, as a list or as text."""
    value = c.get("moe_layers_enum")
    if value is None:
        return leading("first_k_dense_replace", default=3)(c, f, depth)
    if isinstance(value, str):
        value = [int(x) if x.strip().isdecimal() else x for x in value.split(",") if x.strip()]
    if not isinstance(value, list) or not all(type(i) is int and 0 <= i < 1 << 20 for i in value):
        raise InputError(f"{c.where}: moe_layers_enum is not a list of layers: {short(value)}")
    sparse = set(value)
    return ["sparse" if i in sparse else "dense" for i in range(depth)]


STEP = Family(
    heads=Heads(width=128, qk_norm="head", gate="head", gate_name="self_attn.g_proj"),
    mixers=dict.fromkeys(GROUPED, _step), ffns=FFNS, ffn_rule=enumerated, mlp_bias="mlp_bias",
    mixture=Mixture(
        experts=("n_routed_experts",), shared=wide("share_expert_dim", default=1280),
        router="moe.gate", prefix="moe", shared_path="share_expert",
    ),
    aliases={
        "n_routed_experts": ("num_experts", "moe_num_experts"),
        "num_experts_per_tok": ("moe_top_k",),
        "num_key_value_heads": ("num_attention_groups",),
        "share_expert_dim": ("share_expert_dims",),
    },
)  # fmt: skip


def _laguna_gate(c: Config) -> str:
    value = c.get("gating")
    if value in (None, True, "per-head"):
        return "head"
    if value == "per-element":
        return "wide"
    raise c.refuse(f"gating {short(value)} is not counted")


LAGUNA = Family(
    heads=Heads(width=128, qk_norm="head", gate="head", gate_name="self_attn.g_proj"),
    ffns=FFNS, ffn_rule=leading("", default=1),
    mixture=Mixture(shared=wide("shared_expert_intermediate_size"), router_bias=1),
    aliases={"num_experts": ("num_local_experts",)},
)  # fmt: skip

ROWS: dict[str, Family] = {
    "llama4_text": LLAMA4, "mimo_v2_flash": MIMO, "step3p5": STEP,
    "laguna": LAGUNA,
}  # fmt: skip


def row(c: Config) -> Model:
    """A model by its family's row."""
    f = ROWS[c.kind]
    if c.kind == "mimo_v2_flash":
        c.get("attention_chunk_size")  # announced, but no layer attends in chunks
    if f is STEP:
        return _read_step(c)
    if f is LAGUNA:
        f = replace(f, heads=replace(f.heads, gate=_laguna_gate(c)))
        per_layer = c.integers("num_attention_heads_per_layer", c.layers(), least=1)
        if per_layer and set(per_layer) != {c.integer("num_attention_heads")}:
            changes = {str(i): {"num_attention_heads": n} for i, n in enumerate(per_layer)}
            c.data = {**c.data, "per_layer_config": changes}
    return read(c, f)


def _read_step(c: Config) -> Model:
    if not c.flag("use_head_wise_attn_gate", default=True):
        raise c.refuse("attention without a gate a head is not counted")
    if c.experts("n_shared_experts", default=1, least=0) != 1:
        raise c.refuse("n_shared_experts other than 1 is not counted")
    return read(c, STEP)


def hrm(c: Config) -> Model:
    """HRM-Text: two stacks of layers, of which the low one runs L times for each of H turns."""
    hidden, total = c.integer("hidden_size"), c.layers()
    high, low = c.integer("H_cycles", default=2), c.integer("L_cycles", default=3)
    depth = c.integer("num_layers_per_stack", default=total)
    if c.flag("attention_bias"):
        raise c.refuse("attention_bias is not counted")
    f = Family(heads=Heads(width=128, gate="wide"), mlp_bias="mlp_bias")
    parts = (*build(c, f, GROUPED, "full_attention"), *build(c, f, {"": dense}, ""))
    stacks = tuple(
        Layer(parts, tuple(range(first, first + depth)), 0, f"model.{name}.layers", runs)
        for name, first, runs in (("L_module", 0, high * low), ("H_module", depth, high))
    )
    return frame(
        c, hidden=hidden, layers=stacks, tied=c.flag("tie_word_embeddings"), vectors=hidden
    )


def mllama(c: Config) -> Model:
    """Llama 3.2 Vision: layers that attend across to an image are skipped without one."""
    text = c.sub("text_config") if c.has("text_config") else c
    text.data = {**{k: c.data[k] for k in ("dtype", "torch_dtype") if k in c.data}, **text.data}
    hidden, depth = text.integer("hidden_size"), text.layers()
    across = set(text.integers("cross_attention_layers", most=depth - 1) or [])
    f = Family(heads=Heads(qkv_bias=False, out_bias=False))
    core, *mlp = (*build(text, f, GROUPED, "full_attention"), *build(text, f, {"": dense}, ""))
    width = core.key_width if isinstance(core, Attention) else 0
    skipped = Unused(
        (*core.linears(), *(m for part in mlp for m in part.linears())), 2 * hidden + 2 * width + 2
    )
    model = frame(
        text,
        hidden=hidden,
        layers=gather(
            depth, lambda i: ((skipped,), 0) if i in across else ((core, *mlp), 2 * hidden)
        ),
        tied=text.flag("tie_word_embeddings"),
        vectors=hidden,
        # Eight rows more than words, for the image tokens.
        positions=8 * hidden,
    )
    aside = Note("aside.cross")
    return model.altered(name=c.where, architecture=c.kind, notes=(*model.notes, aside))


def decilm(c: Config) -> Model:
    """Nemotron Super and Ultra (DeciLM): each block's attention and MLP as a search left them."""
    hidden, depth = c.integer("hidden_size"), c.layers()
    heads = c.integer("num_attention_heads")
    blocks = c.get("block_configs")
    if not isinstance(blocks, list) or not all(isinstance(b, dict) for b in blocks):
        raise InputError(f"{c.where}: block_configs must be a list of objects")
    if len(blocks) != depth:
        raise InputError(f"{c.where}: block_configs has {len(blocks)} blocks for {depth} layers")
    width = head_width(c, hidden, heads)
    bias, mlp_bias = c.flag("attention_bias"), c.flag("mlp_bias")

    def make(i: int) -> tuple[tuple[LayerPart, ...], int]:
        block = Config(blocks[i], f"{c.where} (block_configs {i})")
        parts: list[LayerPart] = []
        attn, ffn = block.sub("attention"), block.sub("ffn")
        for key in ("sparsify", "num_sink_tokens", "use_prefill_window_in_sink_attention",
                    "unshifted_sink"):  # fmt: skip
            if attn.get(key) or ffn.get(key):
                raise c.refuse(f"{key} in block_configs is not counted")
        if not attn.flag("no_op"):
            if attn.flag("replace_with_linear"):
                parts.append(Matrices("attention.linear", (Linear("self_attn", hidden, hidden),)))
            else:
                kv_heads, rest = divmod(heads, attn.integer("n_heads_in_group"))
                if rest or not kv_heads:
                    raise c.refuse(f"{heads} heads are not whole groups in block {i}")
                seen = Span(window=attn.optional("window_length"))
                parts.append(Attention(hidden, heads, kv_heads, width, width, seen, bias, bias))
        if not ffn.flag("no_op"):
            if ffn.flag("replace_with_linear"):
                parts.append(Matrices("mlp.linear", (Linear("mlp", hidden, hidden),)))
            else:
                inner = _multiple(ffn, hidden)
                parts.append(Mlp(hidden, inner, True, mlp_bias))
        norms = (not attn.flag("no_op")) + (not ffn.flag("no_op"))
        return tuple(parts), norms * hidden

    return frame(
        c,
        hidden=hidden,
        layers=gather(depth, make),
        tied=c.flag("tie_word_embeddings"),
        vectors=hidden,
    )


def _multiple(ffn: Config, hidden: int) -> int:
    # int(2·mult·h/3), rounded up to whole 256s, as DeciLM's own code does.
    mult: Any = ffn.get("ffn_mult")
    if ffn.has("intermediate_size"):
        return ffn.integer("intermediate_size")
    if isinstance(mult, bool) or not isinstance(mult, (int, float)) or not 0 < mult < 1000:
        raise InputError(f"{ffn.where}: ffn_mult must be a number above 0, not {short(mult)}")
    return -(-int(2 * mult * hidden / 3) // 256) * 256


READERS = {**dict.fromkeys(ROWS, row), "nemotron-nas": decilm, "hrm_text": hrm, "mllama": mllama}
