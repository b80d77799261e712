"""The report in words and tables, for a terminal or as Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from ..evaluate.score import Score
from ..evaluate.spread import KERNELS, spreads
from ..words import Words
from . import table

PREDICTORS = ("roof", "constant", "shipped", "fitted", "machine", "model")
COVERED = ("rows", "machine", "model")
BREAKDOWN = ("machine", "model", "precision", "batch", "regime")
MOST = 24
"""Values of an attribute that a breakdown lists, the most frequent first."""


def percent(value: float | None) -> str:
    """An error or coverage: ``5.4 %``, or a dash."""
    if value is None or math.isnan(value):
        return "–"
    return f"{100 * value:.1f} %" if value < 0.995 else f"{100 * value:.0f} %"


def overall(scores: Iterable[Score], words: Words) -> tuple[list[str], list[list[str]]]:
    """One line a suite: rows, errors of each predictor, coverage, width."""
    head = [words("validate.suite"), words("validate.rows")]
    head += [words(f"validate.predictor.{p}") for p in PREDICTORS]
    for of in COVERED:
        head += [words(f"validate.covers.{of}"), words("validate.width")]
    rows = []
    for s in scores:
        inside = []
        for of in COVERED:
            covers, width = s.coverage.get(of, (None, None))
            inside += [percent(covers), f"{width:.2f}×" if width is not None else "–"]
        rows.append(
            [
                s.suite.name,
                str(int(s.suite.scored.sum())),
                *(percent(s.error(p)) for p in PREDICTORS),
                *inside,
            ]
        )
    return head, rows


def unseen(scores: Iterable[Score], words: Words) -> tuple[list[str], list[list[str]]]:
    """One line a kind: intervals for machines and models of which nothing was fitted."""
    keys = ("kind", "left_out", "suites", "distinct", "covers", "width", "error", "known")
    head = [words(f"validate.{k}") for k in keys]
    rows = [
        [c.kind, words(f"validate.by.{c.by}"), str(c.groups), str(c.distinct), percent(c.mean),
         f"{c.width:.2f}×", percent(c.error), percent(c.known)]
        for c in spreads(scores)
    ]  # fmt: skip
    return head, rows


def breakdown(s: Score, attribute: str, words: Words) -> tuple[list[str], list[list[str]]]:
    """One line a value of an attribute."""
    head = [
        words(f"validate.by.{attribute}"),
        words("validate.rows"),
        words("validate.predictor.fitted"),
        words(f"validate.predictor.{'model' if attribute == 'model' else 'machine'}"),
    ]
    result = sorted(s.by(attribute), key=lambda line: -line[1])[:MOST]
    if attribute == "batch":
        result.sort(key=lambda line: int(line[0]))
    return head, [[str(v), str(n), percent(e), percent(x)] for v, n, e, x in result]


def sections(scores: list[Score], words: Words) -> Iterable[tuple[str, Any]]:
    """The report: titles with tables or lines of text."""
    yield words("validate.title.overall"), overall(scores, words)
    yield words("validate.title.unseen"), unseen(scores, words)
    for s in scores:
        if s.suite.name.startswith(KERNELS):
            continue
        for attribute in BREAKDOWN:
            head, rows = breakdown(s, attribute, words)
            if len(rows) > 1:
                title = words("validate.title.by", suite=s.suite.name, by=head[0])
                yield title, (head, rows)
    yield words("validate.title.worst"), _worst(scores, words)
    aside: dict[str, int] = {}
    for s in scores:
        for name, n in s.suite.aside.items():
            aside[name] = max(aside.get(name, 0), n)
    yield (
        words("validate.title.aside"),
        (
            [words("validate.rule"), words("validate.rows")],
            [[name, str(n)] for name, n in sorted(aside.items(), key=lambda x: -x[1])],
        ),
    )
    above = [[s.suite.name, str(s.above)] for s in scores if s.above]
    yield (
        words("validate.title.above"),
        (
            [words("validate.suite"), words("validate.rows")],
            above or [[words("validate.none"), "0"]],
        ),
    )


def _worst(scores: list[Score], words: Words) -> tuple[list[str], list[list[str]]]:
    head = [words("validate.suite"), words("validate.ratio"), *(
        words(f"validate.by.{a}") for a in BREAKDOWN
    )]  # fmt: skip
    rows = []
    for s in scores:
        if s.suite.name.startswith(KERNELS):
            continue
        for ratio, row in s.worst(3):
            rows.append([s.suite.name, f"{ratio:.2f}", *(str(row[a]) for a in BREAKDOWN)])
    return head, rows


def text(scores: list[Score], words: Words) -> str:
    """The report for a terminal."""
    out = []
    for title, (head, rows) in sections(scores, words):
        out += [title, "", table.render(head, rows), ""]
    return "\n".join(out)


def markdown(scores: list[Score], words: Words, level: int = 2) -> str:
    """The report as Markdown."""
    out = []
    for title, (head, rows) in sections(scores, words):
        out += [f"{'#' * level} {title}", "", _line(head), _line(["---"] * len(head))]
        out += [*(_line(r) for r in rows), ""]
    return "\n".join(out)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |"
