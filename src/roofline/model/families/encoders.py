"""BERT and its like: every token attends to every other, and nothing is cached.

Learned positions and token types, norms after each part, biases everywhere, and before the
head that guesses words a transform of the hidden state (dense, norm). Configs with
``is_decoder`` are of the decoders that these classes can be, too.

What comes after the layers is named by ``architectures``; see :func:`.directions.purpose`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...record import field, record, replace
from ...words.note import Note
from ..config import Config
from ..model import Layer, Model, gather
from ..parts import LayerPart, Linear, Matrices, Unused
from . import directions
from .common import frame
from .decoder import Family, Heads, build, dense, grouped


@record
class Encoder:
    """How a type differs from BERT.

    Attributes:
        types: whether there is a table of token types.
        positions: whether positions are learned.
        transform: whether the hidden state is transformed before the head.
        row: key of the width of the table's rows, projected to that of the residual stream.
        norms: norms outside the layers, after the table and after the layers.
        prefix: module path of the layers.
        beside: parts of a layer besides.
        pooler: whether the plain model has a pooler.
        scores: what a classifier comes after: that ``pooler``, or a ``dense`` matrix of its own.
        gated: whether a gate matrix multiplies the middle of the feed-forward part.
        bias: whether attention's and the feed-forward part's matrices have biases.
        down_bias: whether the last matrix of the feed-forward part has one of its own.
        aliases, defaults: other names of keys; what the class takes for missing ones.
    """

    types: bool = True
    positions: bool = True
    transform: bool = True
    row: str = ""
    norms: int = 1
    prefix: str = "bert.encoder.layer"
    beside: Callable[[Config], tuple[LayerPart, ...]] | None = None
    pooler: bool = True
    scores: str = "pooler"
    gated: bool = False
    bias: tuple[bool, bool] = (True, True)
    down_bias: bool = False
    aliases: dict[str, tuple[str, ...]] = field(default_factory=dict)
    defaults: dict[str, Any] = field(default_factory=dict)


def _adapters(c: Config) -> tuple[LayerPart, ...]:
    # X-MOD: a bottleneck for each language, of which a text uses one.
    hidden = c.integer("hidden_size")
    width = hidden // c.integer("adapter_reduction_factor", default=2)
    languages = c.words("languages") or ["en_XX"]
    if not c.flag("adapter_reuse_layer_norm", default=True) or c.flag("adapter_layer_norm"):
        raise c.refuse("norms of adapters are not counted")
    one = (
        Linear("output.adapter.dense1", hidden, width, bias=True),
        Linear("output.adapter.dense2", width, hidden, bias=True),
    )
    used = Matrices("adapter", one)
    rest = len(languages) - 1
    if not rest:
        return (used,)
    others = tuple(Linear(m.path, m.inputs, m.outputs, True, rest) for m in one)
    return (used, Unused(others))


_ROBERTA = Encoder(prefix="roberta.encoder.layer", scores="dense")
_ROTARY = Encoder(positions=False, prefix="encoder.layer")

ROWS: dict[str, Encoder] = {
    "bert": Encoder(),
    "bert-generation": Encoder(types=False, transform=False, pooler=False),
    "big_bird": Encoder(scores="dense"),
    "camembert": _ROBERTA,
    "data2vec-text": replace(_ROBERTA, prefix="data2vec_text.encoder.layer"),
    "distilbert": Encoder(
        types=False, pooler=False, scores="dense", prefix="distilbert.transformer.layer",
        aliases={
            "hidden_size": ("dim",), "intermediate_size": ("hidden_dim",),
            "num_hidden_layers": ("n_layers",), "num_attention_heads": ("n_heads",),
        },
    ),
    "electra": Encoder(
        row="embedding_size", prefix="electra.encoder.layer", pooler=False, scores="dense"
    ),
    "ernie": Encoder(prefix="ernie.encoder.layer"),
    "git": Encoder(types=False, transform=False, prefix="git.encoder.layer"),
    "gte": replace(
        _ROTARY, gated=True, bias=(True, False), down_bias=True, pooler=False
    ),
    "jina_embeddings_v3": replace(_ROTARY, prefix="roberta.encoder.layers", scores="dense"),
    "megatron-bert": Encoder(),
    "mpnet": Encoder(types=False, prefix="mpnet.encoder.layer", scores="dense"),
    "new": replace(_ROTARY, gated=True, bias=(True, False), down_bias=True, pooler=False),
    "nomic_bert": replace(
        _ROTARY, gated=True, bias=(False, False), pooler=False, prefix="encoder.layers",
        aliases={
            "hidden_size": ("n_embd",), "intermediate_size": ("n_inner",),
            "num_hidden_layers": ("n_layer",), "num_attention_heads": ("n_head",),
            "max_position_embeddings": ("n_positions",),
        },
    ),
    "roberta": _ROBERTA,
    "rembert": Encoder(prefix="rembert.encoder.layer"),
    "roc_bert": Encoder(prefix="roc_bert.encoder.layer"),
    "roformer": Encoder(
        positions=False, row="embedding_size", prefix="roformer.encoder.layer", pooler=False,
        scores="dense",
    ),
    "roberta-prelayernorm": replace(
        _ROBERTA, norms=2, prefix="roberta_prelayernorm.encoder.layer"
    ),
    "xlm": Encoder(
        types=False, transform=False, prefix="transformer.attentions", pooler=False, scores=""
    ),
    "xlm-roberta": _ROBERTA,
    "xlm-roberta-flash": replace(_ROTARY, prefix="roberta.encoder.layers", scores="dense"),
    "xlm-roberta-xl": _ROBERTA,
    "xmod": replace(_ROBERTA, beside=_adapters),
}  # fmt: skip

_BASE = Family(
    heads=Heads(qkv_bias=True, out_bias=True, names=(
        "attention.self.query", "attention.self.key", "attention.self.value",
        "attention.output.dense",
    )),
    mlp_bias=True, gated=False, mlp=("", "intermediate.dense", "output.dense"), mlp_path="",
)  # fmt: skip


def encoder(c: Config) -> Model:
    """A model by its type's row."""
    e = _row(c)
    c.assume(e.aliases, e.defaults)
    if c.kind == "xlm":
        _xlm(c)
    if c.flag("add_cross_attention"):
        raise c.refuse("cross-attention to an encoder is not counted")
    hidden, depth = c.integer("hidden_size"), c.layers()
    width = c.integer(e.row, default=hidden) if e.row else hidden
    places = c.integer("max_position_embeddings") if e.positions else 0
    kinds = c.integer("type_vocab_size", default=2, least=0) if e.types else 0
    if c.kind == "ernie" and c.flag("use_task_id"):
        kinds += c.integer("task_type_vocab_size", default=3)
    base = _family(c, e)
    parts = (
        *build(c, base, {"": grouped}, ""),
        *build(c, base, {"": dense}, ""),
        *(e.beside(c) if e.beside else ()),
    )
    outer: list[Linear] = []
    if width != hidden:
        outer.append(Linear("embeddings_project", width, hidden, bias=True))
    if c.kind == "roc_bert":
        outer.append(_shapes(c, hidden))
    norms = 2 * e.norms * width
    vectors = norms
    transform: tuple[Linear, ...] = ()
    if e.transform:
        transform = (Linear("cls.predictions.transform.dense", hidden, width, bias=True),)
        vectors += 2 * width
    each = 4 * hidden + (hidden if e.down_bias else 0) + _more_norms(c, hidden)
    layers = gather(depth, lambda i: (parts, each), e.prefix)
    tables = (places + kinds) * width + _other_tables(c, hidden)
    tied = c.flag("tie_word_embeddings", default=c.kind != "git")
    if not tied and c.kind not in ("electra", "git", "rembert", "xlm"):
        vectors += c.integer("vocab_size", most=1 << 28)  # a bias of its own beside the head's
    model = frame(
        c,
        hidden=hidden,
        layers=layers,
        tied=tied,
        vectors=vectors,
        head_bias=True,
        head_inputs=width,
        positions=tables,
        outer=(*outer, *transform),
        notes=_notes(c),
    )
    if c.kind == "rembert":
        model = _rembert(c, model, places + kinds)
        outer, norms = list(model.outer[:1]), 2 * c.integer("input_embedding_size")
    if c.kind == "git" or c.flag("is_decoder") or c.flag("causal"):
        return _pooled(c, model, hidden)
    if model.looked_up is None and width != hidden:
        model = model.altered(looked_up=width)
    pooler = (Linear("pooler.dense", hidden, hidden, bias=True),)
    scores = {
        "": (),
        "pooler": pooler,
        "dense": (Linear("classifier.dense", hidden, hidden, bias=True),),
    }[e.scores]
    made = directions.encoding(
        c,
        model,
        outer=tuple(outer),
        vectors=norms,
        pooler=pooler if e.pooler else (),
        scores=(*scores, directions.classifier(c, hidden)),
    )
    plain = made.encodes and directions.purpose(c) == "states"
    return made if plain else _pooled(c, made, hidden)


