"""What an answer is about: the step, the model and its formats, the machine and its ceilings."""

from __future__ import annotations

from ..count.group import Group
from ..count.step import Step
from ..words import Words

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from ..bound.case import Case
    from ..bound.explanation import Explanation


def step_words(step: Step, words: Words) -> str:
    """What is run: ``decode, batch 1, context 2048``."""
    if step.phase == "mixed" or len(step.groups) > 1:
        parts = " + ".join(_group(g, words) for g in step.groups)
        return words("phase.mixed", parts=parts) if step.phase == "mixed" else parts
    group = step.groups[0]
    if step.phase == "encode":
        return words("phase.encode", batch=group.batch, tokens=group.new_tokens)
    if step.phase == "verify":
        return words(
            "phase.verify",
            batch=group.batch,
            tokens=group.new_tokens,
            context=group.past + 1,
        )
    return _group(group, words, prefill=step.phase == "prefill")


def _group(g: Group, words: Words, prefill: bool | None = None) -> str:
    if prefill is False or (prefill is None and g.new_tokens == 1 and g.past > 0):
        return words("phase.decode", batch=g.batch, context=g.context)
    key = "phase.prefill.past" if g.past else "phase.prefill"
    return words(key, batch=g.batch, prompt=g.new_tokens, past=g.past)


def title(e: Explanation, words: Words) -> str:
    """Model, formats, step, machine."""
    case = e.case
    return words(
        "title",
        model=case.model.name,
        formats=formats(case.weights, case.kv, words),
        step=step_words(e.step, words),
        machine=_machine(e, words),
        ceilings=ceilings(case, words),
    )


def formats(weights: str, kv: str, words: Words) -> str:
    """The format of the weights, and the cache's where it is another."""
    return weights if kv == weights else words("title.kv", weights=weights, kv=kv)


def ceilings(case: Case, words: Words) -> str:
    """Which ceilings hold, and which of them had to come from the other kind."""
    said = words(f"ceilings.{case.kind}")
    if case.kind != case.roof.kind:
        return said
    for kind in dict.fromkeys(case.borrowed.values()):
        names = [name for name, of in case.borrowed.items() if of == kind]
        what = [words("ceilings.memory") if name == "memory" else name for name in names]
        said += words(
            "ceilings.borrowed",
            what=words.joined(what),
            kind=words(f"ceilings.{kind}"),
        )
    return said


def _machine(e: Explanation, words: Words) -> str:
    name, layout = e.case.machine.name, e.case.parallel
    if layout.single:
        return name
    return words("title.devices", devices=layout.devices, machine=name, layout=layout.name)
