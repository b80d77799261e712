"""Suites beside the fits: data that is never fitted, and one that stands alone.

``vidur`` (matrix products of MLPs) is only ever predicted, by the geometric mean of what the
bf16 products of the three engines gave (it ran none of them); it says how far a fit on one
laboratory's kernels holds in another's. ``splitwise`` is vLLM as it was in 2023, with a host
that took 40 ms a step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..count.step import Step
from ..parallel import Parallel
from ..predicting.fit import Prior
from ..predicting.stack import Piece, Stack
from .cases import bound, case, on, plan
from .data import MACHINES, Row, column, read
from .kernels import FREE, OVER, Kernels
from .priors import BASE
from .suite import Suite

PRODUCTS = ("attn_pre_proj", "attn_post_proj", "mlp_up_proj", "mlp_down_proj")


def _shape(row: Row, product: str) -> tuple[float, float]:
    tp, h = row["num_tensor_parallel_workers"], row["n_embd"]
    width = row["n_expanded_embd"] / tp
    heads = h / row["n_head"]
    return {
        "attn_pre_proj": (h, (row["n_head"] + 2 * max(row["n_kv_head"], tp)) * heads / tp),
        "attn_post_proj": (h / tp, h),
        "mlp_up_proj": (h, width * (2 if str(row["use_gated_mlp"]) == "True" else 1)),
        "mlp_down_proj": (width, h),
    }[product]


def vidur(folder: str, shipped: Mapping[str, Mapping[str, float]]) -> list[Suite]:
    """Matrix products of MLPs and projections, predicted with coefficients from elsewhere."""
    import numpy as np

    rows: list[Row] = []
    for row in read(folder, "vidur_mlp_ops"):
        for product in PRODUCTS:
            value = row[f"{product}.median"]
            if value:
                k, n = _shape(row, product)
                rows.append(
                    {
                        "system": row["gpu"],
                        "m": row["num_tokens"],
                        "n": n,
                        "k": k,
                        "t": value * 1e-3,
                        "machine": MACHINES[row["gpu"]],
                        "model": row["model"],
                        "engine": "vidur",
                        "precision": "bf16",
                        "batch": int(row["num_tokens"]),
                        "regime": product,
                    }
                )
    m, n, k = (column(rows, x) for x in "mnk")
    stored, moved = 2 * n * k, 2 * (m * k + m * n)
    products = Kernels(rows, "linear", "bf16", 2 * m * n * k, stored, moved, 0 * m)
    limit, stack = products.roof(stored + moved), products.stack()
    held = [c for name, c in shipped.items() if name.startswith("gemm bfloat16 ")]

    def predict(_: Mapping[str, float]) -> Any:
        logs = [np.log(stack({**FREE, **c})) for c in held]
        return np.exp(np.mean(logs, axis=0))

    return [
        Suite(
            "vidur matrix products (never fitted)",
            rows,
            column(rows, "t"),
            predict,
            FREE,
            {},
            limit,
            scored=limit > OVER,
        )
    ]


def splitwise(folder: str) -> list[Suite]:
    """Prompt and token times of vLLM in 2023."""
    import numpy as np

    rows = read(folder, "splitwise")
    suites = []
    for kind in ("token", "prompt"):
        group = [dict(row) for row in rows]
        pieces, limit = [], np.zeros(len(group))
        for i, row in enumerate(group):
            tp, batch, prompt = (
                int(row[x]) for x in ("tensor_parallel", "batch_size", "prompt_size")
            )
            title = {"llama2-70b": "llama-2-70b"}.get(row["model"], row["model"])
            of = case("a100-80gb-sxm", title, Parallel(tp=tp), "fp16", "fp16")
            assert of is not None
            at = np.array([i])
            if kind == "token":
                step = Step.decode(np.array([batch]), prompt + int(row["token_size"]) // 2)
            else:
                step = Step.prefill(np.array([batch]), prompt)
            dev = on("a100-80gb-sxm")
            pieces.append(Piece(at, plan(of)(step), dev, dev.labels))
            limit[i] = bound(of, step)[0]
            row.update(
                machine="a100-80gb-sxm",
                engine="vllm-2023",
                precision="fp16",
                batch=batch,
                regime=f"tp {tp}",
            )
        names = {
            "token": {"step.floor": Prior(3e-2, 1.0, 1e-4, 1.0)},
            "prompt": {
                "linear.compute": Prior(0.8, 0.3, 0.05, 1.2),
                "step.floor": Prior(3e-2, 1.0, 1e-4, 1.0),
            },
        }[kind]
        names |= {"step.sequence": Prior(1e-4, 1.0, 1e-7, 1e-1)}
        names |= {"collective.floor": Prior(1e-5, 1.0, 1e-7, 1e-3)}
        suites.append(
            Suite(
                f"splitwise {kind} times (vLLM 2023)",
                group,
                np.array([r[f"{kind}_time"] for r in group]) * 1e-3,
                Stack(pieces, len(group)),
                {**BASE, "decode.compute": 0.03},
                names,
                limit,
            )
        )
    return suites
