"""The answer in words: sentences from codes and numbers, laid out for a terminal or a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .. import words as _words
from ..chart import picture, terminal
from ..chart.terminal import width_of
from ..count.step import Group, Step
from ..record import replace
from ..units import digits, gain, percent, seconds, si
from ..words import Words
from . import capacity, screen, table

if TYPE_CHECKING:
    from ..bound.achieved import Achieved
    from ..bound.case import Bound, Case, OperatorBound
    from ..bound.counters import Counter
    from ..bound.explanation import Explanation


APART = 1.02
"""The serial bound is given beside the overlapped one where it is so many times as long."""

SHARE = 0.0005
"""Of the time, from which a part is named."""

WAITED = 1.05
"""A lever's gain by the serial bound is given where the overlapped one is so many times it."""


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
    formats = case.weights
    if case.kv != case.weights:
        formats = words("title.kv", weights=case.weights, kv=case.kv)
    return words(
        "title",
        model=case.model.name,
        formats=formats,
        step=step_words(e.step, words),
        machine=_machine(e, words),
        ceilings=ceilings(case, words),
    )


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
            what=words("list.joint").join(what),
            kind=words(f"ceilings.{kind}"),
        )
    return said


def _machine(e: Explanation, words: Words) -> str:
    name, layout = e.case.machine.name, e.case.parallel
    if layout.single:
        return name
    return words("title.devices", devices=layout.devices, machine=name, layout=layout.name)


def verdict(e: Explanation, words: Words) -> tuple[str, str]:
    """The verdict's label and its numbers."""
    b = e.bound
    if b.communication_bound:
        from . import devices as say

        return words("label.communication"), say.verdict(e, words)
    if b.memory_bound:
        numbers = words(
            "say.intensity.memory",
            intensity=digits(b.intensity),
            ridge=digits(b.ridge),
            fraction=percent(b.peak_fraction),
        )
    else:
        numbers = words(
            "say.intensity.compute",
            intensity=digits(b.intensity),
            ridge=digits(b.ridge),
            times=gain(b.compute_s / b.memory_s),
        )
    return words("label.memory" if b.memory_bound else "label.compute"), numbers


def lines(e: Explanation, words: Words) -> list[tuple[str, str]]:
    """The answer as labelled sentences; an empty label continues the one before."""
    found = capacity.lines(e.case, e.step, e.fit, words)
    best = words("label.fitted" if found else "label.best")
    found += [verdict(e, words), (best, _speed(e, words))]
    if e.fewest:
        found.append(("", routing(e, e.fewest, words)))
    if not e.case.parallel.single:
        from . import devices as say

        label = words("label.parallel")
        found += [(label if i == 0 else "", x) for i, x in enumerate(say.lines(e, words))]
    found += _climb(e, words)
    found += _lever_lines(e, words)
    notes = [words("say.doubts", seen=", ".join(e.doubts))] if e.doubts else []
    notes += e.notes
    found += [(words("label.notes") if i == 0 else "", note) for i, note in enumerate(notes)]
    return found


def _speed(e: Explanation, words: Words) -> str:
    b = e.bound
    own = ("decode", "prefill", "verify", "encode")
    key = f"say.speed.{e.step.phase if e.step.phase in own else 'step'}"
    key += "s" if key == "say.speed.prefill" and e.step.sequences > 1 else ""
    least = digits(e.step.sequences / b.overlapped_s)
    speed = words(key, speed=digits(b.tokens_per_s), time=seconds(b.overlapped_s), least=least)
    shares = words("list.joint").join(
        words("say.share", part=words(f"part.{name}"), share=percent(share))
        for name, share in sorted(b.shares.items(), key=lambda item: -item[1])
        if share >= SHARE
    )
    if b.serial_s <= APART * b.overlapped_s:
        return f"{speed} · {words('say.shares', shares=shares)}"
    serial = digits(b.tokens / b.serial_s)
    values = {"speed": serial, "time": seconds(b.serial_s), "shares": shares}
    several = "" if e.case.parallel.single else ".parallel"
    return f"{speed} · {words(f'say.shares.serial{several}', **values)}"


