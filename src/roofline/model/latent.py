"""Multi-head latent attention (MLA): DeepSeek-V2 (arXiv 2405.04434) and its descendants.

The cache keeps one latent of r numbers and one rotary key of ``rope`` numbers a token,
whatever the number of heads. Per layer with H heads (``counting.md``):

    absorbed (decode)    per pair 2·H·((r+rope)+r);    per token 2·r·H·(nope+v)
    expanded (prefill)   per pair 2·H·(nope+rope+v);   per cache entry 2·r·H·(nope+v)

Each group of a step takes the cheaper of the two, as engines do.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..count.quantity import TOKENS, Quantity, entries, held
from ..count.work import Operator
from ..record import record, replace
from .attention import ALL, Span
from .parts import LayerPricing, Linear, divide, linear, once, whole


@record
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
        span: which keys a query attends to.
        gate: width of a gate on the heads' results, read off the layer's input; 0 for none.
        gate_name: its module.
        extra_vectors: parameters of sinks and norms beyond those of the latents.
        query_up: the queries' up-projection where it is another (A.X K2: with a gate).
    """

    hidden: int
    heads: int
    query_rank: int | None
    latent: int
    rope: int
    nope: int
    value: int
    bias: bool = False
    span: Span = ALL
    gate: int = 0
    gate_name: str = "self_attn.g_proj"
    extra_vectors: int = 0
    query_up: Linear | None = None

    def _gate(self) -> tuple[Linear, ...]:
        return (Linear(self.gate_name, self.hidden, self.gate),) if self.gate else ()

    def _queries(self) -> tuple[Linear, ...]:
        width = self.heads * (self.nope + self.rope)
        if self.query_rank is None:
            return (Linear("self_attn.q_proj", self.hidden, width),)
        return (
            Linear("self_attn.q_a_proj", self.hidden, self.query_rank, self.bias),
            self.query_up or Linear("self_attn.q_b_proj", self.query_rank, width),
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
        return (*self._queries(), self._down(), *self._gate(), self._up(), self._output())

    @property
    def vectors(self) -> int:
        """The norms of the compressed query and of the latent."""
        return (self.query_rank or 0) + self.latent + self.extra_vectors

    def split(self, tp: int) -> LatentAttention:
        """Heads divided over ``tp`` devices; the down-projections and the latent cache, which
        have no heads, replicated.

        Raises:
            InputError: the heads do not divide.
        """
        heads = divide(self.heads, tp, "query heads")
        up = self.query_up
        if up:
            up = replace(up, outputs=divide(up.outputs, tp, "columns of the query"))
        gate = self.gate * heads // self.heads
        return replace(self, heads=heads, gate=gate, query_up=up)

    def operators(self, pricing: LayerPricing) -> Iterator[Operator]:
        """Projections, latent attention, output projection."""
        queries = self._queries()
        down = (queries[0], self._down(), *self._gate())
        yield from linear("attention.down", down, pricing)
        if len(queries) > 1:
            yield from linear("attention.query_up", queries[1:], pricing)
        yield self.core(pricing)
        yield from linear("attention.out", (self._output(),), pricing)

    def core(self, pricing: LayerPricing) -> Operator:
        """Attention with the up-projection of keys and values, absorbed or expanded."""
        window = self.span.window if self.span.top is None else self.span.top
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
            name=f"attention[latent]{self.span.label}",
            kind="attention",
            count=1,
            compute=pricing.attention_compute,
            flops=((Quantity("latent", window, costs=costs), 1),),
            weights=once(up.stored(pricing)),
            kv_read=((entries(window), entry),),
            kv_write=((TOKENS, entry),),
            held=((held(self.span.window), entry),),
            activations=((TOKENS, whole(moved)),),
        )
