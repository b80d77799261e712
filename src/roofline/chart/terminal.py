"""The picture in a terminal: log-log, lines in braille dots, labels that never overlap."""

from __future__ import annotations

import math
import unicodedata

from ..units import digits, si
from ..words import Words
from .picture import Picture

_MARGIN = 11
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))


def width_of(text: str) -> int:
    """Columns that a text takes in a terminal."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide


class _Canvas:
    def __init__(self, columns: int, rows: int, ascii_only: bool) -> None:
        self.columns, self.rows, self.ascii = columns, rows, ascii_only
        self.dots = [[0] * columns for _ in range(rows)]
        self.text: list[list[str]] = [[""] * columns for _ in range(rows)]

    def dot(self, x: float, y: float) -> None:
        """A dot at x, y in 0…1, y upwards."""
        px = round(x * (2 * self.columns - 1))
        py = round((1 - y) * (4 * self.rows - 1))
        if 0 <= px < 2 * self.columns and 0 <= py < 4 * self.rows:
            self.dots[py // 4][px // 2] |= _DOTS[py % 4][px % 2]

    def cell(self, x: float, y: float) -> tuple[int, int]:
        return (
            min(self.columns - 1, max(0, int(x * self.columns))),
            min(self.rows - 1, max(0, int((1 - y) * self.rows))),
        )

    def free(self, column: int, row: int, width: int) -> bool:
        if not (0 <= row < self.rows and column >= 0 and column + width <= self.columns):
            return False
        return all(not self.text[row][i] for i in range(column, column + width))

    def write(self, column: int, row: int, text: str) -> None:
        for char in text:
            self.text[row][column] = char
            wide = width_of(char)
            for i in range(1, wide):
                self.text[row][column + i] = "\0"
            column += wide

    def label(self, column: int, row: int, text: str, places: tuple[tuple[int, int], ...]) -> bool:
        """Write a text at the first free place around a cell; say whether there was one."""
        width = width_of(text)
        for dx, dy in places:
            start = column + dx if dx >= 0 else column + dx + 1 - width
            if self.free(start - 1, row + dy, width + 2) or (
                start == 0 and self.free(start, row + dy, width + 1)
            ):
                self.write(start, row + dy, text)
                return True
        return False

    def lines(self) -> list[str]:
        """The rows as text."""
        result = []
        for texts, dots in zip(self.text, self.dots, strict=True):
            line = ""
            for char, bits in zip(texts, dots, strict=True):
                if char == "\0":
                    continue
                if char:
                    line += char
                elif bits:
                    line += "." if self.ascii else chr(0x2800 + bits)
                else:
                    line += " "
            result.append(line.rstrip())
        return result


def render(p: Picture, words: Words, *, columns: int = 80, ascii_only: bool = False) -> str:
    """The picture as text, ``columns`` wide.

    Both ceilings, the ridge, prefill, the decode path with its batches, and the hollow end
    that no batch passes.
    """
    canvas = _Canvas(max(30, columns - _MARGIN - 1), 14, ascii_only)
    prefill = [p.prefill] if p.prefill else []
    xs = [p.ridge, *(t.intensity for t in (*prefill, p.step, *p.ticks))]
    xs += [m.intensity for m in p.measured]
    left = math.floor(math.log10(min(xs)) * 2) / 2 - 0.25
    right = math.log10(max(xs)) + 0.45
    speeds = [m.speed for m in p.measured]
    below = [t.speed for t in (p.step, *p.ticks)]  # where communication binds
    peaks = [p.peak] + ([p.other[2]] if p.other else [])
    top = math.log10(max([*peaks, *speeds])) + 0.35
    bottom = math.log10(min([p.roof(10**left), *below, *(speed / 1.5 for speed in speeds)]))

    def x_of(intensity: float) -> float:
        return (math.log10(intensity) - left) / (right - left)

    def y_of(speed: float) -> float:
        return (math.log10(speed) - bottom) / (top - bottom)

    steps = 4 * canvas.columns
    for i in range(steps + 1):
        at = 10 ** (left + (right - left) * i / steps)
        canvas.dot(i / steps, y_of(p.roof(at)))
        if p.other and i % 12 < 2:  # thin: the datasheet's beside the measured, or the reverse
            canvas.dot(i / steps, y_of(min(p.other[2], p.other[1] * at)))
    mark, hollow, square, wall, star = "o@#|*" if ascii_only else "●○◆▐★"
    around = ((2, 1), (2, 0), (-2, -1), (-2, 0), (0, 1), (2, 2), (-2, -2))

    def put(intensity: float, speed: float, sign: str) -> tuple[int, int]:
        column, row = canvas.cell(x_of(intensity), y_of(speed))
        if not canvas.text[row][column]:
            canvas.write(column, row, sign)
        return column, row

    spots: list[tuple[tuple[int, int], str]] = []
    sign = "x" if ascii_only else "✕"
    spots += [(put(m.intensity, m.speed, sign), m.label) for m in p.measured]
    if p.limit is not None and p.limit < 10**right:
        end = put(p.limit, p.roof(p.limit), hollow)
        spots.append((end, words("chart.limit", limit=digits(p.limit))))
    shown = [*p.ticks, *prefill]
    apart = all((p.step.intensity, p.step.speed) != (t.intensity, t.speed) for t in shown)
    if apart or p.fits is False:
        here = put(p.step.intensity, p.step.speed, star)
        spots.append((here, p.here(words)))
    spots += [(put(t.intensity, t.speed, mark), t.label) for t in p.ticks]
    if p.full is not None:
        text = words("chart.full", batch=p.full.label)
        spots.append((put(p.full.intensity, p.full.speed, wall), text))
    there = [put(t.intensity, t.speed, square) for t in prefill]
    ridge = canvas.cell(x_of(p.ridge), y_of(p.peak))
    canvas.label(*ridge, words("chart.ridge", ridge=digits(p.ridge)), ((-1, -1), (0, -1), (0, -2)))
    for cell, point in zip(there, prefill, strict=True):
        canvas.label(
            *cell, words("chart.prefill", prompt=point.label), ((-4, 1), (-8, 1), (-10, 2))
        )
    taken: list[tuple[int, int]] = []
    for (column, row), text in spots:
        if (column, row) not in taken:
            taken.append((column, row))
            canvas.label(column, row, text, around)
    peak_row = canvas.cell(0, y_of(p.peak))[1]
    labels = {peak_row: si(p.peak, "FLOP/s").replace(" ", "")}
    if p.other:
        row = canvas.cell(0, y_of(p.other[2]))[1]
        labels.setdefault(row, si(p.other[2], "FLOP/s").replace(" ", ""))
        canvas.label(canvas.columns - 2, row, words(f"ceilings.{p.other[0]}"), ((-1, -1), (-1, 1)))
    return _framed(canvas, labels, p.axis(words), (left, right))


def _framed(canvas: _Canvas, labels: dict[int, str], unit: str, span: tuple[float, float]) -> str:
    left, right = span
    margin = _MARGIN
    side, corner, line = ("|", "+", "-") if canvas.ascii else ("│", "└", "─")
    lines = canvas.lines()
    out = [f"{labels.get(i, ''):>{margin}}{side}{text}" for i, text in enumerate(lines)]
    axis = [line] * canvas.columns
    numbers = [" "] * canvas.columns
    for power in range(math.ceil(left), math.floor(right) + 1):
        column = canvas.cell((power - left) / (right - left), 0)[0]
        text = digits(10.0**power) if power >= 0 else f"{10.0**power:g}"
        if column + len(text) < canvas.columns:
            axis[column] = "+" if canvas.ascii else "┴"
            numbers[column : column + len(text)] = list(text)
    out.append(" " * margin + corner + "".join(axis))
    label = "".join(numbers).rstrip()
    gap = canvas.columns - width_of(label) - width_of(unit)
    if gap > 1:
        label += " " * max(2, gap) + unit
    out.append(" " * (margin + 1) + label)
    if gap <= 1:  # no room beside the last number
        out.append(" " * (margin + 1 + canvas.columns - width_of(unit)) + unit)
    return "\n".join(out)
