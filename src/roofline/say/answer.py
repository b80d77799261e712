"""The answer in words: sentences from codes and numbers, laid out for a terminal or a page."""

from __future__ import annotations

from .. import words as _words
from ..chart import picture, terminal
from ..units import digits, gain, percent, seconds
from ..words import Words
from . import batch, capacity, screen
from .lines import Line, labelled, laid_out, wrap
from .notes import sentences
from .titles import title

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..bound.chain import Bound
    from ..bound.explanation import Explanation


APART = 1.02
"""The serial bound is given beside the overlapped one where it is so many times as long."""

SHARE = 0.0005
"""Of the time, from which a part is named."""

WAITED = 1.05
"""A lever's gain by the serial bound is given where the overlapped one is so many times it."""


def verdict(e: Explanation, words: Words) -> Line:
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


def lines(e: Explanation, words: Words) -> list[Line]:
    """The answer as labelled sentences; an empty label continues the one before."""
    result = capacity.lines(e.case, e.step, e.fit, words)
    best = words("label.fitted" if result else "label.best")
    result += [verdict(e, words), (best, _speed(e, words))]
    if e.fewest:
        result.append(("", routing(e, e.fewest, words)))
    if not e.case.parallel.single:
        from . import devices as say

        result += labelled(words("label.parallel"), say.lines(e, words))
    result += batch.lines(e, words)
    result.append((words("label.levers"), levers(e, words)))
    notes = [words("say.doubts", seen=words.joined(e.doubts))] if e.doubts else []
    return result + labelled(words("label.notes"), [*notes, *sentences(e.notes, words)])


def _speed(e: Explanation, words: Words) -> str:
    b = e.bound
    own = ("decode", "prefill", "verify", "encode")
    key = f"say.speed.{e.step.phase if e.step.phase in own else 'step'}"
    key += "s" if key == "say.speed.prefill" and e.step.sequences > 1 else ""
    least = digits(e.step.sequences / b.overlapped_s)
    speed = words(key, speed=digits(b.tokens_per_s), time=seconds(b.overlapped_s), least=least)
    shares = words.joined(
        words("say.share", part=words(f"part.{name}"), share=percent(share))
        for name, share in sorted(b.shares.items(), key=lambda item: -item[1])
        if share >= SHARE
    )
    if b.serial_s <= APART * b.overlapped_s:
        return words.joined((speed, words("say.shares", shares=shares)), "apart")
    serial = digits(b.tokens / b.serial_s)
    values = {"speed": serial, "time": seconds(b.serial_s), "shares": shares}
    several = "" if e.case.parallel.single else ".parallel"
    return words.joined((speed, words(f"say.shares.serial{several}", **values)), "apart")


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


def levers(e: Explanation, words: Words) -> str:
    """What would help, and the most that each can give."""
    result = []
    for lever in e.levers:
        values = {**lever.values, "machine": e.case.machine.name, "gain": gain(lever.gain)}
        if "to" in values:
            values["to"] = str(values["to"]).split(":", maxsplit=1)[0]
        if "tokens_per_s" in values:
            speed = digits(lever.values["tokens_per_s"])
            result.append(words(f"lever.{lever.code}.fits", **{**values, "speed": speed}))
            continue
        more = lever.code == "devices" and lever.values["devices"] > 2
        said = words(f"lever.{lever.code}{'.more' if more else ''}", **values)
        serial = lever.values.get("serial_gain", lever.gain)
        if serial < lever.gain / WAITED:
            said += words("lever.waited", gain=gain(serial))
        result.append(said)
    none = "lever.none.fits" if e.verdict.code == "capacity" else "lever.none"
    return words.joined(result, "clauses") or words(none)


def text(
    e: Explanation,
    words: Words | None = None,
    *,
    columns: int = 100,
    chart: bool = True,
    seen: Sequence[Line] = (),
) -> str:
    """The whole answer for a terminal: title, sentences, chart; ``seen``: what was measured of
    it, as labelled sentences, after the verdict."""
    words = words or _words.choose()
    rows = lines(e, words)
    rows[2:2] = seen
    out = [*wrap(title(e, words), columns), "", laid_out(rows, columns)]
    if chart:
        drawn = picture.draw(e.case, e.step)
        plain = not screen.unicode()
        out += ["", terminal.render(drawn, words, columns=min(columns, 100), ascii_only=plain)]
    return "\n".join(out)
