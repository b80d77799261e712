"""Attention: over the cache in decode, and of prompts; one suite per engine and format."""

from __future__ import annotations

from ..predicting.fit import Prior
from .data import Row, Rule, by, column, in_known_formats, read, sort_out
from .kernels import OVER, Kernels, known
from .suite import Suite, first_with

SUSPECT = Rule(
    "twice too fast (TensorRT-LLM on A100)",
    "marked suspect in the data: faster than the memory allows by two",
    lambda r: str(r.get("suspect")) == "True",
)

DECODE = {
    "decode.compute": Prior(0.3, 1.0, 1e-3, 2.0),
    "decode.bandwidth": Prior(0.85, 0.15, 0.2, 1.05),
    "decode.floor": Prior(1e-5, 0.7, 1e-6, 1e-3),
    "ramp": Prior(0.3, 1.0, 1e-3, 2.0),
}

PREFILL = {
    "prefill.compute": Prior(0.65, 0.4, 0.05, 1.2),
    "prefill.tile": Prior(200.0, 1.0, 1.0, 2000.0),
    "prefill.floor": Prior(1e-5, 0.7, 1e-6, 1e-3),
    "ramp": Prior(0.5, 1.0, 1e-3, 2.0),
}


def attention(folder: str) -> list[Suite]:
    """Attention in decode."""
    stated, unread = in_known_formats(known(read(folder, "generation_attention")), "kv_cache_dtype")
    rows, aside = sort_out(stated, [SUSPECT])
    suites = []
    for (engine, dtype), group in by(rows, "framework", "kv_cache_dtype"):
        c = 1.0 if dtype == "fp8" else 2.0
        batch, length, heads, kv, width = (
            column(group, x)
            for x in ("batch_size", "kv_len", "num_heads", "num_key_value_heads", "head_dim")
        )
        flops = 4 * batch * length * heads * width
        stored = 2 * c * batch * (length + 1) * kv * width
        moved = 4 * batch * heads * width
        result = Kernels(group, "decode", "bf16", flops, stored, moved, 0 * batch)
        suites.append(
            result.suite(
                "decode attention",
                DECODE,
                bound=result.roof(stored),
                precision=dtype,
                told=_told_decode,
                scored=stored >= 3 * result.cache(),
                aside=aside if engine == "TRTLLM" else None,
            )
        )
    return first_with(suites, unread)


def context(folder: str) -> list[Suite]:
    """Attention of prompts."""
    import numpy as np

    rows, unread = in_known_formats(known(read(folder, "context_attention")), "attn_dtype")
    suites = []
    for (_, dtype), group in by(rows, "framework", "attn_dtype"):
        batch, length, heads, kv, width = (
            column(group, x)
            for x in ("batch_size", "isl", "num_heads", "num_key_value_heads", "head_dim")
        )
        c = np.array([1.0 if r["kv_cache_dtype"] == "fp8" else 2.0 for r in group])
        flops = 2 * batch * length * (length + 1) * heads * width
        tokens = batch * length
        stored = tokens * 2 * kv * width * 2 * c
        moved = 4 * tokens * heads * width
        precision = "fp8" if dtype == "fp8" else "bf16"
        result = Kernels(group, "prefill", precision, flops, stored, moved, 0 * tokens, length)
        bound = result.roof(stored)
        suites.append(
            result.suite(
                "context attention",
                PREFILL,
                bound=bound,
                precision=dtype,
                told=_told_context,
                scored=bound > OVER,
            )
        )
    return first_with(suites, unread)


def _heads(row: Row) -> str:
    heads, kv, width = (int(row[x]) for x in ("num_heads", "num_key_value_heads", "head_dim"))
    return f"{heads}/{kv}×{width}"


def _told_decode(row: Row) -> tuple[str, int, str]:
    g = int(row["num_heads"] / row["num_key_value_heads"])
    regime = "group 1" if g == 1 else "group ≤ 8" if g <= 8 else "group > 8"
    return _heads(row), int(row["batch_size"]), regime


def _told_context(row: Row) -> tuple[str, int, str]:
    regime = "prompt ≤ 1024" if row["isl"] <= 1024 else "prompt > 1024"
    return _heads(row), int(row["batch_size"]), regime
