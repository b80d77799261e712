"""A served workload step by step: continuous batching, arrivals, lengths, a cache that fills.

The engine is that of vLLM, SGLang and TensorRT-LLM in outline. Before each step: requests wait in
the order of their arrival; one is admitted when a place is free and the cache will hold its
prompt. A step decodes one token of every running sequence and, within a budget of tokens, a chunk
of the oldest prompts. When the cache is full the youngest sequence is put back and later computes
its tokens again. Each step takes what :class:`Predictor` says. Times are of the model: no
measurement enters but the profile's coefficients.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from ..errors import InputError
from ..step import Group, Step
from .predictor import Predictor

BUDGET = 8192
"""Tokens of a step, running sequences included: engines' usual default."""

MOST_STEPS = 400_000
"""A workload that needs more does not end: it is not stable, or far too long."""

Length = Callable[[random.Random], int]


@dataclass(slots=True, eq=False)
class _Request:
    arrived: float
    prompt: int
    output: int
    done: int = 0  # output tokens
    cached: int = 0
    first: float | None = None
    finished: float | None = None
    owed: int = field(default=0)  # prompt tokens, and after a preemption its own, to compute

    @property
    def context(self) -> int:
        return self.prompt + self.done


@dataclass(frozen=True, slots=True)
class Simulated:
    """What a simulated workload came to. Seconds.

    Attributes:
        ttft, tpot: of each request that counts (the first fifth warms up).
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


def fixed(tokens: int) -> Length:
    """Always so many tokens."""
    return lambda rng: tokens


def between(least: int, most: int) -> Length:
    """Evenly from least to most."""
    return lambda rng: rng.randint(least, most)


def simulate(
    p: Predictor,
    prompt: Length,
    output: Length,
    *,
    concurrency: int | None = None,
    rate: float | None = None,
    requests: int = 256,
    budget: int = BUDGET,
    seed: int = 1,
) -> Simulated:
    """Run a workload on one replica's engine.

    Args:
        prompt, output: lengths of a request, drawn for each.
        concurrency: requests that clients keep in flight; or
        rate: requests a second, arriving at random (Poisson).
        requests: how many in all.
        budget: tokens of a step.
        seed: of the lengths and arrivals.

    Raises:
        InputError: neither or both of concurrency and rate, a request that does not fit, or
            arrivals faster than the engine can serve.
    """
    if (concurrency is None) == (rate is None):
        raise InputError("give either a concurrency or a rate of requests")
    rng = random.Random(seed)
    lengths = [(max(1, prompt(rng)), max(1, output(rng))) for _ in range(requests)]
    room = _room(p, max(a + b for a, b in lengths))
    engine = _Engine(p, room, budget)
    now = 0.0
    arrivals: deque[_Request] = deque()
    for i, (a, b) in enumerate(lengths):
        if rate is not None:
            now += rng.expovariate(rate)
        arrivals.append(_Request(now if rate is not None else 0.0, a, b, owed=a))
        if rate is None and i < (concurrency or 0):
            engine.waiting.append(arrivals.popleft())
    found = engine.run(arrivals, closed=rate is None)
    if rate is not None and found.requests_per_s < 0.8 * rate and found.waiting > 1:
        raise InputError(
            f"{rate:g} requests a second are more than this engine serves: about "
            f"{found.requests_per_s:.3g} a second is the most, beyond it the queue has no end"
        )
    return found


def _room(p: Predictor, longest: int) -> float:
    # Tokens that the cache holds, from what sequences of the longest kind would take.
    places = p.places(longest)
    if places is None:
        return float("inf")
    if places < 1:
        raise InputError(
            f"{p.case.model.name} with a sequence of {longest} tokens does not fit on "
            f"{p.case.parallel.devices} × {p.case.machine.name}"
        )
    return float(places) * longest


class _Engine:
    def __init__(self, p: Predictor, room: float, budget: int) -> None:
        self.p, self.room, self.budget = p, room, budget
        self.waiting: deque[_Request] = deque()
        self.running: list[_Request] = []
        self.finished: list[_Request] = []
        self.now = 0.0
        self.preempted = 0
        self.integral = [0.0, 0.0]

    def run(self, arrivals: deque[_Request], *, closed: bool) -> Simulated:
        for _ in range(MOST_STEPS):
            while not closed and arrivals and arrivals[0].arrived <= self.now:
                self.waiting.append(arrivals.popleft())
            if not self.waiting and not self.running:
                if not arrivals:
                    return self._summary()
                self.now = max(self.now, arrivals[0].arrived)
                continue
            before = len(self.finished)
            self._step()
            for _ in range(len(self.finished) - before if closed else 0):
                if arrivals:
                    follow = arrivals.popleft()
                    follow.arrived = self.now
                    self.waiting.append(follow)
        raise InputError("more requests arrive than this engine can serve: lower the rate")

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
        if r.first is None:
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
        while self.waiting and held + self.waiting[0].context + 1 <= self.room:
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
        if decoding:
            mean = round(sum(r.cached for r in decoding) / len(decoding))
            groups.append(Group(len(decoding), 1, mean))
        groups += [Group(1, size, r.cached) for r, size in chunks]
        phase = "mixed" if len(groups) > 1 else "decode"
        return float(self.p.step(Step(phase, tuple(groups))).total)

    def _summary(self) -> Simulated:
        counted = self.finished[len(self.finished) // 5 :]
        floor = self.p.resolved.values["request.floor"]
        start = self.finished[len(self.finished) // 5 - 1].finished if len(counted) > 1 else 0.0
        span = max(self.now - (start or 0.0), 1e-12)
        tokens = sum(r.output for r in counted)
        return Simulated(
            tuple(floor + (r.first or 0.0) - r.arrived for r in counted),
            tuple(
                ((r.finished or 0.0) - (r.first or 0.0)) / (r.output - 1)
                for r in counted
                if r.output > 1
            ),
            len(counted) / span,
            tokens / span,
            self.integral[0] / self.now,
            self.integral[1] / self.now,
            self.preempted,
        )
