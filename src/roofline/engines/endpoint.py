"""Any server that speaks OpenAI's streaming protocol, as a client sees it.

A point is one or more waves: `batch` requests are opened together, and only the stretch counts in
which all of them generate (:mod:`roofline.engines.waves`). What is left in it besides the steps is
the server's scheduling and the network, so the point's basis is ``token``: its share of the roof
is a lower bound.

Every prompt begins differently, so that no prefix cache helps. Tokens are counted by the server
(its usage object) where it says them, else by events, and the point says which.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

from ..count.group import Group
from ..points import Part, Seconds
from .base import Job, Outcome, Setup
from .chosen import Chosen
from .identity import of_text
from .server import Limits, Server
from .sse import Fault
from .waves import Wave, highest, wave_of

WAVES = 3
TRIES = 3
"""Waves that may fail, in a row, before a point is given up."""

WORDS = "river stone cloud paper seven orange winter candle market silver window garden".split()


class Endpoint:
    """A server.

    Args:
        url: its base, with or without ``/v1``; another host than this one is asked only because
            it was named here.
        model: the name the server knows the model by, asked for where it is not given.
        known_as: the model's name in points, as `explain` takes it.
        weights, kv: formats, as far as known.
        prompt, output: tokens of a request.
        limits: how long to wait.
        environment: where the key is; by default the process's own.
        plain_key: whether the key may go over plain http to another machine.

    Raises:
        MissingExtra: httpx is not installed.
        InputError: the address is none; a key that cannot be, or may not go there.
        RooflineError: the server does not answer.
    """

    def __init__(
        self,
        url: str,
        *,
        model: str | None = None,
        known_as: str | None = None,
        weights: str | None = None,
        kv: str | None = None,
        prompt: int = 128,
        output: int = 128,
        limits: Limits | None = None,
        environment: Mapping[str, str] | None = None,
        plain_key: bool = False,
    ) -> None:
        self.server = Server(url, model, limits, environment, plain_key=plain_key)
        self.prompt, self.output = prompt, output
        self._seed = random.Random(time.time_ns())
        self.setup = Setup(
            engine="endpoint",
            version="",
            model=known_as or self.server.name,
            weights=weights or "",
            kv=kv or "",
            precisions=("bf16", "fp16"),
            device="server",
            settings={
                "device": "server",
                "server": of_text(self.server.base),
                "served_model": self.server.name,
                "output_asked": output,
            },
        )

    # -- one job

    def measure(self, job: Job, seconds: float, tick: Callable[[], None] | None = None) -> Outcome:
        """Waves of `job.batch` requests for about `seconds`, at least one after a warm-up.

        Raises:
            RooflineError: the server failed in `TRIES` waves on end; the sentence says how.
        """
        return asyncio.run(self._measure(job, seconds, tick))

    async def _measure(self, job: Job, seconds: float, tick: Callable[[], None] | None) -> Outcome:
        waves: list[Wave] = []
        faults: dict[str, int] = {}
        in_a_row = 0
        async with self.server.client(job.batch) as client:
            await self._retried(client, 1, min(8, self.output), faults)  # warm-up
            end = time.perf_counter() + seconds
            while not waves or (len(waves) < WAVES or time.perf_counter() < end):
                try:
                    waves.append(await self._wave(client, job.batch, self.output))
                    in_a_row = 0
                except Fault as fault:
                    faults[fault.code] = faults.get(fault.code, 0) + 1
                    in_a_row += 1
                    if in_a_row >= TRIES:
                        raise self.server.error(
                            f"at {job.batch} requests {fault} ({in_a_row} times on end)"
                        ) from None
                if tick is not None:
                    tick()
                if waves and time.perf_counter() > end + seconds:
                    break
        return self._outcome(job, waves, faults)

    async def _retried(self, client: Any, batch: int, output: int, faults: dict[str, int]) -> None:
        """The warm-up wave, tried again where the server refuses fields that not all take."""
        for attempt in range(TRIES):
            try:
                await self._wave(client, batch, output)
                return
            except Fault as fault:
                faults[fault.code] = faults.get(fault.code, 0) + 1
                if fault.code == "connect" or attempt == TRIES - 1:
                    raise self.server.error(str(fault)) from None

    def _outcome(self, job: Job, waves: list[Wave], faults: dict[str, int]) -> Outcome:
        times = sorted(wave.between for wave in waves)
        median = statistics.median(times)
        last = len(times) - 1
        context = statistics.fmean(wave.context for wave in waves)
        metrics = highest([wave.metrics for wave in waves])
        running, waiting = metrics.get("running", 0.0), metrics.get("waiting", 0.0)
        batch, notes = job.batch, []
        if waiting and 0 < running < job.batch:
            batch = round(running)
            notes.append("queued")
        cached = [wave.cached for wave in waves if wave.cached is not None]
        if cached and statistics.fmean(cached) > 8:
            notes.append("prefix-cached")
        if any(wave.counted == "events" for wave in waves):
            notes.append("tokens-by-events")
        if any(wave.output < 0.9 * self.output for wave in waves):
            notes.append("short-answers")
        firsts = [first for wave in waves for first in wave.first]
        prompts = [wave.prompt for wave in waves if wave.prompt is not None]
        return Outcome(
            parts=(Part((Group(batch, 1, max(0, round(context) - 1)),)),),
            seconds=Seconds(
                median,
                times[0],
                (times[round(0.9 * last)] - times[round(0.1 * last)]) / (2 * median),
                len(times),
            ),
            basis="token",
            tokens=batch,
            notes=tuple(notes),
            settings={
                "concurrency": job.batch,
                "ttft_median_s": statistics.median(firsts),
                "ttft_worst_s": max(firsts),
                "prompt_tokens": statistics.fmean(prompts) if prompts else None,
                "output_tokens": statistics.fmean(wave.output for wave in waves),
                "tokens_counted_by": waves[0].counted,
                "prompt_tokens_cached": statistics.fmean(cached) if cached else None,
                "metrics": metrics,
                "faults": dict(faults),
                "waves": len(waves),
            },
        )

    # -- one wave

    async def _wave(self, client: Any, batch: int, output: int) -> Wave:
        """`batch` requests at once; what their common stretch says.

        Raises:
            Fault: one of them failed.
        """
        watch = asyncio.ensure_future(self.server.watch(client))
        tasks = [
            asyncio.ensure_future(self.server.request(client, self._text(), output))
            for _ in range(batch)
        ]
        try:
            async with asyncio.timeout(self.server.limits.wave):
                streams = await asyncio.gather(*tasks)
        except TimeoutError:
            raise Fault("timeout", f"took over {self.server.limits.wave:g} s") from None
        finally:
            for task in (*tasks, watch):
                task.cancel()
            done = await asyncio.gather(*tasks, watch, return_exceptions=True)
        seen = done[-1] if isinstance(done[-1], list) else self.server.seen
        return wave_of(streams, highest(seen))

    def _text(self) -> str:
        """Words, about one token each, that begin differently every time."""
        words = [str(self._seed.randrange(10**6))]
        words += [self._seed.choice(WORDS) for _ in range(max(1, self.prompt - 3))]
        return " ".join(words)

    def close(self) -> None:
        """Nothing is kept open between points."""


def opened(chosen: Chosen) -> Endpoint:
    """The server that was asked for."""
    r = chosen.request
    return Endpoint(
        str(r.url),
        model=r.served_model,
        known_as=r.model,
        weights=r.weights,
        kv=r.kv,
        prompt=r.served_prompt,
        output=r.output_tokens,
        plain_key=r.plain_key,
    )
