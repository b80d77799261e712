"""The whole evaluation: every suite that a folder has data for, scored."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .. import catalogue
from ..errors import NotFound
from .attention import attention, context
from .checks import splitwise, vidur
from .data import present
from .experts import experts
from .fixed import fixed
from .llamacpp import llamacpp
from .messages import messages
from .products import gemm
from .score import Score, score
from .served import served
from .spread import spreads
from .suite import Suite

MAKERS: dict[str, tuple[str, Callable[[str], list[Suite]]]] = {
    "gemm": ("gemm", gemm),
    "attention": ("generation_attention", attention),
    "context": ("context_attention", context),
    "experts": ("moe", experts),
    "messages": ("collectives", messages),
    "fixed": ("llm_inference_bench", fixed),
    "served": ("served", served),
    "llamacpp": ("llamacpp", llamacpp),
    "splitwise": ("splitwise", splitwise),
}
"""Kinds of suites: the file that each reads, and what makes it."""

KINDS = (*MAKERS, "vidur")
VIDUR = "vidur_mlp_ops"


def shipped() -> Mapping[str, dict[str, float]]:
    """The package's coefficients, by suite."""
    result: dict[str, dict[str, float]] = catalogue.read("predicting/profiles/suites.json")[
        "suites"
    ]
    return result


def nearest(name: str, held: Mapping[str, dict[str, float]]) -> dict[str, float] | None:
    """The coefficients of a suite, or of the one most like it where the package has none."""
    if name in held:
        return held[name]
    words = name.split()

    def shared(other: str) -> tuple[int, int]:
        theirs = other.split()
        same = [a for a, b in zip(words, theirs, strict=False) if a == b]
        return (len(same) if theirs[0] == words[0] else 0), len(set(words) & set(theirs))

    best = max(held, key=shared, default=None)
    return held[best] if best and shared(best)[0] else None


def suites(folder: str, kinds: tuple[str, ...] = KINDS) -> Iterator[Suite]:
    """The suites that a folder has data for.

    Raises:
        NotFound: it has none.
    """
    known = [kind for kind in kinds if present(folder, file_of(kind))]
    if not known:
        names = ", ".join(dict.fromkeys(f"{file_of(kind)}.csv[.gz]" for kind in kinds))
        raise NotFound(f"{folder}: no measurements there (looked for {names})")
    for kind in known:
        yield from vidur(folder, shipped()) if kind == "vidur" else MAKERS[kind][1](folder)


def file_of(kind: str) -> str:
    """The file that a kind of suites reads, without its ending."""
    return VIDUR if kind == "vidur" else MAKERS[kind][0]


def missing(folder: str, kinds: tuple[str, ...] = KINDS) -> dict[str, str]:
    """Kinds that a folder has no data for, and the file that each would read."""
    return {kind: file_of(kind) for kind in kinds if not present(folder, file_of(kind))}


def evaluate(
    folder: str,
    kinds: tuple[str, ...] = KINDS,
    *,
    fit: bool = True,
    tell: Callable[[str], None] = lambda name: None,
) -> list[Score]:
    """Every suite scored: with the package's coefficients, and by leaving out if ``fit``."""
    held = shipped()
    result = []
    for suite in suites(folder, kinds):
        tell(suite.name)
        known = nearest(suite.name, held) if suite.priors else {}
        result.append(score(suite, known, fit=fit and bool(suite.priors)))
    spreads(result)
    return result


def to_json(scores: list[Score]) -> dict[str, Any]:
    """The scores as data."""
    return {
        "schema": "roofline.validation/1",
        "suites": [
            {
                "name": s.suite.name,
                "rows": int(s.suite.scored.sum()),
                "aside": s.suite.aside,
                "above_roof": s.above,
                "median_error": {p: s.error(p) for p in s.predictions},
                "coverage": {
                    by: {"covers": covers, "width": width}
                    for by, (covers, width) in s.coverage.items()
                },
                "by": {
                    a: [
                        {"value": str(v), "rows": n, "error": e, "left_out": x}
                        for v, n, e, x in s.by(a)
                    ]
                    for a in ("machine", "model", "precision", "batch", "regime")
                },
            }
            for s in scores
        ],
        "never_seen": [
            {
                "kind": c.kind,
                "left_out": c.by,
                "groups": c.groups,
                "distinct": c.distinct,
                "covers": c.mean,
                "width": c.width,
                "median_error": c.error,
                "one_number_known": None if math.isnan(c.known) else c.known,
            }
            for c in spreads(scores)
        ],
    }
