"""Suites of whole runs: fixed batches, served workloads, llama.cpp's benchmark."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ...arrays import Table
from ...bound import Case
from ...errors import RooflineError
from ...machine.load import load as load_machine
from ...model.ffn import Experts
from ...model.load import load as load_model
from ...model.model import Model
from ...parallel import Parallel
from ...step import Step
from ..device import Device, device
from ..fit import Prior
from ..kernel import Plan
from ..predictor import NODES
from ..stack import Piece, Stack, Total
from .data import MACHINES, Row, Rule, read, sort_out
from .kernels import by
from .suite import Suite

BASE: dict[str, float] = {
    "linear.compute": 1.0,
    "linear.bandwidth": 0.87,
    "linear.floor": 3e-6,
    "ramp": 0.3,
    "decode.compute": 0.3,
    "decode.bandwidth": 0.87,
    "decode.floor": 1e-5,
    "prefill.compute": 0.65,
    "prefill.tile": 250.0,
    "prefill.floor": 1e-5,
    "experts.compute": 0.8,
    "experts.bandwidth": 0.9,
    "experts.floor": 2.5e-5,
    "experts.passes": 1.5,
    "state.compute": 0.5,
    "state.bandwidth": 0.7,
    "state.floor": 1e-5,
    "passes": 2.0,
    "quantise": 2.5,
    "layer.floor": 5e-6,
    "step.floor": 1e-3,
    "step.sequence": 1e-5,
    "collective.floor": 5e-6,
    "collective.bandwidth": 0.7,
    "interleave": 1.0,
    "burst": 0.2,
    "request.floor": 0.05,
}
"""What single kernels have in common over engines and generations (``kernels.py``), and
guesses of the fixed costs: where a fit of whole runs starts, and what it is drawn to."""

MODELS = {
    "huggyllama/llama-7b": "llama-2-7b",
    "huggyllama/llama-13b": "llama-2-13b",
    "meta-llama/Llama-2-7b-hf": "llama-2-7b",
    "meta-llama/Llama-2-13b-hf": "llama-2-13b",
    "meta-llama/Llama-2-70b-hf": "llama-2-70b",
    "meta-llama/Meta-Llama-3-8B": "llama-3-8b",
    "google/gemma-1.1-7b-it": "gemma-7b",
    "llama2-70b": "llama-2-70b",
    "bloom-176b": "bloom-176b",
    "nvidia/DeepSeek-R1-NVFP4": "deepseek-r1",
    "nvidia/DeepSeek-V3.1-NVFP4": "deepseek-v3",
    "nvidia/Qwen3-32B-NVFP4": "qwen3-32b",
}
"""Names in the files that the catalogue has under another name (same shapes)."""


@lru_cache(maxsize=64)
def model(name: str) -> Model | None:
    """A model of the files, or ``None`` where it cannot be counted."""
    try:
        return load_model(MODELS.get(name, name))
    except RooflineError:
        return None


@lru_cache(maxsize=64)
def on(name: str) -> Device:
    """A machine by its name in the catalogue."""
    return device(load_machine(name))


@lru_cache(maxsize=512)
def case(machine: str, title: str, layout: Parallel, weights: str, kv: str) -> Case | None:
    """A case of the files, or ``None`` where the model does not divide so."""
    found = model(title)
    assert found is not None
    try:
        return Case(found, load_machine(machine), weights=weights, kv=kv, parallel=layout)
    except RooflineError:
        return None


def held_per_token(of: Case) -> float:
    """Bytes of cache that one more token holds, far into a long context."""
    long, short = (of.work.total("held", Step.decode(1, n)) for n in (1 << 16, 1 << 15))
    return float(long - short) / (1 << 15)


def room(of: Case) -> float:
    """Bytes for the cache on one device, infinite where the memory is unknown."""
    memory = of.machine.memory
    return (memory.value * of.usable if memory else float("inf")) - of.work.resident


def bound(of: Case, step: Step) -> Any:
    """The overlapped bound of steps."""
    return Table(of).bounds(step).overlapped_s


def plan(of: Case) -> Plan:
    """One device's share, ready to be loaded."""
    return Plan(of.work, of.wiring, of.parallel.dp)


def only(*names: str, **spreads: float) -> dict[str, Prior]:
    """Priors of the named coefficients, centred on ``BASE``."""
    limits = {
        "compute": (0.002, 1.2),
        "bandwidth": (0.2, 1.0),
        "interleave": (0.3, 2.0),
        "burst": (0.01, 1.0),
    }
    found = {}
    for name in names:
        low, high = limits.get(name.rsplit(".", 1)[-1], (BASE[name] / 1000, BASE[name] * 1000))
        spread = SPREADS.get(name, 0.7)
        found[name] = Prior(BASE[name], spreads.get(name.replace(".", "_"), spread), low, high)
    return found


