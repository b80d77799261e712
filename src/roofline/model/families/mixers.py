"""What builds the mixers of hybrids: one function for each kind of recurrence and its keys."""

from __future__ import annotations

from ...record import replace
from ..config import Config
from ..formats import FP32, Format, parse
from ..parts import LayerPart
from ..recurrent import GatedDelta, KimiDelta, Lightning, LinearUnit, Mamba1, Mamba2, ShortConv
from .common import head_width
from .decoder import Family
from .latent import mixer


def kept(c: Config, name: str) -> Format:
    """The format that a state is kept in: named by the config, or fp32 as engines keep it."""
    if not c.has(name):
        return FP32
    word = c.word(name).removeprefix("torch.")
    if word not in ("float32", "bfloat16", "float16"):
        raise c.refuse(f"{name} '{word[:40]}' is not counted")
    return parse(word)


def delta(c: Config, f: Family, label: str) -> tuple[LayerPart, ...]:
    """Qwen's gated delta net."""
    return (
        GatedDelta(
            c.integer("hidden_size"),
            c.integer("linear_num_key_heads"), c.integer("linear_num_value_heads"),
            c.integer("linear_key_head_dim"), c.integer("linear_value_head_dim"),
            c.integer("linear_conv_kernel_dim"), kept(c, "mamba_ssm_dtype"),
        ),
    )  # fmt: skip


def kimi(c: Config, f: Family, label: str) -> tuple[LayerPart, ...]:
    """Kimi delta attention."""
    return (
        KimiDelta(
            c.integer("hidden_size"), c.integer("linear_num_heads"), c.integer("linear_head_dim"),
            c.integer("linear_conv_kernel_dim"), c.kind == "kimi_linear",
        ),
    )  # fmt: skip


def gated_latent(c: Config, f: Family, label: str) -> tuple[LayerPart, ...]:
    """Ling's latent attention: a gate for each head."""
    core = mixer(c)
    return (replace(core, gate=core.heads),)


def lightning(c: Config, f: Family, label: str) -> tuple[LayerPart, ...]:
    """MiniMax's linear attention."""
    hidden, heads = c.integer("hidden_size"), c.integer("num_attention_heads")
    return (Lightning(hidden, heads, head_width(c, hidden, heads)),)


def conv(c: Config, f: Family, label: str) -> tuple[LayerPart, ...]:
    """LFM2's short convolution."""
    hidden = c.integer("hidden_size")
    return (ShortConv(hidden, hidden, c.integer("conv_L_cache"), c.flag("conv_bias")),)


def unit(c: Config, f: Family, label: str) -> tuple[LayerPart, ...]:
    """RecurrentGemma's recurrent block."""
    hidden, heads = c.integer("hidden_size"), c.integer("num_attention_heads")
    width = c.integer("lru_width", default=hidden)
    if width % heads:
        raise c.refuse(f"lru_width {width} is not a multiple of {heads} heads")
    return (LinearUnit(hidden, heads, width // heads, c.integer("conv1d_width")),)


def bamba(c: Config, f: Family, label: str) -> tuple[LayerPart, ...]:
    """Mamba-2 under Bamba's and Granite's keys."""
    hidden, heads = c.integer("hidden_size"), c.integer("mamba_n_heads")
    inner = c.optional("mamba_d_ssm") or c.integer("mamba_expand", default=2) * hidden
    given = c.get("mamba_d_head")
    width = inner // heads if given in (None, "auto") else c.integer("mamba_d_head")
    if width * heads != inner:
        raise c.refuse(f"{heads} heads of {width} channels are not {inner}")
    bias, falcon = c.flag("mamba_proj_bias"), c.kind == "falcon_h1"
    return (
        Mamba2(
            hidden, heads, width, c.integer("mamba_n_groups"), c.integer("mamba_d_state"),
            c.integer("mamba_d_conv"), c.flag("mamba_conv_bias", default=True), bias,
            c.flag("projectors_bias") if falcon else bias,
            c.flag("mamba_rms_norm") if falcon else True,
        ),
    )  # fmt: skip


def jamba(c: Config, f: Family, label: str) -> tuple[LayerPart, ...]:
    """Mamba-1 with norms of what it selects by."""
    hidden = c.integer("hidden_size")
    given = c.get("mamba_dt_rank")
    rank = -(-hidden // 16) if given in (None, "auto") else c.integer("mamba_dt_rank")
    return (
        Mamba1(
            hidden, c.integer("mamba_expand", default=2) * hidden, c.integer("mamba_d_state"),
            rank, c.integer("mamba_d_conv"), c.flag("mamba_conv_bias", default=True),
            c.flag("mamba_proj_bias"), normed=True, path="mamba",
        ),
    )  # fmt: skip


def nemotron(c: Config, f: Family, label: str) -> tuple[LayerPart, ...]:
    """Nemotron-H's Mamba-2."""
    return (
        Mamba2(
            c.integer("hidden_size"), c.integer("mamba_num_heads"), c.integer("mamba_head_dim"),
            c.integer("n_groups"), c.integer("ssm_state_size"), c.integer("conv_kernel"),
            c.flag("use_conv_bias", default=True), c.flag("use_bias"), c.flag("use_bias"),
            form=kept(c, "mamba_ssm_cache_dtype"), path="mixer",
        ),
    )  # fmt: skip
