"""The kinds of layers with a state, by their shapes; what they cost is in :mod:`.state`."""

from __future__ import annotations

from ..record import record, replace
from .formats import FP32, Format
from .parts import Linear, divide
from .state import Recurrent, Scan


@record
class Mamba2(Recurrent):
    """Mamba-2: ``heads`` of ``width`` channels, each with a state of ``width × states``.

    Attributes:
        groups: heads of a group share what writes and reads the state.
        conv_bias, in_bias, out_bias: of the convolution and the projections.
        normed: whether the result is normed before the output projection.
    """

    hidden: int
    heads: int
    width: int
    groups: int
    states: int
    kernel: int
    conv_bias: bool = True
    in_bias: bool = False
    out_bias: bool = False
    normed: bool = True
    form: Format = FP32
    path: str = "mamba"

    @property
    def scan(self) -> Scan:
        """What it is made of."""
        inner = self.heads * self.width
        channels = inner + 2 * self.groups * self.states
        projected = inner + channels + self.heads
        extra = 3 * self.heads
        extra += (channels if self.conv_bias else 0) + (inner if self.normed else 0)
        return Scan(
            "mamba2",
            (("in", (Linear(f"{self.path}.in_proj", self.hidden, projected, self.in_bias),)),),
            (Linear(f"{self.path}.out_proj", inner, self.hidden, self.out_bias),),
            channels, self.kernel, state=inner * self.states, flops=4 * inner * self.states,
            extra=extra, format=self.form,
        )  # fmt: skip

    def split(self, tp: int) -> Mamba2:
        """Heads divided over ``tp`` devices; groups replicated where they are fewer.

        Raises:
            InputError: heads or groups do not divide.
        """
        heads = divide(self.heads, tp, "Mamba heads")
        if tp % self.groups == 0:
            return replace(self, heads=heads, groups=1)
        return replace(self, heads=heads, groups=divide(self.groups, tp, "Mamba groups"))


