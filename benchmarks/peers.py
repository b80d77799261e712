"""Other predictors on the same rows: ``python benchmarks/peers.py FOLDER [SUITE]``.

SUITE is how the names of the suites to compare begin, by default all. FOLDER is the one that
``roofline validate`` takes, with ``llm_inference_bench`` and ``llamacpp``.
Peers come from PyPI; without one its column is left out:

    pip install llm-analysis==0.2.2 genz-llm==0.0.16 aiconfigurator-core==0.12.0

Each gets the model's shapes from its config.json, the machine's datasheet as the catalogue has it,
and its best documented settings. llm-analysis and GenZ have efficiencies as inputs and no data to
take them from: they run once as they come (1), and once with the efficiencies that fit the *other*
machines' rows best, as ours are fitted. aiconfigurator interpolates its own kernel measurements of
an A100 80 GB and an H100 under newer engines; none of these rows are in its database. The number
is the median of |predicted/measured - 1| over rows that all of them predict.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from roofline import catalogue
from roofline.evaluate import fixed, llamacpp
from roofline.evaluate.cases import MODELS
from roofline.evaluate.run import nearest, shipped
from roofline.evaluate.suite import Suite
from roofline.machine.load import load as load_machine
from roofline.model.load import entries

Row = dict[str, Any]
Peer = Callable[[Row], float]
"""Seconds of a row, NaN where the peer cannot say."""

GRID = [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
EVERY = 6
"""Of the fixed batches every sixth row is compared: GenZ takes a third of a second for each."""

NAN = float("nan")


@lru_cache(maxsize=64)
def config(name: str) -> dict[str, Any]:
    """A model's config.json."""
    result: dict[str, Any] = catalogue.find(MODELS.get(name, name), entries(), "model")["config"]
    return result


@lru_cache(maxsize=64)
def sheet(name: str) -> tuple[float, float, float, float]:
    """A machine's datasheet: FLOP/s in 16 bits, bytes/s, bytes of memory, bytes/s of its link."""
    machine = load_machine(name)
    roof = machine.roof("datasheet")
    link = machine.links[0].bandwidth.value if machine.links else 50e9
    memory = machine.memory.value if machine.memory else 1e12
    return roof.arithmetic("fp16")[1].value, roof.bandwidth.value, memory, link


def lengths(row: Row) -> tuple[int, int, int]:
    """Batch, prompt and output tokens of a row."""
    if "io_len" in row:
        return int(row["batch"]), int(row["io_len"]), int(row["io_len"])
    return 1, 1, int(row["test"][2:])


# ------------------------------------------------------------------ llm-analysis


def llm_analysis(compute: float, memory: float) -> Peer:
    """Its ``inference``: a roof for each kind of layer, with two efficiencies."""
    import logging

    from llm_analysis.analysis import LLMAnalysis
    from llm_analysis.config import (
        GPUConfig,
        ModelConfig,
        ParallelismConfig,
        get_dtype_config_by_name,
    )

    logging.disable(logging.WARNING)

    @lru_cache(maxsize=256)
    def analysis(name: str, machine: str, tp: int, kind: str) -> Any:
        c = config(name)
        peak, bandwidth, capacity, link = sheet(machine)
        hidden = c["hidden_size"]
        shapes = ModelConfig(
            name, c["num_hidden_layers"], c["num_attention_heads"], hidden, c["vocab_size"],
            num_key_value_heads=c.get("num_key_value_heads"),
            ffn_embed_dim=round(1.5 * c["intermediate_size"]),  # it knows two matrices, not three
            expansion_ratio=1.5 * c["intermediate_size"] / hidden,
        )  # fmt: skip
        gpu = GPUConfig(machine, 1e6 * capacity, bandwidth / 1e9, link / 1e9, 8e-6, peak / 1e12)
        return LLMAnalysis(
            shapes, gpu, get_dtype_config_by_name(kind), ParallelismConfig(tp_size=tp),
            flops_efficiency=compute, hbm_memory_efficiency=memory,
        )  # fmt: skip

    kinds = {"fp16": "w16a16e16", "q8_0": "w8a16e16", "q4_0": "w4a16e16", "q4_k_m": "w4a16e16"}

    def predict(row: Row) -> float:
        if row["precision"] not in kinds:
            return NAN
        batch, prompt, output = lengths(row)
        tp = int(row.get("n_gpu") or 1)
        one = analysis(row["model"], row["machine"], tp, kinds[row["precision"]])
        result = one.inference(batch, seq_len=prompt, num_tokens_to_generate=output)
        decode = float(result["total_decode_latency"])
        if "test" in row:  # seconds a token
            return decode / output
        return float(result["prefill_latency"]) + decode

    return predict


