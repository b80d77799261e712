"""Layers with a state of fixed size instead of a cache: Mamba, delta nets, linear attention.

The state is read and written once per sequence and step, whatever the context: its traffic
neither grows with context nor amortises over batch. FLOPs are those of the recurrence, two
per multiply-add of its products, per token; decays and gates are element-wise and are not
counted. (Kernels that go through a prompt in chunks spend more; no schedule needs to.)

    Mamba-1 (arXiv 2312.00752)      4·D·N             D channels, N states a channel
    Mamba-2 (arXiv 2405.21060)      4·H·P·N           H heads of width P
    gated delta net (2412.06464)    6·H·dk·dv         read S·k, write v·kᵀ, read S·q
    linear attention (2006.16236)   4·H·dk·dv         write v·kᵀ, read S·q
    depthwise convolution           2·C·K             C channels, kernel K
"""

from __future__ import annotations

from collections.abc import Iterator

from ..count.quantity import SEQUENCES, TOKENS
from ..count.work import Operator
from ..record import record
from .formats import FP32, Format
from .parts import LayerPricing, Linear, linear, once, whole


@record
class Scan:
    """What a layer with a state is made of.

    Attributes:
        name: what it is, ``mamba2``.
        before: projections before the recurrence, by name, in order.
        after: projections after it.
        channels, kernel: of the depthwise causal convolution; 0 where there is none.
        state: numbers of the recurrent state, per sequence.
        flops: of the recurrence, per token.
        extra: parameters of biases, decays and norms.
        format: the format of the recurrent state (the convolution's is the activations').
    """

    name: str
    before: tuple[tuple[str, tuple[Linear, ...]], ...]
    after: tuple[Linear, ...]
    channels: int = 0
    kernel: int = 0
    state: int = 0
    flops: int = 0
    extra: int = 0
    format: Format = FP32


class Recurrent:
    """A part with a state; its kinds (:mod:`.recurrent`) say what it is made of."""

    __slots__ = ()

    @property
    def scan(self) -> Scan:
        """What it is made of."""
        raise NotImplementedError

    def linears(self) -> tuple[Linear, ...]:
        """All projections."""
        scan = self.scan
        return (*(m for _, group in scan.before for m in group), *scan.after)

    @property
    def vectors(self) -> int:
        """Everything outside the projections, the convolution included."""
        scan = self.scan
        return scan.channels * scan.kernel + scan.extra

    def operators(self, pricing: LayerPricing) -> Iterator[Operator]:
        """Projections, convolution and recurrence, projections."""
        scan = self.scan
        for name, group in scan.before:
            yield from linear(f"{scan.name}.{name}", group, pricing)
        yield _core(scan, pricing)
        yield from linear(f"{scan.name}.out", scan.after, pricing)


def _core(scan: Scan, pricing: LayerPricing) -> Operator:
    # The convolution and the recurrence: the part that keeps a state.
    a = pricing.activation.size
    conv = scan.channels * scan.kernel
    kept = scan.state * scan.format.size + scan.channels * max(scan.kernel - 1, 0) * a
    moved = scan.channels + (scan.after[0].inputs if scan.after else 0)
    return Operator(
        name=f"{scan.name}.state",
        kind="state",
        count=1,
        compute=pricing.attention_compute,
        flops=((TOKENS, scan.flops + 2 * conv),),
        weights=once(conv * a) if conv else (),
        state=((SEQUENCES, whole(2 * kept)),),
        held=((SEQUENCES, whole(kept)),),
        activations=((TOKENS, whole(moved * a)),),
    )
