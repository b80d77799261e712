"""A layout in words: what each device does, over what they talk, what does not divide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..machine.links import GIVEN
from ..units import digits, gain, percent, seconds, si
from ..words import Words
from .notes import caveat, dated

if TYPE_CHECKING:
    from ..bound.explanation import Explanation
    from ..machine.links import Wire
    from ..machine.machine import Figure, Link

COPIES = 1.001
"""From which the cache is said to be held more than once."""


def lines(e: Explanation, words: Words) -> list[str]:
    """Sentences, the device's own numbers first."""
    layout = e.case.parallel
    b = e.case.device(e.step)
    staged = ".stage" if layout.pp > 1 else ""
    result = [
        words(
            "say.parallel.each" + staged,
            devices=layout.devices,
            weights=si(b.weights, "B"),
            kv=si(b.kv_read + b.kv_write + b.state, "B"),
            flops=si(b.flops, "FLOP"),
            mean=si(_mean(e), "B") if staged else "",
        )
    ]
    b = max(e.case.devices(e.step), key=lambda of: of.communication_s)
    if b.messages:
        result.append(
            words(
                "say.parallel.talk",
                sent=si(b.sent, "B"),
                messages=digits(b.messages),
                time=seconds(b.communication_s),
            )
        )
    result += dict.fromkeys(wire_words(wire, words) for wire in e.case.wires)
    copies = e.cache_copies
    if copies > COPIES:
        result.append(words("say.parallel.copies", tp=layout.tp, copies=digits(copies)))
    if layout.dp > 1 and e.step.batch % layout.dp:
        busiest = -(-e.step.batch // layout.dp)
        together = any(op.kind == "experts" for op in e.operators)
        key = "say.parallel.uneven" + ("" if together else ".apart")
        result.append(words(key, dp=layout.dp, busiest=busiest))
    result += _reached(e, words)
    if layout.ep > 1:
        result += _copies(e, words)
        result.append(words("say.parallel.experts", ep=layout.ep))
    if layout.pp > 1:
        result.append(_pipeline(e, words))
        way = e.case.on_the_way(e.step)
        result.append(words("say.parallel.shown." + ("way" if way else "stage")))
    return result


def wire_words(wire: Wire, words: Words) -> str:
    """What a group of devices talks over."""
    latency = (
        words("say.parallel.latency", latency=seconds(wire.latency.value))
        if wire.latency
        else words("say.parallel.latency.unknown")
    )
    first, *others = wire.shares
    if not others:
        return words(
            "say.parallel.wire",
            devices=wire.group,
            link=link_name(first.link, words),
            bandwidth=si(first.bandwidth, "B/s"),
            latency=latency,
        )
    parts = [
        words(
            "say.parallel.share",
            link=link_name(share.link, words),
            carries=percent(share.carries),
            bandwidth=si(share.bandwidth, "B/s"),
        )
        for share in wire.shares
    ]
    return words(
        "say.parallel.beyond",
        devices=wire.group,
        first=first.link.name,
        joined=first.domain,
        parts=words.joined(parts, "clauses"),
        latency=latency,
    )


def link_name(link: Link, words: Words) -> str:
    """A link's name; of a bandwidth that was given, that it was."""
    return words("say.parallel.given") if link.bandwidth.source == GIVEN else link.name


def _reached(e: Explanation, words: Words) -> list[str]:
    """How far a token goes to its experts, and what a row of it weighs."""
    wires = [op.wire for op in e.operators if op.wire and op.wire.reach]
    result = []
    for out, back in zip(wires[::2], wires[1::2], strict=True):
        assert out.reach is not None
        assert back.reach is not None
        inner = max(level.inner for level in out.levels)
        result.append(
            words(
                "say.parallel.reach" + (".domains" if inner > 1 else ""),
                rows=digits(out.reach.rows(inner)),
                domain=inner,
                all=digits(out.reach.rows(1)),
                there=si(out.reach.row, "B"),
                back=si(back.reach.row, "B"),
            )
        )
    return list(dict.fromkeys(result))


def _copies(e: Explanation, words: Words) -> list[str]:
    layout = e.case.parallel
    if not layout.redundant:
        return []
    counts = {
        p.experts: None for x in e.case.model.layers for p in x.parts if hasattr(p, "experts")
    }
    return [
        words(
            "say.parallel.redundant",
            copies=layout.redundant,
            experts=experts,
            held=(experts + layout.redundant) // layout.ep,
            ep=layout.ep,
        )
        for experts in counts
    ]


def _pipeline(e: Explanation, words: Words) -> str:
    from ..parallel.shard import stage_sizes

    layout, batch = e.case.parallel, e.step.batch
    waves = layout.microbatches_of(batch)
    return words(
        "say.parallel.pipeline" + (".one" if waves == 1 else ""),
        pp=layout.pp,
        layers=max(stage_sizes(e.case.model.depth, layout.pp)),
        waves=waves,
        bubble=percent(layout.bubble(batch)),
    )


def _mean(e: Explanation) -> float:
    # Bytes of weights that a stage reads a step, all microbatches together, on average.
    layout = e.case.parallel
    way = e.case.chains[0].bound(e.step)
    return float(way.weights * layout.microbatches_of(e.step.batch) / layout.pp)


def verdict(e: Explanation, words: Words) -> str:
    """The numbers behind ``communication``."""
    b = e.bound
    way = ".way" if e.case.on_the_way(e.step) else ""
    return words(
        "say.intensity.communication" + way,
        time=seconds(b.communication_s),
        times=gain(b.communication_s / max(b.memory_s, b.compute_s)),
        messages=digits(b.messages),
        sent=si(b.sent, "B"),
    )


def why(e: Explanation, words: Words) -> list[str]:
    """The formula behind each exchange, and the source of each link."""
    b = e.bound
    shown = []
    if e.case.parallel.pp > 1:
        way = e.case.on_the_way(e.step)
        shown = [words("say.parallel.shown." + ("way" if way else "stage"))]
    result = [
        *shown,
        words(
            "why.communication",
            sent=si(b.sent, "B", 5),
            messages=digits(b.messages),
            time=seconds(b.communication_s),
        ),
    ]
    wires = []
    for op in e.operators:
        if op.wire is None:
            continue
        wires.append(op.wire)
        result.append(
            words(
                "why.exchange",
                name=op.name,
                count=op.count,
                formula=words(f"why.collective.{op.wire.collective}"),
                devices=op.wire.group,
                sent=si(op.sent, "B", 4),
                link=link_name(op.wire.slowest.link, words),
                time=seconds(op.seconds),
            )
        )
        result += _rows(op.wire, op.name, words) + _levels(op.wire, op.name, op.sent, words)
    joining = dict.fromkeys(share.link for wire in wires for share in wire.shares)
    result += [
        _source(
            "why.link",
            link.bandwidth,
            si(link.bandwidth.value, "B/s"),
            words,
            link_name(link, words),
        )
        for link in joining
    ]
    for latency in dict.fromkeys(wire.latency for wire in wires):
        if latency is None:
            result.append(words("why.latency.unknown"))
        else:
            result.append(_source("why.latency", latency, seconds(latency.value), words))
    return result


def _rows(wire: Wire, name: str, words: Words) -> list[str]:
    """Rows of a token that leave its domains, with the formula."""
    reach = wire.reach
    if reach is None:
        return []
    rows = [
        words("why.reach.rows", rows=digits(reach.rows(level.inner), 4), domain=level.inner)
        for level in wire.levels
    ]
    limited = words("why.reach.groups", groups=reach.groups, chosen=reach.chosen)
    return [
        words(
            "why.reach",
            name=name,
            row=si(reach.row, "B", 4),
            owners=reach.owners,
            devices=reach.devices,
            experts=reach.experts,
            active=reach.active,
            groups=limited if reach.groups != reach.chosen else "",
            rows=words.joined(rows, "clauses"),
        )
    ]


def _levels(wire: Wire, name: str, sent: float, words: Words) -> list[str]:
    """What leaves each level's domains, where there are several."""
    if len(wire.levels) == 1:
        return []
    return [
        words(
            "why.level" + (".device" if level.inner == 1 else ""),
            name=name,
            bytes=si(sent * level.crosses, "B", 4),
            domain=level.inner,
            links=" + ".join(link_name(share.link, words) for share in level.shares),
            bandwidth=si(level.bandwidth, "B/s"),
            time=seconds(sent * level.second_per_byte),
        )
        for level in wire.levels
    ]


def _source(key: str, figure: Figure, value: str, words: Words, link: str = "") -> str:
    given = figure.source == GIVEN
    return words(
        key,
        link=link,
        value=value,
        source=words("why.given") if given else figure.source or "?",
        date=dated(figure, words),
        note=caveat(figure, words),
    )
