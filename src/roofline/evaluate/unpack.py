"""The tables of aiconfigurator-core as CSV files that the suites read.

The package has millions of rows. Of each kernel table a fixed share is kept, chosen by a hash of
the row's shape (the same on every machine, whatever the times are), of the shapes that models
have; messages and served models are kept whole. Only machines whose rows the package's own fits
used are taken; the others stay unseen, for whoever wants to score what nobody fitted.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import os
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ..errors import InputError
from .data import Row

ROOT = "aiconfigurator_core/systems"
NEW = ("sglang/0.5.14", "trtllm/1.3.0rc20", "vllm/0.24.0")
SYSTEMS = {
    "a100_sxm": ("sglang/0.5.10", "trtllm/1.0.0", "vllm/0.14.0"),
    "h100_sxm": NEW,
    "l40s": NEW,
}
"""Machines, and the newest measured version of each engine on them."""
HEADS = (8, 16, 32, 64)
WIDTHS = (64, 128)


@dataclass(frozen=True, slots=True)
class KernelTable:
    """One kind of kernel in the package.

    Attributes:
        file: the CSV to write.
        folder, name: where the package has it: ``SYSTEM/FOLDER/ENGINE/VERSION/NAME``.
        columns: of the CSV; ``system`` and ``source`` come from the path.
        good: which rows have a model's shape.
        most: rows to keep of each file and each value of ``split``; ``None`` for all.
        split: a column.
        named: columns that have another name in the package.
        engines: those taken, of any version, or of one where it is named; by default the newest
            of each.
    """

    file: str
    folder: str
    name: str
    columns: tuple[str, ...]
    good: Callable[[Row], bool]
    most: int | None = None
    split: str = ""
    named: tuple[tuple[str, str], ...] = ()
    engines: tuple[str, ...] = ()


def _whole(row: Row) -> bool:
    return (
        row["head_dim"] in WIDTHS
        and row["num_heads"] in HEADS
        and row["num_key_value_heads"] > 0
        and not row.get("window_size")
    )


TABLES = (
    KernelTable(
        "gemm",
        "gemm",
        "gemm_perf.parquet",
        ("system", "framework", "version", "device", "gemm_dtype", "m", "n", "k", "latency_ms"),
        lambda r: r["m"] & (r["m"] - 1) == 0 and min(r["n"], r["k"]) >= 128,
        1500,
        "gemm_dtype",
        (("latency_ms", "latency"),),
    ),
    KernelTable(
        "generation_attention",
        "attention",
        "generation_attention_perf.parquet",
        (
            "system", "framework", "version", "device", "kernel_source", "batch_size", "kv_len",
            "num_heads", "num_key_value_heads", "head_dim", "kv_cache_dtype", "latency_ms",
            "suspect",
        ),
        lambda r: _whole(r) and r["step"] >= 127,
        1500,
        "kv_cache_dtype",
        (("latency_ms", "latency"),),
    ),
    KernelTable(
        "context_attention",
        "attention",
        "context_attention_perf.parquet",
        (
            "system", "framework", "version", "device", "kernel_source", "batch_size", "isl",
            "num_heads", "num_key_value_heads", "head_dim", "attn_dtype", "kv_cache_dtype",
            "latency_ms",
        ),
        lambda r: _whole(r) and r["isl"] >= 128 and not r.get("step"),
        800,
        "attn_dtype",
        (("latency_ms", "latency"),),
    ),
    KernelTable(
        "moe",
        "moe",
        "moe_perf.parquet",
        (
            "system", "framework", "version", "device", "op_name", "kernel_source", "moe_dtype",
            "num_tokens", "hidden_size", "inter_size", "topk", "num_experts", "moe_tp_size",
            "moe_ep_size", "distribution", "latency",
        ),
        lambda r: True,
        2500,
        "moe_dtype",
        engines=("trtllm/1.3.0rc20",),
    ),
    KernelTable(
        "collectives",
        "comm",
        "nccl_perf.parquet",
        (
            "system", "framework", "version", "device", "op_name", "kernel_source", "nccl_dtype",
            "num_gpus", "message_size", "latency",
        ),
        lambda r: True,
        engines=("nccl",),
    ),
    KernelTable(
        "collectives",
        "comm",
        "custom_allreduce_perf.parquet",
        (),
        lambda r: True,
        engines=("trtllm",),
    ),
)  # fmt: skip

FILES = frozenset((*(t.file for t in TABLES), "served"))
"""What :func:`unpack` writes."""

SERVED = (
    "backend", "backend_version", "model_path", "system", "precision", "gemm_quant_mode",
    "moe_quant_mode", "isl", "osl", "concurrency", "batch_size", "tp_size", "pp_size",
    "attention_dp_size", "moe_tp_size", "moe_ep_size", "silicon_ttft_ms", "silicon_tpot_ms",
)  # fmt: skip
SAME = (
    "backend", "model_path", "system", "precision", "isl", "osl", "batch_size", "tp_size",
    "pp_size", "attention_dp_size", "moe_tp_size", "moe_ep_size", "concurrency",
)  # fmt: skip
"""What makes two served rows runs of one configuration."""
SERVED_SYSTEMS = ("b200_sxm", "b300_sxm", "gb200", "h100_sxm")
SERVED_MODELS = (
    "MiniMaxAI/MiniMax-M2.5",
    "Qwen/Qwen3-235B-A22B-FP8",
    "deepseek-ai/DeepSeek-R1",
    "deepseek-ai/DeepSeek-V3",
    "meta-llama/Llama-3.1-70B",
    "meta-llama/Llama-3.1-8B-Instruct",
    "moonshotai/Kimi-K2.5",
    "nvidia/DeepSeek-R1-NVFP4",
    "nvidia/DeepSeek-V3.1-NVFP4",
    "nvidia/Qwen3-32B-NVFP4",
    "openai/gpt-oss-120b",
)


def unpack(wheel: str, into: str) -> None:
    """Write the tables of a package's file into a folder.

    Raises:
        InputError: the file is not that package.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            for file in dict.fromkeys(t.file for t in TABLES):
                parts = [t for t in TABLES if t.file == file]
                columns = (*parts[0].columns, "source")
                _write(into, file, columns, (r for t in parts for r in _rows(archive, t)))
            with archive.open(f"{ROOT}/silicon_sample.csv") as raw:
                rows = csv.DictReader(io.TextIOWrapper(raw, "utf-8", newline=""))
                _write(into, "served", (*SERVED, "source"), served(rows))
    except (zipfile.BadZipFile, KeyError, UnicodeDecodeError) as error:
        raise InputError(f"{os.path.basename(wheel)}: not as expected: {error}") from None


