"""What serving benchmarks have in common: from a client's averages to readings.

A client sees requests, not steps. Two of its averages can be held against a roof: the mean time
between tokens (a decode step, with other requests' prefill and the host's work in it), and, at one
request at a time, the time to the first token. The mean number of sequences that decode together
follows from Little's law: tokens per second times seconds per token. Where the time between
tokens is not there, the whole run is what is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...errors import InputError
from ...parallel.layout import Parallel
from . import fields
from .fields import Record
from .reading import Reading


@dataclass(frozen=True, slots=True)
class Served:
    """A client's summary. Seconds, tokens, tokens/s; `None` is not there."""

    format: str
    engine: str | None = None
    engine_version: str | None = None
    model: str | None = None
    duration: float | None = None
    requests: float | None = None
    input_tokens: float | None = None
    output_tokens: float | None = None
    output_rate: float | None = None
    between_tokens: float | None = None
    between_best: float | None = None
    between_spread: float | None = None
    first_token: float | None = None
    running: float | None = None
    concurrency: float | None = None
    accept: float | None = None
    weights: str | None = None
    kv: str | None = None
    compute: str | None = None
    machine: str | None = None
    devices: int | None = None
    layout: Parallel | None = None
    time: str | None = None
    notes: tuple[str, ...] = ()
    extra: Mapping[str, Any] | None = None

    def readings(self) -> Iterator[Reading]:
        """The readings this summary allows, best first.

        Raises:
            InputError: there is neither a time between tokens nor a duration.
        """
        spoke = False
        if self.between_tokens:
            yield self._reading(
                kind="token",
                seconds=self.between_tokens,
                best=self.between_best,
                spread=self.between_spread,
                batch=self._running(),
            )
            spoke = True
        elif self.duration and self.requests:
            yield self._reading(
                kind="run",
                seconds=self.duration,
                batch=self.running or self.concurrency,
                requests=self.requests,
            )
            spoke = True
        if self.first_token and (self._running() or 99) < 1.5:
            yield self._reading(kind="first", seconds=self.first_token, batch=1)
            spoke = True
        if not spoke:
            raise InputError("neither a time between tokens nor a duration with requests is in it")

    def _running(self) -> float | None:
        """Sequences decoding together, on average: tokens/s × seconds between tokens of one."""
        rate = self.output_rate
        if rate is None and self.output_tokens and self.requests and self.duration:
            rate = self.output_tokens * self.requests / self.duration
        if rate and self.between_tokens:
            return rate * self.between_tokens
        return self.running or self.concurrency

    def _reading(self, **more: Any) -> Reading:
        return Reading(
            format=self.format,
            prompt=self.input_tokens,
            output=self.output_tokens,
            accept=max(1.0, self.accept or 1.0),
            concurrency=self.concurrency,
            model=self.model,
            weights=self.weights,
            kv=self.kv,
            compute=self.compute,
            machine=self.machine,
            devices=self.devices,
            layout=self.layout,
            engine=self.engine,
            engine_version=self.engine_version,
            time=self.time,
            notes=self.notes,
            extra=self.extra or {},
            **more,
        )


def averages(record: Record, **more: Any) -> Served:
    """The client's averages as vLLM's serving benchmark names them, which SGLang's took over."""
    completed = fields.need(record, "completed")
    mean = fields.number(record, "mean_tpot_ms")
    return Served(
        duration=fields.need(record, "duration"),
        requests=completed,
        input_tokens=per_request(fields.number(record, "total_input_tokens"), completed),
        output_tokens=per_request(fields.number(record, "total_output_tokens"), completed),
        output_rate=fields.number(record, "output_throughput"),
        between_tokens=milliseconds(mean),
        between_spread=fields.relative(fields.number(record, "std_tpot_ms"), mean or 0),
        first_token=milliseconds(fields.number(record, "median_ttft_ms", "mean_ttft_ms")),
        concurrency=fields.number(record, "max_concurrency"),
        **more,
    )


def per_request(total: float | None, requests: float | None) -> float | None:
    """Mean tokens of a request from a sum over all of them."""
    if total is None or not requests:
        return None
    return total / requests


def milliseconds(value: float | None) -> float | None:
    """Seconds of a value in milliseconds."""
    return None if value is None else value / 1e3
