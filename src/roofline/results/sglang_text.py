"""What SGLang prints: its server's log, and `bench_one_batch`.

Server: `Decode batch, #running-req: 1, #token: 131, …, gen throughput (token/s): 112.05`: running
requests, tokens in the cache of all of them, and their rate; `Prefill batch, #new-seq: …` with
its input throughput in newer versions. `bench_one_batch`: a warm-up, then after `Benchmark ...` a
prefill and decode steps timed one by one, whose tokens follow from their rates. Format as in
python/sglang/srt/managers and python/sglang/bench_one_batch.py of SGLang.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..record import replace
from .reading import Reading
from .samples import RateSamples

NAME = "sglang log"

_NUMBER = r"(\d{1,12}(?:\.\d{1,12})?)"
_DECODE = re.compile(
    rf"Decode batch[^#]{{0,40}}#running-req: (\d{{1,9}}),.*?#(?:full )?token: (\d{{1,12}})(.*?)"
    rf"gen throughput \(token/s\): {_NUMBER}"
)
_PREFILL = re.compile(
    rf"Prefill batch[^#]{{0,40}}#new-seq: (\d{{1,9}}), #new-token: (\d{{1,9}}), "
    rf"#cached-token: (\d{{1,12}})"
    rf".*?input throughput \(token/s\): {_NUMBER}"
)
_ACCEPT = re.compile(rf"accept len: {_NUMBER}")
_STEP = re.compile(
    rf"^\s*(Prefill|Decode|Total)\b[^.]{{0,12}}\.\s+(?:Batch size: (\d{{1,9}}), )?"
    rf"(median )?latency:"
    rf"\s*{_NUMBER} s,(?: (?:median )?throughput:\s*{_NUMBER} token/s)?"
)


class Log:
    """Lines of a server, or of one or more batches."""

    def __init__(self) -> None:
        """Start before any line."""
        self._samples, self._prefills = RateSamples(), RateSamples()
        self._steps: dict[str, tuple[float, float | None]] = {}
        self._batch: int | None = None
        self._warm = False

    def feed(self, line: str) -> Iterator[Reading]:
        """Readings that the line completes."""
        if "Decode batch" in line and (result := _DECODE.search(line)):
            running, tokens, rate = (
                int(result.group(1)),
                float(result.group(2)),
                float(result.group(4)),
            )
            if running > 0 and rate > 0:
                accept = _ACCEPT.search(result.group(3))
                rest = {"accept": max(1.0, float(accept.group(1)))} if accept else {}
                context = max(1.0, tokens / running) if tokens else None
                self._samples.add(running, context, rate, rest)
        elif "Prefill batch" in line and (result := _PREFILL.search(line)):
            self._prefill(*result.groups())
        elif (word := line.strip()) in ("Warmup ...", "Benchmark ..."):
            yield from self._one_batch()
            self._warm = word == "Warmup ..."
        elif result := _STEP.match(line):
            yield from self._step(*result.groups())

    def _prefill(self, sequences: str, new: str, cached: str, rate: str) -> None:
        count, tokens, speed = int(sequences), int(new), float(rate)
        if count > 0 and tokens >= count and speed > 0:
            self._prefills.add(count, tokens / count, speed, {"depth": int(cached) / count})

    def _step(
        self, kind: str, batch: str | None, middle: str | None, latency: str, rate: str | None
    ) -> Iterator[Reading]:
        seconds = float(latency)
        if seconds <= 0:
            return
        if kind == "Prefill":
            yield from self._one_batch()
        if batch:
            self._batch = int(batch)
        if kind != "Decode" or middle:
            self._steps[kind] = (seconds, float(rate) if rate else None)
        if kind == "Total":
            yield from self._one_batch()

    def _one_batch(self) -> Iterator[Reading]:
        """The prefill and the middle decode step of a batch; none of the warm-up's."""
        steps, batch, warm = self._steps, self._batch, self._warm
        self._steps, self._batch = {}, None
        if warm or not steps:
            return
        prompts, every = _tokens(steps.get("Prefill")), _tokens(steps.get("Total"))
        sums = {"prompt": prompts} if prompts else {}
        if prompts and every and every > prompts:
            sums["output"] = every - prompts
        for kind, name in (("prefill", "Prefill"), ("step", "Decode")):
            if name in steps:
                yield Reading(
                    format="sglang bench_one_batch",
                    kind=kind,
                    seconds=steps[name][0],
                    batch=batch,
                    sums=sums,
                    engine="sglang",
                ).with_answers()

    def end(self) -> Iterator[Reading]:
        """What is still held: the server's steps, and an unfinished batch."""
        yield from self._one_batch()
        yield from self._samples.readings(format="sglang server log", engine="sglang")
        for reading in self._prefills.readings(format="sglang server log", engine="sglang"):
            prompt = reading.context or 1.0
            yield replace(
                reading,
                kind="first",
                seconds=reading.seconds * prompt,
                best=None if reading.best is None else reading.best * prompt,
                prompt=prompt,
                context=None,
            )
        self._samples, self._prefills = RateSamples(), RateSamples()


def _tokens(step: tuple[float, float | None] | None) -> float | None:
    """Tokens of a step: seconds × tokens/s."""
    return step[0] * step[1] if step and step[1] else None
