"""Measured points lie in the page where `place` puts them, with the same share and verdict."""

from __future__ import annotations

import random
from functools import lru_cache
from typing import Any

import pytest

from page.cases import WHOLE, catalogue_data, load_once, named
from roofline import catalogue
from roofline.errors import NotFound, RooflineError, UnsupportedError
from roofline.machine.load import entries as machine_entries
from roofline.machine.load import load as load_machine
from roofline.model import formats
from roofline.model.load import entries as model_entries
from roofline.model.model import Uniform
from roofline.page.bundle import bundle
from roofline.page.words import page_words
from roofline.placing import place
from roofline.placing.names import spellings
from roofline.placing.resolve import Resolver, shortened
from roofline.points.reader import point_from_json
from roofline.record import replace
from roofline.say.summary import judged

READ = """
import { readFileSync } from "node:fs";
const given = JSON.parse(readFileSync(0, "utf8"));
"""

LOOK = """
const t = makeWords(given.words, "en");
const viewOf = makeViews(given.data);
const found = given.asked.map(({ state, points }) => {
  const read = points.map((p) => {
    const point = readPoint(p);
    return point && { ...point, run: p.run };
  });
  const view = viewOf({ ...startOf(given.data), ...state }, read.filter(Boolean), t);
  const shown = view.points.map((p) => ({
    x: p.x, y: p.y, share: p.share, batch: p.batch, context: p.context,
    step_s: p.step_s, exact: p.exact, verdict: p.verdict, known: p.known, run: p.run,
  }));
  return { shown, hidden: view.hiddenPoints, refused: read.filter((p) => !p).length };
});
console.log(JSON.stringify(found));
"""

MACHINES = ("h100-sxm", "rtx-4090", "m2-max-38c", "xeon-8480", "gb10", "mi300x")
ROOFS = (
    {"bandwidth": 2.1e10, "compute": {"fp32": 1.4e11, "bf16": 3e11}, "spread": 0.03,
     "overhead": {"launch": 2e-6}},
    {"bandwidth": 2.9e12, "compute": {"bf16": 7e14}},
    {"bandwidth": 2.9e12, "compute": {}},
    {"bandwidth": 5e10, "compute": {"fp32": 2e12}, "spread": 0.001},
)  # fmt: skip


def some_part(rng: random.Random, phase: str) -> dict[str, Any]:
    def up_to(bits: float) -> int:
        return int(2 ** rng.uniform(0, bits))

    def group(new: int) -> dict[str, int]:
        return {"batch": up_to(9), "new_tokens": new, "past": rng.choice([0, up_to(15)])}

    if phase == "prefill":
        return {"count": 1, "groups": [group(up_to(13))]}
    if phase == "mixed":
        return {"count": rng.choice([1, 3]), "groups": [group(1), group(up_to(10))]}
    return {
        "count": rng.choice([1, 2, 5, 128, 100.5, up_to(11)]),
        "grows": rng.random() < 0.6,
        "groups": [group(rng.choice([1, 1, 1, 4])) for _ in range(rng.choice([1, 1, 3]))],
    }


def some_point(rng: random.Random, n: int, model: str, depth: int) -> dict[str, Any]:
    phase = rng.choice(["decode", "decode", "decode", "prefill", "mixed", "run"])
    parts = [some_part(rng, phase) for _ in range(rng.choice([1, 1, 2]))]
    point: dict[str, Any] = {
        "schema": "roofline.points/1",
        "phase": phase,
        "basis": rng.choice(["steps", "steps", "token", "first", "run"]),
        "engine": rng.choice(["vllm", "llama.cpp", None]),
        "seconds": {"median": 1.0},
        "parts": parts,
        "devices": rng.choice([1, 1, 1, 2, 8]),
        "settings": rng.choice([{}, {"device": "cuda:0"}, {"device": "cpu"}]),
        "run": str(n),
    }
    point["model"] = rng.choice([model, model, f"org/{load_once(model).name}", None, "no-such"])
    point["machine"] = rng.choice([None, *MACHINES, "NVIDIA H100 SXM", "somebody's desk"])
    point["weights"] = rng.choice([None, "bf16", "fp8", "AWQ", "q4_k_m", "int3:64", "4.5 bpw"])
    point["kv"] = rng.choice([None, None, "fp8", "int4:32", "float16", "nonsense"])
    point["compute"] = rng.choice([None, None, None, "bf16", "fp8", "bfloat16"])
    if rng.random() < 0.2:
        point["weight_bytes"] = load_once(model).parameters * rng.uniform(0.3, 2)
    if rng.random() < 0.3:
        point["roof"] = rng.choice(ROOFS)
    if point["devices"] == 2 and rng.random() < 0.3:
        point["layout"] = {"pp": 2}
    if rng.random() < 0.3:
        point["layers"] = rng.randint(1, depth + 1)
    return {k: v for k, v in point.items() if v is not None}


