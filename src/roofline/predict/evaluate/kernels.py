"""Suites of single kernels: matrix products, attention, experts, messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from ...errors import RooflineError
from ...machine.load import load as load_machine
from ...model import formats
from ..collective import exchange
from ..device import Device, device
from ..fit import Prior
from ..kernel import Load, Loads
from ..stack import Piece, Stack
from .data import FORMATS, MACHINES, Row, Rule, read, sort_out
from .suite import Suite

FREE = {
    "layer.floor": 0.0,
    "step.floor": 0.0,
    "step.sequence": 0.0,
    "passes": 0.0,
    "experts.passes": 0.0,
    "quantise": 0.0,
    "ramp": 0.0,
    "linear.compute": 1.0,
    "linear.bandwidth": 0.87,
    "linear.floor": 3e-6,
    "collective.floor": 5e-6,
    "collective.bandwidth": 0.7,
}
"""A kernel by itself: none of a step's other costs."""


def apart(priors: dict[str, Prior], group: list[Row], spread: float = 0.15) -> dict[str, Prior]:
    """The priors, and for each generation in the rows a factor on each, near 1.

    A generation that a fit does not see keeps the factor 1: it gets what the others have in
    common.
    """
    found = dict(priors)
    for label in sorted({on(r["system"])[0].labels[0] for r in group}):
        for name, prior in priors.items():
            wide = spread if name.endswith(("compute", "bandwidth")) else 2 * spread
            reach = prior.high / prior.value
            found[f"{name}*{label}"] = Prior(1.0, min(wide, prior.spread), 1 / 30, max(1.0, reach))
    return found


@lru_cache(maxsize=64)
def on(name: str) -> tuple[Device, float]:
    """A machine of the files: its numbers, and its last-level cache in bytes."""
    machine = load_machine(MACHINES.get(name, name))
    return device(machine), machine.cache.value if machine.cache else 0.0


@lru_cache(maxsize=64)
def sheet(name: str) -> Any:
    """The datasheet's roof of a machine of the files."""
    return load_machine(MACHINES.get(name, name)).roof("datasheet")


