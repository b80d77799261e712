"""Attention over a cache of keys and values: multi-head, multi-query, grouped-query.

Per layer with H query heads, G key-value heads and widths dk, dv (``counting.md``):
FLOPs 2·H·(dk+dv) per query-key pair; bytes read G·(dk+dv)·c per cache entry, written
G·(dk+dv)·c per new token. In decode its intensity is H/G with a bf16 cache, whatever the
batch. A window, a chunk or a choice of keys bounds pairs and entries.

In an encoder keys and values are activations: each token makes them, attention reads them
once, and nothing is kept. Where attention goes both ways it has all T·T pairs of a sequence.
"""

from __future__ import annotations

from ..count.quantity import TOKENS, Quantity, all_pairs, entries, held, pairs
from ..count.work import Operator
from ..errors import UnsupportedError
from ..record import record, replace
from .parts import LayerPricing, Linear, divide, linear, whole

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from collections.abc import Iterator


@record
class Span:
    """Which keys a query attends to; all up to itself where nothing is set.

    Attributes:
        window: the last so many tokens, itself included.
        chunk: those of its own chunk of so many tokens (Llama 4).
        top: so many that an indexer chooses (DeepSeek sparse attention); all are kept. Queries
            of one step are taken to choose alike, so that reads are a lower bound.
        block: the choice is of whole blocks of so many tokens, its own among them (MiniMax-M3).
        both: keys after the query as well as before it; ``window`` is then the reach each way,
            the query itself included.
    """

    window: int | None = None
    chunk: int | None = None
    top: int | None = None
    block: int | None = None
    both: bool = False

    @property
    def label(self) -> str:
        """For an operator's name: ``[window 128]``."""
        for name, value in (("window", self.window), ("chunk", self.chunk), ("top", self.top)):
            if value is not None:
                return f"[{name} {value}]"
        return ""

    @property
    def seen(self) -> Quantity:
        """Query-key pairs."""
        if self.both:
            return all_pairs(self.window)
        if self.chunk is not None:
            return Quantity("chunk_pairs", self.chunk)
        if self.block is not None:
            return Quantity("block_pairs", self.top, self.block)
        return pairs(self.window if self.top is None else self.top)

    @property
    def read(self) -> Quantity:
        """Cache entries read."""
        if self.chunk is not None:
            return Quantity("chunk_entries", self.chunk)
        if self.block is not None:
            return Quantity("block_entries", self.top, self.block)
        return entries(self.window if self.top is None else self.top)

    @property
    def kept(self) -> Quantity:
        """Cache entries kept for the next step."""
        return held(self.window if self.chunk is None else self.chunk)


ALL = Span()


