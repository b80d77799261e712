"""What builds the layers with a state: one function for each kind of recurrence."""

from __future__ import annotations

from ..config import Config
from ..formats import FP32, Format, parse
from ..parts import Linear
from ..state import Recurrence


def kept(c: Config, *names: str) -> Format:
    """The format that a state is kept in: named by the config, or fp32 as engines keep it."""
    for name in names:
        if c.has(name):
            word = c.word(name).removeprefix("torch.")
            if word not in ("float32", "bfloat16", "float16"):
                raise c.refuse(f"{name} '{word[:40]}' is not counted")
            return parse(word)
    return FP32


def mamba2(
    hidden: int,
    heads: int,
    width: int,
    groups: int,
    states: int,
    *,
    kernel: int,
    conv_bias: bool = True,
    bias: bool = False,
    normed: bool = True,
    form: Format = FP32,
    path: str = "mamba",
) -> Recurrence:
    """Mamba-2: heads of ``width`` channels, a state of ``width × states`` each."""
    inner = heads * width
    channels = inner + 2 * groups * states
    extra = 3 * heads + (channels if conv_bias else 0) + (inner if normed else 0)
    return Recurrence(
        "mamba2",
        (("in", (Linear(f"{path}.in_proj", hidden, inner + channels + heads, bias),)),),
        (Linear(f"{path}.out_proj", inner, hidden, bias),),
        channels, kernel, state=inner * states, scan=4 * inner * states, extra=extra, format=form,
    )  # fmt: skip


def mamba1(
    hidden: int,
    inner: int,
    states: int,
    rank: int,
    *,
    kernel: int,
    conv_bias: bool = True,
    bias: bool = False,
    normed: int = 0,
    heads: int = 1,
    path: str = "mixer",
) -> Recurrence:
    """Mamba-1: a state of ``states`` numbers a channel.

    ``normed`` are the parameters of norms within; with ``heads`` the selection is block-diagonal.
    """
    wide = inner // heads
    return Recurrence(
        "mamba",
        (
            ("in", (Linear(f"{path}.in_proj", hidden, 2 * inner, bias),)),
            (
                "select",
                (
                    Linear(f"{path}.x_proj", wide, heads * (rank + 2 * states)),
                    Linear(f"{path}.dt_proj", rank, inner, bias=True),
                ),
            ),
        ),
        (Linear(f"{path}.out_proj", inner, hidden, bias),),
        inner, kernel, state=inner * states, scan=4 * inner * states,
        extra=inner * (states + 1) + (inner if conv_bias else 0) + normed,
    )  # fmt: skip


def gated_delta(
    hidden: int,
    key_heads: int,
    value_heads: int,
    key: int,
    value: int,
    *,
    kernel: int,
    form: Format = FP32,
    path: str = "linear_attn",
) -> Recurrence:
    """Gated delta net (Qwen3-Next): a state of ``key × value`` for each value head."""
    keys, values = key_heads * key, value_heads * value
    return Recurrence(
        "delta",
        (
            (
                "in",
                (
                    Linear(f"{path}.in_proj_qkv", hidden, 2 * keys + values),
                    Linear(f"{path}.in_proj_z", hidden, values),
                    Linear(f"{path}.in_proj_b", hidden, value_heads),
                    Linear(f"{path}.in_proj_a", hidden, value_heads),
                ),
            ),
        ),
        (Linear(f"{path}.out_proj", values, hidden),),
        2 * keys + values, kernel, state=value_heads * key * value,
        scan=6 * value_heads * key * value, extra=2 * value_heads + value, format=form,
    )  # fmt: skip


def kimi_delta(
    hidden: int, heads: int, width: int, kernel: int, *, low_rank: bool, path: str = "self_attn"
) -> Recurrence:
    """Kimi delta attention (arXiv 2510.26692): a decay for each channel, gates of low rank."""
    inner = heads * width
    if low_rank:
        gates = tuple(
            Linear(f"{path}.{name}_proj", *shape)
            for name, shape in (
                ("f_a", (hidden, width)), ("f_b", (width, inner)),
                ("g_a", (hidden, width)), ("g_b", (width, inner)),
            )
        )  # fmt: skip
    else:
        gates = tuple(Linear(f"{path}.{name}_proj", hidden, inner) for name in ("f", "g"))
    return Recurrence(
        "delta",
        (
            (
                "in",
                (
                    *(Linear(f"{path}.{name}_proj", hidden, inner) for name in "qkv"),
                    Linear(f"{path}.b_proj", hidden, heads),
                    *gates,
                ),
            ),
        ),
        (Linear(f"{path}.o_proj", inner, hidden),),
        3 * inner, kernel, state=heads * width * width, scan=6 * heads * width * width,
        extra=inner + heads + width,
    )  # fmt: skip


def lightning(hidden: int, heads: int, width: int, path: str = "self_attn") -> Recurrence:
    """Lightning attention (MiniMax-01, arXiv 2501.08313): linear attention with a decay."""
    inner = heads * width
    return Recurrence(
        "linear_attention",
        (
            (
                "in",
                (
                    Linear(f"{path}.qkv_proj", hidden, 3 * inner),
                    Linear(f"{path}.output_gate", hidden, inner),
                ),
            ),
        ),
        (Linear(f"{path}.out_proj", inner, hidden),),
        state=inner * width, scan=4 * inner * width, extra=inner,
    )  # fmt: skip


def short_conv(hidden: int, kernel: int, bias: bool, path: str = "conv") -> Recurrence:
    """A gated short convolution (LFM2): the convolution's tail is all its state."""
    return Recurrence(
        "conv",
        (("in", (Linear(f"{path}.in_proj", hidden, 3 * hidden, bias),)),),
        (Linear(f"{path}.out_proj", hidden, hidden, bias),),
        hidden, kernel, extra=hidden if bias else 0,
    )  # fmt: skip


def rg_lru(hidden: int, width: int, heads: int, kernel: int) -> Recurrence:
    """A real-gated linear recurrent unit (Griffin, arXiv 2402.19427): one number a channel."""
    block, path = width // heads, "temporal_block"
    return Recurrence(
        "rg_lru",
        (
            (
                "in",
                (
                    Linear(f"{path}.linear_y", hidden, width, bias=True),
                    Linear(f"{path}.linear_x", hidden, width, bias=True),
                ),
            ),
            (
                "gates",
                (
                    Linear(f"{path}.rg_lru.input_gate", block, width, bias=True),
                    Linear(f"{path}.rg_lru.recurrent_gate", block, width, bias=True),
                ),
            ),
        ),
        (Linear(f"{path}.linear_out", width, hidden, bias=True),),
        width, kernel, state=width, extra=2 * width,
    )  # fmt: skip
