"""How each type of encoder differs from BERT: its row, and what the row makes of other keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...record import field, record, replace
from ...words.note import Note
from ..config import Config
from ..model import Layer, Model
from ..parts import LayerPart, Linear, Matrices, Unused


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
        out_bias: whether attention's last matrix has, where that is another matter.
        down_bias: whether the last matrix of the feed-forward part has one of its own.
        tied, own_bias: of the head where the config is silent, and whether one that is not tied
            has a bias of its own beside the one that is counted.
        decodes: whether the class decodes whatever the config says.
        aliases, defaults: other names of keys; what the class takes for missing ones.
        adapt: what makes of the row what other keys of a config say about it.
        tables: parameters of tables besides, given the residual stream's width.
        type_rows: rows of the table of token types besides.
        outer: matrices outside the layers besides.
        resized: the model where table and head have widths of their own, given its rows besides
            the words', and what its norms outside the layers then have.
        finish: the model with what its class has besides.
        notes: what is said of it.
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
    out_bias: bool | None = None
    down_bias: bool = False
    tied: bool = True
    own_bias: bool = True
    decodes: bool = False
    aliases: dict[str, tuple[str, ...]] = field(default_factory=dict)
    defaults: dict[str, Any] = field(default_factory=dict)
    adapt: Callable[[Config, Encoder], Encoder] | None = None
    tables: Callable[[Config, int], int] | None = None
    type_rows: Callable[[Config], int] | None = None
    outer: Callable[[Config, int], Linear] | None = None
    resized: Callable[[Config, Model, int], tuple[Model, int]] | None = None
    finish: Callable[[Config, Model], Model] | None = None
    notes: Callable[[Config], tuple[str, ...]] | None = None


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


def _xlm(c: Config, e: Encoder) -> Encoder:
    c.assume(
        {"hidden_size": ("emb_dim",), "num_attention_heads": ("n_heads",),
         "num_hidden_layers": ("n_layers",)}, {"max_position_embeddings": 512},
    )  # fmt: skip
    if c.flag("use_lang_emb", default=True) and c.integer("n_langs", default=1) > 1:
        raise c.refuse("embeddings of languages are not counted")
    if c.flag("asm"):
        raise c.refuse("an adaptive softmax is not counted")
    c.data = {**c.data, "intermediate_size": 4 * c.integer("hidden_size")}
    return e


def _sounds(c: Config, hidden: int) -> int:
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


def _bert(c: Config, e: Encoder) -> Encoder:
    # Jina's embeddings v2: no positions, a gate in the feed-forward part.
    if c.get("position_embedding_type") == "alibi":
        e = replace(e, positions=False)
    if str(c.get("feed_forward_type") or "").endswith("glu"):
        e = replace(e, gated=True, bias=(True, False), down_bias=True)
    return e


def _gte(c: Config, e: Encoder) -> Encoder:
    absolute = c.get("position_embedding_type") == "absolute"
    return replace(e, positions=True) if absolute else e


def _nomic(c: Config, e: Encoder) -> Encoder:
    attention, middle = c.flag("qkv_proj_bias"), c.flag("mlp_fc1_bias")
    e = replace(e, bias=(attention, middle), out_bias=False)
    plain = c.has("activation_function") and "glu" not in c.word("activation_function")
    return replace(e, gated=False) if plain else e


def _big_bird(c: Config, e: Encoder) -> Encoder:
    if c.flag("use_bias", default=True):
        return e
    return replace(e, bias=(False, e.bias[1]), out_bias=True)


def _big_bird_pooler(c: Config, model: Model) -> Model:
    # BigBird's classes hold a pooler beside other heads.
    pooler = Unused((Linear("bert.pooler", model.hidden, model.hidden, bias=True),))
    last = model.layers[0].indices[-1]
    return model.altered(
        layers=(*model.layers, Layer((pooler,), (last,), 0, model.layers[0].prefix))
    )


def _sines(c: Config, hidden: int) -> int:
    # Sine and cosine for every position of a head, kept as parameters.
    return c.integer("max_position_embeddings") * (hidden // c.integer("num_attention_heads"))


def _buckets(c: Config, hidden: int) -> int:
    buckets = c.integer("relative_attention_num_buckets", default=32)
    return buckets * c.integer("num_attention_heads")


def _tasks(c: Config) -> int:
    return c.integer("task_type_vocab_size", default=3) if c.flag("use_task_id") else 0


def _seen(c: Config) -> tuple[str, ...]:
    return (Note("aside.one", side=Note("side.image")),)


def _all_pairs(c: Config) -> tuple[str, ...]:
    full = c.get("attention_type") == "original_full"
    return () if full else (Note("attention.full"),)


def _rembert(c: Config, model: Model, rows: int) -> tuple[Model, int]:
    # Table and head have widths of their own, and are never tied.
    inner, outer = c.integer("input_embedding_size"), c.integer("output_embedding_size")
    hidden = model.hidden
    model = model.altered(
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
    return model, 2 * inner


_ROBERTA = Encoder(prefix="roberta.encoder.layer", scores="dense")
_ROTARY = Encoder(positions=False, prefix="encoder.layer")
_GTE = replace(_ROTARY, gated=True, bias=(True, False), down_bias=True, pooler=False, adapt=_gte)

ROWS: dict[str, Encoder] = {
    "bert": Encoder(adapt=_bert),
    "bert-generation": Encoder(types=False, transform=False, pooler=False),
    "big_bird": Encoder(
        scores="dense", adapt=_big_bird, finish=_big_bird_pooler, notes=_all_pairs
    ),
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
        row="embedding_size", prefix="electra.encoder.layer", pooler=False, scores="dense",
        own_bias=False,
    ),
    "ernie": Encoder(prefix="ernie.encoder.layer", type_rows=_tasks),
    "git": Encoder(
        types=False, transform=False, prefix="git.encoder.layer", tied=False, own_bias=False,
        decodes=True, notes=_seen,
    ),
    "gte": _GTE,
    "jina_embeddings_v3": replace(_ROTARY, prefix="roberta.encoder.layers", scores="dense"),
    "megatron-bert": Encoder(),
    "mpnet": Encoder(
        types=False, prefix="mpnet.encoder.layer", scores="dense", tables=_buckets
    ),
    "new": _GTE,
    "nomic_bert": replace(
        _ROTARY, gated=True, bias=(False, False), pooler=False, prefix="encoder.layers",
        adapt=_nomic,
        aliases={
            "hidden_size": ("n_embd",), "intermediate_size": ("n_inner",),
            "num_hidden_layers": ("n_layer",), "num_attention_heads": ("n_head",),
            "max_position_embeddings": ("n_positions",),
        },
    ),
    "roberta": _ROBERTA,
    "rembert": Encoder(prefix="rembert.encoder.layer", own_bias=False, resized=_rembert),
    "roc_bert": Encoder(prefix="roc_bert.encoder.layer", tables=_sounds, outer=_shapes),
    "roformer": Encoder(
        positions=False, row="embedding_size", prefix="roformer.encoder.layer", pooler=False,
        scores="dense", tables=_sines,
    ),
    "roberta-prelayernorm": replace(
        _ROBERTA, norms=2, prefix="roberta_prelayernorm.encoder.layer"
    ),
    "xlm": Encoder(
        types=False, transform=False, prefix="transformer.attentions", pooler=False, scores="",
        own_bias=False, adapt=_xlm,
    ),
    "xlm-roberta": _ROBERTA,
    "xlm-roberta-flash": replace(_ROTARY, prefix="roberta.encoder.layers", scores="dense"),
    "xlm-roberta-xl": _ROBERTA,
    "xmod": replace(_ROBERTA, beside=_adapters),
}  # fmt: skip