def routing(e: Explanation, fewest: Bound, words: Words) -> str:
    """That the experts read are an expectation, and what no routing beats."""
    expected = e.case.routing(e.step)
    assert expected is not None
    return words(
        "say.routing",
        expected=digits(expected.expected),
        experts=expected.experts,
        active=expected.active,
        time=seconds(fewest.overlapped_s),
    )


def _climb(e: Explanation, words: Words) -> list[tuple[str, str]]:
    c = e.climb
    limit = digits(c.limit) if c.limit is not None else ""
    group, *others = e.step.groups
    if c.limit is not None and others:
        alike = all(g.new_tokens == group.new_tokens for g in others)
        text = words("say.climb.ragged" if alike else "say.climb.mixed", limit=limit)
    elif c.crossing is None:
        one = e.case.chains[0].bound(Step(e.step.phase, (replace(group, batch=1),)))
        own = one.kv_read + one.kv_write + one.state
        each = ".each" if e.case.parallel.tp > 1 else ""
        text = words(
            f"say.climb.never.{c.reason}{each}",
            limit=limit,
            own=si(own, "B"),
            flops=si(one.flops, "FLOP"),
        )
    elif c.limit is None and e.step.phase == "encode":
        key = "say.climb.encode.already" if c.crossing == 1 else "say.climb.encode"
        tokens = e.step.groups[0].new_tokens
        text = words(key, crossing=c.crossing, tokens=tokens)
    elif c.crossing == 1:
        text = words("say.climb.already", limit=limit)
    elif c.limit is None:
        text = words("say.climb.crosses.unbounded", crossing=c.crossing)
    else:
        text = words("say.climb.crosses", crossing=c.crossing, limit=limit)
    room = _room(e, words)
    return [(words("label.batch"), text), *([("", room)] if room else [])]


def _room(e: Explanation, words: Words) -> str:
    c, f = e.climb, e.fit
    parts = []
    several = len(e.step.groups) > 1
    if (
        c.kv_outweighs is not None
        and c.kv_outweighs > 1
        and e.step.phase == "decode"
        and not several
    ):
        parts.append(words("say.climb.outweighs", batch=c.kv_outweighs))
    if f.max_batch is None:
        parts.append(words("say.climb.unknown", machine=e.case.machine.name))
    elif f.max_batch:
        before = c.crossing is not None and f.max_batch < c.crossing
        key = "say.climb.full.before" if before else "say.climb.full"
        key = "say.climb.full.beside" if several else key
        parts.append(words(key, batch=f.max_batch))
    return ("；" if words.language == "zh" else "; ").join(parts)


def _lever_lines(e: Explanation, words: Words) -> list[tuple[str, str]]:
    found = []
    for lever in e.levers:
        values = {**lever.values, "machine": e.case.machine.name, "gain": gain(lever.gain)}
        if "to" in values:
            values["to"] = str(values["to"]).split(":", maxsplit=1)[0]
        if "tokens_per_s" in values:
            speed = digits(lever.values["tokens_per_s"])
            found.append(words(f"lever.{lever.code}.fits", **{**values, "speed": speed}))
            continue
        more = lever.code == "devices" and lever.values["devices"] > 2
        said = words(f"lever.{lever.code}{'.more' if more else ''}", **values)
        serial = lever.values.get("serial_gain", lever.gain)
        if serial < lever.gain / WAITED:
            said += words("lever.waited", gain=gain(serial))
        found.append(said)
    joint = "，" if words.language == "zh" else ", "
    none = "lever.none.fits" if e.verdict.code == "capacity" else "lever.none"
    return [(words("label.levers"), joint.join(found) or words(none))]


