"""The recurrences of papers, in plain matrix products, for one token of one sequence.

Classes run a prompt in chunks, which multiplies more than the recurrence itself, and step it
with element-wise operations, which the counter does not see. So what such a class multiplies
itself is left out of its count, and its recurrence is run here instead, with the shapes that
the class holds: a state S is read and written by products of S with vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _outer(*shape: int) -> None:
    import torch

    batch, rows, columns = shape
    torch.bmm(
        torch.empty(batch, rows, 1, device="meta"), torch.empty(batch, 1, columns, device="meta")
    )


def _read(*shape: int) -> None:
    import torch

    batch, rows, columns = shape
    torch.bmm(
        torch.empty(batch, rows, columns, device="meta"),
        torch.empty(batch, columns, 1, device="meta"),
    )


def _mamba2(m: Any) -> None:
    shape = (m.num_heads, m.head_dim, m.ssm_state_size)
    _outer(*shape)  # dt·x ⊗ B
    _read(*shape)  # S·C


def _selective(m: Any) -> None:
    shape = (1, m.intermediate_size, m.ssm_state_size)
    _outer(*shape)  # dt·x ⊗ B
    _read(*shape)  # S·C


def _mamba1(m: Any) -> None:
    _selective(m)
    m.dt_proj(m.dt_proj.weight.new_empty(1, m.dt_proj.in_features))


def _zamba(m: Any) -> None:
    import torch

    heads, wide = m.n_mamba_heads, m.mamba_head_dim
    _selective(m)
    for weight in (m.x_proj_weight, m.dt_proj_weight):
        torch.bmm(weight.new_empty(heads, 1, weight.shape[-1]), weight.transpose(1, 2))
    assert m.x_proj_weight.shape[-1] == wide


def _delta(m: Any) -> None:
    shape = (m.num_v_heads, m.head_v_dim, m.head_k_dim)
    _read(*shape)  # S·k, what the key recalls
    _outer(*shape)  # β(v - S·k) ⊗ k
    _read(*shape)  # S·q


def _kimi(m: Any) -> None:
    shape = (m.num_heads, m.head_dim, m.head_dim)
    _read(*shape)
    _outer(*shape)
    _read(*shape)


def _lightning(m: Any) -> None:
    shape = (m.num_attention_heads, m.head_dim, m.head_dim)
    _outer(*shape)  # k ⊗ v
    _read(*shape)  # S·q


def _matrix(m: Any) -> None:
    heads = m.config.num_heads
    key, value = m.qk_dim // heads, m.v_dim // heads
    _outer(heads, key, value)  # k ⊗ v
    _read(heads, value, key)  # Cᵀ·q
    _read(heads, 1, key)  # n·q


def _nothing(m: Any) -> None:
    """Its recurrence is element-wise."""


RECURRENCES: dict[str, Callable[[Any], None]] = {
    "NemotronHMamba2Mixer": _mamba2,
    "FalconH1Mixer": _mamba2,
    "BambaMixer": _mamba2,
    "GraniteMoeHybridMambaLayer": _mamba2,
    "Mamba2Mixer": _mamba2,
    "Zamba2MambaMixer": _mamba2,
    "JambaMambaMixer": _mamba1,
    "MambaMixer": _mamba1,
    "FalconMambaMixer": _mamba1,
    "ZambaMambaMixer": _zamba,
    "Qwen3NextGatedDeltaNet": _delta,
    "Qwen3_5GatedDeltaNet": _delta,
    "Qwen3_5MoeGatedDeltaNet": _delta,
    "Qwen4ExpGatedDeltaNet": _delta,
    "OlmoHybridGatedDeltaNet": _delta,
    "LaraMiniGatedDeltaNet": _delta,
    "KimiLinearDeltaAttention": _kimi,
    "BailingHybridDeltaAttention": _kimi,
    "MiniMaxLightningAttention": _lightning,
    "RecurrentGemmaRecurrentBlock": _nothing,
    "RwkvSelfAttention": _nothing,
    "xLSTMLayer": _matrix,
    "Lfm2ShortConv": _nothing,
    "Lfm2MoeShortConv": _nothing,
    "Lfm3ShortConv": _nothing,
}


def aside(m: Any) -> list[str]:
    """The children that are run here, not counted in the class: convolutions over a padded
    prompt, and a projection that some classes call and some multiply themselves."""
    import torch

    return [
        name
        for name, child in m.named_children()
        if isinstance(child, torch.nn.Conv1d) or name in ("dt_proj", "mlstm_backend")
    ]


def run(m: Any) -> None:
    """The recurrence of a class, and its causal convolution of the last few tokens."""
    import torch

    RECURRENCES[type(m).__name__](m)
    for conv in m.children():
        if not isinstance(conv, torch.nn.Conv1d):
            continue
        (kernel,) = conv.kernel_size
        tail = conv.weight.new_empty(1, conv.in_channels, kernel)
        torch.nn.functional.conv1d(tail, conv.weight, groups=conv.groups)
