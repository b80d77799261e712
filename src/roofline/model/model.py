"""A model: layers of parts, an embedding and a head, and the work they make."""

from __future__ import annotations

from operator import attrgetter

from ..count.quantity import ROWS, SEQUENCES, TOKENS
from ..count.work import Operator, Work
from ..errors import UnsupportedError, plain
from ..limits import NAME_CHARACTERS
from ..record import field, record, replace
from . import formats
from .formats import BF16, Format
from .parts import LayerPart, Linear, linear, parameters, whole

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol
else:
    Protocol = object


class Scheme(Protocol):
    """How a checkpoint stores its matrices."""

    @property
    def name(self) -> str:
        """For people: ``bf16``, ``fp8 (128×128 blocks)``."""

    def weight(self, path: str) -> Format:
        """The format of the matrix at a full module path, ``model.layers.3.mlp.up_proj``."""

    def compute(self, path: str) -> str:
        """The precision of the products with it."""


@record
class Uniform:
    """Every matrix in one format."""

    format: Format

    @property
    def name(self) -> str:
        """The format's name."""
        return self.format.name

    def weight(self, path: str) -> Format:
        """The format, wherever the matrix is."""
        return self.format

    def compute(self, path: str) -> str:
        """The format's arithmetic."""
        return self.format.compute


@record
class Formats:
    """What a model runs in, settled once and handed on.

    Attributes:
        weights: the format that was chosen for every matrix; ``None``: as the checkpoint stores
            them.
        cache: of the cache.
        compute: the arithmetic that was chosen for the matrix products; ``None``: the weights'.
        scheme: of the weights, whichever it is.
        activation: of the activations.
    """

    weights: Format | None
    cache: Format
    compute: str | None
    scheme: Scheme
    activation: Format


@record
class Layer:
    """Layers that are alike.

    Attributes:
        parts: what runs in one of them, in order.
        indices: which layers of the model they are.
        vectors: parameters of one layer's norms.
        prefix: module path; ``prefix.INDEX.path`` is a matrix's full path.
        runs: how often each runs in a step: looped and shared layers are held once, but read,
            and cached for, each time.
    """

    parts: tuple[LayerPart, ...]
    indices: tuple[int, ...]
    vectors: int = 0
    prefix: str = "model.layers"
    runs: int = 1

    @property
    def parameters(self) -> int:
        """Parameters of one of them."""
        return self.vectors + sum(parameters(p) for p in self.parts)


@record
class Pricing:
    """Formats at one place of a model: see :class:`roofline.model.parts.LayerPricing`."""

    scheme: Scheme
    prefix: str
    kv: Format
    activation: Format
    override: str | None

    def weight(self, path: str) -> Format:
        """The format of the matrix at ``path`` of this layer."""
        return self.scheme.weight(self.prefix + path)

    def compute(self, path: str) -> str:
        """The precision of the products with it."""
        return self.override or self.scheme.compute(self.prefix + path)

    @property
    def attention_compute(self) -> str:
        """Attention multiplies activations: never in fewer than 16 bits unless they are."""
        if self.override in WIDE:
            return self.override
        return self.activation.compute


WIDE = ("fp64", "fp32", "tf32", "bf16", "fp16")
"""Arithmetic of 16 bits or more, in which attention runs too where it is chosen."""

_PROBE = Pricing(Uniform(BF16), "", BF16, BF16, None)