# ------------------------------------------------------------------ GenZ


def genz(efficiency: float) -> Peer:
    """Its prefill and decode models: a roof for each operator, with one efficiency."""
    from GenZ import decode_moddeling, prefill_moddeling
    from GenZ.Models.default_models import ModelConfig

    bits = {"fp16": "bf16", "q8_0": "int8", "q4_0": "int4", "q4_k_m": "int4"}

    @lru_cache(maxsize=64)
    def shapes(name: str) -> Any:
        c = config(name)
        return ModelConfig(
            model=name, vocab_size=c["vocab_size"], hidden_size=c["hidden_size"],
            intermediate_size=c["intermediate_size"], num_ffi=2,
            num_decoder_layers=c["num_hidden_layers"],
            num_attention_heads=c["num_attention_heads"],
            num_key_value_heads=c.get("num_key_value_heads"),
        )  # fmt: skip

    @lru_cache(maxsize=8192)
    def alone(
        name: str, machine: str, tp: int, precision: str, lengths: tuple[int, int, int]
    ) -> float:
        batch, prompt, output = lengths
        peak, bandwidth, _, link = sheet(machine)
        system = {
            "Flops": peak / 1e12, "Memory_BW": bandwidth / 1e9, "Memory_size": 1e6,
            "ICN": link / 1e9, "real_values": True,
        }  # fmt: skip
        common = {
            "model": shapes(name), "batch_size": batch, "system_name": system,
            "bits": bits[precision], "tensor_parallel": tp,
            "parallelism_heirarchy": f"TP{{{tp}}}_EP{{1}}_PP{{1}}",
        }  # fmt: skip
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            middle = decode_moddeling(
                input_tokens=prompt, output_tokens=output // 2, Bb=1, **common
            )["Latency"]
            if prompt == 1:  # seconds a token
                return float(middle) * 1e-3
            first = prefill_moddeling(input_tokens=prompt, **common)["Latency"]
        return float(first + output * middle) * 1e-3

    def predict(row: Row) -> float:
        if row["precision"] not in bits:
            return NAN
        tp = int(row.get("n_gpu") or 1)
        at = (row["model"], row["machine"], tp, row["precision"], lengths(row))
        return alone(*at) / efficiency

    return predict


# ------------------------------------------------------------------ aiconfigurator


def aiconfigurator(folder: str) -> Peer:
    """Its ``run_static``: kernels interpolated from its measurements, summed."""
    import logging

    from aiconfigurator_core.sdk import EngineHandle, compile_engine

    logging.disable(logging.WARNING)
    systems = {"a100-40gb-sxm": "a100_sxm", "h100-sxm": "h100_sxm"}
    engines = {"vLLM": "vllm", "TensorRT-LLM": "trtllm"}

    @lru_cache(maxsize=256)
    def handle(name: str, system: str, engine: str, tp: int) -> Any:
        path = os.path.join(folder, name.replace("/", "--"))
        os.makedirs(path, exist_ok=True)
        said = {**config(name)}
        if said["model_type"] == "mistral":  # which it does not know; the same layers
            said |= {"architectures": ["LlamaForCausalLM"], "model_type": "llama"}
        with open(os.path.join(path, "config.json"), "w", encoding="utf-8") as file:
            json.dump(said, file)
        try:
            return EngineHandle(compile_engine(path, system, engine, tp_size=tp))
        except Exception as error:
            print(f"aiconfigurator: {name}: {error!r:.150}", file=sys.stderr)
            return None

    def predict(row: Row) -> float:
        if row["machine"] not in systems or row["engine"] not in engines:
            return NAN
        one = handle(
            row["model"], systems[row["machine"]], engines[row["engine"]], int(row["n_gpu"])
        )
        batch, prompt, output = lengths(row)
        try:
            return float(one.run_static(batch_size=batch, isl=prompt, osl=output)[2]) * 1e-3
        except Exception:
            return NAN

    return predict


def scaled(peer: Peer) -> Callable[[float], Peer]:
    """A peer with one factor, which stands for engines as old as the rows."""
    seconds: dict[int, float] = {}

    def make(efficiency: float) -> Peer:
        def predict(row: Row) -> float:
            if id(row) not in seconds:
                seconds[id(row)] = peer(row)
            return seconds[id(row)] / efficiency

        return predict

    return make


# ------------------------------------------------------------------ the comparison


