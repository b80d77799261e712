"""The common decoder, and how a family differs from it: a :class:`Family` is a row of data.

A decoder is layers of mixers (attention, or a recurrence) and feed-forward parts. Which of
them a layer has is a label: its entry in ``layer_types`` and ``mlp_layer_types``, or what the
family's rule gives where the config does not list it. A family names what builds the parts of
each label. New labels are new rows; the reader below stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...errors import InputError
from ...record import field, record
from ...words.note import Note
from ..attention import ALL, Attention, Span
from ..config import Config
from ..ffn import Mlp
from ..model import Layer, Model, gather
from ..parts import LayerPart, Linear
from .common import frame, head_width

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from typing import Any

Builder = Callable[[Config, "Family", str], tuple[LayerPart, ...]]
"""The parts that a label stands for; the config is as its layer sees it."""

Pattern = Callable[[Config, "Family", int], list[str]]
"""The label of each of so many layers."""

Switch = str | bool
"""A config key, or a fixed value."""


@record
class Heads:
    """How a family's grouped-query attention differs from Llama's.

    Attributes:
        width: the head's width where the config is silent; 0 for hidden/heads.
        floor: whether hidden/heads is rounded down, not refused, where it is not whole.
        value_width: the key of the values' width where it is another.
        qk_norm: norms of queries and keys: empty, ``head`` (one width each), ``full`` (all
            heads), or a key that switches ``head`` on.
        qk_norm_bias: whether these norms have a bias, too.
        gate: a gate on the heads' results: empty, ``query`` (as wide, within the query
            projection), ``wide`` (as wide, its own), ``head`` (one number each), or ``no``.
        sinks: a learned logit a head: empty, ``all`` or ``sliding`` layers.
        window, default_window: key of the window; what the class takes where it is missing.
    """

    qkv_bias: Switch = "attention_bias"
    out_bias: Switch = "attention_bias"
    width: int = 0
    floor: bool = False
    value_width: str = ""
    qk_norm: str = ""
    qk_norm_bias: bool = False
    gate: str = ""
    gate_name: str = "self_attn.gate_proj"
    sinks: str = ""
    window: str = "sliding_window"
    default_window: int | None = None
    extra: int = 0
    names: tuple[str, str, str, str] = (
        "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
    )  # fmt: skip


def switch(c: Config, rule: Switch) -> bool:
    """A fixed value, or the flag at a key (by default false, or as the family assumes)."""
    return rule if isinstance(rule, bool) else c.flag(rule)


def window(c: Config, f: Family) -> int | None:
    """The sliding window, ``None`` where there is none."""
    key = f.heads.window
    if not key:
        return None
    if key in c.data or any(a in c.data for a in c.aliases.get(key, ())):
        return c.optional(key)
    return f.heads.default_window


def span(c: Config, f: Family, label: str) -> Span:
    """Which keys a layer of that label attends to."""
    if label.startswith("sliding"):
        size = window(c, f)
        if size is None:
            raise c.refuse(f"a layer slides but there is no {f.heads.window or 'window'}")
        return Span(window=size)
    if label.startswith("chunked"):
        return Span(chunk=c.integer("attention_chunk_size"))
    return ALL


def shape(c: Config, f: Family) -> tuple[int, int, int, int]:
    """Heads, key-value heads, widths of keys and values."""
    h = f.heads
    hidden = c.integer("hidden_size")
    heads = c.integer("num_attention_heads")
    kv_heads = c.integer("num_key_value_heads", default=heads)
    if heads % kv_heads:
        raise c.refuse(f"{heads} heads cannot share {kv_heads} key-value heads evenly")
    if h.width and not c.has("head_dim"):
        width = h.width
    elif h.floor and not c.has("head_dim"):
        width = hidden // heads
    else:
        width = head_width(c, hidden, heads)
    values = c.integer(h.value_width, default=width) if h.value_width else width
    return heads, kv_heads, width, values


def grouped(c: Config, f: Family, label: str) -> tuple[LayerPart, ...]:
    """Grouped-query attention: ``full_attention``, ``sliding_attention``, ``chunked_attention``."""
    return (attention(c, f, span(c, f, label)),)


def attention(c: Config, f: Family, seen: Span) -> Attention:
    """Grouped-query attention by a family's heads."""
    h = f.heads
    heads, kv_heads, width, values = shape(c, f)
    norm = h.qk_norm
    if norm not in ("", "head", "full"):
        norm = "head" if c.flag(norm) else ""
    normed = {"": 0, "head": 2 * width, "full": (heads + kv_heads) * width}[norm]
    extra = normed * (2 if h.qk_norm_bias else 1) + h.extra
    if h.sinks == "all" or (h.sinks == "sliding" and seen.window is not None):
        extra += heads
    gate = {"": 0, "query": heads * values, "wide": heads * values, "head": heads}[h.gate]
    return Attention(
        c.integer("hidden_size"), heads, kv_heads, width, values, seen,
        qkv_bias=switch(c, h.qkv_bias), out_bias=switch(c, h.out_bias), extra_vectors=extra,
        gate=gate, gate_name="" if h.gate == "query" else h.gate_name, names=h.names,
    )  # fmt: skip


