"""One run of an engine: open it, measure its plan under this machine's roof, give everything back.

What was measured is on disk at once, whatever ends the run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import RooflineError
from ..points import Point, PointsWriter, read_points
from . import drive
from .chosen import Chosen
from .drive import Event
from .interrupts import Interrupts


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to tell that is of no job: ``preparing``, ``writes``, ``others``, ``plain`` text.

    Attributes:
        code: what it is about.
        values: what its sentence says.
    """

    code: str
    values: Mapping[str, Any]


Tell = Callable[[Event | Notice], None]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended.

    Attributes:
        points: measured, or found in the file where an earlier run goes on; in order.
        kept: whether all of them are in the file.
        stopped: what ended it early, Ctrl-C or a failure, or ``None``.
    """

    points: tuple[Point, ...]
    kept: bool
    stopped: BaseException | None = None


def run(
    chosen: Chosen,
    path: str,
    *,
    resume: bool = False,
    roof: bool = True,
    tell: Tell = lambda said: None,
) -> Ended:
    """Run what was chosen.

    Args:
        chosen: engine, model and plan.
        path: the points file, which is added to.
        resume: leave out what the file already has.
        roof: measure this machine's ceilings between points.
        tell: hears what happens.

    Raises:
        InputError: the file is no points file.
    """
    points: list[Point] = []
    lost = False
    stopped: BaseException | None = None

    def hear(event: Event) -> None:
        nonlocal lost
        if event.point is not None and event.kind in ("done", "skip", "lost"):
            points.append(event.point)
            lost = lost or event.kind == "lost"
        tell(event)

    def plain(text: str) -> None:
        tell(Notice("plain", {"text": text}))

    goes_on = resume and os.path.exists(path)
    done = list(read_points(path, finished_only=True)) if goes_on else []
    with PointsWriter(path) as writer, Interrupts() as interrupts:
        measurer = probe = None
        try:
            tell(Notice("preparing", {"engine": chosen.engine, "model": chosen.model_name}))
            measurer = chosen.open()
            if said := measurer.setup.settings.get("writes"):
                tell(Notice("writes", {"text": " ".join(said.split())}))
            probe = chosen.probe(measurer.setup.precisions, plain) if roof else None
            facts = chosen.facts
            _, others = drive.same_run(measurer.setup, chosen.machine_name, facts, done)
            if others:
                differ = tuple(dict.fromkeys(others))
                tell(Notice("others", {"count": len(others), "what": differ}))
            drive.run(
                measurer,
                chosen.plan,
                writer=writer,
                probe=probe,
                machine=chosen.machine_name,
                facts=facts,
                done=done,
                tell=hear,
                tick=interrupts.check,
            )
            interrupts.check()
        except (KeyboardInterrupt, RooflineError) as error:
            stopped = error
        finally:
            for thing in (probe, measurer):
                if thing is not None:
                    thing.close()
            chosen.clean()
        kept = writer.intact() and not lost
    return Ended(tuple(points), kept, stopped)
