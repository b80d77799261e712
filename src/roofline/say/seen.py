"""What somebody measured of a step, in words."""

from __future__ import annotations

from ..bound.achieved import Achieved
from ..bound.counters import Counter
from ..bound.explanation import Explanation
from ..placing.seen import Seen
from ..units import digits, gain, percent, seconds, si
from ..words import Words
from .lines import Line
from .placed import explain


def rows(seen: Seen, words: Words) -> list[Line]:
    """Labelled sentences: the speed and where it went, or what a counter says."""
    if seen.counter is not None:
        return [counted(seen.counter, seen.answer, words)]
    assert seen.speed is not None and seen.placed is not None and seen.gap is not None
    first, *rest = explain(seen.placed, seen.gap, words)
    return [measured(seen.speed, words), *(row for row in rest if row != first)]


def measured(point: Achieved, words: Words) -> Line:
    """A measured speed beside the roof."""
    return words("label.achieved"), words(
        "say.achieved.suspect" if point.suspect else "say.achieved",
        speed=digits(point.tokens_per_s),
        time=seconds(point.seconds),
        bandwidth=si(point.bytes_per_s, "B/s"),
        compute=si(point.flops_per_s, "FLOP/s"),
        fraction=percent(point.of_roof),
    )


def counted(seen: Counter, e: Explanation, words: Words) -> Line:
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
