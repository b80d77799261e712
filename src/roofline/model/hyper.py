"""Hyper-connections: several residual streams, mixed by small matrices (DeepSeek-V4, HY4).

n streams of width h are flattened and projected to the weights that collapse them into a
block's input and spread its result: n·h → 2n, or n·h → 2n + n² where they are mixed with each
other, too (manifold-constrained hyper-connections, arXiv 2512.24880). That mixing is a product
of n×n and n×h, 2·n²·h FLOPs a token; the collapse is a weighted sum, element-wise.
"""

from __future__ import annotations

from .parts import Linear, Matrices


def streams(hidden: int, n: int, *, mixed: bool) -> tuple[Matrices, ...]:
    """Those around a layer's attention and around its feed-forward part."""
    outputs = 2 * n + (n * n if mixed else 0)
    scales = 3 if mixed else 2
    return tuple(
        Matrices(
            "hyper", (Linear(f"{name}.fn", n * hidden, outputs),), outputs + scales,
            2 * n * n * hidden if mixed else 0,
        )
        for name in ("attn_hc", "ffn_hc")
    )  # fmt: skip


def head(hidden: int, n: int) -> tuple[Linear, int]:
    """The last collapse, before the head: its matrix and its other parameters."""
    return Linear("model.hc_head.hc_fn", n * hidden, n), n + 1
