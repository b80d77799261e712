"""What a person sees while the machine is measured: the table as it fills, the time left."""

import sys
import time
from typing import TextIO

from ..measuring.sampling import Series
from ..words import Words
from .measured import name_of, value_of
from .table import render

EVERY = 0.2


class Live:
    """A `sampling.Progress`. On a terminal a table is redrawn; elsewhere each probe is one line."""

    def __init__(self, words: Words, stream: TextIO | None = None) -> None:
        """Write to ``stream`` (default: standard error, so that output can be piped)."""
        self.words = words
        self.stream = stream or sys.stderr
        self.terminal = self.stream.isatty()
        self.best: dict[str, float] = {}
        self.counts: dict[str, int] = {}
        self._drawn = 0
        self._last = 0.0
        self._said: set[str] = set()
        self._settling = False

    def __call__(self, stage: str, series: Series | None, gone: float, left: float) -> None:
        """Take note of a window; draw when it is time."""
        if series is not None and series.rates:
            key, rate = series.probe.key, series.rates[-1]
            pick = min if series.probe.lower else max
            self.best[key] = pick(self.best.get(key, rate), rate)
            self.counts[key] = self.counts.get(key, 0) + 1
        if self.terminal:
            if stage == "prepare" or time.monotonic() - self._last >= EVERY:
                self._last = time.monotonic()
                self._draw(stage, series, left)
        elif stage == "prepare":
            print(self.words("measure.live.prepare", left=f"{left:.0f}"), file=self.stream)
        elif stage == "sample" and not self._said:
            for key, rate in self.best.items():
                self._said.add(key)
                print(f"{name_of(key, self.words)}: {value_of(key, rate)}", file=self.stream)
            print(self.words("measure.live.sampling", left=f"{left:.0f}"), file=self.stream)
        elif stage == "settle" and not self._settling:
            self._settling = True
            print(self.words("measure.live.settling", left=f"{left:.0f}"), file=self.stream)

    def close(self) -> None:
        """Remove the table; the report says it better."""
        self._clear()
        self.stream.flush()

    def _clear(self) -> None:
        if self._drawn:
            self.stream.write(f"\x1b[{self._drawn}A\x1b[J")
            self._drawn = 0

    def _draw(self, stage: str, series: Series | None, left: float) -> None:
        rows = [
            (name_of(key, self.words), value_of(key, rate), str(self.counts[key]))
            for key, rate in self.best.items()
        ]
        head = tuple(self.words(f"measure.head.{n}") for n in ("probe", "best", "windows"))
        now = name_of(series.probe.key, self.words) if series else ""
        status = self.words(f"measure.live.{stage}", left=f"{left:.0f}", probe=now)
        text = (render(head, rows) + "\n" if rows else "") + status + "\n"
        self._clear()
        self.stream.write(text)
        self.stream.flush()
        self._drawn = text.count("\n")
