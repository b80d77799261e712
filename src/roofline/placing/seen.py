"""What somebody measured of a step that is explained: a speed with its verdict, or a counter.

The speed becomes a point of that very step and is judged as points from files are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..bound.achieved import Achieved, achieved
from ..bound.counters import Counter, counter
from ..bound.explanation import Explanation
from ..points import Part, Point, Seconds
from .gap import Gap
from .judgement import judged
from .placed import Placed, place


@dataclass(frozen=True, slots=True)
class Seen:
    """A speed of a step with its place under the roof, or a counter.

    In words: :mod:`roofline.say.seen`.

    Attributes:
        answer: the step.
        speed, placed, gap: of a speed; ``None`` for a counter.
        counter: of a percentage; ``None`` for a speed.
    """

    answer: Explanation
    speed: Achieved | None = None
    placed: Placed | None = None
    gap: Gap | None = None
    counter: Counter | None = None

    def to_json(self) -> dict[str, Any]:
        """As data: a speed and its ``verdict``, or what a counter says at best."""
        if self.speed is None:
            assert self.counter is not None
            return self.counter.held(self.answer.bound)
        assert self.gap is not None
        return self.speed.to_json() | {"verdict": self.gap.to_json()}


def seen(text: str, answer: Explanation) -> Seen:
    """What ``text`` says of the step that was explained.

    Raises:
        InputError: neither a speed, nor a time, nor a counter.
    """
    if (named := counter(text)) is not None:
        named.held(answer.bound)  # refused here where it cannot be of this step
        return Seen(answer, counter=named)
    case, step = answer.case, answer.step
    whole = step.sequences if step.phase in ("encode", "prefill") else None
    speed = achieved(text, answer.bound, whole)
    point = Point(
        parts=(Part(step.groups),),
        seconds=Seconds(speed.seconds),
        phase=step.phase,
        model=case.model.name,
        weights=case.weights,
        machine=case.machine.id,
        devices=case.parallel.devices,
        layout=None if case.parallel.single else case.parallel,
        tokens=float(answer.bound.tokens),
    )
    placed = place(point, case)
    ((_, gap),) = judged([placed])
    return Seen(answer, speed, placed, gap)
