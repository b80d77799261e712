"""Many short windows, taken in turns, and what they say together.

A shared machine drifts by more than the differences we look for. So no probe
is run to its end before the next one starts: every round gives each candidate
its turn, and a candidate's figure is made of windows from the whole run.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

_OVERTIME = 1.5
_MOST_CALLS = 1 << 30
_NEAR = 0.85
_SETTLED = 0.03

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Window:
    """One timed stretch: ``calls`` repetitions in ``seconds``, and the share of the time

    that our threads really ran (1 = never put aside, None = cannot be told).
    """

    calls: int
    seconds: float
    share: float | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to reach a ceiling.

    ``amount`` is what one call moves or computes (bytes, FLOP), or 1 for an
    overhead whose figure is seconds per call. ``run(calls)`` times itself.
    ``moved`` is what a compute call must read from memory (bytes), if it is
    made to: `consistency` holds such a figure against both ceilings.
    """

    label: str
    amount: float
    run: Callable[[int], Window]
    moved: float = 0.0


@dataclass(frozen=True, slots=True)
class Probe:
    """One ceiling to find: the best of its candidates counts.

    ``key`` is e.g. ``bandwidth.memory``; ``lower`` says that less is better
    (overheads). ``window`` is the length in seconds a window aims for, ``turns``
    how many a candidate takes when its turn comes: where neighbours come and go,
    many short windows find a quiet moment and a few long ones do not.
    """

    key: str
    candidates: tuple[Candidate, ...]
    lower: bool = False
    window: float = 0.02
    turns: int = 1


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the windows of one candidate say: SI units, ``spread`` = 1 - median ÷ best.

    ``repeat`` is how far the best of the first and of the second half of the
    run lie apart, relative to the better: the file's own word on how well it
    would be met again. ``intensity`` (FLOP/byte) is known for products whose
    weights come from memory. ``drift`` is how much the last third lies below the
    first third (a clock that falls as the chip warms up), medians compared.
    """

    key: str
    label: str
    best: float
    median: float
    spread: float
    windows: int
    repeat: float | None = None
    drift: float | None = None
    share: float | None = None
    intensity: float | None = None


@dataclass(slots=True)
class Series:
    """The windows of one candidate so far; ``seconds`` is what the last took."""

    probe: Probe
    candidate: Candidate
    calls: int = 1
    seconds: float = 0.0
    rates: list[float] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)

    def window(self) -> None:
        """Take one window.

        A window far too short (calibrated while something else held the CPU)
        says nothing: it is not counted, and the next is longer.
        """
        for _ in range(4):
            timed = self.candidate.run(self.calls)
            if timed.seconds >= self.probe.window / 4:
                break
            self._lengthen(timed)
        self.seconds = timed.seconds
        if timed.seconds > 0:
            per_call = timed.seconds / timed.calls
            self.rates.append(per_call if self.probe.lower else self.candidate.amount / per_call)
            if timed.share is not None:
                self.shares.append(timed.share)

    def turn(self) -> None:
        """Take as many windows as its probe says."""
        for _ in range(self.probe.turns):
            self.window()

    @property
    def slow(self) -> bool:
        """Whether one call alone takes several windows' time."""
        return self.seconds > 4 * self.probe.window

    @property
    def repeat(self) -> float | None:
        """How far the best of the two halves of its windows lie apart; None: too few windows."""
        half = len(self.rates) // 2
        if half < 3:
            return None
        pick = min if self.probe.lower else max
        halves = pick(self.rates[:half]), pick(self.rates[half:])
        return 1 - min(halves) / max(halves)

    def calibrate(self) -> None:
        """Warm up, and find how many calls fill the probe's window."""
        timed = self.candidate.run(1)
        while timed.seconds < self.probe.window * 0.5:
            timed = self.candidate.run(self.calls)
            if timed.seconds >= self.probe.window * 0.5 or self.calls >= _MOST_CALLS:
                break
            self._lengthen(timed)
        per_call = max(timed.seconds, 1e-9) / self.calls
        self.calls = max(1, round(self.probe.window / per_call))

    def _lengthen(self, timed: Window) -> None:
        wanted = self.calls * self.probe.window / max(timed.seconds, 1e-7)
        longer = max(self.calls + 1, min(math.ceil(wanted), self.calls * 16))
        self.calls = min(longer, _MOST_CALLS)

    def figure(self) -> Estimate | None:
        """The summary, or None before the first window."""
        if not self.rates:
            return None
        pick = min if self.probe.lower else max
        best, median = pick(self.rates), statistics.median(self.rates)
        spread = 1 - (best / median if self.probe.lower else median / best)
        third = len(self.rates) // 3
        drift = None
        if third >= 3:
            first, last = (
                statistics.median(self.rates[:third]),
                statistics.median(self.rates[-third:]),
            )
            drift = 1 - (first / last if self.probe.lower else last / first)
        return Estimate(
            key=self.probe.key,
            label=self.candidate.label,
            best=best,
            median=median,
            spread=spread,
            windows=len(self.rates),
            repeat=self.repeat,
            drift=drift,
            share=statistics.median(self.shares) if self.shares else None,
            intensity=self.candidate.amount / moved if (moved := self.candidate.moved) else None,
        )