@lru_cache
def _machine(name: str) -> Any:
    try:
        return load_machine(name)
    except NotFound:
        return None


def placed_by_python(given: dict[str, Any], state: dict[str, Any]) -> Any:
    """As ``roofline place`` does with what the page shows as its options; ``None``: refused."""
    point = point_from_json(given, "a point")
    weights = state["weights"] or None
    try:
        if point.weights is None and weights is None:
            # The page's own default is the checkpoint's format, but for what a file's size says.
            scheme = load_once(state["model"]).scheme
            if not isinstance(scheme, Uniform):
                return "cannot be said"
            sized = point.weight_bytes is not None and _by_size(point, state["model"])
            point = replace(point, weights="by its size" if sized else scheme.format.name)
        return place(*_resolved(point, state, weights))
    except RooflineError:
        return None


def _by_size(point: Any, name: str) -> bool:
    model = load_once(name) if point.layers is None else shortened(name, point.layers)
    return 1 <= 8 * point.weight_bytes / model.parameters <= 33


def _resolved(point: Any, state: dict[str, Any], weights: str | None) -> Any:
    named = point.machine is not None and _machine(point.machine) is not None
    return Resolver(
        model=state["model"],
        weights=weights,
        kv=state["kv"] or None,
        compute=state["compute"] or None,
        machine=None if named else state["machines"][0],
        ceilings=state["ceilings"] or None,
    ).case(point)


def some_questions(count: int, seed: int, data: dict[str, Any]) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    models = [m["id"] for m in data["models"]]
    asked = []
    for n in range(count):
        model = models[n % len(models)]
        depth = load_once(model).depth
        state = {
            "model": model,
            "machines": [rng.choice(MACHINES)],
            "weights": rng.choice(["", "bf16", "int4:128"]),
            "kv": rng.choice(["", "", "fp8"]),
            "compute": rng.choice(["", "", "bf16"]),
            "ceilings": rng.choice(["", "", "datasheet"]),
        }
        asked.append(
            {"state": state, "points": [some_point(rng, i, model, depth) for i in range(5)]}
        )
    return asked


