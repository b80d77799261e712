"""Any server that speaks OpenAI's streaming protocol, as a client sees it.

A point is one or more waves: `batch` requests are opened together, and only the stretch counts in
which all of them generate, from the last first token to the first last one. No prefill falls into
it, and the batch is known. What is left in it besides the steps is the server's scheduling and the
network, so the point's basis is ``token``: its share of the roof is a lower bound.

Every prompt begins differently, so that no prefix cache helps. Tokens are counted by the server
(its usage object) where it says them, else by events, and the point says which. The key, if there
is one, comes from the environment, goes into one header, and is cut out of every message.
"""

from __future__ import annotations

import asyncio
import os
import random
import statistics
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from ..errors import InputError, MissingExtra, RooflineError
from ..points import Part, Seconds
from ..step import Group
from . import prometheus
from .base import Job, Setup
from .sse import Fault, Parser

KEYS = ("ROOFLINE_API_KEY", "OPENAI_API_KEY")
WAVES = 3
TRIES = 3
"""Waves that may fail, in a row, before a point is given up."""

WORDS = "river stone cloud paper seven orange winter candle market silver window garden".split()


@dataclass(frozen=True, slots=True)
class Limits:
    """How long to wait, in seconds: for the connection, the first token, the next one, a wave."""

    connect: float = 5.0
    first: float = 120.0
    between: float = 30.0
    wave: float = 600.0


@dataclass(slots=True)
class Stream:
    """One request: when each event with new tokens came, and how many tokens it brought.

    Attributes:
        start: when it was sent.
        events: (time, tokens) of each event.
        prompt, completion, cached: tokens by the server's usage, where it says them.
    """

    start: float
    events: list[tuple[float, float]] = field(default_factory=list)
    prompt: int | None = None
    completion: int | None = None
    cached: int | None = None
    finish: str | None = None

    @property
    def first_token(self) -> float:
        """Seconds from sending to the first token."""
        return self.events[0][0] - self.start

    def settle(self) -> None:
        """Let the events add up to what the server counted."""
        counted = sum(tokens for _, tokens in self.events)
        if self.completion and counted and counted != self.completion:
            scale = self.completion / counted
            self.events = [(at, tokens * scale) for at, tokens in self.events]


