"""Causes, facts and climbs in words."""

from __future__ import annotations

from ..placing.cause import Cause
from ..placing.climb import Climbed
from ..units import digits, gain, percent, seconds, si
from ..words import Words
from .lines import Line


def cause_words(cause: Cause, words: Words) -> str:
    """A cause and what to do about it."""
    values = dict(cause.values)
    for name in ("bytes", "cache", "working_set", "most", "sent"):
        if values.get(name) is not None:
            values[name] = si(values[name], "B")
    for name in ("share", "kv"):
        if name in values:
            values[name] = percent(values[name])
    for name in ("launch", "together", "exchange_s"):
        if name in values:
            values[name] = seconds(values[name])
    if "cpus" in values:
        values["cpus"] = digits(values["cpus"], 2)
    if cause.code == "prefix":
        values["tokens"] = percent(values["tokens"])
    for name in ("factor", "tokens", "touched", "read", "messages"):
        if isinstance(values.get(name), float):
            values[name] = digits(values[name])
    code = cause.code
    if code == "precision":
        code = f"precision.{values['what']}"
    if code == "probe" and values.get("working_set") is None:
        code = "probe.unknown"
    if code == "sheet":
        code = f"sheet.{values['of']}"
    return words(f"place.cause.{code}", **values)


def climb(climbed: Climbed, words: Words) -> list[Line]:
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
        "ideal": f"{best.point.batch / first.point.batch:.0f}",
        "reached": si(best.speed, "FLOP/s"),
        "prefill": si(climbed.prefill, "FLOP/s") if climbed.prefill else "-",
        "best_share": percent(best.share),
        "fits": climbed.fits,
        "last": climbed.last,
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
    if climbed.falls:
        before, after = climbed.falls
        sentences.append(
            words(
                "place.climb.falls",
                batch=f"{after.point.batch:.0f}",
                speed=digits(after.point.tokens_per_s),
                before=f"{before.point.batch:.0f}",
                before_speed=digits(before.point.tokens_per_s),
            )
        )
    if above := climbed.superlinear:
        sentences.append(
            words(
                "place.climb.superlinear",
                gain=gain(above.point.tokens_per_s / first.point.tokens_per_s),
                ideal=digits(above.point.batch / first.point.batch),
                first=values["first"],
            )
        )
    if climbed.line:
        line = climbed.line
        sentences.append(
            words(
                "place.climb.line",
                fixed=seconds(line.fixed),
                each=seconds(line.each),
                points=line.points,
                roof_fixed=seconds(line.roof_fixed),
                roof_each=seconds(line.roof_each),
            )
        )
    sentences.append(words(f"place.climb.against.{climbed.against}", **values))
    return [
        (words("place.label.first", **values), words("place.climb.first", **values)),
        (words("place.label.climb"), words.joined(sentences, "sentences")),
    ]
