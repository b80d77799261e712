"""Batches of equal prompts and outputs, end to end: LLM-Inference-Bench."""

from __future__ import annotations

import re
from typing import Any

from ..bound.case import Case
from ..count.step import Step
from ..parallel import Parallel
from ..predicting.predictor import NODES
from ..predicting.stack import Piece, Total
from .cases import bound, case, held_per_token, model, on, plan, room
from .data import Row, Rule, by, read, sort_out
from .priors import BASE, only
from .suite import Suite

MACHINES = {
    "Nvidia A100 GPU": "a100-40gb-sxm",
    "Nvidia H100 GPU": "h100-sxm",
    "Nvidia GH200 GPU": "gh200-96gb",
    "Nvidia GH200": "gh200-96gb",
    "AMD MI300X GPU": "mi300x",
    "AMD MI250 GPU": "mi250",
    "Intel Max 1550": "max-1550",
    "Intel PVC GPU": "max-1550",
    "Habana Gaudi2": "gaudi-2",
    "Gaudi2": "gaudi-2",
}


def _tensor_parallel(row: Row) -> bool:
    return row["parallelism"] in (None, "TP", "Tensor Parallelism") or row["n_gpu"] == 1


RULES = [
    Rule(
        "pipeline or expert parallel",
        "split by layers or experts, or both; tensor parallelism is what is modelled here",
        lambda r: not _tensor_parallel(r),
    ),
    Rule(
        "identical prompts (TensorRT-LLM with experts)",
        "all sequences carry the same tokens and so choose the same experts: batch 16 takes "
        "1.28 times as long as batch 1, while the roof with evenly chosen experts grows 3.6 times",
        lambda r: r["engine"] == "TensorRT-LLM" and "Mixtral" in r["model"],
    ),
    Rule(
        "early stop (Qwen2-72B)",
        "faster than the memory allows: generation stopped before the stated length",
        lambda r: (
            r["model"].startswith("Qwen/Qwen2")
            and r["engine"] != "TensorRT-LLM"
            and r["e2e_latency_s"] < _floor_of(r)
        ),
    ),
    Rule(
        "a model that is not counted",
        "its architecture or its shapes are not known to this package",
        lambda r: model(r["model"]) is None,
    ),
    Rule(
        "a machine that is not known",
        "no such machine in the catalogue",
        lambda r: r["hardware"] not in MACHINES,
    ),
    Rule(
        "a split that does not divide the model",
        "its heads or widths do not divide by the devices",
        lambda r: _case(r) is None,
    ),
]


def _case(row: Row) -> Case | None:
    layout = Parallel(tp=int(row["n_gpu"]))
    weights, kv = _formats(row["kv_cache_dtype"] or "fp16")
    return case(MACHINES[row["hardware"]], row["model"], layout, weights, kv)


def _floor_of(row: Row) -> float:
    result = model(row["model"])
    name = MACHINES.get(row["hardware"])
    if result is None or name is None:
        return 0.0
    of = case(name, row["model"], Parallel(tp=int(row["n_gpu"])), "fp16", "fp16")
    if of is None:
        return 0.0
    step = Step.decode(int(row["batch"]), int(1.5 * row["io_len"]))
    return float(row["io_len"] * of.bound(step).overlapped_s)


def fixed(folder: str) -> list[Suite]:
    """Batches of equal prompts and outputs, end to end, one suite per engine and vendor."""
    import numpy as np

    rows, aside = sort_out(read(folder, "llm_inference_bench"), RULES)
    merged: dict[Any, Row] = {}
    for row in rows:
        row["formats"] = row["kv_cache_dtype"] or "fp16"
        key = tuple(
            row[k] for k in ("hardware", "n_gpu", "engine", "model", "io_len", "batch", "formats")
        )
        merged.setdefault(key, {**row, "times": []})["times"].append(row["e2e_latency_s"])
    rows = list(merged.values())
    for row in rows:
        row["seconds"] = float(np.median(row["times"]))
        row.update(
            machine=MACHINES[row["hardware"]],
            precision=_formats(row["formats"])[0],
            batch=int(row["batch"]),
            regime=f"length {int(row['io_len'])}",
            vendor=on(MACHINES[row["hardware"]]).vendor,
        )
    suites = []
    for (engine, vendor), group in by(rows, "engine", "vendor"):
        suites.append(_fixed(f"fixed batch {engine} {vendor}", group, aside))
    return suites


_WEIGHTS = re.compile(r"Weight = (\w+), KV Cache = (\w+)")


def _formats(text: str) -> tuple[str, str]:
    result = _WEIGHTS.match(text)
    return (result[1], result[2]) if result else ("fp16", "fp16")


def _fixed(name: str, group: list[Row], aside: dict[str, int]) -> Suite:
    import numpy as np

    pieces: list[Piece] = []
    times: list[Any] = []
    limit, fits = np.zeros(len(group)), np.zeros(len(group))
    split = False
    for i, row in enumerate(group):
        row["at"] = i
    keys = ("machine", "model", "n_gpu", "formats")
    for (machine, _, n, _), rows in by(group, *keys):
        of = _case(rows[0])
        assert of is not None
        at = np.array([r["at"] for r in rows])
        batch = np.array([int(r["batch"]) for r in rows])
        length = np.array([int(r["io_len"]) for r in rows])
        dev, load = on(machine), plan(of)
        fits[at] = room(of) / np.maximum(batch * 2 * length * held_per_token(of), 1.0)
        split = split or n > 1
        steps = [(Step.prefill(batch, length), np.ones(len(rows)))]
        for node, weight in NODES:
            context = (length * (1 + node)).astype(int)
            steps.append((Step.decode(batch, context), weight * (length - 1)))
        for step, often in steps:
            pieces.append(Piece(at, load(step), dev, dev.labels))
            times.append(often)
            limit[at] += often * bound(of, step)
    predict = Total(pieces, times, len(group))
    experts = any("experts" in {k.kind for k in p.loads.kernels} for p in pieces)
    priors = only("decode.compute", "prefill.compute", "layer.floor", "step.floor")
    priors |= only("step.sequence", "linear.bandwidth")
    if experts:
        priors |= only("experts.floor", "experts.passes", "experts.bandwidth", "experts.compute")
    if split:
        priors |= only("collective.floor")
    whole = fits > 1.15
    return Suite(
        name,
        group,
        np.array([r["seconds"] for r in group]),
        predict,
        {**BASE, "decode.compute": 0.03},
        priors,
        limit,
        aside={**aside, "cache does not fit: sequences run in turns": int((~whole).sum())},
        scored=whole,
    )
