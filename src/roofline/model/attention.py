"""Attention over a cache of keys and values: multi-head, multi-query, grouped-query.

Per layer with H query heads, G key-value heads and widths dk, dv (``counting.md``):
FLOPs 2·H·(dk+dv) per query-key pair; bytes read G·(dk+dv)·c per cache entry, written
G·(dk+dv)·c per new token. In decode its intensity is H/G with a bf16 cache, whatever the
batch. A window W (or chunk) bounds pairs and entries.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..step import TOKENS, Quantity, entries, held, pairs
from ..work import Operator
from .parts import Linear, Pricing, divide, linear, whole


@dataclass(frozen=True, slots=True)
class Attention:
    """Grouped-query attention; ``kv_heads = heads`` is multi-head, 1 is multi-query.

    Attributes:
        hidden: width of the residual stream.
        heads, kv_heads: H, G.
        key_width, value_width: dk, dv per head.
        window: tokens a query may attend to, itself included; ``None`` for all.
        chunk: attend within chunks of this many tokens instead (Llama 4).
        qkv_bias, out_bias: whether the projections add a vector.
        extra_vectors: parameters of query/key norms and sinks.
        gated: an output gate as wide as the queries is projected too (Qwen3.5, Step).
        shares_cache: reads another layer's cache: projects no keys and values, holds none.
        keys_are_values: keys serve as values: one projection, both cached (Gemma 4).
        fused_names: module paths of q, k, v and out, for exclusion lists.
    """

    hidden: int
    heads: int
    kv_heads: int
    key_width: int
    value_width: int
    window: int | None = None
    chunk: int | None = None
    qkv_bias: bool = False
    out_bias: bool = False
    extra_vectors: int = 0
    gated: bool = False
    shares_cache: bool = False
    keys_are_values: bool = False
    names: tuple[str, str, str, str] = (
        "self_attn.q_proj",
        "self_attn.k_proj",
        "self_attn.v_proj",
        "self_attn.o_proj",
    )

    def _inputs(self) -> tuple[Linear, ...]:
        q, k, v, _ = self.names
        queries = self.heads * self.key_width * (2 if self.gated else 1)
        found = [Linear(q, self.hidden, queries, self.qkv_bias)]
        if not self.shares_cache:
            found.append(Linear(k, self.hidden, self.kv_heads * self.key_width, self.qkv_bias))
            if not self.keys_are_values:
                width = self.kv_heads * self.value_width
                found.append(Linear(v, self.hidden, width, self.qkv_bias))
        return tuple(found)

    def _output(self) -> Linear:
        return Linear(self.names[3], self.heads * self.value_width, self.hidden, self.out_bias)

    def linears(self) -> tuple[Linear, ...]:
        """Query, key, value and output projections."""
        return (*self._inputs(), self._output())

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
        if tp % self.kv_heads == 0:
            return replace(self, heads=heads, kv_heads=1)
        return replace(self, heads=heads, kv_heads=divide(self.kv_heads, tp, "key-value heads"))

    def operators(self, pricing: Pricing) -> Iterator[Operator]:
        """Projections, attention proper, output projection."""
        yield from linear("attention.qkv", self._inputs(), pricing)
        yield self.core(pricing)
        yield from linear("attention.out", (self._output(),), pricing)

    def core(self, pricing: Pricing) -> Operator:
        """Scores and weighted sum: the part that reads the cache."""
        c = pricing.kv.size
        width = self.heads * (self.key_width + self.value_width)
        if self.chunk is not None:
            seen = Quantity("chunk_pairs", self.chunk)
            read, kept = Quantity("chunk_entries", self.chunk), held(self.chunk)
            name = f"attention[chunk {self.chunk}]"
        else:
            seen, read, kept = pairs(self.window), entries(self.window), held(self.window)
            name = "attention" if self.window is None else f"attention[window {self.window}]"
        entry = whole(self.entry * c)
        return Operator(
            name=name,
            kind="attention",
            count=1,
            compute=pricing.attention_compute,
            flops=((seen, 2 * width),),
            kv_read=((read, entry),),
            kv_write=() if self.shares_cache else ((TOKENS, entry),),
            held=() if self.shares_cache else ((kept, entry),),
            activations=((TOKENS, whole(width * pricing.activation.size)),),
        )