SPREADS = {
    "linear.compute": 0.1,
    "linear.bandwidth": 0.05,
    "decode.compute": 1.0,
    "decode.bandwidth": 0.05,
    "prefill.compute": 0.3,
    "experts.compute": 0.3,
    "experts.bandwidth": 0.1,
    "experts.floor": 0.5,
    "passes": 0.5,
    "layer.floor": 1.0,
    "step.floor": 1.0,
    "step.sequence": 1.0,
    "collective.floor": 0.7,
    "collective.bandwidth": 0.3,
    "interleave": 0.2,
    "burst": 1.0,
    "request.floor": 1.0,
}

# ---------------------------------------------------------------- fixed batches

FIXED_MACHINES = {
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


FIXED_RULES = [
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
        lambda r: r["hardware"] not in FIXED_MACHINES,
    ),
    Rule(
        "a split that does not divide the model",
        "its heads or widths do not divide by the devices",
        lambda r: _fixed_case(r) is None,
    ),
]


def _fixed_case(row: Row) -> Case | None:
    layout = Parallel(tp=int(row["n_gpu"]))
    weights, kv = _formats(row["kv_cache_dtype"] or "fp16")
    return case(FIXED_MACHINES[row["hardware"]], row["model"], layout, weights, kv)


def _floor_of(row: Row) -> float:
    found = model(row["model"])
    name = FIXED_MACHINES.get(row["hardware"])
    if found is None or name is None:
        return 0.0
    of = case(name, row["model"], Parallel(tp=int(row["n_gpu"])), "fp16", "fp16")
    if of is None:
        return 0.0
    step = Step.decode(int(row["batch"]), int(1.5 * row["io_len"]))
    return float(row["io_len"] * of.bound(step).overlapped_s)


def fixed(folder: str) -> list[Suite]:
    """Batches of equal prompts and outputs, end to end, one suite per engine and vendor."""
    import numpy as np

    rows, aside = sort_out(read(folder, "llm_inference_bench"), FIXED_RULES)
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
            machine=FIXED_MACHINES[row["hardware"]],
            precision=_formats(row["formats"])[0],
            batch=int(row["batch"]),
            regime=f"length {int(row['io_len'])}",
            vendor=on(FIXED_MACHINES[row["hardware"]]).vendor,
        )
    suites = []
    for (engine, vendor), group in by(rows, "engine", "vendor").items():
        suites.append(_fixed(f"fixed batch {engine} {vendor}", group, aside))
    return suites


_WEIGHTS = re.compile(r"Weight = (\w+), KV Cache = (\w+)")


def _formats(text: str) -> tuple[str, str]:
    found = _WEIGHTS.match(text)
    return (found[1], found[2]) if found else ("fp16", "fp16")


def _fixed(name: str, group: list[Row], aside: dict[str, int]) -> Suite:
    import numpy as np

    pieces: list[Piece] = []
    times: list[Any] = []
    limit, fits = np.zeros(len(group)), np.zeros(len(group))
    split = False
    for i, row in enumerate(group):
        row["at"] = i
    keys = ("machine", "model", "n_gpu", "formats")
    for (machine, _, n, _), rows in by(group, *keys).items():
        of = _fixed_case(rows[0])
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


# ---------------------------------------------------------------- served workloads


def _devices(row: Row) -> int:
    """How many GPUs a row really used; some rows multiply tp by ep, or by dp, twice over."""
    tp, dp = row["tp_size"] or 1, row["attention_dp_size"] or 1
    product = (row["moe_tp_size"] or 1) * (row["moe_ep_size"] or 1)
    n = tp * dp
    if (n > 8 and product in (16, 64)) or (tp == dp and tp > 1):
        n = n**0.5
    return int(n)


SERVED_RULES = [
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
        lambda r: _devices(r) > 8 or not r["concurrency"],
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
        lambda r: _served_case(r) is None,
    ),
]

WORKSPACE = 2e9
"""Bytes that a server keeps for activations and graphs beside weights and cache."""


def _layout(row: Row) -> tuple[int, int]:
    """Attention replicas, and shares of the experts."""
    n = _devices(row)
    replicas = n if (row["attention_dp_size"] or 1) > 1 else 1
    shares = int(row["moe_ep_size"] or 1)
    if replicas > 1 or shares > n:
        shares = n
    return replicas, shares


def _served_case(row: Row) -> Case | None:
    replicas, shares = _layout(row)
    tp = _devices(row) // replicas
    dense = model(row["model_path"])
    has_experts = dense is not None and any(
        isinstance(p, Experts) for layer in dense.layers for p in layer.parts
    )
    layout = Parallel(tp=tp, dp=replicas, ep=shares if has_experts else 1)
    return case(MACHINES[row["system"]], row["model_path"], layout, *_served_formats(row))


