"""Sparse attention that an indexer steers, over a latent cache or plain keys and values.

DeepSeek-V3.2 and GLM-5 (top 2048 of all tokens), GLM-5.2 and HY4 (some layers reuse the choice
of the layer before), Dots 3 (mixed with sliding windows), MiniMax-M3 (top 16 blocks of 128).
"""

from __future__ import annotations

from ...errors import InputError
from ...record import replace
from ..attention import Span
from ..config import Config
from ..hyper import head as hyper_head
from ..hyper import streams
from ..indexer import Indexer
from ..model import Model
from ..parts import LayerPart, Linear, Matrices
from .decoder import (
    GROUPED,
    Family,
    Heads,
    always,
    attention,
    drafted,
    predicted,
    read,
)
from .latent import DEEPSEEK, mixer
from .mixture import FFNS, Mixture, flagged, leading, wide


def indexer(c: Config) -> Indexer:
    """DeepSeek's: queries from the compressed query, one key and a weight per head."""
    hidden, heads = c.integer("hidden_size"), c.integer("index_n_heads")
    width = c.integer("index_head_dim")
    path = "self_attn.indexer"
    return Indexer(
        (
            Linear(f"{path}.wq_b", c.integer("q_lora_rank"), heads * width),
            Linear(f"{path}.wk", hidden, width),
            Linear(f"{path}.weights_proj", hidden, heads),
        ),
        heads,
        width,
        extra=2 * width,
    )


def top(c: Config) -> Span:
    """The tokens that the indexer leaves."""
    return Span(top=c.integer("index_topk"))


def indexed(c: Config, f: Family, label: str) -> tuple[LayerPart, ...]:
    """Latent attention to what its own indexer chooses."""
    return (indexer(c), mixer(c, top(c)))


def shared(c: Config, f: Family, label: str) -> tuple[LayerPart, ...]:
    """Latent attention to what an earlier layer's indexer chose."""
    return (mixer(c, top(c)),)


def choices(c: Config, labels: list[str]) -> list[str]:
    """Who chooses, and who reuses the choice: ``indexer_types``, a pattern or a schedule."""
    depth = len(labels)
    types = c.words("indexer_types", depth)
    pattern = c.get("index_topk_pattern")
    if types is None and isinstance(pattern, str):
        types = [{"F": "full", "S": "shared"}.get(letter, letter) for letter in pattern]
    if types is None:
        step = c.integer("index_topk_freq", default=1)
        offset = c.integer("index_skip_topk_offset", default=2, least=0)
        types = ["full" if max(i - offset + 1, 0) % step == 0 else "shared" for i in range(depth)]
    if len(types) != depth or types[:1] != ["full"] or not {"full", "shared"} >= set(types):
        raise InputError(
            f"{c.where}: the indexers must be 'full' or 'shared' for each of {depth} layers, "
            "the first 'full'"
        )
    return [
        "shared_choice" if label == "indexed_attention" and t == "shared" else label
        for label, t in zip(labels, types, strict=True)
    ]


INDEXED = {"indexed_attention": indexed, "shared_choice": shared}

V32 = Family(
    mixers=INDEXED, mixer_rule=always("indexed_attention"), ffns=FFNS, mixture=DEEPSEEK,
    ffn_rule=leading("first_k_dense_replace", default=3), draft=True, mlp_bias="mlp_bias",
    aliases={"n_routed_experts": ("num_experts",)},
)  # fmt: skip


def _dots(c: Config, f: Family, label: str) -> tuple[LayerPart, ...]:
    # A gate a head, and a norm of the rotary key.
    seen = top(c) if label == "indexed_attention" else Span(window=c.integer("sliding_window"))
    rope, heads = c.integer("qk_rope_head_dim"), c.integer("num_attention_heads")
    core = replace(mixer(c, seen), gate=heads, extra_vectors=rope)
    return (indexer(c), core) if label == "indexed_attention" else (core,)


def _hy(c: Config, f: Family, label: str) -> tuple[LayerPart, ...]:
    # HY4: a gate as wide as the heads' values, a sink a head, hyper-connections around.
    core = mixer(c, top(c))
    core = replace(
        core, gate=core.heads * core.value, gate_name="self_attn.gate_proj",
        extra_vectors=core.heads,
    )  # fmt: skip
    return (indexer(c), core) if label == "indexed_attention" else (core,)


def _ax(c: Config, f: Family, label: str) -> tuple[LayerPart, ...]:
    # A.X K2: queries and a gate as wide as the values from the compressed query, twice.
    core = mixer(c, top(c))
    rank = c.integer("q_lora_rank")
    up = Linear(
        "self_attn.q_gate_proj", 2 * rank, core.heads * (core.nope + core.rope + core.value)
    )
    return (indexer(c), replace(core, query_up=up))


def _ax_norms(c: Config, f: Family, ffn: str) -> tuple[LayerPart, ...]:
    # Norms with a gate of low rank; the one before a dense feed-forward part is plain.
    hidden, rank = c.integer("hidden_size"), c.integer("gated_norm_rank")
    gates = tuple(
        Linear(f"{name}.mlp.{fc}", *shape)
        for name in ("input_layernorm", "post_attention_layernorm")[: 1 if ffn == "dense" else 2]
        for fc, shape in (("fc1", (hidden, rank)), ("fc2", (rank, hidden)))
    )
    return (Matrices("norm", gates, 2 * hidden),)