def dense(c: Config, f: Family, label: str) -> tuple[LayerPart, ...]:
    """A plain feed-forward network."""
    hidden = c.integer("hidden_size")
    width = f.mlp_fixed
    if not width:
        width = c.optional(f.mlp_width) or (f.mlp_times * hidden) or c.integer(f.mlp_width)
    return (Mlp(hidden, width, f.gated, switch(c, f.mlp_bias), f.mlp_path, f.mlp),)


def listed(key: str, rule: Pattern) -> Pattern:
    """Labels that a config lists under ``key``, or else by a rule."""

    def pattern(c: Config, f: Family, depth: int) -> list[str]:
        result = c.words(key)
        if result is None:
            return rule(c, f, depth)
        if len(result) < depth:
            raise InputError(f"{c.where}: {key} has {len(result)} entries for {depth} layers")
        if len(result) > depth and len(result) != depth + predicted(c):
            raise InputError(f"{c.where}: {key} has {len(result)} entries for {depth} layers")
        return [_SAME.get(label, label) for label in result[:depth]]

    return pattern


_SAME = {
    "attention": "full_attention", "full": "full_attention", "sliding": "sliding_attention",
    "local_attention": "sliding_attention", "mamba": "linear_attention",
    "deepseek_sparse_attention": "indexed_attention",
}  # fmt: skip


def predicted(c: Config) -> int:
    """Multi-token-prediction layers that a config announces."""
    return c.integer(
        "num_nextn_predict_layers", "mtp_num_hidden_layers", default=0, least=0, most=64
    )


def always(label: str) -> Pattern:
    """The same label everywhere."""
    return lambda c, f, depth: [label] * depth


def windowed(c: Config, f: Family, depth: int) -> list[str]:
    """All layers slide where there is a window (Mistral)."""
    return ["full_attention" if window(c, f) is None else "sliding_attention"] * depth


def every(
    key: str, n: int, one: str = "full_attention", rest: str = "sliding_attention"
) -> Pattern:
    """Each n-th layer (by ``key``, else ``n``) is ``one``, the others are ``rest``."""

    def pattern(c: Config, f: Family, depth: int) -> list[str]:
        step = c.integer(key, default=n) if key else n
        return [rest if (i + 1) % step else one for i in range(depth)]

    return pattern


def after_first(c: Config, f: Family, depth: int) -> list[str]:
    """Qwen2: layers from ``max_window_layers`` on slide, where ``use_sliding_window`` is set."""
    if not c.flag("use_sliding_window"):
        c.get("sliding_window")
        return ["full_attention"] * depth
    return late(c, f, depth)


def late(c: Config, f: Family, depth: int) -> list[str]:
    """Layers from ``max_window_layers`` on slide."""
    first = c.integer("max_window_layers", default=28, least=0)
    slides = "full_attention" if window(c, f) is None else "sliding_attention"
    return ["full_attention" if i < first else slides for i in range(depth)]


GROUPED: Mapping[str, Builder] = {
    "full_attention": grouped, "sliding_attention": grouped, "chunked_attention": grouped,
}  # fmt: skip


@record
class Family:
    """How a family differs from Llama.

    Attributes:
        heads: its attention.
        mixers, mixer_rule: what builds each label of ``layer_types``; the labels where the
            config does not list them.
        ffns, ffn_rule: the same for feed-forward parts and ``mlp_layer_types``.
        mixture: the traits of its experts; see :mod:`.experts`.
        mlp_width, mlp_times, mlp_fixed: of its plain feed-forward networks: the key of the
            width, or how many times the residual stream's where it is missing, or the width.
        mlp_bias, gated, mlp, mlp_path: names of gate, up and down, and where they are.
        norms: norms over the residual stream in one layer.
        norm_parameters: parameters per width of each of them: 0, 1, or 2 with a bias.
        last_norm: norms after the layers (or before them).
        tied, head_bias: of the output head, where the config is silent.
        untied: its class cannot tie the head, whatever the config says.
        aliases, defaults: other names of keys; what its class assumes for missing ones.
        relabel: what makes of the mixers' labels what other keys say about them.
        beside: parts that each layer has besides, given the label of its feed-forward part.
        tables: parameters of tables beside the embedding (learned positions).
        prefix: module path of its layers.
        adapt: what makes of the row what other keys of a config say about it.
        finish: what the model has besides: tables, outer matrices, notes.
        draft: whether announced multi-token-prediction layers are those of DeepSeek-V3: a
            layer like the last one between two norms and a projection of both inputs.
    """

    heads: Heads = Heads()
    mixers: Mapping[str, Builder] = field(default_factory=lambda: GROUPED)
    mixer_rule: Pattern = field(default_factory=lambda: always("full_attention"))
    ffns: Mapping[str, Builder] = field(default_factory=lambda: {"dense": dense})
    ffn_rule: Pattern = field(default_factory=lambda: always("dense"))
    mixture: Any = None
    mlp_width: str = "intermediate_size"
    mlp_times: int = 0
    mlp_fixed: int = 0
    mlp_bias: Switch = False
    gated: bool = True
    mlp: tuple[str, str, str] = ("gate_proj", "up_proj", "down_proj")
    mlp_path: str = "mlp"
    norms: int = 2
    norm_parameters: int = 1
    last_norm: int = 1
    tied: bool = False
    untied: bool = False
    head_bias: Switch = False
    aliases: dict[str, tuple[str, ...]] = field(default_factory=dict)
    defaults: dict[str, Any] = field(default_factory=dict)
    relabel: Callable[[Config, list[str]], list[str]] | None = None
    beside: Callable[[Config, Family, str], tuple[LayerPart, ...]] | None = None
    tables: Callable[[Config, int], int] | None = None
    prefix: str = "model.layers"
    adapt: Callable[[Config, Family], Family] | None = None
    finish: Callable[[Config, Model], Model] | None = None
    draft: bool = False


