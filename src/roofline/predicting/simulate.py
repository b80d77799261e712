"""A served workload step by step: continuous batching, arrivals, lengths, a cache that fills.

The engine is that of vLLM, SGLang and TensorRT-LLM in outline. Before each step: requests wait in
the order of their arrival; one is admitted when a place is free and the cache will hold its
prompt. A step decodes one token of every running sequence and, within a budget of tokens, a chunk
of the oldest prompts. When the cache is full the youngest sequence is put back and later computes
its tokens again. Each step takes what :class:`Predictor` says. Times are of the model: no
measurement enters but the profile's coefficients.

No step takes less than its bound, however fast the engine is said to be.

Requests keep coming until the last one that counts has finished, so that the first and the last
meet the same load. At a rate there is a steady state only below what the engine serves when
requests never run out (:func:`most`); a rate beyond is refused.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field

from ..count.group import Group
from ..count.step import Step
from ..errors import InputError
from ..limits import SIMULATED_STEPS
from .lengths import Lengths
from .predictor import Predictor

BUDGET = 8192
"""Tokens of a step, running sequences included: engines' usual default."""

MOST_REQUESTS = 4096
"""Counted near the most that is served: there times depend on luck, and the answer says so."""

NEAR = 16
"""Tokens within which contexts take alike: a step of so many sequences is priced once."""

MOST_BATCH = 2048
"""Sequences at once with which the most that an engine serves is found, if the cache has room."""


@dataclass(slots=True, eq=False)
class _Request:
    number: int
    arrived: float
    prompt: int
    output: int
    done: int = 0  # output tokens
    cached: int = 0
    first: float = 0.0
    finished: float | None = None
    owed: int = field(default=0)  # prompt tokens, and after a preemption its own, to compute

    @property
    def context(self) -> int:
        return self.prompt + self.done


@dataclass(frozen=True, slots=True)
class Simulated:
    """What a simulated workload came to. Seconds.

    Attributes:
        ttft, tpot: of each request that counts (a fifth or more warms up).
        requests_per_s, tokens_per_s: finished requests and output tokens a second.
        running, waiting: means over time.
        preempted: requests put back because the cache was full.
    """

    ttft: tuple[float, ...]
    tpot: tuple[float, ...]
    requests_per_s: float
    tokens_per_s: float
    running: float
    waiting: float
    preempted: int


