"""Multi-head latent attention (MLA): DeepSeek-V2 (arXiv 2405.04434) and its descendants.

The cache keeps one latent of r numbers and one rotary key of ``rope`` numbers a token,
whatever the number of heads. Per layer with H heads (``counting.md``):

    absorbed (decode)    per pair 2·H·((r+rope)+r);    per token 2·r·H·(nope+v)
    expanded (prefill)   per pair 2·H·(nope+rope+v);   per cache entry 2·r·H·(nope+v)

Each group of a step takes the cheaper of the two, as engines do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..step import TOKENS, Quantity, entries, held
from ..work import Operator
from .parts import Linear, Pricing, divide, linear, once, whole


@dataclass(frozen=True, slots=True)
class LatentAttention:
    """MLA.

    Attributes:
        hidden: width of the residual stream.
        heads: H.
        query_rank: width of the compressed query, ``None`` where queries are projected whole.
        latent: r, width of the compressed keys and values.
        rope, nope: widths of a head's rotary and plain key parts.
        value: v, width of a head's values.
        bias: whether the down-projections and the output add a vector.
    """

    hidden: int
    heads: int
    query_rank: int | None
    latent: int
    rope: int
    nope: int
    value: int
    bias: bool = False

    def _queries(self) -> tuple[Linear, ...]:
        width = self.heads * (self.nope + self.rope)
        if self.query_rank is None:
            return (Linear("self_attn.q_proj", self.hidden, width),)
        return (
            Linear("self_attn.q_a_proj", self.hidden, self.query_rank, self.bias),
            Linear("self_attn.q_b_proj", self.query_rank, width),
        )

    def _down(self) -> Linear:
        width = self.latent + self.rope
        return Linear("self_attn.kv_a_proj_with_mqa", self.hidden, width, self.bias)

    def _up(self) -> Linear:
        width = self.heads * (self.nope + self.value)
        return Linear("self_attn.kv_b_proj", self.latent, width)

    def _output(self) -> Linear:
        return Linear("self_attn.o_proj", self.heads * self.value, self.hidden, self.bias)

    def linears(self) -> tuple[Linear, ...]:
        """Query down and up, latent down and up, output."""
        return (*self._queries(), self._down(), self._up(), self._output())

    @property
    def vectors(self) -> int:
        """The norms of the compressed query and of the latent."""
        return (self.query_rank or 0) + self.latent

    def split(self, tp: int) -> LatentAttention:
        """Heads divided over ``tp`` devices; the down-projections and the latent cache, which
        have no heads, replicated.

        Raises:
            InputError: the heads do not divide.
        """
        return replace(self, heads=divide(self.heads, tp, "query heads"))

    def operators(self, pricing: Pricing) -> Iterator[Operator]:
        """Projections, latent attention, output projection."""
        queries = self._queries()
        yield from linear("attention.down", (queries[0], self._down()), pricing)
        if len(queries) > 1:
            yield from linear("attention.query_up", queries[1:], pricing)
        yield self.core(pricing)
        yield from linear("attention.out", (self._output(),), pricing)

    def core(self, pricing: Pricing, window: int | None = None) -> Operator:
        """Attention with the up-projection of keys and values, absorbed or expanded."""
        up = self._up()
        heads, latent = self.heads, self.latent
        costs = (
            2 * heads * (2 * latent + self.rope),
            2 * up.size,
            2 * heads * (self.nope + self.rope + self.value),
            2 * up.size,
        )
        entry = whole((latent + self.rope) * pricing.kv.size)
        moved = heads * (self.nope + self.rope + self.value) * pricing.activation.size
        return Operator(
            name="attention[latent]",
            kind="attention",
            count=1,
            compute=pricing.attention_compute,
            flops=((Quantity("latent", window, costs=costs), 1),),
            weights=once(up.stored(pricing)),
            kv_read=((entries(window), entry),),
            kv_write=((TOKENS, entry),),
            held=((held(), entry),),
            activations=((TOKENS, whole(moved)),),
        )
