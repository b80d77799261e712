"""Expert layers: one suite per engine and format.

Tokens spread over experts by a power law hit fewer of them, and the busiest device waits for
none: it carries ``1 + skew·α·log(groups)`` of the mean.
"""

from __future__ import annotations

from ..model import formats
from ..predicting.fit import Prior
from .data import FORMATS, Row, column, read
from .kernels import Kernels, known
from .suite import Suite, of_formats

PRIORS = {
    "experts.compute": Prior(0.8, 0.3, 0.1, 1.3),
    "experts.bandwidth": Prior(0.9, 0.1, 0.3, 1.0),
    "experts.floor": Prior(2.5e-5, 0.7, 1e-6, 1e-3),
    "experts.passes": Prior(2.0, 0.7, 1e-2, 30.0),
    "ramp": Prior(0.5, 1.0, 1e-3, 2.0),
}

COLUMNS = (
    "num_tokens", "topk", "num_experts", "hidden_size", "inter_size", "moe_tp_size", "moe_ep_size",
)  # fmt: skip


def experts(folder: str) -> list[Suite]:
    """The suites of ``moe.csv``."""
    return of_formats(known(read(folder, "moe")), "moe_dtype", _suite)


def _suite(group: list[Row], dtype: str) -> Suite:
    import numpy as np

    fmt = formats.parse(FORMATS[dtype])
    n, k, e, h, i, tp, ep = (column(group, x) for x in COLUMNS)
    matrices = np.array([2.0 if "nongated" in r["kernel_source"] else 3.0 for r in group])
    power = np.array([_power(r["distribution"]) for r in group])
    share = n * k / ep
    load = np.minimum(share * (1 + 0.45 * power * np.log(ep)), n * np.minimum(k, e / ep))
    held = e / ep
    even = np.minimum(held, np.maximum(share, 1))
    skewed = np.maximum(held * -np.expm1(-0.85 * load / held), np.minimum(1, load))
    touched = np.where(power == 0, even, skewed)
    stored = touched * matrices * h * i / tp * fmt.size
    flops = 2 * matrices * h * i / tp * load
    moved = 2 * load * (2 * h + matrices * i / tp) + 2 * n * h
    result = Kernels(group, "experts", fmt.compute, flops, stored, moved, 2 * n * h)
    bound = result.roof(stored)
    in_cache = (stored < 3 * result.cache()) & (bound > 1.01 * result.computing())
    return result.suite(
        "experts",
        PRIORS,
        bound=bound,
        precision=dtype,
        told=_told,
        scored=~in_cache,
        aside={"in cache (under 3× last-level cache)": int(in_cache.sum())},
        seconds="latency",
    )


def _power(distribution: str) -> float:
    return float(distribution.rsplit("_", 1)[-1]) if distribution.startswith("power_law") else 0.0


def _told(row: Row) -> tuple[str, int, str]:
    tokens = int(row["num_tokens"])
    regime = "tokens ≤ 32" if tokens <= 32 else "tokens ≤ 512" if tokens <= 512 else "tokens > 512"
    shape = f"{int(row['num_experts'])}×{int(row['topk'])} {int(row['hidden_size'])}"
    return shape, tokens, regime
