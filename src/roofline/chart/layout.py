"""The picture laid out on a plane: lines, marks and labels in pixels, for whoever draws it.

The still picture of a page and the figure for print are drawn from it; the live page lays out
the same (``page/web/plot.js``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ..bound.case import Case
from ..machine.machine import Figure
from ..record import record
from ..units import count, digits, si
from ..words import Words
from .picture import Dot, Picture
from .place import Box, Label, Line, place

_ORDER = ("ghost", "hollow", "stop", "prefill", "here")
Spot = tuple[float, float, Sequence[str]]
Ruler = Callable[[str], float]
"""The width of a text."""


@record
class Stroke:
    """A line: ``datasheet``, ``measured``, ``ridge``, ``ghost``, ``path``, ``rest`` or ``wall``."""

    kind: str
    points: tuple[tuple[float, float], ...]


@record
class Mark:
    """A mark: ``ghost``, ``hollow``, ``stop``, ``prefill`` or ``here``."""

    kind: str
    x: float
    y: float


@record
class Plane:
    """Where everything is. Pixels, y downwards.

    Attributes:
        area: of the plot, within its margins.
        x, y: the stretches of both axes, FLOP/byte and FLOP/s.
        x_ticks, y_ticks: a position and its text.
        strokes, marks: to be drawn, in this order.
        labels: texts with their boxes.
    """

    area: Box
    x: tuple[float, float]
    y: tuple[float, float]
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    strokes: tuple[Stroke, ...]
    marks: tuple[Mark, ...]
    labels: tuple[tuple[Label, Box], ...]


def lay_out(
    picture: Picture,
    case: Case,
    words: Words,
    *,
    width: float,
    height: float,
    ruler: Ruler,
    line: float = 15,
    margins: tuple[float, float, float, float] = (52, 24, 14, 40),
    scale: float = 1,
) -> Plane:
    """The picture of a case on ``width`` × ``height`` pixels.

    Args:
        picture: what it shows.
        case: whose ceilings are drawn.
        words: of the labels.
        width, height: of the whole.
        ruler: measures a text.
        line: height of a line of text.
        margins: left, top, right, bottom.
        scale: size of marks and gaps, where a pixel is not one of a screen.
    """
    left, top, right, bottom = margins
    area = Box(left, top, width - right, height - bottom)
    sheet = _Sheet(area, ruler, line, words, picture, scale)
    sheet.x, sheet.y = _domain(picture, case)
    sheet.step()
    sheet.roofs(case)
    sheet.climb()
    sheet.ghost()
    sheet.labels.sort(key=lambda item: item[0])
    return Plane(
        area,
        sheet.x,
        sheet.y,
        tuple((sheet.at(v, sheet.y[0])[0], digits(v)) for v in _ticks(sheet.x)),
        tuple((sheet.at(sheet.x[0], v)[1], si(v, "", 2).strip()) for v in _ticks(sheet.y)),
        tuple(sheet.strokes),
        tuple(sorted(sheet.marks, key=lambda mark: _ORDER.index(mark.kind))),
        tuple(place([x for _, x in sheet.labels], area, sheet.boxes, sheet.lines)),
    )


@dataclass(slots=True)
class _Sheet:
    area: Box
    ruler: Ruler
    line: float
    words: Words
    p: Picture
    scale: float
    x: tuple[float, float] = (1, 10)
    y: tuple[float, float] = (1, 10)
    strokes: list[Stroke] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    labels: list[tuple[int, Label]] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    boxes: list[Box] = field(default_factory=list)

    def at(self, intensity: float, speed: float) -> tuple[float, float]:
        a = self.area
        across = math.log(intensity / self.x[0]) / math.log(self.x[1] / self.x[0])
        up = math.log(speed / self.y[0]) / math.log(self.y[1] / self.y[0])
        return a.x0 + across * (a.x1 - a.x0), a.y1 - up * (a.y1 - a.y0)

    def on(self, point: Dot) -> tuple[float, float]:
        return self.at(point.intensity, point.speed)

    def draw(self, kind: str, points: Sequence[tuple[float, float]], weight: float) -> None:
        self.strokes.append(Stroke(kind, tuple(points)))
        for (ax, ay), (bx, by) in pairwise(points):
            self.lines.append((ax, ay, bx, by, weight))

    def mark(self, kind: str, x: float, y: float, r: float) -> None:
        r *= self.scale
        self.marks.append(Mark(kind, x, y))
        self.boxes.append(Box(x - r, y - r, x + r, y + r))

    def say(
        self,
        rank: int,
        text: str,
        gap: float,
        *spots: tuple[float, float, Sequence[str]],
        kind: str = "",
    ) -> None:
        size = self.ruler(text) + 4
        label = Label(text, size, self.line, spots, gap * self.scale, kind)
        self.labels.append((rank, label))

    def step(self) -> None:
        """The step asked about, and prefill."""
        if self.p.prefill is not None:
            x, y = self.on(self.p.prefill)
            self.mark("prefill", x, y, 7)
            prompt = count(int(self.p.prefill.label))
            text = self.words("chart.prefill", prompt=prompt)
            self.say(3, text, 9, (x, y, ("s", "sw", "n", "nw")))
        x, y = self.on(self.p.step)
        self.mark("here", x, y, 9)
        key = "chart.you" if self.p.fits is not False else "chart.you.unfit"
        text = self.words(key, batch=self.p.step.label)
        self.say(0, text, 12, (x, y, ("se", "e", "s", "nw", "n", "w")), kind="strong")

    def roofs(self, case: Case) -> None:
        """Datasheet's and measured ceilings, and the ridge."""
        low, high = self.x
        used = dict.fromkeys(name for name, _ in case.arithmetic.values())
        for kind in ("datasheet", "measured"):
            result = getattr(case.machine, kind)
            peaks = [(name, result.compute[name]) for name in used if name in result.compute]
            memory: Figure | None = result.bandwidth.get("memory")
            bandwidth = memory.value if memory else self.p.bandwidth
            top = max([self.p.peak, *(f.value for _, f in peaks)])
            suffix = f" · {self.words(f'ceilings.{kind}')}"
            if memory is not None:
                corner = min(top / bandwidth, high)
                ends = (self.at(low, bandwidth * low), self.at(corner, bandwidth * corner))
                self.draw(kind, ends, 25)
                spots: list[Spot] = []
                for part in (0.45, 0.6, 0.32, 0.75):
                    x = low * (corner / low) ** part
                    dirs = ("nw", "w", "n") if kind == "datasheet" else ("se", "e", "s")
                    spots.append((*self.at(x, bandwidth * x), dirs))
                self.say(7, si(bandwidth, "B/s") + suffix, 6, *spots)
            for name, figure in peaks:
                start = self.at(min(figure.value / bandwidth, high), figure.value)
                end = self.at(high, figure.value)
                self.draw(kind, (start, end), 25)
                side = "n" if kind == "datasheet" else "s"
                text = f"{si(figure.value, 'FLOP/s')} · {name}{suffix}"
                spots = [(end[0] + 3, end[1], (side + "w",))]
                spots += [
                    (start[0] + (end[0] - start[0]) * part, end[1], (side,))
                    for part in (0.7, 0.5, 0.3)
                ]
                self.say(2, text, 4, *spots)
        if self.p.ridge < high:
            x, y = self.at(self.p.ridge, self.p.peak)
            self.draw("ridge", ((x, y), (x, self.area.y1)), 8)
            text = self.words("chart.ridge", ridge=digits(self.p.ridge))
            low_down = self.area.y1 - 0.73 * self.line
            self.say(1, text, 5, (x, low_down, ("e", "w")), kind="strong")

    def climb(self) -> None:
        """The decode path, its ticks, where memory is full, and the end."""
        p = self.p
        end = p.limit if p.limit is not None else math.inf
        last = min(end, self.x[1])
        ways = [q for q in (*p.ticks, p.full) if q and q.intensity <= last]
        if p.ridge < last:
            ways.append(Dot(p.ridge, p.peak, ""))
        ways.sort(key=lambda q: q.intensity)
        points = [(q.intensity, self.on(q)) for q in ways]
        points.append((last, self.at(last, p.roof(last))))
        full = p.full.intensity if p.full else math.inf
        self.draw("rest", [at for x, at in points if x >= full], 30)
        self.draw("path", [at for x, at in points if x <= full], 30)
        if p.full and full < self.x[1]:
            x, y = self.on(p.full)
            self.draw("wall", ((x, y - 12 * self.scale), (x, self.area.y1)), 20)
            room = self.area.y1 - y
            spots = [(x, y + room * part, ("e", "w")) for part in (0.42, 0.62, 0.25)]
            self.say(5, self.words("chart.full", batch=count(int(p.full.label))), 8, *spots)
        if end < self.x[1]:
            x, y = self.at(end, p.roof(end))
            self.mark("hollow", x, y, 6)
            text = self.words("chart.limit", limit=digits(end))
            self.say(4, text, 9, (x, y, ("se", "e", "nw", "n", "w", "s")))
        for q in p.ticks:
            if q.intensity < self.x[1]:
                x, y = self.on(q)
                self.mark("stop", x, y, 4)
                if q.label != p.step.label:
                    self.say(6, q.label, 7, (x, y, ("se", "s", "e", "nw")))

    def ghost(self) -> None:
        """What ×N would promise if a batch read nothing but the weights, beside the roof."""
        first, lift = self.p.ticks[0].intensity, 12 * self.scale
        xs = [first * int(q.label) for q in self.p.ticks if first * int(q.label) < self.x[1]]
        if len(xs) < 2:
            return
        times = self.p.ticks[len(xs) - 1].label
        marks = [self.at(x, self.p.roof(x)) for x in xs]
        if xs[-1] > self.p.ridge:
            xs = sorted([*xs, self.p.ridge])
        line = [self.at(x, self.p.roof(x)) for x in xs]
        self.draw("ghost", [(x, y - lift) for x, y in line], 12)
        self.marks += [Mark("ghost", x, y - lift) for x, y in marks[1:]]
        x, y = marks[-1]
        text = self.words("chart.ghost", n=times)
        self.say(8, text, 5, (x, y - lift, ("nw", "n", "w", "ne")), kind="quiet")