@dataclass(frozen=True, slots=True)
class Wave:
    """What one wave says.

    Attributes:
        between: seconds between two tokens of a request, in the common stretch.
        context: mean tokens in a sequence's cache there.
        first: TTFT of each request.
        prompt, output: tokens of a request, mean.
        counted: ``usage`` or ``events``.
        cached: prompt tokens that came out of a cache, mean; ``None`` where it is not said.
        metrics: figures of the server's own metrics, highest seen.
    """

    between: float
    context: float
    first: tuple[float, ...]
    prompt: float | None
    output: float
    counted: str
    cached: float | None
    metrics: dict[str, float]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a job came to: parts and seconds as in a point, and what else was learned."""

    parts: tuple[Part, ...]
    seconds: Seconds
    basis: str
    tokens: float
    notes: tuple[str, ...]
    settings: dict[str, Any]


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

    Raises:
        MissingExtra: httpx is not installed.
        InputError: the address is none.
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
        environment: dict[str, str] | None = None,
    ) -> None:
        try:
            import httpx
        except ImportError:
            raise MissingExtra("httpx", "endpoint", "asking a server") from None
        self.httpx: Any = httpx
        self.base = _base(url)
        self.limits = limits or Limits()
        self.prompt, self.output = prompt, output
        found = os.environ if environment is None else environment
        self._key = next((found[name] for name in KEYS if found.get(name)), None)
        self._extras = True  # fields that not every server takes: ignore_eos, stream_options
        self._chat = False
        self._metrics = True
        self._seed = random.Random(time.time_ns())
        self.served = model or asyncio.run(self._ask_model())
        self.setup = Setup(
            engine="endpoint",
            version="",
            model=known_as or self.served,
            weights=weights or "",
            kv=kv or "",
            device="server",
            settings={"device": "server", "url": self.base, "served_model": self.served},
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
        async with self._client(job.batch) as client:
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
                        raise RooflineError(
                            f"{self._where()}: at {job.batch} requests {self._clean(str(fault))} "
                            f"({in_a_row} times on end)"
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
                    raise RooflineError(f"{self._where()}: {self._clean(str(fault))}") from None

    def _outcome(self, job: Job, waves: list[Wave], faults: dict[str, int]) -> Outcome:
        times = sorted(wave.between for wave in waves)
        median = statistics.median(times)
        last = len(times) - 1
        context = statistics.fmean(wave.context for wave in waves)
        metrics = _highest([wave.metrics for wave in waves])
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
        watch = asyncio.ensure_future(self._watch(client))
        tasks = [asyncio.ensure_future(self._request(client, output)) for _ in range(batch)]
        try:
            async with asyncio.timeout(self.limits.wave):
                streams = await asyncio.gather(*tasks)
        except TimeoutError:
            raise Fault("timeout", f"took over {self.limits.wave:g} s") from None
        finally:
            for task in (*tasks, watch):
                task.cancel()
            done = await asyncio.gather(*tasks, watch, return_exceptions=True)
        seen = done[-1] if isinstance(done[-1], list) else self._seen
        return wave_of(streams, _highest(seen))

    async def _request(self, client: Any, output: int) -> Stream:
        """One streamed request.

        Raises:
            Fault: whatever went wrong, by its code.
        """
        httpx = self.httpx
        stream = Stream(time.perf_counter())
        try:
            async with client.stream("POST", self._path(), json=self._body(output)) as response:
                if response.status_code != 200:
                    await self._refused(response)
                await self._read(response, stream)
        except httpx.ConnectError as error:
            raise Fault("connect", f"cannot be reached ({_reason(error)})") from None
        except httpx.TimeoutException:
            what = "the first token" if not stream.events else "the next token"
            raise Fault("timeout", f"the server kept {what} waiting too long") from None
        except (httpx.HTTPError, httpx.StreamError, OSError) as error:
            after = sum(tokens for _, tokens in stream.events)
            raise Fault(
                "disconnect", f"the server broke off after {after:g} tokens ({_reason(error)})"
            ) from None
        if len(stream.events) < 2:
            raise Fault("empty", f"the server sent {len(stream.events)} events with text")
        return stream

    async def _refused(self, response: Any) -> None:
        """Raise for a status; from now on leave out what this server may not take."""
        body = b""
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > 2000:
                break
        code = response.status_code
        said = " ".join(body.decode(errors="replace").split())[:120]
        if code in (404, 405) and not self._chat:
            self._chat = True
        elif code in (400, 422) and self._extras:
            self._extras = False
        hint = f" (set {KEYS[0]})" if code in (401, 403) else ""
        raise Fault("status", f"the server answered {code}{hint}: {said or 'nothing'}")

    async def _read(self, response: Any, stream: Stream) -> None:
        parser, ended = Parser(), False
        async for data in self._pieces(response, stream):
            now = time.perf_counter()
            for chunk in parser.feed(data):
                ended = ended or chunk.done or chunk.finish is not None
                if chunk.text:
                    stream.events.append((now, 1.0))
                if chunk.prompt_tokens is not None:
                    stream.prompt = chunk.prompt_tokens
                if chunk.cached_tokens is not None:
                    stream.cached = chunk.cached_tokens
                if chunk.completion_tokens:
                    stream.completion = chunk.completion_tokens
                if chunk.finish:
                    stream.finish = chunk.finish
        if not ended:
            after = len(stream.events)
            raise Fault("disconnect", f"the server broke off after {after} events, without an end")

    async def _pieces(self, response: Any, stream: Stream) -> AsyncIterator[bytes]:
        """Bytes as they come; the first and the next ones each within their time."""
        pieces = response.aiter_bytes().__aiter__()
        while True:
            limit = self.limits.between if stream.events else self.limits.first
            try:
                async with asyncio.timeout(limit):
                    data = await anext(pieces, None)
            except TimeoutError:
                what = "the next token" if stream.events else "the first token"
                raise Fault("timeout", f"the server sent no {what[4:]} for {limit:g} s") from None
            if data is None:
                return
            yield data

    # -- what is sent

    def _path(self) -> str:
        return "/v1/chat/completions" if self._chat else "/v1/completions"

    def _body(self, output: int) -> dict[str, Any]:
        text = self._text()
        body: dict[str, Any] = {
            "model": self.served,
            "max_tokens": output,
            "stream": True,
            "temperature": 0.0,
        }
        if self._chat:
            body["messages"] = [{"role": "user", "content": text}]
        else:
            body["prompt"] = text
        if self._extras:
            body["stream_options"] = {"include_usage": True}
            body["ignore_eos"] = True
            body["cache_prompt"] = False  # llama-server
        return body

    def _text(self) -> str:
        """Words, about one token each, that begin differently every time."""
        words = [str(self._seed.randrange(10**6))]
        words += [self._seed.choice(WORDS) for _ in range(max(1, self.prompt - 3))]
        return " ".join(words)

    # -- asking the server

    def _client(self, connections: int) -> Any:
        httpx = self.httpx
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        # Longer than our own limits on a stream, which then speak first and say more.
        longest = 1.5 * max(self.limits.first, self.limits.between)
        return httpx.AsyncClient(
            base_url=self.base,
            headers=headers,
            timeout=httpx.Timeout(longest, connect=self.limits.connect),
            limits=httpx.Limits(
                max_connections=connections + 2, max_keepalive_connections=connections + 2
            ),
            follow_redirects=False,
            trust_env=False,
        )

    async def _ask_model(self) -> str:
        """The first model that the server lists.

        Raises:
            RooflineError: it does not answer, or lists none.
        """
        try:
            async with self._client(1) as client, asyncio.timeout(self.limits.first):
                answer = await client.get("/v1/models")
                if answer.status_code != 200:
                    hint = f"; set {KEYS[0]}" if answer.status_code in (401, 403) else ""
                    raise RooflineError(
                        f"{self._where()}: answered {answer.status_code} when asked for its "
                        f"models{hint}"
                    )
                listed = answer.json()["data"]
                name = listed[0]["id"]
                if not isinstance(name, str):
                    raise TypeError
                return name
        except (self.httpx.HTTPError, OSError, TimeoutError) as error:
            raise RooflineError(f"{self._where()}: cannot be reached ({_reason(error)})") from None
        except (ValueError, KeyError, IndexError, TypeError):
            raise RooflineError(
                f"{self._where()}: lists no model; name the one to ask for with --served-model"
            ) from None

    async def _watch(self, client: Any) -> list[dict[str, float]]:
        """The server's own metrics, every half second until cancelled."""
        self._seen: list[dict[str, float]] = []
        while self._metrics:
            try:
                answer = await client.get("/metrics", timeout=2.0)
                found = prometheus.read(answer.text) if answer.status_code == 200 else {}
                if not found:
                    self._metrics = False
                    break
                self._seen.append(found)
            except (self.httpx.HTTPError, OSError, ValueError):
                self._metrics = False
                break
            await asyncio.sleep(0.5)
        return self._seen

    def _where(self) -> str:
        return self.base

    def _clean(self, text: str) -> str:
        return text.replace(self._key, "***") if self._key else text

    def close(self) -> None:
        """Nothing is kept open between points."""


