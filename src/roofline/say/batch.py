"""What a growing batch does, in words: how far intensity climbs, what stops it, what fits."""

from __future__ import annotations

from ..count.step import Step
from ..record import replace
from ..units import digits, si
from ..words import Words
from .lines import Line

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from ..bound.explanation import Explanation


def lines(e: Explanation, words: Words) -> list[Line]:
    """Where the climb ends and why; then where memory is full."""
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
    return words.joined(parts, "sides")