def read(c: Config, f: Family) -> Model:
    """The model of a config by its family's row.

    Raises:
        InputError: a value is missing or impossible.
        UnsupportedError: a layer type, or a key, that the family does not know.
    """
    if f.adapt is not None:
        f = f.adapt(c, f)
    c.assume(f.aliases, f.defaults)
    _known(c, f)
    hidden = c.integer("hidden_size")
    layers = stack(c, f, c.layers())
    count = predicted(c)
    how = "mtp.drafter" if f.draft else "mtp.aside"
    model = frame(
        c,
        hidden=hidden,
        layers=layers,
        tied=c.flag("tie_word_embeddings", default=f.tied),
        vectors=f.last_norm * f.norm_parameters * hidden,
        head_bias=switch(c, f.head_bias),
        positions=f.tables(c, hidden) if f.tables else 0,
        notes=(Note(how, count=count),) if count else (),
    )
    if count and f.draft:
        model = drafted(model, count)
    return model if f.finish is None else f.finish(c, model)


def _known(c: Config, f: Family) -> None:
    # Switches that some classes ignore and some apply elsewhere, all of them off in releases.
    if f.mixture is not None and (c.flag("mlp_bias") or c.flag("use_bias")):
        raise c.refuse("biases beside experts are not counted")
    if c.flag("add_cross_attention"):
        raise c.refuse("cross-attention to an encoder is not counted")
    if f.untied and c.flag("tie_word_embeddings", default=f.tied):
        raise c.refuse("its class does not tie the output head to the input table")


def drafted(model: Model, count: int, parts: tuple[LayerPart, ...] | None = None) -> Model:
    """The model with a drafter of DeepSeek-V3's shape (arXiv 2412.19437, section 2.2).

    A multi-token-prediction layer norms the last hidden state and the next token's row, joins
    them (2h → h), and runs a layer, by default one like the model's last, and a norm. Table and
    head are the model's own: read, but not held again.
    """
    hidden = model.hidden
    last = max(model.layers, key=lambda layer: layer.indices[-1])
    depth = model.depth
    layer = Layer(parts or last.parts, tuple(range(depth, depth + count)), last.vectors,
                  last.prefix)  # fmt: skip
    one = model.altered(
        name=f"{model.name} (multi-token prediction)",
        layers=(layer,),
        outer=tuple(
            Linear(f"{last.prefix}.{i}.eh_proj", 2 * hidden, hidden) for i in layer.indices
        ),
        vectors=3 * hidden * count,
        tables=0,
        tied=True,
        notes=(),
    )
    return model.altered(drafter=one)


def stack(c: Config, f: Family, depth: int) -> tuple[Layer, ...]:
    """The layers, alike ones together."""
    mixers = listed("layer_types", f.mixer_rule)(c, f, depth)
    if f.relabel:
        mixers = f.relabel(c, mixers)
    ffns = listed("mlp_layer_types", f.ffn_rule)(c, f, depth)
    changes = c.per_layer(depth)
    norms = f.norms * f.norm_parameters * c.integer("hidden_size")
    made: dict[tuple[str, str, str], tuple[tuple[LayerPart, ...], int]] = {}

    def make(i: int) -> tuple[tuple[LayerPart, ...], int]:
        key = (mixers[i], ffns[i], repr(changes[i]) if changes[i] else "")
        if key not in made:
            view = c.layer(changes[i])
            parts = (*build(view, f, f.mixers, mixers[i]), *build(view, f, f.ffns, ffns[i]))
            if f.beside:
                parts = (*parts, *f.beside(view, f, ffns[i]))
            made[key] = (parts, norms)
        return made[key]

    return gather(depth, make, f.prefix)


def build(
    c: Config, f: Family, builders: Mapping[str, Builder], label: str
) -> tuple[LayerPart, ...]:
    """The parts of a label."""
    builder = builders.get(label)
    if builder is None:
        raise c.refuse(f"the layer type '{label[:40]}' is not counted")
    return builder(c, f, label)