def _served_formats(row: Row) -> tuple[str, str]:
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


def served(folder: str) -> list[Suite]:
    """Time per output token, and to the first, of served models: two suites per engine."""
    rows, aside = sort_out(read(folder, "served"), SERVED_RULES)
    merged: dict[Any, Row] = {}
    for row in rows:
        row["devices"] = _devices(row)
        row["replicas"], row["shares"] = _layout(row)
        weights, kv = _served_formats(row)
        row.update(
            machine=MACHINES[row["system"]],
            model=row["model_path"],
            engine=row["backend"],
            precision=weights,
            kv=kv,
            batch=int(row["concurrency"]),
            regime=f"{int(row['isl'])} in, {int(row['osl'])} out",
        )
        keys = ("engine", "machine", "model", "precision", "isl", "osl", "batch", "devices")
        merged.setdefault((*(row[k] for k in keys), row["replicas"], row["shares"]), row)
    suites: list[Suite] = []
    for (engine,), group in by(merged.values(), "engine").items():
        suites += _served(engine, group, aside)
    return suites


def _served(engine: str, group: list[Row], aside: dict[str, int]) -> tuple[Suite, Suite]:
    import numpy as np

    size = len(group)
    decode, mixed = [], []
    others, limit, prefill = np.zeros(size), np.zeros(size), np.zeros(size)
    for i, row in enumerate(group):
        row["at"] = i
    keys = ("machine", "model", "precision", "kv", "devices", "replicas", "shares")
    for (machine, *_), rows in by(group, *keys).items():
        of = _served_case(rows[0])
        assert of is not None
        dp = of.parallel.dp
        dev, load = on(machine), plan(of)
        at = np.array([r["at"] for r in rows])
        isl = np.array([int(r["isl"]) for r in rows])
        osl = np.array([int(r["osl"]) for r in rows])
        asked = np.array([r["batch"] for r in rows])
        each = held_per_token(of) * (isl + 0.6 * osl)
        places = np.maximum((room(of) - WORKSPACE) / each, 1) * dp
        batch = np.maximum(np.rint(np.minimum(asked, places)), 1).astype(int)
        prompts = np.minimum(batch, dp)
        others[at] = (batch - prompts) / prompts / osl
        step = Step.decode(batch, isl + osl // 2)
        both = Step.mixed(step, Step.prefill(prompts, isl))
        decode.append(Piece(at, load(step), dev, dev.labels))
        mixed.append(Piece(at, load(both), dev, dev.labels))
        b = bound(of, step)
        limit[at] = b + others[at] * np.maximum(bound(of, both) - b, 0)
        prefill[at] = bound(of, Step.prefill(prompts, isl))
    alone, together = Stack(decode, size), Stack(mixed, size)

    def tpot(c: Mapping[str, float]) -> Any:
        t = alone(c)
        return t + others * c["interleave"] * np.maximum(together(c) - t, 0)

    def ttft(c: Mapping[str, float]) -> Any:
        t, both = alone(c), together(c)
        ahead = c["burst"] * others * np.array([row["osl"] for row in group])
        return c["request.floor"] + both + 0.5 * t + ahead * np.maximum(both - t, 0)

    priors = only(
        "step.floor", "step.sequence", "layer.floor", "collective.floor", "experts.floor",
        "decode.compute", "linear.bandwidth", "experts.bandwidth", "passes", "interleave",
        "experts.passes",
    )  # fmt: skip
    token = Suite(
        f"served TPOT {engine}",
        group,
        np.array([r["silicon_tpot_ms"] for r in group]) * 1e-3,
        tpot,
        BASE,
        priors,
        limit,
        aside=aside,
    )
    first = Suite(
        f"served TTFT {engine}",
        group,
        np.array([r["silicon_ttft_ms"] for r in group]) * 1e-3,
        ttft,
        token.coefficients(),
        only("burst", "request.floor"),
        prefill,
    )
    return token, first


# ---------------------------------------------------------------- llama.cpp

_NAMES = {
    "3080 10GB": "rtx-3080-10gb",
    "3080 Ti 12GB": "rtx-3080-ti",
    "3090 24GB": "rtx-3090",
    "RTX 3090": "rtx-3090",
    "4070 Ti 12GB": "rtx-4070-ti",
    "4080 16GB": "rtx-4080",
    "4090 24GB": "rtx-4090",
    "A100 80GB": "a100-80gb-sxm",
    "A100 SXM 80GB": "a100-80gb-sxm",
    "A40 48GB": "a40",
    "A6000 48GB": "rtx-a6000",
    "6000 Ada 48GB": "rtx-6000-ada",
    "5000 Ada 32GB": "rtx-5000-ada",
    "RTX 5000 Ada 32GB": "rtx-5000-ada",
    "RTX 6000 Ada 48GB": "rtx-6000-ada",
    "RTX A6000 48GB": "rtx-a6000",
    "L40S 48GB": "l40s",
    "Arc B580": "arc-b580",
    "Arc A770": "arc-a770",
    "H100 80GB": "h100-sxm",
    "H100 PCIe 80GB": "h100-pcie",
    "RTX 4000 Ada 20GB": "rtx-4000-ada",
    "RTX 5060 Ti": "rtx-5060-ti-16gb",
    "RTX PRO 6000 Blackwell": "rtx-pro-6000",
    "Radeon AI PRO R9700": "radeon-ai-pro-r9700",
}
ALONE = Parallel()
_APPLE = re.compile(r"(?:apple )?(m\d)\s*(pro|max|ultra)?\s*(\d+)", re.IGNORECASE)


def chip(title: str) -> str | None:
    """The machine that a title of the llama.cpp lists means, or ``None``."""
    plain = title.replace("\u2011", "-")
    apple = _APPLE.match(plain)
    if apple:
        family, kind, cores = (x.lower() if x else x for x in apple.groups())
        names = [f"{family}-{kind}-{cores}c"] if kind else [family]
    else:
        names = [_NAMES.get(title, title)]
    for name in names:
        try:
            return load_machine(name).id
        except RooflineError:
            continue
    return None


LLAMACPP_RULES = [
    Rule("a machine that is not known", "no such machine in the catalogue",
         lambda r: chip(r["hardware"]) is None),
    Rule("several GPUs", "layers split over several GPUs without overlap; not modelled",
         lambda r: (r["n_gpu"] or 1) > 1),
]  # fmt: skip

LLAMACPP = {
    **BASE,
    "linear.floor": 2e-6,
    "layer.floor": 1e-5,
    "step.floor": 5e-4,
    "decode.compute": 0.02,
    "linear.compute": 0.9,
    "linear.bandwidth": 0.9,
}


def llamacpp(folder: str) -> list[Suite]:
    """Decode of llama.cpp, one suite per back-end, memory class and age of the build."""
    rows = [r for r in read(folder, "llamacpp") if r["metric"] == "decode_tok_s"]
    rows, aside = sort_out(rows, LLAMACPP_RULES)
    for row in rows:
        dev = on(chip(row["hardware"]) or "")
        old = str(row["build"]).startswith("2024")
        row.update(
            machine=dev.id,
            engine="llamacpp",
            precision={"f16": "fp16"}.get(row["quant"].lower(), row["quant"].lower()),
            batch=int(row["batch"]),
            regime="2024" if old else "2025",
            back_end=f"{row['backend']} {dev.memory_class}"
            if row["backend"] == "CUDA"
            else row["backend"],
        )
    suites = []
    for (back_end,), group in by(rows, "back_end").items():
        suites.append(_llamacpp(f"llama.cpp decode {back_end}", group, aside))
    return suites


def _llamacpp(name: str, group: list[Row], aside: dict[str, int]) -> Suite:
    import numpy as np

    size = len(group)
    pieces, limit = [], np.zeros(size)
    for i, row in enumerate(group):
        row["at"] = i
    for (machine, title, quant, test, age), rows in by(
        group, "machine", "model", "precision", "test", "regime"
    ).items():
        of = case(machine, title, ALONE, quant, "fp16")
        assert of is not None
        at = np.array([r["at"] for r in rows])
        ones = np.ones(len(rows), int)
        step = Step.decode(ones, int(test[2:]) // 2 * ones)
        dev = on(machine)
        pieces.append(Piece(at, plan(of)(step), dev, (f"build-{age}", *dev.labels)))
        limit[at] = bound(of, step)
    priors = only("linear.bandwidth", "linear.floor", "layer.floor")
    fixed = {**LLAMACPP}
    for key in priors:
        p = priors[key]
        spread = 0.1 if key == "linear.bandwidth" else 1.0
        priors[key] = Prior(LLAMACPP[key], spread, p.low, p.high)
    priors["ramp"] = Prior(0.3, 1.0, 1e-3, 3.0)
    ages = {r["regime"] for r in group}
    if len(ages) > 1:
        priors["layer.floor*build-2024"] = Prior(2.0, 0.7, 0.2, 30.0)
        priors["linear.floor*build-2024"] = Prior(2.0, 0.7, 0.2, 30.0)
    return Suite(
        name,
        group,
        1 / np.array([r["value"] for r in group]),
        Stack(pieces, size),
        fixed,
        priors,
        limit,
        aside=aside,
    )
