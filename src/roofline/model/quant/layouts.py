"""Formats of quantised matrices, to the byte: payload, scales, zero points.

Arithmetic follows the operands: a product runs at the precision of its activations, and of
its weights where these are wider. Weights alone in few bits (W4A16) are widened on the way
to the multipliers, so they run at the 16-bit ceiling; FP8 or INT8 or FP4 on both sides runs
at that ceiling.
"""

from __future__ import annotations

from ..formats import Format, Layout


def integer(
    bits: int,
    group: int,
    compute: str,
    *,
    scale: int = 2,
    zero: int = 0,
    fixed: int = 0,
    per_input: int = 0,
) -> Format:
    """Integers of ``bits`` in groups of ``group`` inputs (0: all of them, per channel).

    Args:
        scale: bytes of a group's scale.
        zero: bits of its zero point.
        fixed: bytes a matrix.
        per_input: bytes beside each input.
    """
    size = bits / 8 + ((scale + zero / 8) / group if group else 0)
    name = f"int{bits}:{group}{'z' if zero else ''}" if group else f"int{bits}:channel"
    return Format(name, size, compute, "", Layout(bits, group, 1, scale, zero, fixed, per_input))


def fp8(
    group: int = 0, rows: int = 0, *, compute: str = "fp8", scale: int = 4, fixed: int = 0
) -> Format:
    """FP8 with a scale per matrix (0, 0), per channel (0, 1), or per block of group × rows."""
    if group and rows > 1:
        size, name = 1 + scale / (group * rows), f"fp8-block{group}x{rows}"
        if group == rows:
            name = f"fp8-block{group}"
    elif group:
        size, name = 1 + scale / group, f"fp8:{group}"
    else:
        size, name = 1.0, "fp8-channel" if rows else "fp8"
    return Format(name, size, compute, "", Layout(8, group, rows, scale, 0, fixed))


def nvfp4(compute: str = "fp4", *, group: int = 16, fixed: int = 8, per_input: int = 0) -> Format:
    """FP4 (E2M1), an FP8 scale per 16, an fp32 scale per matrix and one for its input."""
    name = "nvfp4" if group == 16 else f"nvfp4:{group}"
    layout = Layout(4, group, 1, 1, 0, fixed, per_input)
    return Format(name, 0.5 + 1 / group, compute, "", layout)


def mx(bits: int, compute: str, *, group: int = 32, fixed: int = 0) -> Format:
    """OCP microscaling: FP4, FP6 or FP8 with a power-of-two scale byte per 32."""
    name = f"mxfp{bits}" if group == 32 else f"mxfp{bits}:{group}"
    return Format(name, bits / 8 + 1 / group, compute, "", Layout(bits, group, 1, 1, 0, fixed))
