"""The whole answer of `place` and `bench` for a terminal: table, words, climb, chart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..chart import picture, terminal
from ..chart.picture import Dot
from ..count.step import Step
from ..placing.climb import climbs
from ..placing.gap import Gap
from ..placing.judgement import engine, judged
from ..placing.placed import Placed
from ..record import replace
from ..units import digits, percent
from ..words import Words
from . import causes as say
from . import placed as report
from . import screen
from .lines import laid_out

EXPLAINED = 3
"""Points explained one by one; of more, only the one that has most to explain."""

PROMPT = 512
"""The least prompt whose prefill the picture marks: a short context is no scene."""


def text(items: Sequence[Placed], words: Words, *, columns: int = 100, chart: bool = True) -> str:
    """Everything about the points, grouped by engine, model and machine."""
    groups: dict[Any, list[tuple[Placed, Gap]]] = {}
    for item, gap in judged(items):
        groups.setdefault(engine(item), []).append((item, gap))
    return "\n\n".join(_group(group, words, columns, chart) for group in groups.values())


def _group(group: list[tuple[Placed, Gap]], words: Words, columns: int, chart: bool) -> str:
    first = group[0][0]
    if first.point.extra.get("counted") == "ratio":
        return _ratio(*group[0], words, columns)
    out = [report.title(first, words), ""]
    if len(group) > 1:
        out += [report.rows(group, words), ""]
    for number, (item, gap) in enumerate(_worth_words(group)):
        if number:
            out.append("")
        if len(group) > 1:
            out.append(f"  {report.step(item, words)}")
        out.append(laid_out(report.explain(item, gap, words), columns))
    for climbed in climbs([item for item, _ in group]):
        out += ["", laid_out(say.climb(climbed, words), columns)]
    drawn = _chart([item for item, _ in group], words, columns) if chart else None
    return "\n".join([*out, *(["", drawn] if drawn else [])])


def _worth_words(group: list[tuple[Placed, Gap]]) -> list[tuple[Placed, Gap]]:
    if len(group) <= EXPLAINED:
        return group
    suspects = [pair for pair in group if pair[1].code == "suspect"]
    routed = [pair for pair in group if pair[1].code == "routing"]
    gaps = [pair for pair in group if pair[1].code in ("overhead", "kernel")]
    result = []
    if suspects:
        result.append(max(suspects, key=lambda pair: pair[1].share))
    if routed:
        result.append(max(routed, key=lambda pair: pair[1].share))
    if gaps and not suspects:
        result.append(min(gaps, key=lambda pair: (not pair[1].exact, pair[1].share)))
    return result or [group[0]]


def _ratio(item: Placed, gap: Gap, words: Words, columns: int) -> str:
    values = {"share": percent(gap.share), "over": digits(gap.share)}
    values["measured"] = digits(item.point.tokens_per_s, 4)
    values["roof"] = digits(item.bandwidth, 4)
    key = "place.say.ratio.above" if gap.code == "suspect" else "place.say.ratio"
    lines = [(words("place.label.reached"), words(key, **values))]
    lines.append((words("place.label.note"), words("place.say.ratio.note")))
    return laid_out(lines, columns)


def _chart(items: Sequence[Placed], words: Words, columns: int) -> str | None:
    """The resting picture of the case around the first decode point, with what was reached."""
    decode = [item for item in items if item.point.phase == "decode"]
    one = (decode or list(items))[0]
    if one.case is None:
        return None
    if one.point.phase == "encode":
        step = Step("encode", one.point.parts[0].groups)
        prefill = None
    else:
        step = Step.decode(1, max(1, round(one.point.context)))
        prompt = max(PROMPT, step.groups[0].context)
        bound = one.case.bound(Step.prefill(1, prompt))
        prefill = Dot(bound.intensity, float(bound.flops / bound.overlapped_s), str(prompt))
    drawn = picture.draw(one.case, step)
    dots = []
    for item in items:
        if item.point.phase == "run":
            continue
        label = f"{item.point.batch:.0f}" if item.point.phase in ("decode", "encode") else ""
        dots.append(Dot(item.intensity, item.speed, label))
    kept = tuple(dots[:24])
    plain = not screen.unicode()
    shown = replace(drawn, prefill=prefill, measured=kept)
    return terminal.render(shown, words, columns=min(columns, 100), ascii_only=plain)
