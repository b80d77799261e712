"""Rows of served models: what they state, what they mean, and which are set aside."""

from __future__ import annotations

from ..bound.case import Case
from ..model.ffn import Experts
from ..parallel import Parallel
from .cases import case, model
from .data import MACHINES, Row, Rule


def devices(row: Row) -> int:
    """How many GPUs a row really used; some rows multiply tp by ep, or by dp, twice over."""
    tp, dp = row["tp_size"] or 1, row["attention_dp_size"] or 1
    product = (row["moe_tp_size"] or 1) * (row["moe_ep_size"] or 1)
    n = tp * dp
    if (n > 8 and product in (16, 64)) or (tp == dp and tp > 1):
        n = n**0.5
    return int(n)


RULES = [
    Rule(
        "a machine that is not known",
        "no such machine in the catalogue",
        lambda r: r["system"] not in MACHINES,
    ),
    Rule(
        "a model that is not counted",
        "its architecture or its shapes are not known to this package",
        lambda r: model(r["model_path"]) is None,
    ),
    Rule(
        "disaggregated",
        "prefill and decode on different devices; the file gives only their sum",
        lambda r: devices(r) > 8 or not r["concurrency"],
    ),
    Rule(
        "searched under a goal (4000 and 15000 tokens in)",
        "concurrency there is not what one replica runs; which fraction is not stated",
        lambda r: r["isl"] in (4000, 15000),
    ),
    Rule(
        "speculation not stated (DeepSeek-R1 on TensorRT-LLM)",
        "the same network as DeepSeek-V3 at up to half the time on the same machine and engine",
        lambda r: r["backend"] == "trtllm" and "DeepSeek-R1" in r["model_path"],
    ),
    Rule(
        "queueing: waits longer than it runs",
        "over half of a request is the wait for its first token: the server ran fewer requests "
        "at once than the client sent, and the file does not say how many",
        lambda r: r["silicon_ttft_ms"] > r["osl"] * r["silicon_tpot_ms"],
    ),
    Rule(
        "a split that does not divide the model",
        "its heads, widths or experts do not divide by the devices",
        lambda r: as_case(r) is None,
    ),
]


def layout(row: Row) -> tuple[int, int]:
    """Attention replicas, and shares of the experts."""
    n = devices(row)
    replicas = n if (row["attention_dp_size"] or 1) > 1 else 1
    shares = int(row["moe_ep_size"] or 1)
    if replicas > 1 or shares > n:
        shares = n
    return replicas, shares


def as_case(row: Row) -> Case | None:
    """The case of a row, or ``None`` where the model does not divide so."""
    replicas, shares = layout(row)
    tp = devices(row) // replicas
    split = Parallel(tp=tp, dp=replicas, ep=shares if has_experts(row) else 1)
    return case(MACHINES[row["system"]], row["model_path"], split, *stored(row))


def has_experts(row: Row) -> bool:
    """Whether the model of a row has experts."""
    result = model(row["model_path"])
    return result is not None and any(
        isinstance(part, Experts) for layer in result.layers for part in layer.parts
    )


def stored(row: Row) -> tuple[str, str]:
    """Formats of the weights and of the cache."""
    if "formats" not in row:  # "precision" is renamed later on
        row["formats"] = _as_stated(row)
    weights, kv = row["formats"]
    return weights, kv


def _as_stated(row: Row) -> tuple[str, str]:
    name, precision = row["model_path"], row["precision"]
    if precision == "fp4":
        return ("mxfp4" if "gpt-oss" in name else "nvfp4"), "fp8"
    if precision == "int4":
        return "int4", "fp8"
    if precision is None and "fp8" not in name.lower():
        # Rows without a precision: with bf16 weights they read at the bandwidth at which all
        # others read; with fp8 they would read at half of it.
        return "bf16", "bf16"
    return "fp8", "fp8"
