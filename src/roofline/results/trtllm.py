"""`trtllm-bench` of TensorRT-LLM: its JSON report, and the overview it prints.

TPOT is of the generation phase, without the first token; it is there only for streaming runs.
Fields as in tensorrt_llm/bench of TensorRT-LLM.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from ..errors import InputError
from ..parallel.layout import Parallel
from . import fields
from .fields import Record, inside
from .reading import Reading
from .serving import ServingSummary, milliseconds

NAME = "trtllm-bench"

_FORMATS = {
    **{"FP8": "fp8", "NVFP4": "nvfp4", "W4A16": "int4", "W4A16_AWQ": "int4", "W8A16": "int8"},
    **{"INT8": "int8", "bfloat16": "bf16", "float16": "fp16", "float32": "fp32"},
    **{"W8A8_SQ_PER_CHANNEL": "int8", "FP8_BLOCK_SCALES": "fp8", "W4A8_AWQ": "int4"},
}


def matches(record: Record) -> bool:
    """A report of the throughput or latency command."""
    return isinstance(record.get("performance"), dict) and isinstance(
        record.get("request_info"), dict
    )


def readings(record: Record) -> Iterator[Reading]:
    """What the report allows."""
    engine, world = inside(record, "engine"), inside(record, "world_info")
    requests, performance = inside(record, "request_info"), inside(record, "performance")
    streaming = inside(record, "streaming_metrics")
    accepted = inside(record, "decoding_stats", "acceptance_length_percentiles")
    weights = fields.text(engine, "quantization") or fields.text(engine, "dtype")
    cache = fields.text(engine, "kv_cache_dtype") or fields.text(engine, "dtype")
    return ServingSummary(
        format=NAME,
        engine="tensorrt-llm",
        engine_version=fields.text(engine, "version"),
        model=fields.text(engine, "model"),
        weights=_FORMATS.get(weights or ""),
        kv=_FORMATS.get(cache or ""),
        devices=fields.count(world, "world_size"),
        layout=_layout(world),
        duration=milliseconds(fields.need(performance, "total_latency_ms")),
        requests=fields.need(requests, "num_requests"),
        input_tokens=fields.number(requests, "avg_input_length"),
        output_tokens=fields.number(requests, "avg_output_length"),
        output_rate=fields.number(performance, "system_output_throughput_tok_s"),
        between_tokens=milliseconds(fields.number(streaming, "avg_tpot_ms")),
        latency=milliseconds(fields.number(performance, "avg_request_latency_ms")),
        mean_first=milliseconds(fields.number(streaming, "avg_ttft_ms")),
        first_token=milliseconds(fields.number(streaming, "avg_ttft_ms")),
        running=fields.number(requests, "avg_num_concurrent_requests"),
        concurrency=fields.number(world, "max_batch_size"),
        accept=fields.number(accepted, "average"),
        extra=fields.rest(record, frozenset({"request_info", "performance", "streaming_metrics"})),
    ).readings()


def _layout(world: Record) -> Parallel | None:
    """How the model lay over the devices, where the report says all of it."""
    sizes: dict[str, Any] = {
        name: fields.count(world, f"{name}_size") or 1 for name in ("tp", "pp", "ep")
    }
    try:
        result = Parallel(**sizes)
    except InputError:  # an ep of its own kind (of tp and more): only their number is known
        return None
    return result if result.devices == fields.count(world, "world_size") else None


def _size(text: str) -> float | None:
    return None if text == "None" else float(text)


_LINES: dict[str, tuple[tuple[str, str], Callable[[str], Any]]] = {
    "Model": (("engine", "model"), str),
    "TensorRT LLM Version": (("engine", "version"), str),
    "TensorRT-LLM Version": (("engine", "version"), str),
    "Dtype": (("engine", "dtype"), str),
    "KV Cache Dtype": (("engine", "kv_cache_dtype"), str),
    "Quantization": (("engine", "quantization"), str),
    "TP Size": (("world_info", "tp_size"), float),
    "PP Size": (("world_info", "pp_size"), float),
    "EP Size": (("world_info", "ep_size"), _size),
    "Max Runtime Batch Size": (("world_info", "max_batch_size"), float),
    "Number of requests": (("request_info", "num_requests"), float),
    "Number of concurrent requests": (("request_info", "avg_num_concurrent_requests"), float),
    "Average Input Length (tokens)": (("request_info", "avg_input_length"), float),
    "Average Output Length (tokens)": (("request_info", "avg_output_length"), float),
    "Total Output Throughput (tokens/sec)": (
        ("performance", "system_output_throughput_tok_s"),
        float,
    ),
    "Total Latency (ms)": (("performance", "total_latency_ms"), float),
    "Average request latency (ms)": (("performance", "avg_request_latency_ms"), float),
    "Average Request Latency (ms)": (("performance", "avg_request_latency_ms"), float),
    "Average time-to-first-token [TTFT] (ms)": (("streaming_metrics", "avg_ttft_ms"), float),
    "Average time-per-output-token [TPOT] (ms)": (("streaming_metrics", "avg_tpot_ms"), float),
}
_LINE = re.compile(r"^\s*([A-Z][\w \-/\[\]().]*?):\s+(\S+)\s*$")


class Log:
    """The printed report, line by line."""

    def __init__(self) -> None:
        """Start before any report."""
        self._record: dict[str, dict[str, object]] = {}

    def feed(self, line: str) -> Iterator[Reading]:
        """A reading where a new report begins, of the one before."""
        if "PYTORCH BACKEND" in line or "ENGINE DETAILS" in line:
            yield from self.end()
        result = _LINE.match(line)
        if result and result.group(1) in _LINES:
            (group, name), kind = _LINES[result.group(1)]
            try:
                value = kind(result.group(2))
            except ValueError:
                return
            if value != "None":
                self._record.setdefault(group, {})[name] = value

    def end(self) -> Iterator[Reading]:
        """The reading of what was collected."""
        record, self._record = self._record, {}
        if matches(record):
            world = record.get("world_info", {})
            sizes = [world.get("tp_size"), world.get("pp_size")]
            if all(isinstance(size, float) for size in sizes):
                world["world_size"] = sizes[0] * sizes[1]  # type: ignore[operator]
            yield from readings(record)
