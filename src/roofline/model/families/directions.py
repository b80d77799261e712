"""What attends in which direction, and what comes after the layers.

A decoder whose config says ``is_causal: false`` (gte-Qwen2), ``use_bidirectional_attention``
(EmbeddingGemma) or ``bidirectional``, or whose type says so, is an encoder. One whose class has
no head for words (``MistralModel``, ``…ForSequenceClassification``) is made for embeddings or
scores, whichever way it attends.
"""

from __future__ import annotations

from ...record import replace
from ..attention import Attention
from ..config import Config
from ..model import Model
from ..model import encoding as encoding_layer
from ..parts import LayerPart, Linear

_WORDS = (
    "LMHeadModel", "ForCausalLM", "ForMaskedLM", "ForPreTraining", "ForConditionalGeneration",
    "ForConditionalLM", "ChatModel", "ForQuestionAnswering",
)  # fmt: skip
_SCORES = ("ForSequenceClassification", "ForTokenClassification", "ForRewardModel", "RewardModel")


def purpose(c: Config) -> str:
    """What its class gives: ``words`` (logits), ``scores`` or ``states``; ``words`` unsaid."""
    named = c.get("architectures")
    name = named[0] if isinstance(named, list) and named and isinstance(named[0], str) else ""
    if name.endswith(_SCORES):
        return "scores"
    if name.endswith(("Model", "Encoder")) and not name.endswith(_WORDS):
        return "states"
    return "words"


def labels(c: Config) -> int:
    """Classes that a classifier tells apart."""
    named = c.get("id2label")
    if isinstance(named, dict) and named:
        return len(named)
    return c.integer("num_labels", "_num_labels", default=2)


def classifier(c: Config, hidden: int, *, bias: bool = True) -> Linear:
    """The matrix from a pooled state to scores."""
    return Linear("classifier", hidden, labels(c), bias)


def encoding(
    c: Config,
    model: Model,
    *,
    outer: tuple[Linear, ...],
    vectors: int,
    pooler: tuple[Linear, ...] = (),
    scores: tuple[Linear, ...] = (),
) -> Model:
    """An encoder from the model that its layers and its head for words make.

    Args:
        outer, vectors: matrices and norms outside the layers, those of the head left out.
        pooler: what the plain model puts a sequence's state through.
        scores: what its classifier does.
    """
    layers = tuple(encoding_layer(layer, c.where, both=True) for layer in model.layers)
    base = model.altered(
        layers=layers, head=None, outer=outer, vectors=vectors, causal=False, encodes=True
    )
    asked = purpose(c)
    if asked == "words":
        return model.altered(layers=layers, causal=False, side=base)
    return base.altered(pooled=scores if asked == "scores" else pooler)


def directed(c: Config, model: Model, head: bool) -> Model:
    """A decoder as its config directs it.

    Args:
        head: whether a class without a head for words is to be believed: the names of some
            remote code do not say.
    """
    if not model.encodes and model.causal and both_ways(c):
        model = _both(c, model)
    if not head or model.encodes or model.side is not None or model.head is None:
        return model
    asked = purpose(c)
    if asked == "words":
        return model
    pooled = (Linear("score", model.hidden, labels(c)),) if asked == "scores" else ()
    return model.altered(head=None, pooled=pooled, embeds=True)


def both_ways(c: Config) -> bool:
    """Whether its config directs attention both ways."""
    if c.data.get("is_causal") is False or c.data.get("bidirectional") is True:
        return True
    return c.data.get("use_bidirectional_attention") in (True, "all")


def _both(c: Config, model: Model) -> Model:
    layers = tuple(encoding_layer(layer, c.where, both=True) for layer in model.layers)
    if c.data.get("use_bidirectional_attention") in (True, "all"):
        # Gemma's class halves the window: as many tokens, on both sides.
        layers = tuple(
            replace(layer, parts=tuple(_halved(part) for part in layer.parts)) for layer in layers
        )
    return model.altered(layers=layers, causal=False, drafter=None)


def _halved(part: LayerPart) -> LayerPart:
    if isinstance(part, Attention) and part.span.window is not None:
        span = replace(part.span, window=part.span.window // 2 + 1)
        return replace(part, span=span)
    return part
