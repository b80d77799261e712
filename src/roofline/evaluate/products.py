"""Matrix products C = A·B: one suite per engine and format."""

from __future__ import annotations

from ..model import formats
from ..predicting.fit import Prior
from .data import FORMATS, Row, column, read
from .kernels import OVER, Kernels, known
from .suite import Suite, of_formats

PRIORS = {
    "linear.compute": Prior(1.0, 0.2, 0.1, 1.3),
    "linear.bandwidth": Prior(0.87, 0.08, 0.3, 1.0),
    "linear.floor": Prior(3e-6, 1.0, 1e-7, 1e-3),
    "ramp": Prior(0.3, 1.0, 1e-3, 2.0),
}
QUANTISE = {"quantise": Prior(3.0, 1.0, 1e-2, 30.0)}


def gemm(folder: str) -> list[Suite]:
    """The suites of ``gemm.csv``."""
    return of_formats(known(read(folder, "gemm")), "gemm_dtype", _suite)


def _suite(group: list[Row], dtype: str) -> Suite:
    fmt = formats.parse(FORMATS[dtype])
    wide = fmt.compute in ("bf16", "fp16")
    a = 2.0 if wide else 1.0
    m, n, k = (column(group, x) for x in "mnk")
    stored, moved = fmt.size * n * k, a * m * k + 2.0 * m * n
    result = Kernels(group, "linear", fmt.compute, 2 * m * n * k, stored, moved, 2 * m * k)
    data = stored + moved
    bound = result.roof(data)
    in_cache = (data < 3 * result.cache()) & (bound > 1.01 * result.computing())
    return result.suite(
        "gemm",
        PRIORS if wide else PRIORS | QUANTISE,
        bound=bound,
        precision=dtype,
        told=_told,
        scored=(bound > OVER) & ~in_cache,
        aside={"in cache (under 3× last-level cache)": int((in_cache & (bound > OVER)).sum())},
    )


def _told(row: Row) -> tuple[str, int, str]:
    m = int(row["m"])
    regime = "m ≤ 16" if m <= 16 else "m ≤ 256" if m <= 256 else "m > 256"
    return f"{int(row['n'])}×{int(row['k'])}", m, regime
