"""Attention over a window and a compressed past: DeepSeek-V4.

All heads share one key-value vector of width d, which is key and value at once, so an entry
is d numbers. Queries see the last W tokens as they are, and of the rest one entry per m
tokens: either the best k that an indexer chooses (compressed sparse attention, m = 4), or all
(heavily compressed attention, m = 128). Per layer with H heads:

    per pair        4·H·d            over min(p, W) + min(⌊p/m⌋, k) pairs for the query at p
    cache           d per token in the window, d per m tokens beyond any window
    state           2·m tokens' worth of what the next entry is made of, kept per sequence

The tokens that the next entry is made of wait in a buffer: each is written once and read once.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..count.quantity import SEQUENCES, TOKENS, entries, held, pairs
from ..count.work import Operator
from ..record import record, replace
from .parts import LayerPricing, Linear, divide, linear, whole


@record
class CompressedAttention:
    """One layer's attention.

    Attributes:
        hidden: width of the residual stream.
        heads, width: H, d.
        query_rank: width of the compressed query.
        groups, output_rank: of the output projection: each group of heads down to so many.
        window: W.
        stride: m, 0 where the layer has a window only.
        series: vectors that a token contributes to entries (2 where entries overlap).
        top: k, ``None`` for all entries.
    """

    hidden: int
    heads: int
    width: int
    query_rank: int
    groups: int
    output_rank: int
    window: int
    stride: int = 0
    series: int = 1
    top: int | None = None

    def _down(self) -> tuple[Linear, ...]:
        own = (
            Linear("self_attn.q_a_proj", self.hidden, self.query_rank),
            Linear("self_attn.kv_proj", self.hidden, self.width),
        )
        if not self.stride:
            return own
        made = self.series * self.width
        return (
            *own,
            Linear("self_attn.compressor.kv_proj", self.hidden, made),
            Linear("self_attn.compressor.gate_proj", self.hidden, made),
        )

    def _up(self) -> Linear:
        return Linear("self_attn.q_b_proj", self.query_rank, self.heads * self.width)

    def _output(self) -> tuple[Linear, ...]:
        inner = self.groups * self.output_rank
        # Block-diagonal: each group's outputs read that group's heads only.
        return (
            Linear("self_attn.o_a_proj", self.heads * self.width // self.groups, inner),
            Linear("self_attn.o_b_proj", inner, self.hidden),
        )

    def linears(self) -> tuple[Linear, ...]:
        """All projections, the compressor's among them."""
        return (*self._down(), self._up(), *self._output())

    @property
    def vectors(self) -> int:
        """Norms, sinks, and the compressor's norm and position bias."""
        own = self.query_rank + self.width + self.heads
        return own + (self.width * (1 + self.stride * self.series) if self.stride else 0)

    def split(self, tp: int) -> CompressedAttention:
        """Heads and output groups divided over ``tp`` devices; the cache, one head, on each.

        Raises:
            InputError: heads or groups do not divide.
        """
        heads = divide(self.heads, tp, "query heads")
        return replace(self, heads=heads, groups=divide(self.groups, tp, "output groups"))

    def operators(self, pricing: LayerPricing) -> Iterator[Operator]:
        """Projections down and up, attention, the compressor's buffer, output in two steps."""
        yield from linear("attention.down", self._down(), pricing)
        yield from linear("attention.query_up", (self._up(),), pricing)
        yield self.core(pricing)
        if self.stride:
            yield buffer("compressor", self.series * self.width, self.stride, pricing)
        first, last = self._output()
        yield from linear("attention.out_groups", (first,), pricing)
        yield from linear("attention.out", (last,), pricing)

    def core(self, pricing: LayerPricing) -> Operator:
        """Attention over the window's and the compressed entries."""
        entry = whole(self.width * pricing.kv.size)
        each = 4 * self.heads * self.width
        flops = [(pairs(self.window), each)]
        read, write = [(entries(self.window), entry)], [(TOKENS, entry)]
        kept = [(held(self.window), entry)]
        if self.stride:
            flops.append((pairs(self.top, self.stride), each))
            read.append((entries(self.top, self.stride), entry))
            write = [(TOKENS, whole(entry + entry / self.stride))]
            kept.append((held(None, self.stride), entry))
        moved = 2 * self.heads * self.width * pricing.activation.size
        label = f"[window {self.window}]" if not self.stride else f"[1:{self.stride}]"
        return Operator(
            name=f"attention{label}",
            kind="attention",
            count=1,
            compute=pricing.attention_compute,
            flops=tuple(flops),
            kv_read=tuple(read),
            kv_write=tuple(write),
            held=tuple(kept),
            activations=((TOKENS, whole(moved)),),
        )


def buffer(name: str, width: int, stride: int, pricing: LayerPricing) -> Operator:
    """The tokens that the next compressed entry is made of: values and gates."""
    one = whole(2 * width * pricing.activation.size)
    return Operator(
        name=f"{name}.buffer",
        kind="state",
        count=1,
        compute=pricing.attention_compute,
        state=((SEQUENCES, 2 * one),),
        held=((SEQUENCES, stride * one),),
    )
