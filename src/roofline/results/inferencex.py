"""InferenceMAX and InferenceX of SemiAnalysis: summaries of runs, flat or with `metrics` inside.

Times are seconds, rates are by GPU: times the GPUs that decode they are the run's. The names of
hardware and precision are short ones. Fields as in utils/process_result.py of InferenceX.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..errors import InputError
from ..parallel.layout import Parallel
from . import fields
from .fields import Record, inside
from .reading import Reading
from .serving import ServingSummary

NAME = "inferencex"

_HARDWARE = {"h100": "h100-sxm", "h200": "h200-sxm", "b200": "b200", "b300": "b300"}
_FORMATS = {"fp8": "fp8", "bf16": "bf16", "fp16": "fp16", "int4": "int4", "mxfp4": "mxfp4"}
_USED = frozenset("hw hardware model framework precision isl osl conc tp ep metrics".split())


def matches(record: Record) -> bool:
    """A summary: rates by GPU beside the hardware's name."""
    rates = inside(record, "metrics") or record
    return ("hw" in record or "hardware" in record) and "tput_per_gpu" in rates and "conc" in record


def readings(record: Record) -> Iterator[Reading]:
    """The reading of one summary."""
    flat = {**inside(record, "metrics"), **record}
    gpus = int(fields.number(flat, "num_decode_gpu", "decode_tp", "tp") or 1)
    each = fields.number(flat, "output_tput_per_gpu")
    output = fields.number(flat, "osl")
    prompt = fields.number(flat, "isl")
    both = fields.number(flat, "tput_per_gpu")
    if each is None and both and prompt is not None and output:
        each = both * output / (prompt + output)
    rate = each * gpus if each else None
    between = fields.number(flat, "mean_tpot", "median_tpot")
    if not between and (speed := fields.number(flat, "mean_intvty", "median_intvty")):
        between = 1 / speed
    # times of the run that makes the chart are in seconds, below any that milliseconds would give
    unit = 1.0 if not between or between < 1 else 1e-3
    if rate is None and between is None:
        raise InputError("neither output_tput_per_gpu nor mean_tpot is in it")
    yield from ServingSummary(
        format=NAME,
        engine=fields.text(flat, "framework"),
        model=fields.text(flat, "model"),
        machine=_machine(fields.text(flat, "hw", "hardware")),
        weights=_weights(flat),
        devices=gpus,
        layout=_layout(flat, gpus),
        duration=1.0 if rate and output else None,
        requests=rate / output if rate and output else None,
        rate_only=True,
        input_tokens=prompt,
        output_tokens=output,
        output_rate=rate,
        between_tokens=between * unit if between else None,
        token_gap=_scaled(flat, unit, "mean_itl"),
        latency=_scaled(flat, unit, "mean_e2el"),
        mean_first=_scaled(flat, unit, "mean_ttft"),
        concurrency=fields.number(flat, "conc"),
        time=fields.text(flat, "date"),
        extra=fields.rest(record, _USED),
    ).readings()


def _scaled(flat: Record, unit: float, name: str) -> float | None:
    value = fields.number(flat, name)
    return value * unit if value and value > 0 else None


def _machine(name: str | None) -> str | None:
    result = re.match(r"[a-z]{1,3}\d{2,3}[a-z]?", (name or "").lower())
    if not result:
        return name
    return _HARDWARE.get(result.group(0), result.group(0))


def _weights(flat: Record) -> str | None:
    """The format that a short name means: four bits are MXFP4 on AMD and of gpt-oss, else NVFP4."""
    precision = (fields.text(flat, "precision") or "").lower()
    if precision == "fp4":
        mx = (fields.text(flat, "hw", "hardware") or "").lower().startswith("mi")
        mx = mx or "gpt" in (fields.text(flat, "model") or "").lower()
        return "mxfp4" if mx else "nvfp4"
    return _FORMATS.get(precision)


def _layout(flat: Record, gpus: int) -> Parallel | None:
    sizes: dict[str, Any] = {"tp": gpus}
    ep = int(fields.number(flat, "decode_ep", "ep") or 1)
    if str(flat.get("dp_attention", flat.get("decode_dp_attention"))).lower() == "true":
        sizes = {"dp": gpus}
    try:
        return Parallel(**sizes, ep=ep)
    except InputError:
        return None