@record
class Attention:
    """Grouped-query attention; ``kv_heads = heads`` is multi-head, 1 is multi-query.

    Attributes:
        hidden: width of the residual stream.
        heads, kv_heads: H, G.
        key_width, value_width: dk, dv per head.
        span: which keys a query attends to.
        qkv_bias, out_bias: whether the projections add a vector.
        extra_vectors: parameters of query/key norms and sinks.
        gate: width of a gate on the heads' results: as wide as they are, or one per head.
        gate_name: its module, or empty where the query projection holds it too (Qwen3.5).
        shares_cache: reads another layer's cache: projects no keys and values, holds none.
        keys_are_values: one projection serves as keys and values; both are cached (Gemma 4).
        width: of the layer's input where it is not ``hidden`` (Zamba).
        cached: whether keys and values are kept for tokens to come.
        twice: every head weighs values of twice its width (differential attention).
        query_rank: width that queries pass through, or ``None`` (Step-3).
        names: module paths of q, k, v and out, for exclusion lists.
        title: how its operators are called.
    """

    hidden: int
    heads: int
    kv_heads: int
    key_width: int
    value_width: int
    span: Span = ALL
    qkv_bias: bool = False
    out_bias: bool = False
    extra_vectors: int = 0
    gate: int = 0
    gate_name: str = ""
    shares_cache: bool = False
    keys_are_values: bool = False
    width: int | None = None
    cached: bool = True
    twice: bool = False
    query_rank: int | None = None
    names: tuple[str, str, str, str] = (
        "self_attn.q_proj",
        "self_attn.k_proj",
        "self_attn.v_proj",
        "self_attn.o_proj",
    )
    title: str = "attention"

    def _inputs(self) -> tuple[Linear, ...]:
        q, k, v, _ = self.names
        width = self.width or self.hidden
        queries = self.heads * self.key_width
        if self.gate and not self.gate_name:
            queries += self.gate
        rank = self.query_rank
        result = [Linear(q, width, rank or queries, self.qkv_bias)]
        if not self.shares_cache:
            result.append(Linear(k, width, self.kv_heads * self.key_width, self.qkv_bias))
            if not self.keys_are_values:
                values = self.kv_heads * self.value_width
                result.append(Linear(v, width, values, self.qkv_bias))
        if self.gate and self.gate_name:
            result.append(Linear(self.gate_name, width, self.gate))
        return tuple(result)

    def _queries(self) -> tuple[Linear, ...]:
        # From the width that queries pass through to the heads.
        if self.query_rank is None:
            return ()
        return (Linear("self_attn.wq", self.query_rank, self.heads * self.key_width),)

    def _output(self) -> Linear:
        return Linear(self.names[3], self.heads * self.value_width, self.hidden, self.out_bias)

    def linears(self) -> tuple[Linear, ...]:
        """Query, key, value and output projections, the gate's among them."""
        return (*self._inputs(), *self._queries(), self._output())

    @property
    def vectors(self) -> int:
        """Norms of queries and keys, sinks."""
        return self.extra_vectors

    @property
    def entry(self) -> int:
        """Numbers cached a token: G·(dk+dv)."""
        return self.kv_heads * (self.key_width + self.value_width)

    def split(self, tp: int) -> Attention:
        """Heads divided over ``tp`` devices; key-value heads replicated where they are fewer.

        Raises:
            InputError: the heads do not divide.
        """
        heads = divide(self.heads, tp, "query heads")
        gate = self.gate * heads // self.heads
        if tp % self.kv_heads == 0:
            return replace(self, heads=heads, kv_heads=1, gate=gate)
        kv_heads = divide(self.kv_heads, tp, "key-value heads")
        return replace(self, heads=heads, kv_heads=kv_heads, gate=gate)

    def encoding(self, both: bool = False) -> Attention:
        """The same with nothing cached; ``both``: every token sees those after it, too.

        Raises:
            UnsupportedError: a span that has no other direction.
        """
        if not both:
            return replace(self, cached=False)
        if self.span.chunk is not None or self.span.top is not None:
            raise UnsupportedError(f"attention{self.span.label} in both directions is not counted")
        return replace(self, cached=False, span=replace(self.span, both=True))

    def operators(self, pricing: LayerPricing) -> Iterator[Operator]:
        """Projections, attention proper, output projection."""
        yield from linear(f"{self.title}.qkv", self._inputs(), pricing)
        if self.query_rank is not None:
            yield from linear(f"{self.title}.q", self._queries(), pricing)
        yield self.core(pricing)
        yield from linear(f"{self.title}.out", (self._output(),), pricing)

    def core(self, pricing: LayerPricing) -> Operator:
        """Scores and weighted sum: the part that reads the cache, where there is one."""
        width = self.heads * (self.key_width + (2 if self.twice else 1) * self.value_width)
        entry = whole(self.entry * pricing.kv.size)
        if not self.cached:
            moved = whole((width + self.entry) * pricing.activation.size)
            return Operator(
                name=self.title + self.span.label,
                kind="attention",
                count=1,
                compute=pricing.attention_compute,
                flops=((self.span.seen, 2 * width),),
                activations=((TOKENS, moved),),
            )
        return Operator(
            name=self.title + self.span.label,
            kind="attention",
            count=1,
            compute=pricing.attention_compute,
            flops=((self.span.seen, 2 * width),),
            kv_read=((self.span.read, entry),),
            kv_write=() if self.shares_cache else ((TOKENS, entry),),
            held=() if self.shares_cache else ((self.span.kept, entry),),
            activations=((TOKENS, whole(width * pricing.activation.size)),),
        )