def _row(c: Config) -> Encoder:
    e = ROWS[c.kind]
    if c.kind == "bert" and c.get("position_embedding_type") == "alibi":
        # Jina's embeddings v2: no positions, a gate in the feed-forward part.
        e = replace(e, positions=False)
    if c.kind in ("new", "gte") and c.get("position_embedding_type") == "absolute":
        e = replace(e, positions=True)
    if c.kind == "bert" and str(c.get("feed_forward_type") or "").endswith("glu"):
        e = replace(e, gated=True, bias=(True, False), down_bias=True)
    return e


def _family(c: Config, e: Encoder) -> Family:
    attention, middle = e.bias
    if c.kind == "nomic_bert":
        attention = c.flag("qkv_proj_bias")
        middle = c.flag("mlp_fc1_bias")
        if c.has("activation_function") and "glu" not in c.word("activation_function"):
            e = replace(e, gated=False)
    if c.kind == "big_bird" and not c.flag("use_bias", default=True):
        attention = False
    heads = replace(_BASE.heads, qkv_bias=attention, out_bias=e.bias[0])
    names = ("intermediate.gate" if e.gated else "", "intermediate.dense", "output.dense")
    return replace(_BASE, heads=heads, mlp_bias=middle, gated=e.gated, mlp=names)


