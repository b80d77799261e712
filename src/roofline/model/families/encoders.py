"""BERT and its like: every token attends to every other, and nothing is cached.

Learned positions and token types, norms after each part, biases everywhere, and before the
head that guesses words a transform of the hidden state (dense, norm). Configs with
``is_decoder`` are of the decoders that these classes can be, too.

What comes after the layers is named by ``architectures``; see :func:`.directions.purpose`.
"""

from __future__ import annotations

from ...record import replace
from ...words.note import Note
from ..config import Config
from ..model import Model, gather
from ..parts import Linear
from . import directions
from .common import frame
from .decoder import Family, Heads, build, dense, grouped
from .encoder_rows import ROWS, Encoder

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
    c.assume(e.aliases, e.defaults)
    if e.adapt is not None:
        e = e.adapt(c, e)
    if c.flag("add_cross_attention"):
        raise c.refuse("cross-attention to an encoder is not counted")
    hidden, depth = c.integer("hidden_size"), c.layers()
    width = c.integer(e.row, default=hidden) if e.row else hidden
    places = c.integer("max_position_embeddings") if e.positions else 0
    kinds = c.integer("type_vocab_size", default=2, least=0) if e.types else 0
    kinds += e.type_rows(c) if e.type_rows else 0
    base = _family(e)
    parts = (
        *build(c, base, {"": grouped}, ""),
        *build(c, base, {"": dense}, ""),
        *(e.beside(c) if e.beside else ()),
    )
    outer: list[Linear] = []
    if width != hidden:
        outer.append(Linear("embeddings_project", width, hidden, bias=True))
    if e.outer is not None:
        outer.append(e.outer(c, hidden))
    norms = 2 * e.norms * width
    vectors = norms
    transform: tuple[Linear, ...] = ()
    if e.transform:
        transform = (Linear("cls.predictions.transform.dense", hidden, width, bias=True),)
        vectors += 2 * width
    each = 4 * hidden + (hidden if e.down_bias else 0) + _more_norms(c, hidden)
    layers = gather(depth, lambda i: (parts, each), e.prefix)
    tables = (places + kinds) * width + (e.tables(c, hidden) if e.tables else 0)
    tied = c.flag("tie_word_embeddings", default=e.tied)
    if not tied and e.own_bias:
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
        notes=_notes(c, e),
    )
    if e.resized is not None:
        model, norms = e.resized(c, model, places + kinds)
        outer = list(model.outer[:1])
    if e.decodes or c.flag("is_decoder") or c.flag("causal"):
        return e.finish(c, model) if e.finish else model
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
    return made if plain or e.finish is None else e.finish(c, made)


def _family(e: Encoder) -> Family:
    attention, middle = e.bias
    out = attention if e.out_bias is None else e.out_bias
    heads = replace(_BASE.heads, qkv_bias=attention, out_bias=out)
    names = ("intermediate.gate" if e.gated else "", "intermediate.dense", "output.dense")
    return replace(_BASE, heads=heads, mlp_bias=middle, gated=e.gated, mlp=names)


def _more_norms(c: Config, hidden: int) -> int:
    # Jina's v2 for code and for Chinese: norms of queries and keys, as its code's name says.
    text = repr(c.get("auto_map"))
    return 4 * hidden if "qk-post-norm" in text else 0


def _notes(c: Config, e: Encoder) -> tuple[str, ...]:
    said = e.notes(c) if e.notes else ()
    if not said and c.has("lora_adaptations"):
        return (Note("aside.adapters"),)
    return said


READERS = dict.fromkeys(ROWS, encoder)
