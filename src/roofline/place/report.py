"""Placed points in words: a table, what the verdict means, where to look, how the climb went."""

from __future__ import annotations

from collections.abc import Sequence

from .. import table
from ..answer import wrap
from ..chart.terminal import width_of
from ..parallel.say import wire_words
from ..units import digits, gain, percent, seconds, si
from ..words import Words
from .climb import Climbed
from .gap import Cause, Gap
from .placed import Placed

Judged = tuple[Placed, Gap]

SHOWN = 40
"""Rows of a table before the rest is only counted."""


def title(placed: Placed, words: Words) -> str:
    """What ran under which roof."""
    point, case = placed.point, placed.case
    formats = ""
    name = point.model or ""
    if case is not None:
        name = case.model.name
        weights = point.weights or case.weights
        formats = weights
        if case.kv != weights:
            formats = words("title.kv", weights=weights, kv=case.kv)
        if point.layers is not None:
            name = words("place.layers", model=name, layers=point.layers)
    parts = [", ".join(part for part in (name, formats) if part)]
    if point.engine:
        parts.append(f"{point.engine} {point.engine_version or ''}".strip())
    devices, over = "", ""
    if point.devices > 1:
        devices = f"{point.devices} × "
        over = f", {case.parallel.name}" if case is not None else ""
    parts.append(f"{devices}{placed.machine}{over} ({words(f'ceilings.{placed.kind}')})")
    return " · ".join(part for part in parts if part)


def step(placed: Placed, words: Words) -> str:
    """The steps of a point, short."""
    point = placed.point
    if placed.case is None:
        return words("place.step.bytes", bytes=si(placed.bytes, "B"))
    batch = f"{point.batch:.0f}"
    if point.phase == "run":
        return words("place.step.run", batch=batch, context=f"{point.context:.0f}")
    if point.phase == "prefill":
        new = sum(part.tokens for part in point.parts) / point.batch
        return words("place.step.prefill", batch=batch, prompt=f"{new:.0f}")
    return words("place.step.decode", batch=batch, context=f"{point.context:.0f}")


def verdict(gap: Gap, words: Words) -> str:
    """The verdict in a word or two."""
    return words(f"place.verdict.{gap.code}")


def share(gap: Gap) -> str:
    """The share of the roof; ``≥`` where it is a lower bound."""
    return percent(gap.share) if gap.exact else f"≥ {percent(gap.share)}"


def rows(judged: Sequence[Judged], words: Words) -> str:
    """The table, one line a point."""
    columns = ("step", "speed", "time", "intensity", "flops", "bytes", "share", "verdict")
    head = [words(f"place.table.{name}") for name in columns]
    lines = []
    for placed, gap in judged[:SHOWN]:
        lines.append(
            (
                step(placed, words),
                digits(placed.point.tokens_per_s),
                seconds(placed.point.step_seconds),
                digits(placed.intensity) if placed.flops else "-",
                si(placed.speed, "FLOP/s") if placed.flops else "-",
                si(placed.traffic, "B/s"),
                share(gap),
                verdict(gap, words),
            )
        )
    text = table.render(head, lines)
    if len(judged) > SHOWN:
        text += "\n" + words("place.more", count=len(judged) - SHOWN)
    return text


def explain(placed: Placed, gap: Gap, words: Words) -> list[tuple[str, str]]:
    """What one verdict means, and where to look, as (label, sentence)."""
    binding = words(f"place.part.{placed.binding}")
    values = {
        "share": percent(gap.share),
        "over": f"{gap.share:.2f}",
        "bound": seconds(placed.overlapped_s / _steps(placed)),
        "time": seconds(placed.point.step_seconds),
        "traffic": si(placed.traffic, "B/s"),
        "bandwidth": si(placed.bandwidth, "B/s"),
        "speed": si(placed.speed, "FLOP/s"),
        "peak": si(placed.peak, "FLOP/s") if placed.peak else "-",
        "binding": binding,
        "fixed": seconds(gap.fixed_s) if gap.fixed_s else "-",
        "bytes": si(placed.bytes / _steps(placed), "B"),
        "sent": si(placed.sent / _steps(placed), "B"),
        "messages": digits(placed.messages / _steps(placed)),
    }
    kind = gap.code.split(":")[0]
    if placed.point.extra.get("counted") == "achieved":
        reached = words("place.say.bandwidth", **values)
    elif placed.communication_bound:
        reached = words("place.say.communication", **values)
    elif kind == "compute" or (kind != "suspect" and not placed.memory_bound):
        reached = words("place.say.compute", **values)
    else:
        reached = words("place.say.memory", **values)
    out = [(words("place.label.reached"), reached)]
    out += [("", sentence) for sentence in _devices(placed, words)]
    label = words("place.label.verdict")
    if kind in ("overhead",):
        out.append((label, words(f"place.say.overhead.{gap.fixed_is}", **values)))
    elif kind == "kernel" and not gap.exact:
        out.append((label, words("place.say.average", **values)))
    elif kind in ("kernel", "suspect"):
        out.append((label, words(f"place.say.{kind}", **values)))
    else:
        out.append((label, words("place.say.wall", **values)))
    if not gap.exact:
        out.append((words("place.label.note"), words(f"place.basis.{placed.point.basis}")))
    for index, cause in enumerate(gap.causes):
        head = words("place.label.causes") if index == 0 else ""
        out.append((head, f"{index + 1}. {cause_words(cause, words)}"))
    return out