def _more_norms(c: Config, hidden: int) -> int:
    # Jina's v2 for code and for Chinese: norms of queries and keys, as its code's name says.
    text = repr(c.get("auto_map"))
    return 4 * hidden if "qk-post-norm" in text else 0


def _other_tables(c: Config, hidden: int) -> int:
    if c.kind == "roformer":
        # Sine and cosine for every position of a head, kept as parameters.
        return c.integer("max_position_embeddings") * (hidden // c.integer("num_attention_heads"))
    if c.kind == "roc_bert":
        return _sounds(c)
    if c.kind == "mpnet":
        buckets = c.integer("relative_attention_num_buckets", default=32)
        return buckets * c.integer("num_attention_heads")
    return 0


def _notes(c: Config) -> tuple[str, ...]:
    if c.kind == "git":
        return (Note("aside.one", side=Note("side.image")),)
    if c.kind == "big_bird" and c.get("attention_type") != "original_full":
        return (Note("attention.full"),)
    if c.has("lora_adaptations"):
        return (Note("aside.adapters"),)
    return ()


def _pooled(c: Config, model: Model, hidden: int) -> Model:
    if c.kind != "big_bird":
        return model
    # BigBird's classes hold a pooler beside other heads.
    pooler = Unused((Linear("bert.pooler", hidden, hidden, bias=True),))
    last = model.layers[0].indices[-1]
    return model.altered(
        layers=(*model.layers, Layer((pooler,), (last,), 0, model.layers[0].prefix))
    )


def _xlm(c: Config) -> None:
    c.assume(
        {"hidden_size": ("emb_dim",), "num_attention_heads": ("n_heads",),
         "num_hidden_layers": ("n_layers",)}, {"max_position_embeddings": 512},
    )  # fmt: skip
    if c.flag("use_lang_emb", default=True) and c.integer("n_langs", default=1) > 1:
        raise c.refuse("embeddings of languages are not counted")
    if c.flag("asm"):
        raise c.refuse("an adaptive softmax is not counted")
    c.data = {**c.data, "intermediate_size": 4 * c.integer("hidden_size")}


def _sounds(c: Config) -> int:
    # RoCBert: tables of how characters are pronounced and drawn.
    total = 0
    for name in ("pronunciation", "shape"):
        if not c.flag(f"enable_{name}", default=True):
            raise c.refuse(f"enable_{name} false is not counted")
        rows = c.integer(f"{name}_vocab_size", default={"shape": 24858}.get(name, 910))
        total += rows * c.integer(f"{name}_embed_dim", default={"shape": 512}.get(name, 768))
    return total


def _shapes(c: Config, hidden: int) -> Linear:
    if not c.flag("concat_input", default=True):
        raise c.refuse("concat_input false is not counted")
    width = hidden
    for name, default in (("pronunciation", 768), ("shape", 512)):
        if c.flag(f"enable_{name}", default=True):
            width += c.integer(f"{name}_embed_dim", default=default)
    return Linear("roc_bert.embeddings.map_inputs_layer", width, hidden, bias=True)


def _rembert(c: Config, model: Model, rows: int) -> Model:
    # Table and head have widths of their own, and are never tied.
    inner, outer = c.integer("input_embedding_size"), c.integer("output_embedding_size")
    hidden = model.hidden
    return model.altered(
        tied=False,
        tables=(model.vocab + rows) * inner,
        looked_up=inner,
        vectors=2 * inner + 2 * outer,
        head=Linear("cls.predictions.decoder", outer, model.vocab, bias=True),
        outer=(
            Linear("rembert.encoder.embedding_hidden_mapping_in", inner, hidden, bias=True),
            Linear("cls.predictions.dense", hidden, outer, bias=True),
        ),
    )


READERS = dict.fromkeys(ROWS, encoder)
