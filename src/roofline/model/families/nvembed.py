"""NV-Embed (arXiv 2405.17428): a bidirectional Mistral, and a latent attention that pools it.

Every token's state is a query to 512 latents, which are keys and values after one matrix: that
product is made once a step, 2·512·h·(2·H·d) FLOPs, the scores and sums 4·512·H·d a token. Then
comes a gated feed-forward part.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...count.quantity import ONE, TOKENS
from ...count.work import Operator
from ...record import record
from ..config import Config
from ..model import Layer, Model
from ..parts import LayerPricing, Linear, linear


@record
class LatentPool:
    """The latent attention.

    Attributes:
        hidden: width of the states, h.
        latents: keys that are learned.
        inner: heads times their width, H·d.
        wide: width of the middle of the feed-forward part.
    """

    hidden: int
    latents: int
    inner: int
    wide: int

    def linears(self) -> tuple[Linear, ...]:
        """To queries, to keys and values, out; the feed-forward part."""
        h, path = self.hidden, "latent_attention_model.cross_attend_blocks"
        return (
            Linear(f"{path}.0.fn.to_q", h, self.inner),
            Linear(f"{path}.0.fn.to_kv", h, 2 * self.inner),
            Linear(f"{path}.0.fn.to_out", self.inner, h),
            Linear(f"{path}.1.fn.net.0", h, 2 * self.wide, True),
            Linear(f"{path}.1.fn.net.2", self.wide, h, True),
        )

    @property
    def vectors(self) -> int:
        """The latents and three norms."""
        return self.latents * self.hidden + 3 * 2 * self.hidden

    def operators(self, pricing: LayerPricing) -> Iterator[Operator]:
        """Queries of every token, keys of the latents once, the mix, and what follows."""
        query, keys, out, into, back = self.linears()
        yield from linear("pool.q", (query,), pricing)
        yield from linear("pool.kv", (keys,), pricing, per=((ONE, self.latents),))
        yield Operator(
            name="pool",
            kind="attention",
            count=1,
            compute=pricing.attention_compute,
            flops=((TOKENS, 4 * self.latents * self.inner),),
            activations=((TOKENS, 2 * self.inner * pricing.activation.size),),
        )
        yield from linear("pool.out", (out,), pricing)
        yield from linear("pool.mlp.up", (into,), pricing)
        yield from linear("pool.mlp.down", (back,), pricing)


def nvembed(c: Config) -> Model:
    """The text model in both directions, and the latent attention over it."""
    from . import read as read_text

    text, own = c.sub("text_config"), c.sub("latent_attention_config")
    given = {k: c.data[k] for k in ("torch_dtype", "dtype") if c.has(k)}
    inner = Config({**text.data, **given, "bidirectional": True}, c.where)
    model = read_text(inner)
    hidden = own.integer("hidden_dim", default=model.hidden)
    pool = LatentPool(
        hidden,
        own.integer("num_latents_value", default=512),
        own.integer("num_cross_heads", default=8, most=1024)
        * own.integer("cross_dim_head", default=4096),
        4 * hidden,
    )
    last = model.layers[-1]
    after = Layer((pool,), (model.depth - 1,), 0, last.prefix)
    return model.altered(name=c.where, architecture=c.kind, layers=(*model.layers, after))


READERS = {"nvembed": nvembed}