@record
class Mamba1(Recurrent):
    """Mamba-1: ``inner`` channels with ``states`` numbers each.

    How it divides over devices is not counted: what selects would have to be summed.

    Attributes:
        rank: width that the time steps are projected through.
        normed: whether time steps and selections are normed (Jamba).
        heads: blocks that the selection is divided into (Zamba).
    """

    hidden: int
    inner: int
    states: int
    rank: int
    kernel: int
    conv_bias: bool = True
    bias: bool = False
    normed: bool = False
    heads: int = 1
    path: str = "mixer"

    @property
    def scan(self) -> Scan:
        """What it is made of."""
        inner, n = self.inner, self.states
        selected = self.rank + 2 * n
        extra = inner * (n + 1) + (inner if self.conv_bias else 0)
        return Scan(
            "mamba",
            (
                ("in", (Linear(f"{self.path}.in_proj", self.hidden, 2 * inner, self.bias),)),
                (
                    "select",
                    (
                        Linear(f"{self.path}.x_proj", inner // self.heads, self.heads * selected),
                        Linear(f"{self.path}.dt_proj", self.rank, inner, bias=True),
                    ),
                ),
            ),
            (Linear(f"{self.path}.out_proj", inner, self.hidden, self.bias),),
            inner, self.kernel, state=inner * n, flops=4 * inner * n,
            extra=extra + (selected if self.normed else 0),
        )  # fmt: skip


@record
class GatedDelta(Recurrent):
    """Gated delta net (Qwen3-Next): a state of ``key × value`` for each value head."""

    hidden: int
    key_heads: int
    value_heads: int
    key: int
    value: int
    kernel: int
    form: Format = FP32
    path: str = "linear_attn"

    @property
    def scan(self) -> Scan:
        """What it is made of."""
        keys, values = self.key_heads * self.key, self.value_heads * self.value
        names = (("qkv", 2 * keys + values), ("z", values), ("b", self.value_heads),
                 ("a", self.value_heads))  # fmt: skip
        return Scan(
            "delta",
            (
                (
                    "in",
                    tuple(Linear(f"{self.path}.in_proj_{n}", self.hidden, w) for n, w in names),
                ),
            ),
            (Linear(f"{self.path}.out_proj", values, self.hidden),),
            2 * keys + values, self.kernel, state=values * self.key, flops=6 * values * self.key,
            extra=2 * self.value_heads + self.value, format=self.form,
        )  # fmt: skip

    def split(self, tp: int) -> GatedDelta:
        """Heads divided over ``tp`` devices.

        Raises:
            InputError: they do not divide.
        """
        return replace(
            self, key_heads=divide(self.key_heads, tp, "delta key heads"),
            value_heads=divide(self.value_heads, tp, "delta value heads"),
        )  # fmt: skip


@record
class KimiDelta(Recurrent):
    """Kimi delta attention (arXiv 2510.26692): a decay for each channel.

    Attributes:
        low_rank: whether decays and output gates go through ``width`` (Kimi) or not (Ling).
    """

    hidden: int
    heads: int
    width: int
    kernel: int
    low_rank: bool
    path: str = "self_attn"

    @property
    def scan(self) -> Scan:
        """What it is made of."""
        hidden, width = self.hidden, self.width
        inner = self.heads * width
        gates: tuple[tuple[str, int, int], ...] = (("f", hidden, inner), ("g", hidden, inner))
        if self.low_rank:
            gates = tuple(
                shape
                for n in "fg"
                for shape in ((f"{n}_a", hidden, width), (f"{n}_b", width, inner))
            )
        own = (*((n, hidden, inner) for n in "qkv"), ("b", hidden, self.heads), *gates)
        return Scan(
            "delta",
            (("in", tuple(Linear(f"{self.path}.{n}_proj", i, o) for n, i, o in own)),),
            (Linear(f"{self.path}.o_proj", inner, hidden),),
            3 * inner, self.kernel, state=inner * width, flops=6 * inner * width,
            extra=inner + self.heads + width,
        )  # fmt: skip

    def split(self, tp: int) -> KimiDelta:
        """Heads divided over ``tp`` devices.

        Raises:
            InputError: they do not divide.
        """
        return replace(self, heads=divide(self.heads, tp, "delta heads"))


@record
class Lightning(Recurrent):
    """Lightning attention (MiniMax-01, arXiv 2501.08313): linear attention with a decay."""

    hidden: int
    heads: int
    width: int
    path: str = "self_attn"

    @property
    def scan(self) -> Scan:
        """What it is made of."""
        inner = self.heads * self.width
        names = (("qkv_proj", 3 * inner), ("output_gate", inner))
        return Scan(
            "linear_attention",
            (("in", tuple(Linear(f"{self.path}.{n}", self.hidden, w) for n, w in names)),),
            (Linear(f"{self.path}.out_proj", inner, self.hidden),),
            state=inner * self.width, flops=4 * inner * self.width, extra=inner,
        )  # fmt: skip

    def split(self, tp: int) -> Lightning:
        """Heads divided over ``tp`` devices.

        Raises:
            InputError: they do not divide.
        """
        return replace(self, heads=divide(self.heads, tp, "linear heads"))


@record
class ShortConv(Recurrent):
    """A gated short convolution (LFM2): the convolution's tail is all its state."""

    hidden: int
    channels: int
    kernel: int
    bias: bool = False
    path: str = "conv"

    @property
    def scan(self) -> Scan:
        """What it is made of."""
        width = self.channels
        return Scan(
            "conv",
            (("in", (Linear(f"{self.path}.in_proj", self.hidden, 3 * width, self.bias),)),),
            (Linear(f"{self.path}.out_proj", width, self.hidden, self.bias),),
            width, self.kernel, extra=width if self.bias else 0,
        )  # fmt: skip

    def split(self, tp: int) -> ShortConv:
        """Channels divided over ``tp`` devices.

        Raises:
            InputError: they do not divide.
        """
        return replace(self, channels=divide(self.channels, tp, "channels"))


@record
class LinearUnit(Recurrent):
    """A real-gated linear recurrent unit (Griffin, arXiv 2402.19427): one number a channel."""

    hidden: int
    heads: int
    width: int
    kernel: int
    path: str = "temporal_block"

    @property
    def scan(self) -> Scan:
        """What it is made of."""
        inner = self.heads * self.width
        gates = ("rg_lru.input_gate", "rg_lru.recurrent_gate")
        return Scan(
            "rg_lru",
            (
                (
                    "in",
                    tuple(
                        Linear(f"{self.path}.linear_{n}", self.hidden, inner, bias=True)
                        for n in "yx"
                    ),
                ),
                (
                    "gates",
                    tuple(Linear(f"{self.path}.{n}", self.width, inner, bias=True) for n in gates),
                ),
            ),
            (Linear(f"{self.path}.linear_out", inner, self.hidden, bias=True),),
            inner, self.kernel, state=inner, extra=2 * inner,
        )  # fmt: skip

    def split(self, tp: int) -> LinearUnit:
        """Heads divided over ``tp`` devices.

        Raises:
            InputError: they do not divide.
        """
        return replace(self, heads=divide(self.heads, tp, "heads"))


@record
class Rwkv4(Recurrent):
    """RWKV-4 (arXiv 2305.13048): time mixing and channel mixing, vectors for a state.

    How it divides over devices is not counted.
    """

    hidden: int
    inner: int
    width: int

    @property
    def scan(self) -> Scan:
        """What it is made of: a number or three a channel, mixed element by element."""
        hidden, inner, width = self.hidden, self.inner, self.width
        time = tuple(
            Linear(f"attention.{n}", hidden, inner) for n in ("key", "value", "receptance")
        )
        channel = (
            Linear("feed_forward.key", hidden, width),
            Linear("feed_forward.receptance", hidden, hidden),
            Linear("feed_forward.value", width, hidden),
        )
        return Scan(
            "rwkv",
            (("time", time), ("channel", channel)),
            (Linear("attention.output", inner, hidden),),
            state=3 * inner + 2 * hidden,
            extra=2 * inner + 5 * hidden,
        )


@record
class MatrixMemory(Recurrent):
    """xLSTM's matrix memory (arXiv 2405.04517): per head a matrix, a normaliser, a maximum."""

    hidden: int
    heads: int
    key: int
    value: int
    bias: bool = False
    form: Format = FP32
    path: str = "mlstm_layer"

    @property
    def scan(self) -> Scan:
        """What it is made of."""
        hidden, heads = self.hidden, self.heads
        keys, values = heads * self.key, heads * self.value
        own = (("q", keys), ("k", keys), ("v", values), ("ogate_preact", values))
        gates = ("igate_preact", "fgate_preact")
        return Scan(
            "mlstm",
            (
                (
                    "in",
                    (
                        *(Linear(f"{self.path}.{n}", hidden, w, self.bias) for n, w in own),
                        *(Linear(f"{self.path}.{n}", hidden, heads, bias=True) for n in gates),
                    ),
                ),
            ),
            (Linear(f"{self.path}.out_proj", values, hidden, self.bias),),
            state=heads * (self.key * self.value + self.key + 1),
            # Written by k⊗v, read by q; the normaliser is read by q, too.
            flops=4 * keys * self.value + 2 * keys,
            extra=values,
            format=self.form,
        )  # fmt: skip

    def split(self, tp: int) -> MatrixMemory:
        """Heads divided over ``tp`` devices.

        Raises:
            InputError: they do not divide.
        """
        return replace(self, heads=divide(self.heads, tp, "heads"))