@record
class Model:
    """A language model: a decoder, or an encoder.

    Attributes:
        name: for people.
        architecture: its ``model_type``.
        hidden, vocab: width of the residual stream; rows of the embedding.
        layers: its layers, alike ones together, in the order of their first.
        dtype: the format that its activations, and by default its cache, are in.
        scheme: how the checkpoint stores its matrices.
        head: the output head's matrix; ``None`` where it gives no logits of words.
        tied: whether the head is the embedding table (then held once, still read).
        tables: parameters of lookup tables (embedding, positions).
        looked_up: numbers looked up in them a token, ``None`` for one row of ``hidden``.
        outer: matrices outside the layers that every token passes through.
        pooled: matrices that a sequence passes through once: a pooler, a classifier.
        vectors: parameters of norms outside the layers.
        kv: the cache format that the checkpoint asks for, or ``None``.
        longest: the longest context it was made for, or ``None``.
        file: bytes of all its weights in the file it was read from, where that says so.
        drafter: its multi-token-prediction layers, as the model that drafts one token with them
            (they are not among its own layers and parameters), or ``None``.
        causal: whether a token sees only those before it; if not, there is no decode.
        embeds: whether it is made for embeddings or scores, so that a step of it is an encode.
        encodes: whether this is it as it encodes: nothing cached, no logits of words.
        side: its encoder, where that is another stack of layers or has no head.
        notes: assumptions and parts set aside, one sentence each.
        source: where its numbers come from.
    """

    name: str
    architecture: str
    hidden: int
    vocab: int
    layers: tuple[Layer, ...]
    head: Linear | None
    tied: bool
    tables: int
    dtype: Format = BF16
    scheme: Scheme = field(default_factory=lambda: Uniform(BF16))
    outer: tuple[Linear, ...] = ()
    pooled: tuple[Linear, ...] = ()
    vectors: int = 0
    kv: Format | None = None
    longest: int | None = None
    file: int | None = None
    looked_up: int | None = None
    drafter: Model | None = None
    causal: bool = True
    embeds: bool = False
    encodes: bool = False
    side: Model | None = None
    notes: tuple[str, ...] = ()
    source: str = ""
    _work: dict[Any, Work] = field(default_factory=dict, compare=False)

    def altered(self, **changes: Any) -> Model:
        """A copy with other attributes, and nothing kept from this one's work. Names and sources,
        which others may have written, are one line."""
        for name in ("name", "source"):
            if name in changes:
                changes[name] = plain(changes[name], NAME_CHARACTERS)
        return replace(self, **changes)

    @property
    def typical(self) -> str:
        """The path of the matrix that stands for the others where formats are compared."""
        for layer in self.layers[-1:]:
            paths = [m.path for part in layer.parts for m in part.linears()]
            if paths:
                return f"{layer.prefix}.{layer.indices[0]}.{paths[-1]}"
        return "lm_head"

    def encoder(self) -> Model:
        """It as it encodes: nothing cached, no logits of words.

        Raises:
            UnsupportedError: a part whose cache cannot be left out.
        """
        if self.encodes:
            return self
        if self.side is not None:
            return self.side.altered(
                name=self.name, source=self.source, scheme=self.scheme, notes=self.notes
            )
        return self.altered(
            layers=tuple(encoding(layer, self.name) for layer in self.layers),
            head=None,
            drafter=None,
            kv=None,
            file=None,
            encodes=True,
        )

    @property
    def phase(self) -> str:
        """The phase of a step where none is named."""
        return "decode" if self.causal and not self.embeds else "encode"

    @property
    def depth(self) -> int:
        """Layers in all; a block that several share is not one more."""
        return len({i for layer in self.layers for i in layer.indices})

    @property
    def parameters(self) -> int:
        """All parameters, norms and biases included; a tied head counted once."""
        outside = self.tables + self.vectors
        outside += sum(m.parameters for m in (*self.outer, *self.pooled))
        if self.head is None:
            head = 0
        elif self.tied:
            head = self.head.outputs if self.head.bias else 0
        else:
            head = self.head.parameters
        return outside + head + sum(len(x.indices) * x.parameters for x in self.layers)

    @property
    def active_parameters(self) -> int:
        """Parameters less the experts that a token does not use; the table included."""
        idle = sum(
            len(layer.indices) * getattr(part, "idle", 0)
            for layer in self.layers
            for part in layer.parts
        )
        return self.parameters - idle

    @property
    def active_without_tables(self) -> int:
        """Active parameters less the tables that are only looked up, as some model cards count.

        A tied table stays: it is the output head.
        """
        head = self.head.size if self.tied and self.head else 0
        return self.active_parameters - max(self.tables - head, 0)

    def work(
        self,
        weights: str | Format | None = None,
        kv: str | Format | None = None,
        compute: str | None = None,
    ) -> Work:
        """The operators of one forward pass in given formats.

        Args:
            weights: a format for every matrix; by default as the checkpoint stores them.
            kv: the cache's format; by default the activations'.
            compute: the arithmetic of the matrix products; by default the weight format's.
                Attention follows it where it has 16 bits or more.

        Raises:
            UnsupportedError: no such format or precision.
        """
        return self.work_in(self.formats(weights, kv, compute))

    def formats(
        self,
        weights: str | Format | None = None,
        kv: str | Format | None = None,
        compute: str | None = None,
    ) -> Formats:
        """The formats settled; arguments and errors as for :meth:`work`."""
        activation = self.dtype
        chosen = formats.parse(weights) if isinstance(weights, str) else weights
        if chosen is not None and chosen.name in ("fp32", "bf16", "fp16"):
            activation = chosen
        cache = formats.parse(kv) if isinstance(kv, str) else kv or self.kv or activation
        override = formats.precision(compute) if compute is not None else None
        scheme = self.scheme if chosen is None else Uniform(chosen)
        return Formats(chosen, cache, override, scheme, activation)

    def work_in(self, of: Formats) -> Work:
        """The operators of one forward pass in formats that are settled."""
        key = (of.weights, of.cache, of.compute)  # the rest follows
        if key not in self._work:
            self._work[key] = self._make(of)
        return self._work[key]

    def _make(self, of: Formats) -> Work:
        scheme, activation = of.scheme, of.activation

        def pricing(prefix: str) -> Pricing:
            return Pricing(scheme, prefix, of.cache, activation, of.compute)

        outside = pricing("")
        row = whole((self.looked_up or self.hidden) * activation.size)
        operators = [
            Operator("embedding", "embedding", 1, activation.compute, activations=((TOKENS, row),))
        ]
        for m in self.outer:
            operators += linear(m.path, (m,), outside)
        for layer in self.layers:
            for prefix, count in _alike(layer, scheme):
                for part in layer.parts:
                    for op in part.operators(pricing(prefix)):
                        operators.append(replace(op, count=count * layer.runs * op.count))
        if self.head is not None:
            operators += linear("head", (self.head,), outside, kind="head", per=((ROWS, 1),))
        for m in self.pooled:
            operators += linear(m.path, (m,), outside, kind="head", per=((SEQUENCES, 1),))
        as_filed = of.weights is None and self.file is not None
        resident = self.file if as_filed else self._resident(scheme, activation)
        return Work(together(operators), resident or 0)

    def _resident(self, scheme: Scheme, activation: Format) -> float:
        vectors = self.vectors
        total = 0.0
        for layer in self.layers:
            for prefix, count in _alike(layer, scheme):
                vectors += count * layer.vectors
                for part in layer.parts:
                    vectors += count * part.vectors
                    for m in part.linears():
                        one = scheme.weight(prefix + m.path).stored(m.inputs, m.outputs)
                        total += count * m.copies * one
                        vectors += count * m.copies * (m.outputs if m.bias else 0)
        for m in (*self.outer, *self.pooled):
            total += m.stored(scheme)
            vectors += m.outputs if m.bias else 0
        if self.head is not None:
            vectors += self.head.outputs if self.head.bias else 0
            total += 0 if self.tied else self.head.stored(scheme)
        table = scheme.weight("model.embed_tokens").size
        return total + self.tables * table + vectors * activation.size


