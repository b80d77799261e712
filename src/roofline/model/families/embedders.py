"""Encoders that are not BERT with other rows: ModernBERT, EuroBERT, ALBERT, DeBERTa, T5.

ModernBERT (arXiv 2412.13663): rotary positions, two of three layers see 64 tokens each way.
ALBERT (arXiv 1909.11942): layers share their matrices. DeBERTa (arXiv 2006.03654): queries and
keys are also multiplied by what stands for distances. T5 (arXiv 1910.10683): the encoder alone;
its decoder, which attends to it, is not counted.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...count.quantity import ONE, TOKENS
from ...count.work import Operator
from ...record import record
from ...words.note import Note
from ..attention import Attention, Span
from ..config import Config
from ..ffn import Mlp
from ..model import Layer, Model, gather
from ..parts import LayerPart, LayerPricing, Linear, Matrices, linear
from . import directions
from .common import frame
from .decoder import Family, read


def modernbert(c: Config) -> Model:
    """ModernBERT, the encoder."""
    hidden, heads = c.integer("hidden_size"), c.integer("num_attention_heads")
    width, depth = c.integer("intermediate_size"), c.layers()
    every = c.integer("global_attn_every_n_layers", default=3)
    labels = c.words("layer_types", depth) or [
        "sliding_attention" if i % every else "full_attention" for i in range(depth)
    ]
    reach = c.integer("local_attention", default=128) // 2 + 1
    norm = hidden * (2 if c.flag("norm_bias") else 1)
    if hidden % heads:
        raise c.refuse(f"hidden_size {hidden} is not a multiple of {heads} heads")
    bias, middle = c.flag("attention_bias"), c.flag("mlp_bias")

    def make(i: int) -> tuple[tuple[LayerPart, ...], int]:
        span = Span(window=reach, both=True) if labels[i].startswith("sliding") else Span(both=True)
        core = Attention(
            hidden, heads, heads, hidden // heads, hidden // heads, span, qkv_bias=bias,
            out_bias=bias, cached=False,
            names=("attn.q_proj", "attn.k_proj", "attn.v_proj", "attn.Wo"),
        )  # fmt: skip
        names = ("gate_proj", "up_proj", "Wo")
        return (core, Mlp(hidden, width, True, middle, names=names)), norm * (1 if i == 0 else 2)

    dense = (Linear("head.dense", hidden, hidden, c.flag("classifier_bias")),)
    model = frame(
        c,
        hidden=hidden,
        layers=gather(depth, make, "model.layers"),
        tied=c.flag("tie_word_embeddings", default=True),
        vectors=3 * norm,
        head_bias=c.flag("decoder_bias", default=True),
        outer=dense,
    )
    result = directions.encoding(
        c, model, outer=(), vectors=2 * norm, scores=(*dense, directions.classifier(c, hidden))
    )
    scored = result.pooled and directions.purpose(c) == "scores"
    return result.altered(vectors=3 * norm) if scored else result


def eurobert(c: Config) -> Model:
    """EuroBERT: Llama without a mask."""
    model = read(c, Family(mlp_bias="mlp_bias"))
    hidden = model.hidden
    after: tuple[Linear, ...] = ()
    if directions.purpose(c) == "scores":  # of each token, then averaged
        after = (Linear("dense", hidden, hidden, True), directions.classifier(c, hidden))
    return directions.encoding(c, model, outer=after, vectors=model.vectors)


def albert(c: Config) -> Model:
    """ALBERT: groups of layers, each run several times."""
    hidden, heads = c.integer("hidden_size"), c.integer("num_attention_heads")
    width = c.integer("embedding_size", default=128)
    depth, groups = c.layers(), c.integer("num_hidden_groups", default=1, most=10_000)
    inner = c.integer("inner_group_num", default=1, most=64)
    if hidden % heads or groups > depth:
        raise c.refuse(f"{groups} groups of {depth} layers, {heads} heads of {hidden}")
    parts: tuple[LayerPart, ...] = (
        Attention(
            hidden, heads, heads, hidden // heads, hidden // heads, Span(both=True),
            qkv_bias=True, out_bias=True, cached=False,
            names=("attention.query", "attention.key", "attention.value", "attention.dense"),
        ),
        Mlp(hidden, c.integer("intermediate_size"), False, True, "", ("", "ffn", "ffn_output")),
    )  # fmt: skip
    runs = [0] * groups
    for i in range(depth):
        runs[int(i / (depth / groups))] += 1
    layers = tuple(
        Layer(parts, tuple(range(g * inner, (g + 1) * inner)), 4 * hidden, _ALBERT, runs[g])
        for g in range(groups)
    )
    rows = c.integer("max_position_embeddings", default=512)
    rows += c.integer("type_vocab_size", default=2, least=0)
    into = Linear("albert.encoder.embedding_hidden_mapping_in", width, hidden, True)
    model = frame(
        c,
        hidden=hidden,
        layers=layers,
        tied=True,
        vectors=4 * width,
        head_bias=True,
        head_inputs=width,
        positions=rows * width,
        looked_up=width,
        outer=(into, Linear("predictions.dense", hidden, width, True)),
    )
    pooler = (Linear("pooler", hidden, hidden, True),)
    return directions.encoding(
        c, model, outer=(into,), vectors=2 * width, pooler=pooler,
        scores=(*pooler, directions.classifier(c, hidden)),
    )  # fmt: skip


_ALBERT = "albert.encoder.albert_layer_groups"


@record
class Distances:
    """Products with what stands for distances between tokens (disentangled attention).

    Queries times ``rows`` projected distances a head, and keys times as many: 2·rows·h FLOPs a
    token each. The distances go through a matrix of their own once a step, or through those of
    queries and keys again.

    Attributes:
        hidden: h.
        rows: distances told apart.
        kinds: ``c2p``, ``p2c`` or both.
        shared: whether queries' and keys' own matrices project them.
    """

    hidden: int
    rows: int
    kinds: tuple[str, ...]
    shared: bool

    def linears(self) -> tuple[Linear, ...]:
        """Matrices of their own."""
        if self.shared:
            return ()
        names = {"c2p": "pos_key_proj", "p2c": "pos_query_proj"}
        return tuple(
            Linear(f"attention.self.{names[k]}", self.hidden, self.hidden, True) for k in self.kinds
        )

    @property
    def vectors(self) -> int:
        """None."""
        return 0

    def operators(self, pricing: LayerPricing) -> Iterator[Operator]:
        """The distances projected, and multiplied."""
        once = 2 * self.rows * self.hidden**2
        yield from linear("distances", self.linears(), pricing, per=((ONE, self.rows),))
        # Through the shared matrices both are projected, whichever is used.
        again = 2 * once if self.shared else 0
        each = 2 * self.rows * self.hidden * len(self.kinds)
        yield Operator(
            name="distances.mix",
            kind="attention",
            count=1,
            compute=pricing.attention_compute,
            flops=((TOKENS, each), (ONE, again)) if again else ((TOKENS, each),),
            activations=((TOKENS, 2 * self.hidden * pricing.activation.size),),
        )


def deberta(c: Config) -> Model:
    """DeBERTa v2 and v3."""
    hidden, heads, depth = (
        c.integer("hidden_size"), c.integer("num_attention_heads"), c.layers()
    )  # fmt: skip
    if hidden % heads:
        raise c.refuse(f"hidden_size {hidden} is not a multiple of {heads} heads")
    row = c.integer("embedding_size", default=hidden)
    core = Attention(
        hidden, heads, heads, hidden // heads, hidden // heads, Span(both=True), qkv_bias=True,
        out_bias=True, cached=False, names=(
            "attention.self.query_proj", "attention.self.key_proj", "attention.self.value_proj",
            "attention.output.dense",
        ),
    )  # fmt: skip
    names = ("", "intermediate.dense", "output.dense")
    middle = Mlp(hidden, c.integer("intermediate_size"), False, True, "", names)
    parts: list[LayerPart] = [core, middle]
    places = c.integer("max_position_embeddings", default=512)
    tables = c.integer("type_vocab_size", default=0, least=0) * row
    vectors = 2 * row
    if c.flag("position_biased_input", default=True):
        tables += places * row
    if c.flag("relative_attention"):
        most = c.integer("max_relative_positions", default=-1, least=-1)
        buckets = c.integer("position_buckets", default=-1, least=-1)
        rows = 2 * (buckets if buckets > 0 else most if most > 0 else places)
        kinds = _kinds(c)
        if kinds:
            shared = c.flag("share_att_key")
            parts.append(Distances(hidden, rows, kinds, shared))
        tables += rows * hidden
        if "layer_norm" in c.word("norm_rel_ebd", default="none").lower():
            vectors += 2 * hidden
    conv: tuple[LayerPart, ...] = ()
    if kernel := c.integer("conv_kernel_size", default=0, least=0):
        groups = c.integer("conv_groups", default=1)
        one = Linear("conv", kernel * hidden // groups, hidden, True)
        conv = (Matrices("conv", (one,), 2 * hidden),)
    layers = gather(
        depth, lambda i: ((*parts, *(conv if i == 0 else ())), 4 * hidden), "deberta.encoder.layer"
    )
    into = (Linear("embeddings.embed_proj", row, hidden),) if row != hidden else ()
    model = frame(
        c,
        hidden=hidden,
        layers=layers,
        tied=True,
        vectors=vectors + 2 * row,
        head_bias=True,
        head_inputs=row,
        positions=tables,
        looked_up=row,
        outer=(*into, Linear("cls.predictions.transform.dense", hidden, row, True)),
    )
    return directions.encoding(
        c, model, outer=into, vectors=vectors,
        scores=(Linear("pooler.dense", hidden, hidden, True), directions.classifier(c, hidden)),
    )  # fmt: skip


def _kinds(c: Config) -> tuple[str, ...]:
    given = c.get("pos_att_type")
    names = given.split("|") if isinstance(given, str) else given or []
    if not isinstance(names, list) or not {"c2p", "p2c"} >= {str(n).strip() for n in names}:
        raise c.refuse("pos_att_type may name c2p and p2c")
    return tuple(str(n).strip() for n in names)


def t5(c: Config) -> Model:
    """T5, mT5 and UMT5: the encoder."""
    hidden, heads, width = c.integer("d_model"), c.integer("num_heads"), c.integer("d_kv")
    depth = c.layers("num_layers")
    gated = c.word("feed_forward_proj", default="relu").startswith("gated")
    names = ("SelfAttention.q", "SelfAttention.k", "SelfAttention.v", "SelfAttention.o")
    core = Attention(hidden, heads, heads, width, width, Span(both=True), cached=False, names=names)
    middle = ("wi_0", "wi_1", "wo") if gated else ("", "wi", "wo")
    mlp = Mlp(hidden, c.integer("d_ff"), gated, False, "DenseReluDense", middle)
    buckets = c.integer("relative_attention_num_buckets", default=32) * heads
    tables = buckets * (depth if c.kind == "umt5" else 1)
    aside = Note("aside.decoder")
    model = frame(
        c,
        hidden=hidden,
        layers=gather(depth, lambda i: ((core, mlp), 2 * hidden), "encoder.block"),
        tied=True,
        vectors=hidden,
        positions=tables,
        notes=(aside,),
    )
    return model.altered(head=None, causal=False, encodes=True)


READERS = {
    "albert": albert,
    "deberta-v2": deberta,
    "eurobert": eurobert,
    "modernbert": modernbert,
    "mt5": t5,
    "t5": t5,
    "umt5": t5,
}