def _write(into: str, name: str, columns: tuple[str, ...], rows: Iterable[Row]) -> None:
    path = os.path.join(into, f"{name}.csv.gz")
    with gzip.open(path, "wt", encoding="utf-8", newline="", compresslevel=6) as file:
        out = csv.DictWriter(file, columns, restval="", extrasaction="ignore")
        out.writeheader()
        out.writerows(rows)


def _rows(archive: zipfile.ZipFile, table: KernelTable) -> Iterator[Row]:
    from pyarrow import parquet

    for path in archive.namelist():
        place = path.removeprefix(f"{ROOT}/data/").split("/")
        if len(place) != 5 or not _of(table, place):
            continue
        system = place[0]
        source = f"pypi:aiconfigurator-core:{'/'.join(place)}"
        for row in kept(parquet.read_table(io.BytesIO(archive.read(path))).to_pylist(), table):
            row |= {own: row[theirs] for own, theirs in table.named}
            row |= {"system": system, "source": source}
            if table.file == "generation_attention":
                row["kv_len"] = row["isl"] + row["step"]
                row["suspect"] = system == "a100_sxm" and row["framework"] == "TRTLLM"
            yield row


def _of(table: KernelTable, place: list[str]) -> bool:
    system, folder, engine, version, name = place
    if system not in SYSTEMS or (folder, name) != (table.folder, table.name):
        return False
    taken = table.engines or SYSTEMS[system]
    return engine in taken or f"{engine}/{version}" in taken


def kept(rows: Iterable[Row], table: KernelTable) -> list[Row]:
    """The rows of one of the package's files that are evaluated, in the file's order."""
    good = [r for r in rows if table.good(r)]
    if table.most is None:
        return good
    groups: dict[Any, list[int]] = {}
    for i, row in enumerate(good):
        groups.setdefault(row[table.split], []).append(i)
    chosen: list[int] = []
    for group in groups.values():
        chosen += sorted(group, key=lambda i: _draw(good[i]))[: table.most]
    return [good[i] for i in sorted(chosen)]


def _draw(row: Row) -> bytes:
    """A lot that depends on what was measured, not on how long it took."""
    said = repr(sorted((k, v) for k, v in row.items() if k not in ("latency", "power")))
    return hashlib.blake2b(said.encode(), digest_size=8).digest()


_AT = re.compile(r"silicon_concurrency=(\d+)")


def served(rows: Iterable[Row]) -> Iterator[Row]:
    """Served models: the newest run of each configuration, which the package lists first."""
    seen = set()
    for row in rows:
        result = _AT.search(row["silicon_data_source"]) or re.search(r"_c(\d+)(?:_|$)", row["id"])
        row["concurrency"] = result[1] if result else ""
        key = tuple(row[k] for k in SAME)
        if (
            row["mode"] != "agg"
            or row["system"] not in SERVED_SYSTEMS
            or row["model_path"] not in SERVED_MODELS
            or key in seen
        ):
            continue
        seen.add(key)
        yield row | {"source": f"pypi:aiconfigurator-core:silicon_sample.csv, row {row['id']}"}