def error(predicted: Any, measured: Any, kept: Any) -> float:
    """Median of |predicted/measured - 1|."""
    return float(np.median(np.abs(predicted / measured - 1)[kept]))


def fitted(
    make: Callable[..., Peer], count: int, rows: list[Row], measured: Any, machines: Any
) -> Any:
    """Predictions with the efficiencies that are best on the other machines' rows."""
    tries = [
        np.array([peer(r) for r in rows])
        for peer in (make(*e) for e in itertools.product(GRID, repeat=count))
    ]
    out = np.full(len(rows), np.nan)
    for machine in set(machines):
        own = machines == machine
        out[own] = min(
            tries, key=lambda t: error(t, measured, ~own & np.isfinite(t)) if (~own).any() else 0.0
        )[own]
    return out


def compare(suite: Suite, rows: Any, peers: Mapping[str, Any]) -> None:
    """A line for each predictor, on the rows that all of them predict."""
    held = nearest(suite.name, shipped()) or {}
    result = {
        "plain roof": suite.bound,
        "one constant, machine left out": suite.constant("machine"),
        **peers,
        "roofline, machine left out": suite.left_out("machine"),
        "roofline, model left out": suite.left_out("model"),
        "roofline, as shipped": suite.predict({**suite.fixed, **held}),
    }
    result = {n: p for n, p in result.items() if np.isfinite(p[rows]).any()}
    kept = rows & np.all([np.isfinite(p) for n, p in result.items() if n in peers], axis=0)
    print(f"\n{suite.name}: {int(kept.sum())} rows\n")
    print("| predictor | median error |\n|---|---|")
    for name, p in result.items():
        at = kept & np.isfinite(p)
        note = "" if at.sum() == kept.sum() else f" ({int(at.sum())} rows)"
        print(f"| {name} | {100 * error(p, suite.measured, at):.1f} %{note} |", flush=True)


def at(rows: Any, some: Callable[..., Any], suite: Suite) -> Any:
    """Predictions of all rows, NaN outside a mask."""
    out = np.full(len(suite.rows), np.nan)
    out[rows] = some([r for r, k in zip(suite.rows, rows, strict=True) if k])
    return out


def named(package: str) -> str | None:
    """A package with its version, ``None`` where it is not installed."""
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return None


def main(folder: str, start: str = "") -> None:
    """The suites whose names begin so."""
    analysis, operators, static = map(named, ("llm-analysis", "genz-llm", "aiconfigurator-core"))
    with tempfile.TemporaryDirectory() as configs:
        names = ("fixed batch vLLM nvidia", "fixed batch TensorRT-LLM nvidia")
        suites = fixed.fixed(folder) if any(n.startswith(start) for n in names) else []
        suites = [s for s in suites if s.name in names]
        suites += [s for s in llamacpp.llamacpp(folder) if "Vulkan" not in s.name]
        suites = [s for s in suites if s.name.startswith(start)]
        for suite in suites:
            rows = suite.scored & np.array(
                [
                    "num_local_experts" not in config(r["model"])
                    and "intermediate_size" in config(r["model"])  # three matrices, as all know
                    and (r["precision"] == "fp16" or "test" in r)
                    for r in suite.rows
                ]
            )
            if suite.name.startswith("fixed"):
                rows &= np.arange(len(rows)) % EVERY == 0
            machines = np.array(suite.column("machine"))
            peers: dict[str, Any] = {}

            def once(peer: Peer, suite: Suite = suite, rows: Any = rows) -> Any:
                return at(rows, lambda some: [peer(r) for r in some], suite)

            def best(
                make: Callable[..., Peer], count: int, suite: Suite = suite, rows: Any = rows,
                machines: Any = machines,
            ) -> Any:  # fmt: skip
                measured = suite.measured[rows]
                return at(
                    rows, lambda some: fitted(make, count, some, measured, machines[rows]), suite
                )

            if analysis:
                peers[f"{analysis}, as it comes"] = once(llm_analysis(1.0, 1.0))
                peers[f"{analysis}, efficiencies fitted"] = best(llm_analysis, 2)
            if operators:
                peers[f"{operators}, as it comes"] = once(genz(1.0))
                peers[f"{operators}, efficiency fitted"] = best(genz, 1)
            if static and suite.name.startswith("fixed"):
                peers[f"{static}, as it comes"] = once(aiconfigurator(configs))
                peers[f"{static}, one factor fitted"] = best(scaled(aiconfigurator(configs)), 1)
            compare(suite, rows, peers)


if __name__ == "__main__":
    main(*sys.argv[1:3])