def encoding(layer: Layer, name: str, both: bool = False) -> Layer:
    """A layer with nothing cached; ``both``: with attention in both directions.

    Raises:
        UnsupportedError: a part whose cache or direction cannot be changed.
    """
    parts: list[LayerPart] = []
    for part in layer.parts:
        change = getattr(part, "encoding", None)
        if change is None and any(op.held for op in part.operators(_PROBE)):
            what = "in both directions" if both else "without a cache"
            instead = "" if both else "; '--phase prefill' counts it with its cache written"
            raise UnsupportedError(f"{name}: {type(part).__name__} {what} is not counted{instead}")
        parts.append(part if change is None else change(both))
    return replace(layer, parts=tuple(parts))


Alike = tuple[tuple[str, int], ...]


def _alike(layer: Layer, scheme: Scheme) -> Alike:
    """Path prefixes, and how many layers share the formats of each."""
    if isinstance(scheme, Uniform):
        return ((f"{layer.prefix}.{layer.indices[0]}.", len(layer.indices)),)
    # Kept with the scheme: hundreds of matrices are asked for their formats, and a model is
    # priced in one scheme for every choice of cache, arithmetic and devices.
    known: dict[Any, Alike] = vars(scheme).setdefault("_alike", {})
    paths = tuple(m.path for part in layer.parts for m in part.linears())
    key = (layer.prefix, layer.indices, paths)
    if key not in known:
        known[key] = _grouped(layer, scheme, paths)
    return known[key]


def _grouped(layer: Layer, scheme: Scheme, paths: tuple[str, ...]) -> Alike:
    result: dict[tuple[Any, ...], list[Any]] = {}
    for i in layer.indices:
        prefix = f"{layer.prefix}.{i}."
        key = tuple((scheme.weight(prefix + p), scheme.compute(prefix + p)) for p in paths)
        result.setdefault(key, [prefix, 0])[1] += 1
    return tuple((prefix, count) for prefix, count in result.values())


# All of an operator but how often it runs.
_price = attrgetter(*(name for name in Operator.__match_args__ if name != "count"))


def together(operators: list[Operator]) -> tuple[Operator, ...]:
    """Equal operators of different layers, as one with their counts added."""
    result: dict[Any, list[Any]] = {}
    for op in operators:
        result.setdefault(_price(op), [op, 0])[1] += op.count
    return tuple(op if op.count == n else replace(op, count=n) for op, n in result.values())


def gather(
    depth: int,
    make: Callable[[int], tuple[tuple[LayerPart, ...], int]],
    prefix: str = "model.layers",
) -> tuple[Layer, ...]:
    """Layers 0…depth-1, alike ones together; ``make(i)`` gives parts and norm parameters."""
    result: dict[tuple[tuple[LayerPart, ...], int], list[int]] = {}
    for i in range(depth):
        result.setdefault(make(i), []).append(i)
    return tuple(
        Layer(parts, tuple(indices), vectors, prefix)
        for (parts, vectors), indices in result.items()
    )
