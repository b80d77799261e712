"""Placed points in words: a table, what the verdict means, where to look, how the climb went."""

from __future__ import annotations

from collections.abc import Sequence

from ..placing.gap import Gap
from ..placing.placed import Placed
from ..points.point import UNSAID
from ..units import digits, percent, seconds, si
from ..words import Words
from . import table
from .causes import cause_words
from .devices import wire_words
from .lines import Line, labelled
from .titles import formats as formats_of

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
        formats = formats_of(point.weights or case.weights, case.kv, words)
        if point.layers is not None:
            name = words("place.layers", model=name, layers=point.layers)
    parts = [words.joined((part for part in (name, formats) if part), "clauses")]
    if point.engine:
        parts.append(f"{point.engine} {point.engine_version or ''}".strip())
    machine = placed.machine
    if point.devices > 1 and case is not None:
        values = {"devices": point.devices, "layout": case.parallel.name}
        machine = words("title.devices", machine=machine, **values)
    elif point.devices > 1:
        machine = f"{point.devices} × {machine}"
    kind = words(f"ceilings.{placed.kind}")
    parts.append(words("title.machine", machine=machine, ceilings=kind))
    return words.joined((part for part in parts if part), "apart")


def step(placed: Placed, words: Words) -> str:
    """The steps of a point, short."""
    point = placed.point
    if placed.case is None:
        return words("place.step.bytes", bytes=si(placed.bytes, "B"))
    batch = f"{point.batch:.0f}"
    if UNSAID in point.notes:
        return words("place.step.rate", context=f"{point.context:.0f}")
    if point.phase == "run":
        return words("place.step.run", batch=batch, context=f"{point.context:.0f}")
    if point.phase == "encode":
        tokens = point.parts[0].groups[0].new_tokens
        return words("place.step.encode", batch=batch, tokens=tokens)
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
        run = placed.point.phase == "run"
        lines.append(
            (
                step(placed, words),
                digits(placed.point.tokens_per_s),
                seconds(placed.seconds if run else placed.point.step_seconds),
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


def explain(placed: Placed, gap: Gap, words: Words) -> list[Line]:
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
        "arithmetic": percent(placed.compute_s / placed.seconds),
        "batch": f"{placed.point.batch:.0f}",
        "least": percent(placed.least_s / placed.seconds),
    }
    if gap.causes and gap.causes[0].code == "offload":
        values |= gap.causes[0].values
    if placed.point.phase == "run":
        values |= {"bound": seconds(placed.overlapped_s), "time": seconds(placed.seconds)}
    out = [(words("place.label.reached"), words(f"place.say.{_reached(placed, gap)}", **values))]
    out += [("", sentence) for sentence in _devices(placed, words)]
    out.append(
        (words("place.label.verdict"), words(f"place.say.{_meaning(placed, gap)}", **values))
    )
    notes = [] if gap.exact else [words(f"place.basis.{placed.point.basis}")]
    notes += [words(f"place.note.{note}", **values) for note in placed.point.notes
              if words.has(f"place.note.{note}")]  # fmt: skip
    notes += [cause_words(fact, words) for fact in gap.facts if not fact.code.startswith("series.")]
    out += labelled(words("place.label.note"), notes)
    causes = [f"{n}. {cause_words(cause, words)}" for n, cause in enumerate(gap.causes, 1)]
    return out + labelled(words("place.label.causes"), causes)


def _reached(placed: Placed, gap: Gap) -> str:
    """Which sentence says what was reached."""
    if placed.counted == "achieved":
        return "bandwidth"
    if placed.point.phase == "run":
        return "run"
    if placed.communication_bound:
        return "communication"
    return "memory" if placed.memory_bound else "compute"


def _meaning(placed: Placed, gap: Gap) -> str:
    """Which sentence says what the verdict means."""
    kind = gap.code.split(":")[0]
    if kind in ("overhead", "kernel") and gap.causes and gap.causes[0].code == "offload":
        return "offload"
    if kind == "overhead":
        return f"overhead.{gap.fixed_is}"
    if kind == "kernel" and placed.counted == "achieved":
        return "below"
    if kind == "kernel" and not gap.exact:
        return "average.run" if placed.point.phase == "run" else "average"
    if kind in ("compute", "communication"):
        return f"wall.{kind}"
    return kind if kind in ("kernel", "suspect", "routing") else "wall"


def _devices(placed: Placed, words: Words) -> list[str]:
    """Of several devices: what each of them does and sends, and over what."""
    devices, steps = placed.point.devices, _steps(placed)
    if devices == 1:
        return []
    if placed.case is None:
        return [words("place.say.evenly", devices=devices)]
    if placed.point.phase == "run":
        return []
    if placed.stage is not None and placed.case.parallel.tp == 1:
        return [
            words(
                "place.say.stages",
                stages=placed.case.parallel.pp,
                weights=si(placed.stage.weights / steps, "B"),
                own=si(placed.stage.own / steps, "B"),
                flops=si(placed.stage.flops / steps, "FLOP"),
                time=seconds(placed.communication_s / steps),
            ),
            *dict.fromkeys(wire_words(wire, words) for wire in placed.case.wires),
        ]
    result = [
        words(
            "say.parallel.each",
            devices=devices,
            weights=si(placed.weights / steps, "B"),
            kv=si((placed.kv + placed.state) / steps, "B"),
            flops=si(placed.flops / steps, "FLOP"),
        )
    ]
    if placed.messages:
        result.append(
            words(
                "say.parallel.talk",
                sent=si(placed.sent / steps, "B"),
                messages=digits(placed.messages / steps),
                time=seconds(placed.communication_s / steps),
            )
        )
    return result + list(dict.fromkeys(wire_words(wire, words) for wire in placed.case.wires))


def _steps(placed: Placed) -> float:
    return sum(part.count for part in placed.point.parts) or 1.0