def _devices(placed: Placed, words: Words) -> list[str]:
    """Of several devices: what each of them does and sends, and over what."""
    devices, steps = placed.point.devices, _steps(placed)
    if devices == 1:
        return []
    if placed.case is None:
        return [words("place.say.evenly", devices=devices)]
    found = [
        words(
            "say.parallel.each",
            devices=devices,
            weights=si(placed.weights / steps, "B"),
            kv=si((placed.kv + placed.state) / steps, "B"),
            flops=si(placed.flops / steps, "FLOP"),
        )
    ]
    if placed.messages:
        found.append(
            words(
                "say.parallel.talk",
                sent=si(placed.sent / steps, "B"),
                messages=digits(placed.messages / steps),
                time=seconds(placed.communication_s / steps),
            )
        )
    return found + list(dict.fromkeys(wire_words(wire, words) for wire in placed.case.wires))


def cause_words(cause: Cause, words: Words) -> str:
    """A cause and what to do about it."""
    values = dict(cause.values)
    for name in ("bytes", "cache", "working_set", "most"):
        if values.get(name) is not None:
            values[name] = si(values[name], "B")
    for name in ("share", "kv"):
        if name in values:
            values[name] = percent(values[name])
    if "cpus" in values:
        values["cpus"] = digits(values["cpus"], 2)
    if cause.code == "prefix":
        values["tokens"] = percent(values["tokens"])
    for name in ("factor", "tokens"):
        if isinstance(values.get(name), float):
            values[name] = digits(values[name])
    code = cause.code
    if code == "precision":
        code = f"precision.{values['what']}"
    if code == "probe" and values.get("working_set") is None:
        code = "probe.unknown"
    return words(f"place.cause.{code}", **values)


def climb(climbed: Climbed, words: Words) -> list[tuple[str, str]]:
    """How the climb went, as (label, sentence)."""
    first, best = climbed.first, climbed.best
    values = {
        "first": f"{first.point.batch:.0f}",
        "share": percent(first.share),
        "traffic": si(first.traffic, "B/s"),
        "bandwidth": si(first.bandwidth, "B/s"),
        "gain": gain(climbed.gain),
        "best": f"{best.point.batch:.0f}",
        "speed": digits(best.point.tokens_per_s),
        "until": climbed.full_until,
        "flat": climbed.flat_from,
        "falls": climbed.falls_from,
        "ideal": f"{best.point.batch / first.point.batch:.0f}",
        "reached": si(best.speed, "FLOP/s"),
        "prefill": si(climbed.prefill, "FLOP/s") if climbed.prefill else "-",
        "best_share": percent(best.share),
    }
    sentences = [words("place.climb.gain", **values)]
    if climbed.full_until is None:
        sentences.append(words("place.climb.never", **values))
    elif climbed.full_until >= climbed.last:
        sentences.append(words("place.climb.all", **values))
    else:
        sentences.append(words("place.climb.until", **values))
    if climbed.flat_from is not None:
        sentences.append(words("place.climb.flat", **values))
    if climbed.falls_from is not None:
        sentences.append(words("place.climb.falls", **values))
    sentences.append(words(f"place.climb.against.{climbed.against}", **values))
    joint = "" if words.language == "zh" else " "
    return [
        (words("place.label.first", **values), words("place.climb.first", **values)),
        (words("place.label.climb"), joint.join(sentences)),
    ]


def laid_out(lines: Sequence[tuple[str, str]], columns: int) -> str:
    """Labels on the left, sentences wrapped on the right."""
    margin = max((width_of(label) for label, _ in lines), default=0) + 2
    out = []
    for label, sentence in lines:
        for index, line in enumerate(wrap(sentence, max(30, columns - margin - 2))):
            head = label if index == 0 else ""
            out.append("  " + head + " " * (margin - width_of(head)) + line)
    return "\n".join(out)


def _steps(placed: Placed) -> float:
    return sum(part.count for part in placed.point.parts) or 1.0
