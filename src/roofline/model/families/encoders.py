"""BERT and its like as decoders: encoders with a head that predicts the next token.

Learned positions and token types, norms after each part, biases everywhere, and before the
head a transform of the hidden state (dense, norm). Counted as the decoders that these classes
are: each token attends to those before it.
"""

from __future__ import annotations

from collections.abc import Callable

from ...record import record, replace
from ..config import Config
from ..model import Layer, Model, gather
from ..parts import Linear, Matrices, Part, Unused
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
    """

    types: bool = True
    positions: bool = True
    transform: bool = True
    row: str = ""
    norms: int = 1
    prefix: str = "bert.encoder.layer"
    beside: Callable[[Config], tuple[Part, ...]] | None = None


def _adapters(c: Config) -> tuple[Part, ...]:
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


ROWS: dict[str, Encoder] = {
    "bert": Encoder(),
    "bert-generation": Encoder(types=False, transform=False),
    "big_bird": Encoder(),
    "camembert": Encoder(prefix="roberta.encoder.layer"),
    "data2vec-text": Encoder(prefix="data2vec_text.encoder.layer"),
    "electra": Encoder(row="embedding_size", prefix="electra.encoder.layer"),
    "ernie": Encoder(prefix="ernie.encoder.layer"),
    "git": Encoder(types=False, transform=False, prefix="git.encoder.layer"),
    "megatron-bert": Encoder(),
    "roberta": Encoder(prefix="roberta.encoder.layer"),
    "rembert": Encoder(prefix="rembert.encoder.layer"),
    "roc_bert": Encoder(prefix="roc_bert.encoder.layer"),
    "roformer": Encoder(positions=False, row="embedding_size", prefix="roformer.encoder.layer"),
    "roberta-prelayernorm": Encoder(norms=2, prefix="roberta_prelayernorm.encoder.layer"),
    "xlm": Encoder(types=False, transform=False, prefix="transformer.attentions"),
    "xlm-roberta": Encoder(prefix="roberta.encoder.layer"),
    "xlm-roberta-xl": Encoder(prefix="roberta.encoder.layer"),
    "xmod": Encoder(prefix="roberta.encoder.layer", beside=_adapters),
}

_BASE = Family(
    heads=Heads(qkv_bias=True, out_bias=True, names=(
        "attention.self.query", "attention.self.key", "attention.self.value",
        "attention.output.dense",
    )),
    mlp_bias=True, gated=False, mlp=("", "intermediate.dense", "output.dense"), mlp_path="",
)  # fmt: skip


def encoder(c: Config) -> Model:
    """A model by its type's row."""
    e = ROWS[c.kind]
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
    base = _BASE
    if c.kind == "big_bird" and not c.flag("use_bias", default=True):
        base = replace(base, heads=replace(base.heads, qkv_bias=False))
    parts = (
        *build(c, base, {"": grouped}, ""),
        *build(c, _BASE, {"": dense}, ""),
        *(e.beside(c) if e.beside else ()),
    )
    outer: list[Linear] = []
    vectors = 2 * e.norms * width
    if width != hidden:
        outer.append(Linear("embeddings_project", width, hidden, bias=True))
    if e.transform:
        outer.append(Linear("cls.predictions.transform.dense", hidden, width, bias=True))
        vectors += 2 * width
    if c.kind == "roc_bert":
        outer.append(_shapes(c, hidden))
    layers = gather(depth, lambda i: (parts, 4 * hidden), e.prefix)
    if c.kind == "big_bird":
        # The pooler is for classifying sentences.
        pooler = Unused((Linear("bert.pooler", hidden, hidden, bias=True),))
        layers = (*layers, Layer((pooler,), (depth - 1,), 0, e.prefix))
    tables = (places + kinds) * width
    if c.kind == "roformer":
        # Sine and cosine for every position of a head, kept as parameters.
        tables += c.integer("max_position_embeddings") * (
            hidden // c.integer("num_attention_heads")
        )
    if c.kind == "roc_bert":
        tables += _sounds(c)
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
        outer=tuple(outer),
    )
    if c.kind == "git":
        aside = "the image encoder is set aside: text tokens only"
        return model.altered(notes=(*model.notes, aside))
    return _rembert(c, model, places + kinds) if c.kind == "rembert" else model


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
