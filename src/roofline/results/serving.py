"""What serving benchmarks have in common: from a client's averages to readings.

A client sees requests, not steps. Two of its averages can be held against a roof: the mean time
between tokens (a decode step, with other requests' prefill and the host's work in it), and, at one
request at a time, the time to the first token. Where the time between tokens is not there, the
whole run is what is left.

The mean number of sequences that decode together follows from Little's law: the seconds that
all requests spent decoding, over the seconds of the run. A mean over tokens (ITL) gives the former
exactly, times the tokens after each first; so does the mean latency after the first token, times
the requests. A mean over requests (TPOT) gives it only where all are of one length: a few short
answers with long pauses count in it as much as long ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import InputError
from ..parallel.layout import Parallel
from . import fields
from .fields import Record
from .reading import Reading


@dataclass(frozen=True, slots=True)
class ServingSummary:
    """A client's summary. Seconds, tokens, tokens/s; `None` is not there.

    `token_gap` is the mean time between tokens over all tokens (ITL), `between_tokens` the mean
    over requests of each one's own mean (TPOT). `latency` and `mean_first` are means over requests,
    of the whole and of the first token. `running` is the mean number of requests in the server,
    `decoding` of those that decode, where it is known. `rate_only` says that duration and requests
    are of a rate, not of a run.
    """

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
    token_gap: float | None = None
    latency: float | None = None
    mean_first: float | None = None
    running: float | None = None
    decoding: float | None = None
    concurrency: float | None = None
    accept: float | None = None
    drafted: float | None = None
    cached: float | None = None
    rate_only: bool = False
    weights: str | None = None
    kv: str | None = None
    compute: str | None = None
    machine: str | None = None
    devices: int | None = None
    layout: Parallel | None = None
    settings: Mapping[str, Any] | None = None
    time: str | None = None
    notes: tuple[str, ...] = ()
    extra: Mapping[str, Any] | None = None

    def readings(self) -> Iterator[Reading]:
        """The readings this summary allows, best first.

        Raises:
            InputError: there is neither a time between tokens nor a duration.
        """
        spoke = False
        batch, law = self._running()
        between = self._between()
        if between:
            own = between == self.between_tokens
            yield self._reading(
                kind="token",
                seconds=between,
                best=self.between_best if own else None,
                spread=self.between_spread if own else None,
                batch=batch,
                notes=(*self.notes, *([law] if law else [])),
            )
            spoke = True
        elif self.duration and self.requests:
            yield self._reading(
                kind="rate" if self.rate_only else "run",
                seconds=self.duration,
                batch=self.running or self.concurrency,
                requests=self.requests,
                notes=self.notes,
            )
            spoke = True
        if self.first_token and (batch or 99) < 1.5:
            yield self._reading(kind="first", seconds=self.first_token, batch=1, notes=self.notes)
            spoke = True
        if not spoke:
            raise InputError("neither a time between tokens nor a duration with requests is in it")

    def _between(self) -> float | None:
        """Seconds of a decode step as tokens saw it. Under speculation tokens come in bunches, and
        tools differ in what they then call the time between two; so there it is the request's."""
        if (self.accept or 1) > 1:
            between = self.between_tokens or self.token_gap
        else:
            between = self._gap() or self.between_tokens
        if between:
            return between
        finished, later = self._rates()
        if later and self.decoding:
            return self.decoding / later
        stays = self._stays()
        return stays * finished / later if stays and finished and later else None

    def _gap(self) -> float | None:
        """The mean gap between chunks, where a chunk is a token: longer than requests' own means
        allow, it is of several."""
        if self.token_gap and self.between_tokens and self.token_gap > 1.5 * self.between_tokens:
            return None
        return self.token_gap

    def _stays(self) -> float | None:
        """Seconds that a request decodes, on average."""
        if self.latency and self.mean_first and self.latency > self.mean_first:
            return self.latency - self.mean_first
        return None

    def _rates(self) -> tuple[float | None, float | None]:
        """Requests finished and, after the first of each, tokens given out, a second."""
        rate, finished = self.output_rate, None
        if self.requests and self.duration:
            finished = self.requests / self.duration
        if rate is None and self.output_tokens and finished:
            rate = self.output_tokens * finished
        if finished is None and rate and self.output_tokens:
            finished = rate / self.output_tokens
        later = rate - (finished or 0.0) if rate else None
        return finished, later if later and later > 0 else None

    def _running(self) -> tuple[float | None, str | None]:
        """Sequences decoding together, on average, and the law that says so (a note)."""
        if self.decoding:
            return self.decoding, None
        finished, later = self._rates()
        single = not (self.accept or 1) > 1
        gap, stays = self._gap(), self._stays()
        result: tuple[float, str] | None = None
        if later and gap and single:
            result = gap * later, "batch-from-itl"
        elif finished and stays:
            result = stays * finished, "batch-from-latency"
        elif later and self.between_tokens:
            result = self.between_tokens * later, "batch-from-tpot"
        if result is None or result[0] <= 0:
            return self.running or self.concurrency, None
        open_ = (self.concurrency, None if self.rate_only else self.requests)
        most = min(x for x in (result[0], *open_) if x)
        return (most, result[1]) if most >= 1.5 else (max(1.0, most), None)

    def _reading(self, **more: Any) -> Reading:
        return Reading(
            format=self.format,
            prompt=self.input_tokens,
            output=self.output_tokens,
            accept=max(1.0, self.accept or 1.0),
            drafted=self.drafted,
            cached=self.cached,
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
            settings=self.settings or {},
            extra=self.extra or {},
            **more,
        )


def averages(record: Record, **more: Any) -> ServingSummary:
    """The client's averages as vLLM's serving benchmark names them, which SGLang's took over."""
    completed = fields.need(record, "completed")
    mean = fields.number(record, "mean_tpot_ms")
    return ServingSummary(
        duration=fields.need(record, "duration"),
        requests=completed,
        input_tokens=per_request(fields.number(record, "total_input_tokens"), completed),
        output_tokens=per_request(fields.number(record, "total_output_tokens"), completed),
        output_rate=fields.number(record, "output_throughput"),
        between_tokens=milliseconds(mean),
        between_spread=fields.relative(fields.number(record, "std_tpot_ms"), mean or 0),
        first_token=milliseconds(fields.number(record, "median_ttft_ms", "mean_ttft_ms")),
        token_gap=milliseconds(fields.number(record, "mean_itl_ms")),
        latency=milliseconds(fields.number(record, "mean_e2el_ms", "mean_e2e_latency_ms")),
        mean_first=milliseconds(fields.number(record, "mean_ttft_ms")),
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