def by(rows: Iterable[Row], *keys: str) -> dict[tuple[Any, ...], list[Row]]:
    """Rows in groups."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[k] for k in keys), []).append(row)
    return found


def roofs(rows: list[Row], compute: Callable[[Row], str], flops: Any, stored: Any) -> Any:
    """The plain roof of each row: max(FLOPs/peak, bytes/bandwidth), datasheet."""
    import numpy as np

    peak, stream = [], []
    for row in rows:
        roof = sheet(row["system"])
        peak.append(roof.arithmetic(compute(row))[1].value)
        stream.append(roof.bandwidth.value)
    return np.maximum(np.asarray(flops) / np.asarray(peak), np.asarray(stored) / np.asarray(stream))


def piece(
    at: Any, name: str, kind: str, compute: str, *, numbers: Any, queries: Any = 1.0
) -> Piece:
    """Rows of one machine as one kernel each; ``numbers`` are FLOPs, stored, moved, inputs."""
    flops, stored, moved, inputs = numbers
    load = Load(kind, 1, compute, flops, stored, moved, inputs, queries)
    found, _ = on(name)
    zero = 0.0 * numbers[0]
    return Piece(at, Loads((load,), (), zero, zero), found, found.labels)


def _always(precision: str) -> Callable[[Row], str]:
    return lambda row: precision


def column(rows: list[Row], name: str) -> Any:
    """A column as an array."""
    import numpy as np

    return np.array([row[name] for row in rows], float)


def known(rows: list[Row]) -> list[Row]:
    """Rows whose machine is in the catalogue."""
    good = {}
    for name in {r["system"] for r in rows}:
        try:
            on(name)
            good[name] = True
        except RooflineError:
            good[name] = False
    return [r for r in rows if good[r["system"]]]


def gemm(folder: str) -> list[Suite]:
    """Matrix products, one suite per engine and format."""
    import numpy as np

    rows = known(read(folder, "gemm"))
    suites = []
    for (engine, dtype), group in by(rows, "framework", "gemm_dtype").items():
        fmt = formats.parse(FORMATS[dtype])
        wide = fmt.compute in ("bf16", "fp16")
        a = 2.0 if wide else 1.0
        m, n, k = (column(group, x) for x in "mnk")
        stored, read_in, written = fmt.size * n * k, a * m * k, 2.0 * m * n
        flops = 2 * m * n * k
        bound = roofs(group, _always(fmt.compute), flops, stored + read_in + written)
        cached = np.array([on(r["system"])[1] for r in group])
        data = stored + read_in + written
        computes = flops / np.array(
            [sheet(r["system"]).arithmetic(fmt.compute)[1].value for r in group]
        )
        in_cache = (data < 3 * cached) & (bound > 1.01 * computes)
        pieces = []
        systems = np.array([r["system"] for r in group])
        for name in sorted(set(systems)):
            at = np.flatnonzero(systems == name)
            moved = (read_in + written)[at]
            numbers = (flops[at], stored[at], moved, (2 * m * k)[at])
            pieces.append(piece(at, name, "linear", fmt.compute, numbers=numbers))
        stack = Stack(pieces, len(group))
        priors = {
            "linear.compute": Prior(1.0, 0.2, 0.1, 1.3),
            "linear.bandwidth": Prior(0.87, 0.08, 0.3, 1.0),
            "linear.floor": Prior(3e-6, 1.0, 1e-7, 1e-3),
            "ramp": Prior(0.3, 1.0, 1e-3, 2.0),
        }
        if not wide:
            priors["quantise"] = Prior(3.0, 1.0, 1e-2, 30.0)
        for r, regime in zip(group, _regimes(m, flops, data, cached), strict=True):
            r.update(
                machine=MACHINES.get(r["system"], r["system"]),
                model=f"{int(r['n'])}×{int(r['k'])}",
                engine=engine,
                precision=dtype,
                batch=int(r["m"]),
                regime=regime,
            )
        suites.append(
            Suite(
                f"gemm {dtype} {engine}",
                group,
                column(group, "latency_ms") * 1e-3,
                stack,
                FREE,
                apart(priors, group),
                bound,
                scored=(bound > 20e-6) & ~in_cache,
                aside={
                    "in cache (under 3× last-level cache)": int((in_cache & (bound > 20e-6)).sum())
                },
            )
        )
    return suites


def _regimes(m: Any, flops: Any, data: Any, cached: Any) -> list[str]:
    return ["m ≤ 16" if x <= 16 else "m ≤ 256" if x <= 256 else "m > 256" for x in m]


def attention(folder: str) -> list[Suite]:
    """Attention in decode, one suite per engine and cache format."""
    import numpy as np

    rows = known(read(folder, "generation_attention"))
    rules = [
        Rule(
            "twice too fast (TensorRT-LLM on A100)",
            "marked suspect in the data: faster than the memory allows by two",
            lambda r: str(r.get("suspect")) == "True",
        )
    ]
    rows, aside = sort_out(rows, rules)
    suites = []
    for (engine, dtype), group in by(rows, "framework", "kv_cache_dtype").items():
        c = 1.0 if dtype == "fp8" else 2.0
        batch, length, heads, kv, width = (
            column(group, x)
            for x in ("batch_size", "kv_len", "num_heads", "num_key_value_heads", "head_dim")
        )
        flops = 4 * batch * length * heads * width
        stored = 2 * c * batch * (length + 1) * kv * width
        moved = 4 * batch * heads * width
        systems = np.array([r["system"] for r in group])
        pieces = []
        for name in sorted(set(systems)):
            at = np.flatnonzero(systems == name)
            numbers = (flops[at], stored[at], moved[at], 0 * batch[at])
            pieces.append(piece(at, name, "decode", "bf16", numbers=numbers))
        cached = np.array([on(r["system"])[1] for r in group])
        for r in group:
            g = int(r["num_heads"] / r["num_key_value_heads"])
            r.update(
                machine=MACHINES.get(r["system"], r["system"]),
                model=f"{int(r['num_heads'])}/{int(r['num_key_value_heads'])}×{int(r['head_dim'])}",
                engine=engine,
                precision=dtype,
                batch=int(r["batch_size"]),
                regime="group 1" if g == 1 else "group ≤ 8" if g <= 8 else "group > 8",
            )
        in_cache = stored < 3 * cached
        suites.append(
            Suite(
                f"decode attention {dtype} {engine}",
                group,
                column(group, "latency_ms") * 1e-3,
                Stack(pieces, len(group)),
                FREE,
                apart(
                    {
                        "decode.compute": Prior(0.3, 1.0, 1e-3, 2.0),
                        "decode.bandwidth": Prior(0.85, 0.15, 0.2, 1.05),
                        "decode.floor": Prior(1e-5, 0.7, 1e-6, 1e-3),
                        "ramp": Prior(0.3, 1.0, 1e-3, 2.0),
                    },
                    group,
                ),
                roofs(group, _always("bf16"), flops, stored),
                dict(aside) if engine == "TRTLLM" else {},
                scored=~in_cache,
            )
        )
    return suites


def context(folder: str) -> list[Suite]:
    """Attention of prompts, one suite per engine and arithmetic."""
    import numpy as np

    rows = known(read(folder, "context_attention"))
    suites = []
    for (engine, dtype), group in by(rows, "framework", "attn_dtype").items():
        precision = "fp8" if dtype == "fp8" else "bf16"
        batch, length, heads, kv, width = (
            column(group, x)
            for x in ("batch_size", "isl", "num_heads", "num_key_value_heads", "head_dim")
        )
        c = np.array([1.0 if r["kv_cache_dtype"] == "fp8" else 2.0 for r in group])
        flops = 2 * batch * length * (length + 1) * heads * width
        tokens = batch * length
        stored = tokens * 2 * kv * width * 2 * c
        moved = 4 * tokens * heads * width
        systems = np.array([r["system"] for r in group])
        pieces = []
        for name in sorted(set(systems)):
            at = np.flatnonzero(systems == name)
            numbers = (flops[at], stored[at], moved[at], 0 * tokens[at])
            pieces.append(
                piece(at, name, "prefill", precision, numbers=numbers, queries=length[at])
            )
        for r in group:
            r.update(
                machine=MACHINES.get(r["system"], r["system"]),
                model=f"{int(r['num_heads'])}/{int(r['num_key_value_heads'])}×{int(r['head_dim'])}",
                engine=engine,
                precision=dtype,
                batch=int(r["batch_size"]),
                regime="prompt ≤ 1024" if r["isl"] <= 1024 else "prompt > 1024",
            )
        bound = roofs(group, _always(precision), flops, stored)
        suites.append(
            Suite(
                f"context attention {dtype} {engine}",
                group,
                column(group, "latency_ms") * 1e-3,
                Stack(pieces, len(group)),
                FREE,
                apart(
                    {
                        "prefill.compute": Prior(0.65, 0.4, 0.05, 1.2),
                        "prefill.tile": Prior(200.0, 1.0, 1.0, 2000.0),
                        "prefill.floor": Prior(1e-5, 0.7, 1e-6, 1e-3),
                        "ramp": Prior(0.5, 1.0, 1e-3, 2.0),
                    },
                    group,
                ),
                bound,
                scored=bound > 20e-6,
            )
        )
    return suites


def experts(folder: str) -> list[Suite]:
    """Expert layers, one suite per engine and format.

    Tokens spread over experts by a power law hit fewer of them, and the busiest device waits
    for none: it carries ``1 + skew·α·log(groups)`` of the mean.
    """
    import numpy as np

    rows = known(read(folder, "moe"))
    suites = []
    for (engine, dtype), group in by(rows, "framework", "moe_dtype").items():
        fmt = formats.parse(FORMATS[dtype])
        n, k, e, h, i, tp, ep = (
            column(group, x)
            for x in (
                "num_tokens", "topk", "num_experts", "hidden_size", "inter_size",
                "moe_tp_size", "moe_ep_size",
            )
        )  # fmt: skip
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
        systems = np.array([r["system"] for r in group])
        pieces = []
        for name in sorted(set(systems)):
            at = np.flatnonzero(systems == name)
            numbers = (flops[at], stored[at], moved[at], 2 * (n * h)[at])
            pieces.append(piece(at, name, "experts", fmt.compute, numbers=numbers))
        for r in group:
            tokens = r["num_tokens"]
            r.update(
                machine=MACHINES.get(r["system"], r["system"]),
                model=f"{int(r['num_experts'])}×{int(r['topk'])} {int(r['hidden_size'])}",
                engine=engine,
                precision=dtype,
                batch=int(tokens),
                regime="tokens ≤ 32"
                if tokens <= 32
                else "tokens ≤ 512"
                if tokens <= 512
                else "tokens > 512",
            )
        suites.append(
            Suite(
                f"experts {dtype} {engine}",
                group,
                column(group, "latency") * 1e-3,
                Stack(pieces, len(group)),
                FREE,
                apart(
                    {
                        "experts.compute": Prior(0.8, 0.3, 0.1, 1.3),
                        "experts.bandwidth": Prior(0.9, 0.1, 0.3, 1.0),
                        "experts.floor": Prior(2.5e-5, 0.7, 1e-6, 1e-3),
                        "experts.passes": Prior(2.0, 0.7, 1e-2, 30.0),
                        "ramp": Prior(0.5, 1.0, 1e-3, 2.0),
                    },
                    group,
                ),
                roofs(group, _always(fmt.compute), flops, stored),
            )
        )
    return suites


def _power(distribution: str) -> float:
    return float(distribution.rsplit("_", 1)[-1]) if distribution.startswith("power_law") else 0.0


def _link(name: str) -> tuple[float, str]:
    """The first link of a machine of the files: bytes/s one way, and its name."""
    first = load_machine(MACHINES.get(name, name)).links[0]
    return first.bandwidth.value, first.name


def messages(folder: str) -> list[Suite]:
    """All-reduces over the links of one node."""
    import numpy as np

    rows = [
        r
        for r in known(read(folder, "collectives"))
        if r["op_name"] == "all_reduce" and r.get("nccl_dtype") != "int8"
    ]
    for r in rows:
        r["kind"] = r["kernel_source"] or "NCCL"
    suites = []
    for (kind,), group in by(rows, "kind").items():
        count = column(group, "num_gpus")
        sent = 2 * (count - 1) / count * 2.0 * column(group, "message_size")
        per_byte = np.array([1 / _link(r["system"])[0] for r in group])
        switched = np.array([_link(r["system"])[1].startswith("NVLink") for r in group])

        def predict(c: Any, sent: Any = sent, count: Any = count, per_byte: Any = per_byte) -> Any:
            return exchange(sent, count, per_byte, c)

        for r in group:
            small = r["message_size"] < 1 << 18
            r.update(
                machine=MACHINES.get(r["system"], r["system"]),
                model=f"{int(r['num_gpus'])} devices",
                engine=kind,
                precision="bf16",
                batch=int(r["message_size"]),
                regime="small" if small else "large",
            )
        suites.append(
            Suite(
                f"all-reduce {kind}",
                group,
                column(group, "latency") * 1e-3,
                predict,
                FREE,
                apart(
                    {
                        "collective.floor": Prior(5e-6, 1.0, 1e-7, 1e-3),
                        "collective.bandwidth": Prior(0.7, 0.5, 0.05, 1.0),
                        **(
                            {}
                            if kind == "NCCL"
                            else {"collective.once": Prior(4e-6, 1.0, 1e-7, 1e-3)}
                        ),
                    },
                    group,
                ),
                np.maximum(sent * per_byte, 1e-9),
                scored=switched,
                aside={"over PCIe, through the host": int((~switched).sum())},
            )
        )
    return suites
