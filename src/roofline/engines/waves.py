"""Streams of tokens that a server sent at once, and what the stretch says that they share.

Only the stretch counts in which all of them generate, from the last first token to the first last
one: no prefill falls into it, and the batch is known.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field

from .sse import Fault


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
            "short",
            "some requests ended before others began: the server runs fewer at a time, or the "
            "answers are too short (--output)",
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


def highest(seen: Iterable[dict[str, float]]) -> dict[str, float]:
    """Of figures seen again and again, the highest of each."""
    out: dict[str, float] = {}
    for one in seen:
        for name, value in one.items():
            out[name] = max(value, out.get(name, value))
    return out
