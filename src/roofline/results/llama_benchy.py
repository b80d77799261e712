"""llama-benchy: llama-bench's tests over any server, its table and its JSON.

`t/s` of `tg` is tokens after the first over the time from first to last, of all requests together
where several ran (`(c4)`, `t/s (total)`); that of `pp` is prompt tokens over the time to the first
answer less the network's. A client measured both. Without a prefix cache the tokens of a depth are
computed as well, which the product of `t/s` and `est_ppt` shows. Columns as in llama-benchy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..errors import InputError
from . import fields
from .fields import Record, inside
from .reading import Reading

NAME = "llama-benchy"

_TEST = re.compile(
    r"^(ctx_)?(pp|tg)\s*(\d{1,9})?(?:\s*@\s*d\s*(\d{1,9}))?(?:\s*\(c\s*(\d{1,6})\))?$"
)
_RATES = ("t/s (total)", "t/s")


def matches(record: Record) -> bool:
    """A row of the table, or the JSON report."""
    if "test" in record and any(name in record for name in _RATES):
        return any(str(name).startswith(("ttfr", "est_ppt", "e2e_ttft")) for name in record)
    runs = record.get("benchmarks")
    return (
        isinstance(runs, list)
        and bool(runs)
        and isinstance(runs[0], dict)
        and ("tg_throughput" in runs[0] or "pp_throughput" in runs[0])
    )


class Reader:
    """Rows of a table in order: a decode follows the prompt of the row above it."""

    def __init__(self) -> None:
        """Start before any row."""
        self._prompt = 0

    def feed(self, record: Record) -> Iterator[Reading]:
        """What a row, or each run of a report, says."""
        if "test" in record:
            yield from _row(record, self._prompt)
            result = _TEST.match((fields.text(record, "test") or "").strip("*` "))
            if result and result.group(2) == "pp":
                self._prompt = int(result.group(3) or 0)
            return
        for run in record["benchmarks"]:
            if not isinstance(run, dict):
                raise InputError("an entry of benchmarks is no object")
            yield from _run(run, fields.text(record, "model"))

    def end(self) -> Iterator[Reading]:
        """Nothing is held back."""
        yield from ()


def _row(record: Record, before: int) -> Iterator[Reading]:
    test = (fields.text(record, "test") or "").strip("*` ")
    result = _TEST.match(test)
    if not result:
        raise InputError(f"test is {test[:40]!r}, not pp or tg with a number")
    loads, kind, count, depth, together = result.groups()
    cell = next((str(record[name]) for name in _RATES if record.get(name)), "")
    rate, deviation = fields.plus_minus(cell)
    if rate <= 0:
        raise InputError(f"t/s is {rate:g}, it must be above 0")
    batch, deep = int(together or 1), int(depth or 0)
    common: dict[str, Any] = {
        "model": fields.text(record, "model"),
        "spread": fields.relative(deviation, rate),
        "extra": fields.rest(record, frozenset({"model", "test", *_RATES})),
    }
    ahead = record.get("est_ppt (ms)") or record.get("ttfr (ms)")
    milliseconds = fields.plus_minus(str(ahead))[0] if ahead else 0.0
    if loads and kind == "pp":
        yield _prefill(batch, deep, 0, batch * deep / rate, **common)
    elif kind == "pp":
        tokens = int(count or 0)
        computed = rate * milliseconds / 1e3 / batch  # what the rate was taken over
        cached = bool(deep) and (not ahead or computed < tokens + deep / 2)
        seconds = batch * (tokens if cached else tokens + deep) / rate
        yield _prefill(
            batch, tokens if cached else tokens + deep, deep if cached else 0, seconds, **common
        )
    else:
        prompt = deep if loads else deep + before
        yield _decode(batch, prompt, int(count or 0) or None, batch / rate, **common)


def _run(run: Record, model: str | None) -> Iterator[Reading]:
    batch = int(fields.number(run, "concurrency") or 1)
    depth = fields.count(run, "context_size") or 0
    prompt = fields.count(run, "prompt_size") or 0
    output = fields.count(run, "response_size")
    common: dict[str, Any] = {"model": model}
    ahead = fields.number(inside(run, "est_ppt"), "mean")
    rate = fields.number(inside(run, "pp_throughput"), "mean")
    if rate and rate > 0 and not run.get("is_context_prefill_phase"):
        computed = rate * (ahead or 0) / 1e3 / batch
        cached = bool(depth) and (not ahead or computed < prompt + depth / 2)
        tokens = prompt if cached else prompt + depth
        yield _prefill(batch, tokens, depth if cached else 0, batch * tokens / rate, **common)
    elif rate and rate > 0 and depth:
        yield _prefill(batch, depth, 0, batch * depth / rate, **common)
    rate = fields.number(inside(run, "tg_throughput"), "mean")
    if rate and rate > 0:
        yield _decode(batch, prompt + depth, output, batch / rate, **common)


def _prefill(batch: int, prompt: int, depth: int, seconds: float, **more: Any) -> Reading:
    return Reading(
        format=NAME, kind="first", seconds=seconds, batch=batch, prompt=prompt, depth=depth, **more
    )


def _decode(batch: int, prompt: int, output: int | None, seconds: float, **more: Any) -> Reading:
    return Reading(
        format=NAME,
        kind="token",
        seconds=seconds,
        batch=batch,
        prompt=prompt,
        output=output,
        **more,
    )
