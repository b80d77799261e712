"""A prediction in words: sentences from numbers, laid out for a terminal."""

from __future__ import annotations

from typing import Any

from ..count.step import Step
from ..predicting.interval import Interval
from ..predicting.prediction import Prediction
from ..units import digits, gain, percent, seconds
from ..words import Words
from . import capacity
from .lines import Line, labelled, laid_out, wrap
from .notes import sentences
from .titles import formats, step_words


def title(p: Prediction, words: Words) -> str:
    """Model, formats, what runs, machine, engine."""
    at = p.predictor.case
    profile = p.predictor.profile
    devices = at.parallel.devices
    machine = at.machine.name
    if devices > 1:
        machine = words("title.devices", devices=devices, machine=machine, layout=at.parallel.name)
    return words(
        "predict.title",
        model=at.model.name,
        formats=formats(at.weights, at.kv, words),
        what=_what(p, words),
        machine=machine,
        engine=profile.title or profile.id,
    )


def _what(p: Prediction, words: Words) -> str:
    if p.kind == "step":
        groups = p.asked["groups"]
        parts = tuple(_group(g["batch"], g["new_tokens"], g["past"]) for g in groups)
        step = parts[0] if len(parts) == 1 else Step.mixed(*parts)
        return step_words(Step(p.asked["phase"], step.groups), words)
    if "rate" in p.asked:
        return words("predict.what.rate", **{**p.asked, "rate": digits(p.asked["rate"])})
    return words(f"predict.what.{p.kind}", **p.asked)


def _group(batch: int, new: int, past: int) -> Step:
    from ..count.group import Group

    return Step("decode" if new == 1 else "prefill", (Group(batch, new, past),))


def time(t: Interval, words: Words) -> str:
    """A time with its interval: ``7.5 ms (6.1 to 9.2)``; the slow end may have no end."""
    if t.high == float("inf"):
        return words("predict.time.open", time=seconds(t.value), low=seconds(t.low))
    return words("predict.time", time=seconds(t.value), low=seconds(t.low), high=seconds(t.high))


def speed(t: Interval, words: Words) -> str:
    """A speed with its interval, unless arrivals set it."""
    if t.low == t.high:
        return words("predict.speed.set", speed=digits(t.value))
    return words("predict.speed", speed=digits(t.value), low=digits(t.low), high=digits(t.high))


def lines(p: Prediction, words: Words) -> list[Line]:
    """The answer as labelled sentences; an empty label continues the one before."""
    case, step = p.predictor.case, p.step
    result = [] if step is None else capacity.lines(case, step, case.fit(step), words)
    fitted = [(words("label.fitted"), words("predict.fitted"))] if result else []
    result += fitted
    for name, t in p.times.items():
        result.append((words(f"predict.label.{name}"), time(t, words)))
    result.append((words("predict.label.speed"), speed(p.tokens_per_s, words)))
    if step is not None and step.drafts:
        least = digits(step.sequences / p.times["step"].value)
        result.append(("", words("predict.drafts", least=least)))
    total = float(p.parts.total)
    key = "predict.roof.load" if p.share is not None else "predict.roof.decode"
    result.append(
        (
            words("predict.label.roof"),
            words(
                "predict.roof" if p.kind == "step" else key,
                time=seconds(p.roof_s),
                share=percent(p.of_bound),
            ),
        )
    )
    shares = sorted(p.parts.to_json().items(), key=lambda item: -item[1])
    description = words.joined(
        words("predict.share", part=words(f"predict.part.{n}"), share=percent(v / total))
        for n, v in shares
        if v >= 0.005 * total
    )
    result.append((words("predict.label.parts"), description))
    if p.kind != "step" and (said := _running(p, words)):
        result.append((words("predict.label.running"), said))
    if p.share is not None and case.parallel.dp > 1:
        key = "predict.replicas.apart" if p.apart > 1 else "predict.replicas.together"
        result.append(("", words(key, replicas=case.parallel.dp)))
    result.append((words("predict.label.like"), _likeness(p, words)))
    return result + labelled(words("label.notes"), sentences(p.predictor.notes, words))


def _running(p: Prediction, words: Words) -> str:
    running, asked = p.running or 0.0, p.asked.get("concurrency")
    if p.kind == "request":
        batch = p.asked["batch"]
        values = {"running": digits(running), "turns": digits(batch / running)}
        return words("predict.running.turns", **values) if running < batch else ""
    if asked is None:
        return words("predict.running.rate", running=digits(running), most=digits(p.most or 0.0))
    if running >= asked - 0.5:
        return words("predict.running.all", running=digits(running))
    return words("predict.running.some", running=digits(running), wait=seconds(p.waiting or 0.0))


def _likeness(p: Prediction, words: Words) -> str:
    like, profile = p.like, p.predictor.profile
    if not like.rows:
        return words("predict.like.none", profile=profile.id)
    strange = [
        words(f"predict.strange.{name}")
        for name in ("machine", "generation", "model", "precision", "batch")
        if not getattr(like, name)
    ]
    if not strange:
        return words("predict.like.seen", rows=like.rows)
    return words(
        "predict.like.strange",
        rows=like.rows,
        strange=words.joined(strange),
        widen=gain(like.widen),
    )


def text(p: Prediction, words: Words, *, columns: int = 100) -> str:
    """The whole answer for a terminal."""
    return "\n".join([*wrap(title(p, words), columns), "", laid_out(lines(p, words), columns)])


def why(p: Prediction, words: Words, *, columns: int = 100) -> str:
    """The formula, and every coefficient with its value and source."""
    from . import table

    out = [*wrap(words("predict.why.formula"), columns), ""]
    head = [words(f"predict.why.{k}") for k in ("name", "value", "from", "source")]
    rows = [(n, number(n, v), o, s) for n, v, o, s in p.predictor.origins()]
    out.append(table.render(head, rows))
    device: Any = p.predictor.device
    key = "predict.why.peak.measured" if device.measured else "predict.why.peak.guessed"
    out += ["", *wrap(words(key, machine=device.name), columns)]
    return "\n".join(out)


def number(name: str, value: float) -> str:
    """A coefficient: seconds, or a plain number."""
    is_time = name.endswith(("floor", "sequence", "once"))
    return seconds(value) if is_time else digits(value)