def wrap(text: str, width: int) -> list[str]:
    """Lines no wider than ``width`` columns, broken at spaces or between wide characters."""
    out, line = [], ""
    for word in _pieces(text):
        if line and width_of(line) + width_of(word.rstrip()) > width:
            out.append(line.rstrip())
            line = ""
        line += word if line else word.lstrip()
    return [*out, line.rstrip()] if line.strip() else out or [""]


def _pieces(text: str) -> list[str]:
    found, word = [], ""
    for char in text:
        word += char
        if char == " " or width_of(char) == 2:
            found.append(word)
            word = ""
    return [*found, word] if word else found


def operators(e: Explanation, words: Words) -> str:
    """The table of operators, with each one's share of the serial bound."""
    head = [
        words(f"table.{name}")
        for name in (
            "operator",
            "count",
            "flops",
            "bytes",
            "intensity",
            "seconds",
            "share",
            "bound",
        )
    ]
    rows = [
        (
            op.name,
            str(op.count),
            si(op.flops, "") if op.wire is None else "-",
            words("table.sent", bytes=si(op.sent, "B")) if op.wire else si(op.bytes, "B"),
            digits(op.intensity) if op.intensity is not None else "-",
            seconds(op.seconds),
            percent(op.seconds / e.bound.serial_s),
            _limit(op, words),
        )
        for op in e.operators
    ]
    return table.render(head, rows)


def _limit(op: OperatorBound, words: Words) -> str:
    where = op.wire.slowest.link.name if op.wire else op.compute
    return f"{words(f'bound.{op.bound}')} ({where})" if op.flops or op.wire else "-"


def measured(point: Achieved, words: Words) -> tuple[str, str]:
    """A measured speed beside the roof."""
    return words("label.achieved"), words(
        "say.achieved.suspect" if point.suspect else "say.achieved",
        speed=digits(point.tokens_per_s),
        time=seconds(point.seconds),
        bandwidth=si(point.bytes_per_s, "B/s"),
        compute=si(point.flops_per_s, "FLOP/s"),
        fraction=percent(point.of_roof),
    )


def counted(seen: Counter, e: Explanation, words: Words) -> tuple[str, str]:
    """What a monitor's percentage says of the step, and what it does not."""
    held = seen.held(e.bound)
    values: dict[str, object] = {
        "share": percent(seen.share),
        "peak": percent(held["peak_at_best"]),
        "bandwidth": percent(held["bandwidth_at_best"]),
    }
    key = f"say.counter.{seen.kind}"
    if seen.kind == "communication":
        more = held["exchange_s"] > held["needed_s"]
        key += "" if more else ".less"
        values |= {
            "rest": seconds(held["rest_s"]),
            "exchange": seconds(held["exchange_s"]),
            "needed": seconds(held["needed_s"]),
            "times": gain(held["exchange_s"] / held["needed_s"]),
            "messages": digits(held["messages"]),
            "each": seconds(held["exchange_s"] / held["messages"]),
        }
    return words("label.achieved"), words(key, **values)


def text(
    e: Explanation,
    words: Words | None = None,
    *,
    columns: int = 100,
    chart: bool = True,
    seen: Sequence[tuple[str, str]] = (),
) -> str:
    """The whole answer for a terminal: title, sentences, chart; ``seen``: what was measured of
    it, as labelled sentences, after the verdict."""
    words = words or _words.choose()
    rows = lines(e, words)
    rows[2:2] = seen
    margin = max(width_of(label) for label, _ in rows) + 2
    out = [*wrap(title(e, words), columns), ""]
    for label, sentence in rows:
        for i, line in enumerate(wrap(sentence, max(30, columns - margin - 2))):
            head = label if i == 0 else ""
            out.append("  " + head + " " * (margin - width_of(head)) + line)
    if chart:
        drawn = picture.draw(e.case, e.step)
        plain = not screen.unicode()
        out += ["", terminal.render(drawn, words, columns=min(columns, 100), ascii_only=plain)]
    return "\n".join(out)
