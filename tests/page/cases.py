"""Random steps and what Python gives for them: the oracle of the page's own evaluation."""

from __future__ import annotations

import random
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import pytest

from roofline.bound.case import Case
from roofline.bound.verdict import judge, levers
from roofline.count.step import Step
from roofline.errors import RooflineError
from roofline.machine.load import load as load_machine
from roofline.model.load import entries as model_entries
from roofline.model.load import load as load_model
from roofline.page.data import COMPUTE, KV, WEIGHTS, everything, page_data
from roofline.parallel import Parallel

load_once = lru_cache(load_model)
WHOLE = pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
"""Over models of every kind; in make test-all over the whole catalogue."""


@lru_cache
def catalogue_data(whole: bool = False) -> dict[str, Any]:
    """The page's data with every machine, and models of every kind or all of them."""
    models, machines = everything()
    return page_data(models if whole else of_every_kind(models), machines, date="2026-01-01")


@lru_cache
def named() -> dict[str, Any]:
    """The page's data with every machine, and models that have their names only."""
    models, machines = everything()
    entries = {entry["id"]: entry for entry in model_entries()}
    parts = ("id", "name", "aliases", "org")
    some = [{k: v for k, v in entries[name].items() if k in parts} for name in models]
    return {**page_data([], machines, date="2026-01-01"), "models": some}


def of_every_kind(models: Iterable[str], each: int = 6) -> list[str]:
    """Models whose work has other kinds of operators, quantities or formats than those before,
    and every ``each``-th of those that are like an earlier one."""
    kinds: dict[Any, int] = {}
    chosen = []
    for name in models:
        model = load_once(name)
        parts = {
            (op.kind, *sorted((q.q, q.window is None, q.stride) for q, _ in op.flops))
            for op in model.work().operators
        }
        kind = (type(model.scheme), frozenset(parts))
        seen = kinds[kind] = kinds.get(kind, -1) + 1
        if seen % each == 0:
            chosen.append(name)
    return chosen


_machine = lru_cache(load_machine)


def random_step(rng: random.Random) -> Step:
    def up_to(bits: float) -> int:
        return int(2 ** rng.uniform(0, bits))

    batch, context, prompt = up_to(14), up_to(24), up_to(20)
    phase = rng.choice(["decode", "decode", "prefill", "verify", "mixed"])
    if phase == "decode":
        return Step.decode(batch, context)
    if phase == "prefill":
        return Step.prefill(batch, prompt, rng.choice([0, context]))
    if phase == "verify":
        return Step.verify(batch, rng.randint(1, 16), context)
    return Step.mixed(Step.decode(batch, context), Step.prefill(1, prompt))


def groups_json(step: Step) -> list[dict[str, Any]]:
    return [
        {"batch": g.batch, "new": g.new_tokens, "past": g.past, "all": g.all_logits}
        for g in step.groups
    ]


def expected(case: Case, step: Step) -> dict[str, Any]:
    b, c, f = case.bound(step), case.climb(step), case.fit(step)
    v = judge(b, f, step.batch)
    changes = levers(case, step, b, c, f)
    table = case.work.to_json()
    return {
        "table": {"resident": table["resident"]},
        "bound": {
            name: getattr(b, name)
            for name in (
                "flops", "weights", "kv_read", "kv_write", "state", "compute_s", "memory_s",
                "serial_s", "overlapped_s", "memory_bound", "intensity", "ridge", "tokens",
                "tokens_per_s", "shares", "communication_s", "sent", "messages",
                "communication_bound",
            )
        },
        "climb": {
            name: getattr(c, name)
            for name in ("limit", "crossing", "reason", "ridge", "linear_crossing", "kv_outweighs")
        },
        "fit": {
            "weights": f.weight_bytes,
            "kv": f.kv_bytes_per_sequence,
            "workspace": f.workspace_per_sequence,
            "memory": f.memory_bytes,
            "most": f.max_batch,
        },
        "fewest": case.bound(step, fewest=True).overlapped_s,
        "verdict": {"code": v.code, "memory_bound": v.memory_bound},
        "levers": [{"code": x.code, "gain": x.gain, "values": x.values} for x in changes],
        "operators": [
            {
                name: getattr(op, name)
                for name in ("name", "kind", "count", "compute", "flops", "bytes", "seconds",
                             "bound", "intensity")
            }
            | ({"sent": op.sent, "messages": op.messages} if op.wire else {})
            for op in case.operators(step)
        ],
        "activations": case.work.total("activations", step),
    }  # fmt: skip


def random_cases(count: int, seed: int, each: int = 12, whole: bool = False) -> dict[str, Any]:
    """Steps over models of every kind (or all), formats and ceilings, with their answers.

    ``each`` steps are asked of every random model, machine and formats.
    """
    rng = random.Random(seed)
    data = catalogue_data(whole)
    cases: list[dict[str, Any]] = []
    while len(cases) < count:
        m, k = rng.choice(data["models"])["id"], rng.choice(data["machines"])["id"]
        options = {
            "weights": rng.choice([None, None, *WEIGHTS]),
            "kv": rng.choice([None, None, *KV]),
            "compute": rng.choice([None, None, None, *COMPUTE]),
            "ceilings": rng.choice([None, None, "datasheet", "measured"]),
        }
        # A third of the cases on one device, the others on as many as may or may not be joined.
        devices = rng.choice([1, 1, 1, 2, 2, 4, 8, 8, 16, 32, 64, 128])
        try:
            case = Case(load_once(m), _machine(k), parallel=Parallel(tp=devices), **options)
        except RooflineError:
            case = None
        for _ in range(each if case else 1):
            step = random_step(rng)
            cases.append(
                {
                    "model": m,
                    "machine": k,
                    "options": {
                        **{name: value or "" for name, value in options.items()},
                        "devices": devices,
                    },
                    "phase": step.phase,
                    "groups": groups_json(step),
                    "expected": expected(case, step) if case else None,
                }
            )
    return {"data": data, "cases": cases}
