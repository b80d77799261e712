"""`llama-bench` of llama.cpp: JSON, JSON Lines, CSV, SQL and the Markdown table people paste.

Three tests: `pp` (a prompt, in steps of at most `n_ubatch` tokens), `tg` (tokens one by one at
batch 1), `pg` (both). `n_depth` tokens are in the cache before. Time is without tokenising and
sampling. Fields as in tools/llama-bench of llama.cpp.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..errors import InputError
from ..record import replace
from . import fields
from .fields import Record
from .llama_cpp import cache, laid, quantisation, settings
from .reading import Reading

NAME = "llama-bench"

_USED = frozenset(
    "model_filename model_type model_size model_n_params n_prompt n_gen n_depth n_ubatch n_batch "
    "type_k type_v avg_ns stddev_ns avg_ts stddev_ts samples_ns samples_ts test_time "
    "build_commit build_number gpu_info cpu_info split_mode".split()
)
_MARKDOWN = frozenset(["model", "size", "params", "backend", "test", "t/s"])
_TEST = re.compile(r"^(pp|tg)\s*(\d+)(?:\s*\+\s*tg\s*(\d+))?(?:\s*@\s*d\s*(\d+))?$")


def matches(record: Record) -> bool:
    """A row of any of the four forms."""
    if "t/s" in record and "test" in record:
        return True
    return "n_prompt" in record and "n_gen" in record and ("avg_ns" in record or "avg_ts" in record)


def readings(record: Record) -> Iterator[Reading]:
    """One reading: `pp`, `tg`, or `pg`."""
    yield _markdown(record) if "t/s" in record else _fields(record)


def _fields(record: Record) -> Reading:
    prompt = fields.count(record, "n_prompt") or 0
    output = fields.count(record, "n_gen") or 0
    depth = fields.count(record, "n_depth") or 0
    tokens = prompt + output
    if tokens == 0:
        raise InputError("n_prompt and n_gen are both 0: nothing was measured")
    nanoseconds = fields.number(record, "avg_ns")
    seconds = nanoseconds / 1e9 if nanoseconds else tokens / fields.need(record, "avg_ts")
    deviation = fields.number(record, "stddev_ns")
    samples = fields.samples(record, "samples_ns")
    reading = _shape(prompt, output, depth, seconds, fields.count(record, "n_ubatch"))
    model_type = fields.text(record, "model_type")
    return replace(
        reading,
        best=min(samples) / 1e9 if samples else None,
        spread=fields.relative(deviation / 1e9 if deviation is not None else None, seconds),
        samples=len(samples) or None,
        model=fields.text(record, "model_filename") or model_type,
        weights=quantisation(model_type or ""),
        kv=cache(fields.text(record, "type_k"), fields.text(record, "type_v")),
        weight_bytes=fields.number(record, "model_size"),
        parameters=fields.number(record, "model_n_params"),
        **_machine(record, reading.kind),
        settings=settings(record),
        engine_version=fields.text(record, "build_commit"),
        time=fields.text(record, "test_time"),
        extra=fields.rest(record, _USED),
    )


def _markdown(record: Record) -> Reading:
    test = (fields.text(record, "test") or "").strip("*` ")
    result = _TEST.match(test)
    if not result:
        raise InputError(f"test is {test[:40]!r}, not pp, tg or pp+tg with a number")
    kind, first, second, depth = result.groups()
    prompt, output = (int(first), int(second or 0)) if kind == "pp" else (0, int(first))
    if prompt + output == 0:
        raise InputError(f"test {test!r} has no tokens")
    rate, deviation = fields.plus_minus(str(record["t/s"]))
    if rate <= 0:
        raise InputError(f"t/s is {rate:g}, it must be above 0")
    ubatch = fields.count(record, "n_ubatch")
    reading = _shape(prompt, output, int(depth or 0), (prompt + output) / rate, ubatch)
    model = fields.text(record, "model")
    return replace(
        reading,
        spread=fields.relative(deviation, rate),
        model=model,
        weights=quantisation(model or ""),
        kv=cache(fields.text(record, "type_k"), fields.text(record, "type_v")),
        weight_bytes=fields.amount(fields.text(record, "size")),
        parameters=fields.amount(fields.text(record, "params")),
        settings=settings(record),
        extra=fields.rest(record, _MARKDOWN),
    )


def _shape(prompt: int, output: int, depth: int, seconds: float, ubatch: int | None) -> Reading:
    common = Reading(format=NAME, kind="run", seconds=seconds, batch=1, engine="llama.cpp")
    if not output:  # llama-bench takes 512 tokens a step unless -ub says otherwise
        return replace(common, kind="prefill", prompt=prompt, depth=depth, chunk=ubatch or 512)
    if not prompt:
        return replace(common, kind="decode", prompt=depth, output=output)
    return replace(common, prompt=prompt, output=output, requests=1)


def _machine(record: Record, kind: str) -> dict[str, Any]:
    """Device and how many; the host where no layer of a decode is on the device."""
    cpu, gpus = fields.text(record, "cpu_info"), fields.text(record, "gpu_info")
    if gpus is None or (fields.number(record, "n_gpu_layers") == 0 and kind != "prefill"):
        return {"machine": cpu}
    names = [name.strip() for name in gpus.split(",")]
    if len(set(names)) > 1:
        return {"machine": gpus}
    return {"machine": names[0]} | laid(len(names), fields.text(record, "split_mode"))