def _hy_streams(c: Config, f: Family, ffn: str) -> tuple[LayerPart, ...]:
    return streams(c.integer("hidden_size"), c.integer("hc_mult", most=64), mixed=False)


def _blocks(c: Config, f: Family, label: str) -> tuple[LayerPart, ...]:
    # MiniMax-M3: blocks of keys, chosen by an index head for each key-value head.
    hidden, heads = c.integer("hidden_size"), c.integer("index_n_heads")
    width, block = c.integer("index_head_dim"), c.integer("index_block_size")
    if c.integer("index_local_blocks", default=1, least=0) != 1:
        raise c.refuse("sparse attention with other than one local block")
    path = "self_attn.index"
    index = Indexer(
        (
            Linear(f"{path}_q_proj", hidden, heads * width),
            Linear(f"{path}_k_proj", hidden, width),
        ),
        heads,
        width,
        weighted=False,
        extra=2 * width,
    )
    chosen = c.integer("index_topk_blocks") * block
    return (index, attention(c, f, Span(top=chosen, block=block)))


def _block_layers(c: Config, f: Family, depth: int) -> list[str]:
    flags = c.integers("sparse_attention_freq", depth, most=1)
    if flags is None:
        return ["full_attention"] * depth
    return ["minimax_m3_sparse" if flag else "full_attention" for flag in flags]


M3 = Family(
    heads=Heads(qkv_bias=False, out_bias=False, width=128, qk_norm="head"),
    mixers={**GROUPED, "minimax_m3_sparse": _blocks}, mixer_rule=_block_layers, ffns=FFNS,
    ffn_rule=flagged("moe_layer_freq", leading("", default=0)),
    mixture=Mixture(
        experts=("num_local_experts",), width=("moe_intermediate_size", "intermediate_size"),
        shared=wide("shared_intermediate_size", default=3072),
    ),
    mlp_width="dense_intermediate_size",
    aliases={"num_local_experts": ("num_experts",)},
)  # fmt: skip

ROWS: dict[str, Family] = {
    "deepseek_v32": V32,
    "glm_moe_dsa": V32,
    "dots3_note_text": replace(
        V32, mixers={"indexed_attention": _dots, "sliding_attention": _dots},
        ffn_rule=leading("first_k_dense_replace", default=1),
    ),
    "hy_v4": replace(
        V32, mixers={"indexed_attention": _hy, "shared_choice": _hy}, beside=_hy_streams,
        ffn_rule=leading("first_k_dense_replace", default=1), draft=False,
    ),
    "axk2": replace(
        V32, mixers={"indexed_attention": _ax}, beside=_ax_norms, norms=0,
        ffn_rule=leading("first_k_dense_replace", default=1), draft=False,
    ),
    "minimax_m3_vl_text": M3,
    "minimax_m3": M3,
}  # fmt: skip


def row(c: Config) -> Model:
    """A model by its family's row."""
    f = ROWS[c.kind]
    if f is M3:
        _m3(c)
    for key in ("index_n_heads", "index_topk"):
        c.get(key)  # layers without an indexer leave them unread
    if c.kind in ("glm_moe_dsa", "hy_v4"):
        f = replace(f, relabel=choices)
    if c.integer("moe_layer_freq", default=1) != 1 if f is not M3 else False:
        raise c.refuse("moe_layer_freq other than 1")
    model = read(c, f)
    if c.kind == "hy_v4":
        collapse, extra = hyper_head(model.hidden, c.integer("hc_mult"))
        model = model.altered(outer=(collapse,), vectors=model.vectors + extra)
    if model.drafter:
        # Its layer chooses for itself, whether the model's last one does or not.
        parts = (*indexed(c, f, "indexed_attention"), *model.drafter.layers[0].parts[-1:])
        model = drafted(model, predicted(c), parts)
    return model


def _m3(c: Config) -> None:
    # The published config nests the indexer's keys, under other names.
    for key in ("attention_output_gate",):
        if c.flag(key):
            raise c.refuse(f"{key} is not counted")
    if not c.flag("use_qk_norm", default=True) or c.word("qk_norm_type", default="per_head") != (
        "per_head"
    ):
        raise c.refuse("norms of queries and keys other than per head are not counted")
    if c.experts("n_shared_experts", default=1, least=0) != 1:
        raise c.refuse("n_shared_experts other than 1 is not counted")
    if not c.has("sparse_attention_config"):
        return
    inner = c.sub("sparse_attention_config")
    if not inner.flag("use_sparse_attention", default=True):
        raise c.refuse("use_sparse_attention false is not counted")
    if inner.integer("sparse_init_block", default=0, least=0):
        raise c.refuse("sparse_init_block is not counted")
    on = inner.integers("sparse_attention_freq", most=1)
    off = inner.integers("sparse_disable_index_value", most=1)
    if off is not None and off != on:
        raise c.refuse("the indexer's values (sparse_disable_index_value) are not counted")
    names = {
        "index_n_heads": "sparse_num_index_heads", "index_head_dim": "sparse_index_dim",
        "index_block_size": "sparse_block_size", "index_topk_blocks": "sparse_topk_blocks",
        "index_local_blocks": "sparse_local_block",
        "sparse_attention_freq": "sparse_attention_freq",
    }  # fmt: skip
    result = {ours: inner.get(theirs) for ours, theirs in names.items() if inner.has(theirs)}
    c.data = {**c.data, **result}


READERS = dict.fromkeys(ROWS, row)