def wave_of(streams: list[Stream], metrics: dict[str, float]) -> Wave:
    """What the stretch says in which all streams generate.

    Raises:
        Fault: there is no such stretch: some were done before others began.
    """
    by_usage = all(stream.completion for stream in streams)
    for stream in streams:
        stream.settle()
    start = max(stream.events[0][0] for stream in streams)
    end = min(stream.events[-1][0] for stream in streams)
    gaps, caches = [], []
    for stream in streams:
        inside = [(at, tokens) for at, tokens in stream.events if start <= at <= end]
        before = sum(tokens for at, tokens in stream.events if at < start)
        if len(inside) < 2 or inside[-1][0] <= inside[0][0]:
            continue
        tokens = sum(count for _, count in inside[1:])
        if tokens > 0:
            gaps.append((inside[-1][0] - inside[0][0]) / tokens)
            caches.append((stream.prompt or 0) + before + tokens / 2)
    if len(gaps) < max(1, 0.5 * len(streams)):
        raise Fault(
            "short", "some requests ended before others began: longer answers are needed (--output)"
        )
    prompts = [stream.prompt for stream in streams if stream.prompt is not None]
    cached = [stream.cached for stream in streams if stream.cached is not None]
    return Wave(
        between=statistics.fmean(gaps),
        context=statistics.fmean(caches) + 1,
        first=tuple(stream.first_token for stream in streams),
        prompt=statistics.fmean(prompts) if prompts else None,
        output=statistics.fmean(sum(t for _, t in stream.events) for stream in streams),
        counted="usage" if by_usage else "events",
        cached=statistics.fmean(cached) if cached else None,
        metrics=metrics,
    )


def _highest(seen: list[dict[str, float]]) -> dict[str, float]:
    out: dict[str, float] = {}
    for one in seen:
        for name, value in one.items():
            out[name] = max(value, out.get(name, value))
    return out


def _base(url: str) -> str:
    """The address without path ``/v1`` and without user names and passwords.

    Raises:
        InputError: it is no http address.
    """
    text = url if "//" in url else f"http://{url}"
    try:
        parts = urlsplit(text)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        parts, port = urlsplit(""), ""
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(f"'{url[:80]}' is no address; give one such as http://127.0.0.1:8000")
    if parts.username or parts.password:
        raise InputError(f"leave the key out of the address; put it into {KEYS[0]}")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    path = parts.path.rstrip("/").removesuffix("/v1")
    return f"{parts.scheme}://{host}{port}{path}"


def _reason(error: BaseException) -> str:
    text = " ".join(str(error).split())[:100]
    return text or type(error).__name__
