"""The indexer of sparse attention: a small attention that chooses which keys the large sees.

DeepSeek-V3.2 (arXiv 2512.02556), GLM-5, DeepSeek-V4, MiniMax-M3: every query is scored
against every cached index key by a few narrow heads, and attends to the best k only. So the
indexer's cost grows with the whole context, the attention's stops at k.

    per pair            2·Hi·di, and 2·Hi more where a weight per head sums the scores
    bytes               di per index key read and written

Index keys are counted in the cache's format. (DeepSeek's own code and the engines keep them in
fp8 beside a bf16 cache.)
"""

from __future__ import annotations

from collections.abc import Iterator

from ..count.quantity import TOKENS, entries, held, pairs
from ..count.work import Operator
from ..record import record
from .compressed import buffer
from .parts import LayerPricing, Linear, linear, whole


@record
class Indexer:
    """An indexer.

    Attributes:
        matrices: what projects its queries, keys and head weights.
        heads, width: Hi, di.
        weighted: whether the heads' scores are summed with weights.
        stride: tokens that share an index key (compressed keys), 1 for one each.
        extra: parameters of norms and position biases.
        buffered: numbers a token contributes to the next compressed key, twice (value and gate).
    """

    matrices: tuple[Linear, ...]
    heads: int
    width: int
    weighted: bool = True
    stride: int = 1
    extra: int = 0
    buffered: int = 0

    def linears(self) -> tuple[Linear, ...]:
        """Its projections."""
        return self.matrices

    @property
    def vectors(self) -> int:
        """Norms and position biases."""
        return self.extra

    def split(self, tp: int) -> Indexer:
        """Each device chooses for itself: its one key has no heads to divide."""
        return self

    def operators(self, pricing: LayerPricing) -> Iterator[Operator]:
        """Projections, and scores over the whole context."""
        yield from linear("indexer.in", self.matrices, pricing)
        entry = self.width * pricing.kv.size
        scored = self.heads * self.width + (self.heads if self.weighted else 0)
        yield Operator(
            name="indexer",
            kind="attention",
            count=1,
            compute=pricing.attention_compute,
            flops=((pairs(None, self.stride), 2 * scored),),
            kv_read=((entries(None, self.stride), whole(entry)),),
            kv_write=((TOKENS, whole(entry / self.stride)),),
            held=((held(None, self.stride), whole(entry)),),
            activations=((TOKENS, whole(self.heads * self.width * pricing.activation.size)),),
        )
        if self.buffered:
            yield buffer("indexer", self.buffered, self.stride, pricing)
