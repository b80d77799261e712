"""What does not fit, in words: why not, and what would hold it. Every verb says it first."""

from __future__ import annotations

from ..bound.case import Case
from ..bound.outcomes import Fit
from ..count.step import Step
from ..units import digits, percent, si
from ..words import SOURCE, Words
from .lines import Line

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from ..bound.hold import Holding


def lines(case: Case, step: Step, fit: Fit, words: Words) -> list[Line]:
    """Labelled sentences; none where the step fits, or where that is unknown."""
    if fit.holds(step.batch) is not False:
        return []
    return [(words("label.capacity"), lacks(case, step, fit, words)), ("", held(case, step, words))]


def refused(case: Case, step: Step) -> str:
    """The same as an error says it."""
    english = Words(SOURCE)
    why = lacks(case, step, case.fit(step), english)
    tokens = step.groups[0].context
    return (
        f"{case.model.name} with a sequence of {tokens} tokens does not fit: {why}; "
        f"{held(case, step, english)}"
    )


def lacks(case: Case, step: Step, fit: Fit, words: Words) -> str:
    """What there is no room for: the weights, one sequence beside them, or so many."""
    room, memory = fit.room or 0.0, fit.memory_bytes or 0.0
    each = fit.kv_bytes_per_sequence + fit.workspace_per_sequence
    values = {
        "weights": si(fit.weight_bytes, "B"),
        "sequence": si(each, "B"),
        "left": si(max(0.0, room - fit.weight_bytes), "B"),
        "room": si(room, "B"),
        "usable": percent(fit.usable),
        "memory": si(memory, "B"),
        "batch": step.batch,
        "max": fit.max_batch,
    }
    if fit.max_batch:
        key = "batch"
    elif fit.weight_bytes >= room:
        key = "weights"
    else:
        key = "sequence" if len(step.groups) == 1 else "others"
    devices = case.parallel.devices
    where = words("say.capacity.on", devices=devices) if devices > 1 else ""
    return where + words(f"say.capacity.{key}", **values)


def held(case: Case, step: Step, words: Words) -> str:
    """How many devices would hold it, and in which layout."""
    from ..bound.hold import MOST, held_by

    found = held_by(case, step)
    machine = case.machine.name
    if not found:
        return words("say.held.none", most=f"{MOST:,}", machine=machine)
    first, *others = found
    parts = [_one("say.held", case, first, words)]
    parts += [_one("say.held.tensor", case, other, words) for other in others]
    if not first.joined:
        joins = max((x.devices for x in case.machine.links if x.scope != "host"), default=1)
        key = "say.held.unjoined" if joins > 1 else "say.held.unlinked"
        parts.append(words(key, machine=machine, joins=joins))
    return words.joined(parts, "sides")


def _one(key: str, case: Case, found: Holding, words: Words) -> str:
    one = "" if found.layout.devices > 1 else ".one"
    return words(
        key + one,
        devices=found.layout.devices,
        machine=case.machine.name,
        options=found.options,
        batch=digits(found.max_batch) if found.max_batch >= 10_000 else found.max_batch,
        speed=digits(found.tokens_per_s),
    )
