"""Served models: time per output token, and to the first, two suites per engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..count.step import Step
from ..predicting.stack import Piece, Stack
from .cases import bound, held_per_token, on, plan, room
from .data import MACHINES, Row, by, read, sort_out
from .priors import BASE, only
from .served_rows import RULES, as_case, devices, has_experts, layout, stored
from .suite import Suite

WORKSPACE = 2e9
"""Bytes that a server keeps for activations and graphs beside weights and cache."""

LENT = 0.03
"""What a row of another engine weighs where an engine's own hold a single dense model: should that
be left out, they still tell what a layer costs from what its experts do."""


def served(folder: str) -> list[Suite]:
    """Time per output token, and to the first, of served models: two suites per engine."""
    rows, aside = sort_out(read(folder, "served"), RULES)
    merged: dict[Any, Row] = {}
    for row in rows:
        row["devices"] = devices(row)
        row["replicas"], row["shares"] = layout(row)
        weights, kv = stored(row)
        row.update(
            machine=MACHINES[row["system"]],
            model=row["model_path"],
            engine=row["backend"],
            precision=weights,
            kv=kv,
            batch=int(row["concurrency"]),
            regime=f"{int(row['isl'])} in, {int(row['osl'])} out",
        )
        keys = ("engine", "machine", "model", "precision", "isl", "osl", "batch", "devices")
        merged.setdefault((*(row[k] for k in keys), row["replicas"], row["shares"]), row)
    pairs = [_served(engine, rows, aside) for (engine,), rows in by(merged.values(), "engine")]
    for token, _ in pairs:
        if len({r["model"] for r in token.rows if not has_experts(r)}) == 1:
            token.beside = tuple(other for other, _ in pairs if other is not token)
            token.lent = LENT
    return [suite for pair in pairs for suite in pair]


def _served(engine: str, group: list[Row], aside: dict[str, int]) -> tuple[Suite, Suite]:
    import numpy as np

    size = len(group)
    decode, mixed = [], []
    others, limit, prefill = np.zeros(size), np.zeros(size), np.zeros(size)
    for i, row in enumerate(group):
        row["at"] = i
    keys = ("machine", "model", "precision", "kv", "devices", "replicas", "shares")
    for (machine, *_), rows in by(group, *keys):
        of = as_case(rows[0])
        assert of is not None
        dp = of.parallel.dp
        dev, load = on(machine), plan(of)
        at = np.array([r["at"] for r in rows])
        isl = np.array([int(r["isl"]) for r in rows])
        osl = np.array([int(r["osl"]) for r in rows])
        asked = np.array([r["batch"] for r in rows])
        each = held_per_token(of) * (isl + 0.6 * osl)
        places = np.maximum((room(of) - WORKSPACE) / each, 1) * dp
        batch = np.maximum(np.rint(np.minimum(asked, places)), 1).astype(int)
        prompts = np.minimum(batch, dp)
        others[at] = (batch - prompts) / prompts / osl
        step = Step.decode(batch, isl + osl // 2)
        both = Step.mixed(step, Step.prefill(prompts, isl))
        decode.append(Piece(at, load(step), dev, dev.labels))
        mixed.append(Piece(at, load(both), dev, dev.labels))
        b = bound(of, step)
        limit[at] = b + others[at] * np.maximum(bound(of, both) - b, 0)
        prefill[at] = bound(of, Step.prefill(prompts, isl))
    alone, together = Stack(decode, size), Stack(mixed, size)

    def tpot(c: Mapping[str, float]) -> Any:
        t = alone(c)
        return t + others * c["interleave"] * np.maximum(together(c) - t, 0)

    def ttft(c: Mapping[str, float]) -> Any:
        t, both = alone(c), together(c)
        ahead = c["burst"] * others * np.array([row["osl"] for row in group])
        return c["request.floor"] + both + 0.5 * t + ahead * np.maximum(both - t, 0)

    priors = only(
        "step.floor", "step.sequence", "layer.floor", "collective.floor", "experts.floor",
        "decode.compute", "linear.bandwidth", "experts.bandwidth", "passes", "interleave",
        "experts.passes",
    )  # fmt: skip
    token = Suite(
        f"served TPOT {engine}",
        group,
        np.array([r["silicon_tpot_ms"] for r in group]) * 1e-3,
        tpot,
        BASE,
        priors,
        limit,
        aside=aside,
    )
    first = Suite(
        f"served TTFT {engine}",
        group,
        np.array([r["silicon_ttft_ms"] for r in group]) * 1e-3,
        ttft,
        BASE,
        only("burst", "request.floor"),
        prefill,
        under=token,
    )
    return token, first
