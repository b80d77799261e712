"""The report in words and tables, for a terminal or as Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from ... import table
from ...words import Words
from .score import Score

PREDICTORS = ("roof", "constant", "shipped", "fitted", "machine", "model")
KERNELS = ("gemm", "decode", "context", "experts", "all-reduce")
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
    head += [words(f"validate.{k}") for k in ("covers", "covers_groups", "width")]
    rows = []
    for s in scores:
        by = "machine" if "machine" in s.coverage else "model"
        inside, whole, width = s.coverage.get(by, (None, None, None))
        rows.append(
            [
                s.suite.name,
                str(int(s.suite.scored.sum())),
                *(percent(s.error(p)) for p in PREDICTORS),
                percent(inside),
                percent(whole),
                f"{width:.2f}×" if width is not None else "–",
            ]
        )
    return head, rows


def breakdown(s: Score, attribute: str, words: Words) -> tuple[list[str], list[list[str]]]:
    """One line a value of an attribute."""
    head = [
        words(f"validate.by.{attribute}"),
        words("validate.rows"),
        words("validate.predictor.fitted"),
        words(f"validate.predictor.{'model' if attribute == 'model' else 'machine'}"),
    ]
    found = sorted(s.by(attribute), key=lambda line: -line[1])[:MOST]
    if attribute == "batch":
        found.sort(key=lambda line: int(line[0]))
    return head, [[str(v), str(n), percent(e), percent(x)] for v, n, e, x in found]


def sections(scores: list[Score], words: Words) -> Iterable[tuple[str, Any]]:
    """The report: titles with tables or lines of text."""
    yield words("validate.title.overall"), overall(scores, words)
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
