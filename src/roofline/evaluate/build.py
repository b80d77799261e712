"""Making the package's profiles from a folder of measurements.

    python -m roofline.evaluate.build FOLDER

writes ``profiles/*.json``: for each engine its coefficients and how far left-out measurements
lay from predictions, and ``suites.json``, the coefficients of each suite, with which
``roofline validate --as-shipped`` scores data that was not there. Nothing else of the data
goes into the package.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..predicting.profile import FOLDER, SCHEMA, from_data
from .attention import attention, context
from .cases import model
from .experts import experts
from .fixed import fixed
from .llamacpp import START, llamacpp
from .messages import messages
from .priors import BASE
from .products import gemm
from .residuals import residuals, short
from .served import served
from .spread import kind
from .suite import Suite

DATE = "2026-11-29"

SOURCES: dict[str, Any] = {
    "served": {
        "title": "aiconfigurator-core 0.12.0 (PyPI, Apache-2.0): served models",
        "url": "https://github.com/ai-dynamo/aiconfigurator",
        "date": DATE,
    },
    "kernels": {
        "title": "aiconfigurator-core 0.12.0 (PyPI, Apache-2.0): single kernels, pooled",
        "url": "https://github.com/ai-dynamo/aiconfigurator",
        "date": DATE,
    },
    "assumed": {"title": "assumed, no public data", "url": "", "date": DATE},
    "fixed": {
        "title": "argonne-lcf/LLM-Inference-Bench (BSD-3): fixed batches",
        "url": "https://github.com/argonne-lcf/LLM-Inference-Bench",
        "date": DATE,
    },
    "llamacpp": {
        "title": "llama.cpp discussions 4167, 10879, 15013; XiongjieDai's GPU benchmarks",
        "url": "https://github.com/ggml-org/llama.cpp/discussions/4167",
        "date": DATE,
    },
}


def coefficients(
    suite: Suite, source: str, label: str = "", kind: str = "", skip: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The fitted coefficients of a suite as a profile holds them.

    Args:
        suite: fitted here.
        source: where its rows come from.
        label: of the machines that they hold for.
        kind: of memory, whose multipliers are applied; those of old builds are not.
        skip: coefficients to leave out.
    """
    result = suite.coefficients()
    plain = {
        n: v * result.get(f"{n}*{kind}", 1.0)
        for n, v in result.items()
        if n in suite.priors and "*" not in n
    }
    end = f"@{label}" if label else ""
    held = {n + end: v for n, v in plain.items()}
    for name in suite.fixed:
        if label and name not in plain and suite.fixed[name] != BASE.get(name):
            held[name + end] = suite.fixed[name]
    return {n: {"value": short(v), "source": source} for n, v in held.items() if n not in skip}


def fitted(suites: Iterable[Suite]) -> dict[str, Any]:
    """What the rows covered: it decides how alike a new case is."""
    result: dict[str, Any] = {"machines": set(), "models": set(), "precisions": set()}
    rows = 0
    batches: list[int] = []
    for suite in suites:
        rows += int(suite.scored.sum())
        for row, kept in zip(suite.rows, suite.scored, strict=True):
            if kept:
                result["machines"].add(row["machine"])
                result["precisions"].add(str(row["precision"]))
                known = model(row["model"])
                if known is not None:
                    result["models"].add(known.name)
                batches.append(int(row["batch"]))
    return {
        **{k: sorted(v) for k, v in result.items()},
        "rows": rows,
        "batch": [min(batches), max(batches)],
    }


def profile(
    name: str,
    engine: str,
    title: str,
    *,
    versions: str,
    held: Mapping[str, Any],
    suites: Sequence[Suite] = (),
    alike: Sequence[Suite] = (),
    notes: tuple[str, ...] = (),
    extends: str = "base",
) -> dict[str, Any]:
    """A profile as a file holds it.

    Args:
        name, engine, title, versions, notes, extends: as in the file.
        held: coefficients.
        suites: what they were fitted on.
        alike: suites of the same kind under all engines.
    """
    used = {entry["source"] for entry in held.values()}
    return {
        "schema": SCHEMA,
        "id": name,
        "engine": engine,
        "title": title,
        "versions": versions,
        "extends": extends,
        "notes": list(notes),
        "sources": {k: SOURCES[k] for k in sorted(used)},
        "coefficients": dict(held),
        "fitted": fitted(suites) if suites else {},
        "residuals": residuals(suites, alike) if suites else {},
    }


def _family(suites: Sequence[Suite], alike: Sequence[Suite]) -> dict[str, Any]:
    every = {s.name: s for s in (*alike, *suites)}.values()
    kinds = {kind(s.name) for s in suites}
    return {
        "fitted": fitted(suites),
        "residuals": residuals(suites, [s for s in every if kind(s.name) in kinds]),
    }


