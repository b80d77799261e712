"""How far machines and models that a fit never saw lie, over all suites of a kind.

A suite has two or three machines: from its own residuals nobody can say how far the next one
lies. Suites of one kind (the same operator in arithmetic of the same width, under several
engines) share what makes machines differ, so their left-out groups are pooled: each machine
under each engine counts alike (:func:`roofline.predicting.interval.pooled`). What an interval
covers is judged on groups that were not in it: a machine's, from all *other* machines of the
kind. What is promised is coverage on average over groups, not for each one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..predicting.interval import at, pooled
from .score import Score
from .suite import Suite

WIDE = ("bfloat16", "float16", "int8_wo", "int4_wo")
"""Formats in the files whose arithmetic is in 16 bits."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Left-out rows of one machine (or model) in one suite.

    Attributes:
        suite, name: whose rows.
        scores: log(measured / predicted), from a fit without any row of that machine.
    """

    suite: str
    name: str
    scores: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Covered:
    """What intervals pooled over a kind cover, of groups that were not in them.

    Attributes:
        kind: of suites.
        by: ``machine`` or ``model``, whatever was left out.
        groups: suites times machines.
        distinct: machines.
        mean: coverage, on average over groups.
        width: of the intervals, high/low, the median.
        error: median error of all their rows.
        known: the same, were one number of each group known: its median error, of either sign.
            What is left is within the groups; the rest no measurement of other machines tells.
            Not a number where groups have fewer than ``ENOUGH`` rows: theirs would be known.
        of: by suite, the mean coverage of its groups and the median width.
    """

    kind: str
    by: str
    groups: int
    distinct: int
    mean: float
    width: float
    error: float
    known: float
    of: dict[str, tuple[float, float]]


def kind(suite: str) -> str:
    """The kind that a suite is pooled with, from its name."""
    head, _, rest = suite.partition(" ")
    if head == "gemm":
        block = "_block" in rest
        return f"gemm {_width(rest)}{' blocks' if block else ''}"
    if head in ("context", "experts"):
        return f"{head} {_width(rest.removeprefix('attention '))}"
    if head == "fixed":
        return "fixed batch nvidia" if rest.endswith("nvidia") else "fixed batch others"
    if head == "llama.cpp":
        return f"llama.cpp decode {'Metal' if 'Metal' in rest else 'CUDA, Vulkan'}"
    return " ".join(suite.split()[:2]) if head in ("served", "splitwise", "decode") else head


def _width(rest: str) -> str:
    return "16 bit" if rest.startswith(WIDE) else "8 bit"


def groups(suite: Suite, predicted: Any, by: str) -> list[LeftOut]:
    """The left-out groups of a suite; none where only one could be left out."""
    import numpy as np

    kept = suite.scored & np.isfinite(predicted)
    scores = np.log(suite.measured[kept] / predicted[kept])
    names = np.array(suite.column(by), object)[kept]
    return [
        LeftOut(suite.name, str(name), tuple(scores[names == name].tolist()))
        for name in sorted(set(names))
    ]


def interval(found: Sequence[LeftOut]) -> tuple[float, float]:
    """The interval of a group that is none of these."""
    return pooled(g.scores for g in found)


KERNELS = ("gemm", "decode", "context", "experts", "all-reduce")
"""Suites of single kernels; their models are shapes, which are no more than rows."""


def spreads(scores: Iterable[Score]) -> list[Covered]:
    """What intervals of machines and models never seen cover, by kind; noted in the scores."""
    held = list(scores)
    found: list[Covered] = []
    for by in ("machine", "model"):
        kinds: dict[str, list[LeftOut]] = {}
        for s in held:
            if by in s.predictions and not (by == "model" and s.suite.name.startswith(KERNELS)):
                own = groups(s.suite, s.predictions[by], by)
                kinds.setdefault(kind(s.suite.name), []).extend(own)
        judged = [judge(name, by, own) for name, own in kinds.items()]
        for covered in judged:
            if covered is not None:
                found.append(covered)
                for s in held:
                    if s.suite.name in covered.of:
                        s.coverage[by] = covered.of[s.suite.name]
    return found


def judge(kind: str, by: str, found: Sequence[LeftOut]) -> Covered | None:
    """What the interval from the other machines covers of each; ``None`` for one machine."""
    names = sorted({g.name for g in found})
    if len(names) < 2:
        return None
    judged: list[tuple[LeftOut, float, float]] = []
    for name in names:
        low, high = interval([g for g in found if g.name != name])
        for group in found:
            if group.name == name:
                inside = sum(low <= s <= high for s in group.scores) / len(group.scores)
                judged.append((group, inside, math.exp(high - low)))
    of = {}
    for suite in {g.suite for g in found}:
        own = [(c, w) for g, c, w in judged if g.suite == suite]
        of[suite] = (_mean(c for c, _ in own), _median([w for _, w in own]))
    return Covered(
        kind,
        by,
        len(found),
        len(names),
        _mean(c for _, c, _ in judged),
        _median([w for _, _, w in judged]),
        _median([_error(x) for g in found for x in g.scores]),
        _known(found),
        of,
    )


def _mean(values: Iterable[float]) -> float:
    held = list(values)
    return sum(held) / len(held)


def _median(values: Sequence[float]) -> float:
    return at(sorted(values), 0.5)


ENOUGH = 10
"""Rows of a group on average, from which on its median is no single row."""


def _known(found: Sequence[LeftOut]) -> float:
    if sum(len(g.scores) for g in found) < ENOUGH * len(found):
        return math.nan
    middle = [(_median(g.scores), g.scores) for g in found]
    return _median([_error(x - own) for own, scores in middle for x in scores])


def _error(score: float) -> float:
    return abs(math.exp(-score) - 1)
