"""Labels that never overlap: each takes the nearest free place around its point.

One without a free place is left out, so the order of the labels is their importance. The
page does the same (``page/web/place.js``); here it serves the still picture and print.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..record import record

AROUND = {
    "e": (1, 0),
    "ne": (1, -1),
    "n": (0, -1),
    "nw": (-1, -1),
    "w": (-1, 0),
    "sw": (-1, 1),
    "s": (0, 1),
    "se": (1, 1),
}

Line = tuple[float, float, float, float, float]
"""From x, y to x, y, and what a label pays that crosses it."""


@record
class Box:
    """A rectangle, y downwards."""

    x0: float
    y0: float
    x1: float
    y1: float

    def meets(self, other: Box) -> bool:
        """Whether they share more than an edge."""
        return (
            self.x0 < other.x1 and other.x0 < self.x1 and self.y0 < other.y1 and other.y0 < self.y1
        )

    def within(self, area: Box) -> bool:
        """Whether it lies inside an area."""
        return (
            self.x0 >= area.x0 and self.x1 <= area.x1 and self.y0 >= area.y0 and self.y1 <= area.y1
        )

    def crossed(self, line: Line) -> bool:
        """Whether a line passes through it (Liang and Barsky)."""
        ax, ay, bx, by, _ = line
        start, end = 0.0, 1.0
        for p, low, high in (
            (bx - ax, self.x0 - ax, self.x1 - ax),
            (by - ay, self.y0 - ay, self.y1 - ay),
        ):
            if p == 0:
                if low > 0 or high < 0:
                    return False
                continue
            near, far = (low / p, high / p) if p > 0 else (high / p, low / p)
            start, end = max(start, near), min(end, far)
            if start > end:
                return False
        return True


@record
class Label:
    """A text and the places that it may take.

    Attributes:
        text: what it says.
        width, height: its size.
        spots: points with the directions to try around each, best first.
        gap: distance from the point.
        kind: for the one who draws it.
    """

    text: str
    width: float
    height: float
    spots: Sequence[tuple[float, float, Sequence[str]]]
    gap: float
    kind: str = ""

    def at(self, x: float, y: float, direction: str, gap: float) -> Box:
        """Its box in a direction from a point."""
        dx, dy = AROUND[direction]
        reach = gap * 0.75 if dx and dy else gap
        left = (x - self.width / 2, x + reach, x - reach - self.width)[dx]
        top = (y - self.height / 2, y + reach, y - reach - self.height)[dy]
        return Box(left, top, left + self.width, top + self.height)


def place(
    labels: Sequence[Label],
    area: Box,
    taken: Sequence[Box] = (),
    lines: Sequence[Line] = (),
    steps: Sequence[float] = (0, 12, 26),
) -> list[tuple[Label, Box]]:
    """The labels that found a place, each with it; important labels first."""
    boxes = list(taken)
    result = []
    for label in labels:
        best: tuple[float, Box] | None = None
        for k, (x, y, directions) in enumerate(label.spots):
            for i, more in enumerate(steps):
                for j, direction in enumerate(directions):
                    cost: float = 3 * k + 10 * i + j
                    if best and cost >= best[0]:
                        continue
                    box = label.at(x, y, direction, label.gap + more)
                    if not box.within(area) or any(box.meets(other) for other in boxes):
                        continue
                    cost += sum(line[4] for line in lines if box.crossed(line))
                    if best is None or cost < best[0]:
                        best = cost, box
        if best:
            boxes.append(best[1])
            result.append((label, best[1]))
    return result
