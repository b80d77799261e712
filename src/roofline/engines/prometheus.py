"""A server's `/metrics`: the running batch and the use of its cache, by whatever name it has."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

MOST_BYTES = 4 << 20

_LINE = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{[^}]*\})?\s+(\S+)")

NAMES: Mapping[str, tuple[str, ...]] = {
    "running": (
        "vllm:num_requests_running",
        "sglang:num_running_reqs",
        "llamacpp:requests_processing",
        "tgi_batch_current_size",
        "trtllm_num_requests_running",
    ),
    "waiting": (
        "vllm:num_requests_waiting",
        "sglang:num_queue_reqs",
        "llamacpp:requests_deferred",
        "tgi_queue_size",
    ),
    "cache_use": (
        "vllm:kv_cache_usage_perc",
        "vllm:gpu_cache_usage_perc",
        "sglang:token_usage",
        "llamacpp:kv_cache_usage_ratio",
    ),
    "prefix_hits": ("vllm:prefix_cache_hits_total", "vllm:prefix_cache_hits"),
}
"""What is looked for, and the names that servers give it."""


def read(text: str) -> dict[str, float]:
    """Figures of `NAMES` in an exposition, summed over labels; those not there are left out."""
    sums: dict[str, float] = {}
    for line in text[:MOST_BYTES].splitlines():
        result = _LINE.match(line)
        if not result:
            continue
        try:
            value = float(result.group(2))
        except ValueError:
            continue
        if math.isfinite(value):
            sums[result.group(1)] = sums.get(result.group(1), 0.0) + value
    out = {}
    for what, names in NAMES.items():
        for name in names:
            if name in sums:
                out[what] = sums[name]
                break
    return out
