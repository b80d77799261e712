"""A sweep in words: the curves side by side, what does not fit first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..bound import sweep as sweeping
from ..errors import InputError
from ..limits import TABLE_LINES
from ..units import digits, percent, seconds, si
from ..words import Words
from . import capacity, table

CURVE = (
    "model", "machine", "weights", "kv_format", "context", "one", "best", "best_batch",
    "best_step", "serial", "talk", "limit", "ridge", "crossing", "fits",
)  # fmt: skip
SEVERAL = ("serial", "talk")
"""Columns for several devices: the serial bound, and its share of communication."""
STEP = (
    "model", "machine", "weights", "context", "batch", "intensity", "bound", "step", "speed",
    "fits",
)  # fmt: skip
MOST_UNFIT = 12
"""Curves whose smallest batch does not fit that are spoken of one by one."""


def text(curves: Sequence[sweeping.Curve], words: Words, *, steps: bool = False) -> Iterator[str]:
    """What does not fit, the table of curves and its legend; with ``steps`` every step too.

    Raises:
        InputError: so many steps are no table.
    """
    size = sum(len(c.batches) for c in curves) if steps else 0
    if size > TABLE_LINES:
        raise InputError(f"{size:,} lines are no table to read: use --format csv or jsonl")
    yield from _unfit(curves, words)
    several = any(not c.case.parallel.single for c in curves)
    names = [n for n in CURVE if several or n not in SEVERAL]
    head = [words(f"sweep.{n}") for n in names]
    yield table.render(head, [_summary(c, words, names) for c in curves], 4)
    legend = [words("sweep.legend")]
    legend += [words("sweep.legend.serial")] if several else []
    legend += [words("sweep.legend.verify")] if any(c.phase == "verify" for c in curves) else []
    yield "\n" + words.joined(legend, "sentences")
    if steps:
        rows = [row for c in curves for row in _steps(c, words)]
        yield "\n" + table.render([words(f"sweep.{n}") for n in STEP], rows, 3)


def _unfit(curves: Sequence[sweeping.Curve], words: Words) -> Iterator[str]:
    # What does not fit comes first, with what would hold it.
    result = [c for c in curves if c.fit.holds(c.batches.smallest) is False]
    for c in result[:MOST_UNFIT]:
        batch = c.batches.smallest
        yield words(
            "sweep.unfit",
            model=c.case.model.name,
            weights=c.case.weights,
            machine=c.machine,
            context=c.context,
            batch=batch,
            held=capacity.held(c.case, c.step(batch), words),
        )
    if len(result) > MOST_UNFIT:
        yield words("sweep.unfit.more", count=len(result) - MOST_UNFIT)
    if result:
        yield words("sweep.unfit.legend") + "\n"


def _steps(c: sweeping.Curve, words: Words) -> Iterator[tuple[str, ...]]:
    room = c.fit.max_batch
    for batches, b in c.bounds():
        for i, batch in enumerate(batches.tolist()):
            yield (
                c.case.model.name,
                c.machine,
                c.case.weights,
                str(c.context),
                str(batch),
                digits(b.intensity[i]),
                words(f"bound.{b.bound(i)}"),
                seconds(b.overlapped_s[i]),
                _speed(b.tokens_per_s[i], room is None or batch <= room),
                "?" if room is None else words("sweep.yes" if batch <= room else "sweep.no"),
            )


def _speed(value: float, fits: bool) -> str:
    return digits(value) if fits else f"({digits(value)})"


def _summary(c: sweeping.Curve, words: Words, names: list[str]) -> tuple[str, ...]:
    climb, fit = c.climb, c.fit
    smallest = c.batches.smallest
    best = c.batches.largest(fit.max_batch)
    one, most = c.at(smallest), c.at(best) if best else None
    shown = most or one
    row = {
        "model": c.case.model.name,
        "machine": c.machine,
        "weights": c.case.weights,
        "kv_format": c.case.kv,
        "context": str(c.context),
        "one": _speed(one.tokens_per_s, fit.holds(smallest) is not False),
        "best": digits(most.tokens_per_s) if most else "-",
        "best_batch": str(best) if best else "-",
        "best_step": seconds(most.overlapped_s) if most else "-",
        "serial": _speed(shown.tokens / shown.serial_s, most is not None),
        "talk": percent(shown.shares.get("communication", 0.0)),
        "limit": digits(climb.limit) if climb.limit is not None else "∞",
        "ridge": digits(climb.ridge),
        "crossing": str(climb.crossing) if climb.crossing is not None else words("sweep.never"),
        "fits": "?" if fit.max_batch is None else si(fit.max_batch, ""),
    }
    return tuple(row[name] for name in names)