@WHOLE
def test_points_of_all_kinds_lie_where_place_puts_them(node, whole):
    data = catalogue_data(whole)
    asked = some_questions(164 if whole else 75, seed=1, data=data)
    script = bundle("view", "state", "words", "points", exports=True) + READ + LOOK
    given = {"data": data, "words": page_words("en"), "asked": asked}
    compared = short = alone = spread = 0
    for question, answer in zip(asked, node(script, given), strict=True):
        state, points = question["state"], question["points"]
        assert answer["refused"] == 0
        shown = {int(p["run"]): p for p in answer["shown"]}
        expected = {}
        for n, one in enumerate(points):
            known = one.get("machine") is None or _machine(one["machine"]) is not None
            if one.get("model") == "no-such":
                assert n not in shown
                continue
            layers = one.get("layers")
            found = placed_by_python(one, state)
            if found == "cannot be said":
                continue
            if one["devices"] > 1 and layers not in (None, load_once(state["model"]).depth):
                found = None  # the page has no exchanges of fewer layers
            if "layout" in one:
                found = None  # nor stages
            if found is None:
                assert n not in shown, (one, state)
                continue
            assert n in shown, (one, state)
            expected[n] = found
            got = shown[n]
            for name, value in (
                ("x", found.intensity),
                ("y", found.speed),
                ("share", found.share),
                ("batch", found.point.batch),
                ("context", found.point.context),
                ("step_s", found.point.step_seconds),
            ):
                assert got[name] == pytest.approx(value, rel=1e-9), (name, one, state)
            assert got["exact"] == found.exact
            own = "roof" in one and one["roof"]["compute"] and state["ceilings"] != "datasheet"
            assert got["known"] == bool(known or own)
            compared += 1
            short += layers is not None
            alone += bool(own)
            spread += one["devices"] > 1
        if len(expected) == len(shown):
            for n, (_, gap) in zip(expected, judged(list(expected.values())), strict=True):
                assert shown[n]["verdict"] == gap.code, (points[n], state)
    assert compared > len(asked) * 1.8
    assert short > len(asked) / 4
    assert spread > len(asked) / 6
    assert alone > len(asked) / 8


NAMES = """
const model = (name) => findModel(given.data, name)?.id ?? null;
const machine = (name) => find(given.data.machines, name)?.id ?? null;
const format = (name) => given.data.formats[findFormat(given.data, name)]?.size ?? null;
const precision = (name) => findPrecision(given.data, name);
console.log(JSON.stringify({
  models: given.models.map(model), machines: given.machines.map(machine),
  formats: given.formats.map(format), precisions: given.formats.map(precision),
}));
"""


def _spellings(entry: dict[str, Any]) -> list[str]:
    names = [entry["id"], entry["name"], *entry.get("aliases", ())]
    return [*names, *(n.upper() for n in names), *(n.replace("-", "_") for n in names)]


def _found(name: str, entries: list[dict[str, Any]]) -> str | None:
    try:
        return str(catalogue.find(name, entries, "thing")["id"])
    except NotFound:
        return None


def _size(name: str) -> float | None:
    try:
        return formats.parse(name).size
    except UnsupportedError:
        return None


def _precision(name: str) -> str | None:
    try:
        return formats.precision(name)
    except UnsupportedError:
        return None


def test_names_are_found_as_in_the_terminal(node):
    data = named()
    shown = {m["id"] for m in data["models"]}
    entries = [e for e in model_entries() if e["id"] in shown]
    models = ["", "-", "Llama", "org/", "x/y/z", "__proto__", "constructor"]
    for i, entry in enumerate(entries):
        name = entry["name"]
        ways = [*_spellings(entry), f"{entry['org']}/{name}", f"/a/b/{name}-Q4_K_M.gguf"]
        ways += [f"C:\\models\\{name}.IQ4_XS-00001-of-00003.gguf", f"{name}-awq", f"{name}-4bit"]
        models += ways[i % 6 :: 6]  # one that is not known takes long: so every model in some ways
    machines = ["", "GPU", "h 100", "toString"]
    known = machine_entries()
    machines += [name for e in known for name in _spellings(e)]
    words = ["", "int1:8", "int4:4", "int4-64", "uint8g32z", "int5:96-asym", "4.85bits", "65bits"]
    words += ["0.25 bpw", "3.5_bpw", " FP8 ", "fp9", "valueOf", "__proto__", "INT4:128", "nf4-dq"]
    words += [*formats.names(), *formats.aliases(), *formats.PRECISIONS]
    script = bundle("names", exports=True) + READ + NAMES
    given = {"data": data, "models": models, "machines": machines, "formats": words}
    got = node(script, given)
    for name, one in zip(models, got["models"], strict=True):
        tried = (_found(candidate, entries) for candidate in spellings(name))
        assert one == next(filter(None, tried), None), name
    for name, one in zip(machines, got["machines"], strict=True):
        assert one == _found(name, known), name
    assert got["formats"] == [_size(name) for name in words]
    assert got["precisions"] == [_precision(name) for name in words]