def better(series: list[Series]) -> Series | None:
    """The series whose best window is best, among those of one probe."""
    seen = [s for s in series if s.rates]
    if not seen:
        return None
    if seen[0].probe.lower:
        return min(seen, key=lambda s: min(s.rates))
    return max(seen, key=lambda s: max(s.rates))


Table = dict[str, list[Series]]
"""For each probe's key its candidates' windows."""

Progress = Callable[[str, Series | None, float, float], None]


def sample(
    probes: list[Probe],
    seconds: float,
    *,
    progress: Progress | None = None,
    between: Callable[[], None] | None = None,
    keep: int = 3,
    least: int = 6,
    extra: float = 0.0,
    again: Callable[[Table], Iterable[str]] = tuple,
    clock: Clock = time.perf_counter,
) -> tuple[Table, bool]:
    """Measure all probes within about ``seconds``; return their series and whether it finished.

    First every candidate is warmed up and has its turn twice, for half of the time
    at most; then those of each probe that came within 15 % of its best, up to
    ``keep``, take turns until the time is over (but at least ``least`` turns each,
    if that takes no more than half as long again). Of the keys that ``again`` gives (all)
    those whose best of the first and of the second half still lie 3 % apart then take
    turns for up to ``extra`` seconds more. ``between`` is called once a round, for
    whoever watches the machine. Ctrl-C ends the run and keeps what there is.
    """
    start = clock()
    table: Table = {}

    def tell(stage: str, series: Series | None) -> None:
        if progress:
            gone = clock() - start
            progress(stage, series, gone, max(0.0, seconds - gone))

    try:
        for probe in probes:
            rows = table.setdefault(probe.key, [])
            for candidate in probe.candidates:
                if clock() - start > seconds / 2 and any(s.rates for s in rows):
                    break  # late: no more choice, but every probe gets a figure
                tell("warm", None)
                series = Series(probe, candidate)
                series.calibrate()
                rows.append(series)
                series.turn()
                tell("warm", series)
            for series in rows:
                if not series.slow and clock() - start <= seconds / 2:
                    series.turn()
        final = [s for rows in table.values() for s in _leading(rows, keep)]
        rounds = 0
        while clock() - start < seconds or (
            rounds < least - 2 and clock() - start < _OVERTIME * seconds
        ):
            for series in final:
                series.turn()
                tell("sample", series)
            if between:
                between()
            rounds += 1
        seconds = clock() - start + extra  # what is left, from here
        while clock() - start < seconds and (waiting := _unsettled(table, again(table))):
            for series in waiting:
                series.turn()
                tell("settle", series)
            if between:
                between()
    except KeyboardInterrupt:
        return table, False
    return table, True


def _unsettled(table: Table, keys: Iterable[str]) -> list[Series]:
    """The best of each probe that the two halves of the run do not agree on."""
    best = (better(table[key]) for key in keys)
    return [s for s in best if s and (s.repeat or 0.0) > _SETTLED]


def _leading(rows: list[Series], keep: int) -> list[Series]:
    """The candidates worth more time: a few windows cannot tell the best from the nearly best."""

    def cost(series: Series) -> float:
        return min(series.rates) if series.probe.lower else 1 / max(series.rates)

    ranked = sorted((s for s in rows if s.rates), key=cost)
    return [s for s in ranked[:keep] if cost(s) * _NEAR <= cost(ranked[0])]