def build(folder: str) -> dict[str, Any]:
    """Every profile, by name."""
    every = served(folder)
    tokens = {s.name.rsplit(" ", 1)[-1]: s for s in every if "TPOT" in s.name}
    first = {s.name.rsplit(" ", 1)[-1]: s for s in every if "TTFT" in s.name}
    batches = {s.name.removeprefix("fixed batch "): s for s in fixed(folder)}
    llama = {s.name.removeprefix("llama.cpp decode "): s for s in llamacpp(folder)}
    result: dict[str, Any] = {
        "base": {
            **profile(
                "base", "", "What engines have in common", versions="", held=_base(), suites=[]
            ),
            "extends": "",
        }
    }
    titles = {"vllm": "vLLM", "trtllm": "TensorRT-LLM", "sglang": "SGLang"}
    versions = {"vllm": "0.11-0.19", "trtllm": "1.0-1.3", "sglang": "0.5.9-0.5.10"}
    other = _vendors(batches)
    rest = {n.split()[-1]: [s] for n, s in batches.items() if not n.endswith("nvidia")}
    apart = {v: s for v, s in rest.items() if v in ("amd", "intel")}
    others = [s for own in apart.values() for s in own]
    for engine, suite in tokens.items():
        held = coefficients(suite, "served") | coefficients(first[engine], "served")
        if engine == "vllm":
            held |= other  # AMD and Intel: fixed batches of 2024, the only public data
        result[engine] = profile(
            engine,
            engine,
            f"{titles[engine]}, served",
            versions=versions[engine],
            held=held,
            suites=[suite],
            alike=list(tokens.values()),
        )
        waits = residuals([first[engine]], list(first.values()))
        result[engine]["residuals"] |= {f"ttft:{kind}": r for kind, r in waits.items()}
        if engine == "vllm":
            result[engine]["families"] = {v: _family(s, others) for v, s in apart.items()}
    for name, engine, key in (
        ("vllm-2024", "vllm", "vLLM nvidia"),
        ("trtllm-2024", "trtllm", "TensorRT-LLM nvidia"),
    ):
        suite = batches[key]
        held = coefficients(suite, "fixed")
        if engine == "vllm":
            held |= other
        title = f"{titles[engine]} of 2024, fixed batches without a server"
        result[name] = profile(
            name,
            engine,
            title,
            versions="early 2024",
            held=held,
            suites=[suite],
            alike=[s for n, s in batches.items() if n.endswith("nvidia")],
        )
        if engine == "vllm":
            result[name]["families"] = {v: _family(s, others) for v, s in apart.items()}
    result["llamacpp"] = _llamacpp(llama)
    result["torch"] = profile(
        "torch",
        "torch",
        "PyTorch: no public data; what engines have in common, and calibrate",
        versions="",
        held={},
        suites=[],
        notes=("no public measurements: a wide guess",),
    )
    result["torch"]["residuals"] = {
        k: {"low": -1.2, "high": 1.2, "note": "no public data"}
        for k in ("seen", "machine", "model", "both")
    }
    return result


ASSUMED = ("state", "layer", "step", "interleave", "burst", "request")


def _base() -> dict[str, Any]:
    return {
        n: {"value": v, "source": "assumed" if n.startswith(ASSUMED) else "kernels"}
        for n, v in BASE.items()
    }


def _vendors(batches: Mapping[str, Suite]) -> dict[str, Any]:
    held: dict[str, Any] = {}
    for vendor in ("amd", "intel"):
        suite = batches.get(f"vLLM {vendor}")
        if suite is not None:
            held |= coefficients(suite, "fixed", vendor)
    return held


def _llamacpp(llama: Mapping[str, Suite]) -> dict[str, Any]:
    held: dict[str, Any] = {
        n: {"value": v, "source": "llamacpp"} for n, v in START.items() if v != BASE[n]
    }
    labels = {"Metal": "apple", "CUDA gddr": "nvidia-gddr", "CUDA hbm": "nvidia-hbm"}
    for name, suite in llama.items():
        if name in labels:
            held |= coefficients(suite, "llamacpp", labels[name], name.split()[-1])
        elif name == "Vulkan":
            for vendor in ("amd", "intel"):
                held |= coefficients(suite, "llamacpp", vendor)
    graphics = [suite for name, suite in llama.items() if name != "Metal"]
    result = profile(
        "llamacpp",
        "llamacpp",
        "llama.cpp",
        versions="2024-2026",
        held=held,
        suites=graphics,
        alike=graphics,
    )
    return result | {"families": {"apple": _family([llama["Metal"]], [llama["Metal"]])}}


def main(folder: str) -> None:
    """Fit everything and write it."""
    for name, data in build(folder).items():
        from_data(data, name)
        path = os.path.join(FOLDER, f"{name}.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(data, file, ensure_ascii=False, indent=1)
            file.write("\n")
        print(path)
    shipped = {}
    for make in (gemm, attention, context, experts, messages, fixed, served, llamacpp):  # fmt: skip
        for suite in make(folder):
            result = suite.coefficients()
            shipped[suite.name] = {n: short(v) for n, v in result.items() if n in suite.names}
    with open(os.path.join(FOLDER, "suites.json"), "w", encoding="utf-8") as file:
        data = {"schema": "roofline.suites/1", "date": DATE, "suites": shipped}
        json.dump(data, file, ensure_ascii=False, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])