def simulate(
    p: Predictor,
    lengths: Lengths,
    *,
    concurrency: int | None = None,
    rate: float | None = None,
    requests: int = 256,
    budget: int = BUDGET,
    places: int | None = None,
    pace: float = 1.0,
    limit: float | None = None,
    seed: int = 1,
) -> Simulated:
    """Run a workload on an engine, with all its replicas.

    Args:
        lengths: of the requests, drawn for each.
        concurrency: requests that clients keep in flight; or
        rate: requests a second, arriving at random (Poisson).
        requests: how many count, with those that warm up; at a rate, at least.
        budget: tokens of a step of one replica.
        places: the most sequences that run at once, beside what the cache holds.
        pace: times the seconds of every step, for an engine that is slower or faster than
            predicted; 0 for one that runs every step at its bound.
        limit: what :func:`most` found for this load at a pace of 1, if it is known.
        seed: of the lengths and arrivals.

    Raises:
        InputError: neither or both of concurrency and rate, a request that does not fit, or
            arrivals faster than the engine can serve.
    """
    if (concurrency is None) == (rate is None):
        raise InputError("give either a concurrency or a rate of requests")
    load = _Load(lengths, rate, random.Random(seed))
    engine = _Engine(p, _room(p, lengths.most), budget, places, pace)
    if rate is None:
        clients = concurrency or 1
        warm = max(requests // 5, min(clients, requests // 2))  # past the first rush
        return engine.run(load, warm, requests, clients)
    if limit is None:
        limit = most(p, lengths, budget=budget, places=places, pace=pace)
    else:
        limit = limit / pace if pace else float("inf")
    if rate >= limit:
        raise InputError(too_many(rate, limit))
    # Near the limit the queue forgets slowly, as 1 / (1 - load)²: count more requests there.
    prompt, output = lengths.mean
    alone = pace * float(p.prefill(1, int(prompt)).total)
    alone += pace * output * float(p.decode(1, int(prompt), int(output)).total)
    enough = 20 * rate * alone / (1 - rate / limit) ** 2
    requests = max(requests, min(int(enough), MOST_REQUESTS))
    return engine.run(load, requests // 5, requests)


def too_many(rate: float, limit: float) -> str:
    """A sentence for arrivals faster than what is served."""
    return (
        f"{rate:g} requests a second are more than this engine serves: about {limit:.3g} a "
        "second is the most, beyond it the queue has no end"
    )


def most(
    p: Predictor,
    lengths: Lengths,
    *,
    budget: int = BUDGET,
    places: int | None = None,
    pace: float = 1.0,
    seed: int = 1,
) -> float:
    """Requests a second that the engine serves when they never run out."""
    room = _room(p, lengths.most)
    held = int(min(MOST_BATCH, room / sum(lengths.mean) + 1))
    batch = held if places is None else min(held, places)
    load = _Load(lengths, None, random.Random(seed))
    engine = _Engine(p, room, budget, places, pace)
    waiting = batch + batch // 8 + 1
    load.part_done = waiting  # as if they had been running: not all end, and start, together
    return engine.run(load, waiting, waiting + 2 * batch, waiting).requests_per_s


def _room(p: Predictor, longest: int) -> float:
    # Tokens that the cache holds, from what sequences of the longest kind would take.
    places = p.places(longest)
    if places is None:
        return float("inf")
    if places < 1:
        raise p.no_room(longest)
    return float(places) * longest


TOO_LONG = "this workload takes too many steps to simulate: fewer or shorter requests"


class _Load:
    """Requests without end, at random times of a rate or whenever asked for."""

    def __init__(self, lengths: Lengths, rate: float | None, rng: random.Random) -> None:
        self.lengths, self.rate, self.rng = lengths, rate, rng
        self.count = self.part_done = 0
        self.next_at = rng.expovariate(rate) if rate else float("inf")

    def take(self, now: float) -> _Request:
        prompt, output = self.lengths.draw(self.rng)
        if self.rate:
            now, self.next_at = self.next_at, self.next_at + self.rng.expovariate(self.rate)
        if self.count < self.part_done:
            output = max(1, round(output * self.rng.random()))
        self.count += 1
        return _Request(self.count - 1, now, prompt, output, owed=prompt)


class _Engine:
    def __init__(
        self, p: Predictor, room: float, budget: int, places: int | None, pace: float
    ) -> None:
        self.p, self.room, self.pace = p, room, pace
        self.replicas = p.case.parallel.dp
        self.budget = budget * self.replicas
        self.places = places or float("inf")
        self.waiting: deque[_Request] = deque()
        self.running: list[_Request] = []
        self.finished: list[_Request] = []
        self.now = 0.0
        self.since = 0.0  # when the first request that counts arrived
        self.preempted = self.tokens = 0
        self.priced: dict[tuple[int, int], float] = {}
        self.integral = [0.0, 0.0]

    def run(self, load: _Load, warm: int, requests: int, concurrency: int = 0) -> Simulated:
        """Until the first ``requests`` have finished, of which ``warm`` do not count."""
        prompt, output = load.lengths.mean
        if (
            requests * (prompt + output) / self.budget > SIMULATED_STEPS
        ):  # tokens, over a step's most
            raise InputError(TOO_LONG)
        self.waiting.extend(load.take(0.0) for _ in range(concurrency))
        left = requests - warm
        started = False
        for _ in range(SIMULATED_STEPS):
            while load.next_at <= self.now:
                self.waiting.append(load.take(self.now))
            if not self.waiting and not self.running:
                self.now = load.next_at
                continue
            if not started and load.count > warm:
                started, self.since = True, self.now
                self.integral = [0.0, 0.0]
                self.tokens = 0
                self.finished.clear()
            before = len(self.finished)
            self._step()
            for r in self.finished[before:]:
                left -= warm <= r.number < requests
                if concurrency:
                    self.waiting.append(load.take(self.now))
            if started and not left:
                return self._summary(warm, requests)
        raise InputError(TOO_LONG)

    def _step(self) -> None:
        self._admit()
        used = sum(r.cached for r in self.running)
        decoding = [r for r in self.running if not r.owed]
        while used + len(decoding) > self.room and len(self.running) > 1:
            used -= self._put_back()
            decoding = [r for r in self.running if not r.owed]
        left = self.budget - len(decoding)
        chunks: list[tuple[_Request, int]] = []
        for r in self.running:
            if r.owed and left > 0:
                size = min(r.owed, left)
                chunks.append((r, size))
                left -= size
        taken = self._seconds(decoding, chunks)
        self.integral[0] += taken * len(self.running)
        self.integral[1] += taken * len(self.waiting)
        self.now += taken
        for r, size in chunks:
            r.owed -= size
            r.cached += size
        ended = False
        for r in decoding:
            r.cached += 1
            ended |= self._token(r)
        for r, _ in chunks:
            if not r.owed:  # the last chunk of a prompt gives a token, too
                ended |= self._token(r)
        if ended:
            self.running = [r for r in self.running if r.finished is None]

    def _token(self, r: _Request) -> bool:
        r.done += 1
        self.tokens += 1
        if r.done == 1:
            r.first = self.now
        if r.done < r.output:
            return False
        r.finished = self.now
        self.finished.append(r)
        return True

    def _admit(self) -> None:
        if not self.waiting:
            return
        held = sum(r.cached + r.owed for r in self.running)
        while (
            self.waiting
            and held + self.waiting[0].context + 1 <= self.room
            and len(self.running) < self.places
        ):
            r = self.waiting.popleft()
            r.owed, r.cached = r.context, 0
            held += r.owed
            self.running.append(r)

    def _put_back(self) -> int:
        r = self.running.pop()
        freed, r.cached, r.owed = r.cached, 0, r.context
        self.waiting.appendleft(r)
        self.preempted += 1
        return freed

    def _seconds(self, decoding: list[_Request], chunks: list[tuple[_Request, int]]) -> float:
        groups = []
        key = None
        if decoding:
            mean = round(sum(r.cached for r in decoding) / len(decoding))
            if mean > NEAR * NEAR:
                mean = round(mean / NEAR) * NEAR
            groups.append(Group(len(decoding), 1, mean))
            if not chunks:
                key = (len(decoding), mean)
                if key in self.priced:
                    return self.priced[key]
        groups += self._prompts(chunks)
        step = Step("mixed" if len(groups) > 1 else "decode", tuple(groups))
        result = self.pace * float(self.p.step(step).total) if self.pace else 0.0
        if self.pace < 1:  # no engine is faster than the roof
            result = max(result, self.p.roof(step))
        if key:
            self.priced[key] = result
        return result

    def _prompts(self, chunks: list[tuple[_Request, int]]) -> list[Group]:
        n = len(chunks)
        if n < 2 or self.replicas == 1:
            return [Group(1, size, r.cached) for r, size in chunks]
        # Replicas prefill beside one another: chunks of a mean size, shared out among them.
        size, past = sum(size for _, size in chunks), sum(r.cached for r, _ in chunks)
        return [Group(n, max(1, round(size / n)), round(past / n))]

    def _summary(self, warm: int, requests: int) -> Simulated:
        counted = sorted(
            (r for r in self.finished if warm <= r.number < requests), key=lambda r: r.number
        )
        floor = self.p.resolved.values["request.floor"]
        span = max(self.now - self.since, 1e-12)
        return Simulated(
            tuple(floor + r.first - r.arrived for r in counted),
            tuple(
                ((r.finished or 0.0) - r.first) / (r.output - 1) for r in counted if r.output > 1
            ),
            self.tokens / span * len(counted) / sum(r.output for r in counted),
            self.tokens / span,  # not by requests: those of a length finish in bursts
            self.integral[0] / span,
            self.integral[1] / span,
            self.preempted,
        )