def _domain(p: Picture, case: Case) -> tuple[tuple[float, float], tuple[float, float]]:
    xs = [p.ticks[0].intensity, p.step.intensity, p.ridge * 3]
    if p.prefill is not None:
        xs.append(p.prefill.intensity * 1.5)
    x = (_down(min(xs) / 1.6), _up(max(xs)))
    used = {name for name, _ in case.arithmetic.values()}
    kinds = (case.machine.datasheet, case.machine.measured)
    peaks = [kind.compute[n].value for kind in kinds for n in used if n in kind.compute]
    slopes = [kind.bandwidth["memory"].value for kind in kinds if "memory" in kind.bandwidth]
    y = (_down(x[0] * min(p.bandwidth, *slopes)), _up(1.8 * max(p.peak, *peaks)))
    return x, y


def _down(value: float) -> float:
    size = 10.0 ** math.floor(math.log10(value))
    return max(s for s in (1, 2, 5, 10) if s * size <= value * (1 + 1e-12)) * size


def _up(value: float) -> float:
    size = 10.0 ** math.floor(math.log10(value))
    return min(s for s in (1, 2, 5, 10) if s * size >= value * (1 - 1e-12)) * size


def _ticks(span: tuple[float, float]) -> list[float]:
    low, high = span
    powers = range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)
    return [10.0**p for p in powers]
