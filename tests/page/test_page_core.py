"""One formula: the page's modules against Python, in Node and in the browser."""

from __future__ import annotations

import json
import math
import random

import pytest

from page.cases import WHOLE, catalogue_data, groups_json, load_once, random_cases
from page.files import read
from roofline.count.group import Group
from roofline.count.quantity import Quantity
from roofline.count.step import Step
from roofline.errors import RooflineError
from roofline.page.bundle import bundle
from roofline.page.data import COMPUTE, KV, WEIGHTS

READ = """
import { readFileSync } from "node:fs";
const given = JSON.parse(readFileSync(0, "utf8"));
"""


def core() -> str:
    return bundle("work", "bound", "verdict", exports=True)


@WHOLE
def test_hundreds_of_random_steps_in_node(node, whole):
    script = (
        core()
        + read("golden.js")
        + READ
        + "const roofline = { makeCase, bound, climb, fit, judge, levers, operators, total,"
        + " fewest };\n"
        + "console.log(JSON.stringify(check(roofline, given)));\n"
    )
    count = 4000 if whole else 600
    result = node(script, random_cases(count, seed=1, whole=whole))
    assert result["wrong"] == []
    assert result["count"] >= count
    assert 0 < result["worst"] <= 1e-12


def test_every_quantity_in_node(node):
    rng = random.Random(5)
    asked = []
    for _ in range(2000):
        kind = rng.choice(["pairs", "entries", "held", "chunk_pairs", "chunk_entries", "all_pairs"])
        window = rng.choice([None, rng.randint(1, 5000)])
        if kind.startswith("chunk"):
            window = window or 64
        q = Quantity(kind, window, over=rng.choice([1, 2, 3]))
        group = Group(
            rng.randint(1, 99), rng.randint(1, 9000), rng.choice([0, rng.randint(1, 9999)])
        )
        asked.append((q.to_json(), groups_json(Step("", (group,))), q.value((group,))))
    script = (
        bundle("work", exports=True)
        + READ
        + "console.log(JSON.stringify(given.map(([q, groups]) => quantity(q, groups))));\n"
    )
    given = [[q, groups] for q, groups, _ in asked]
    assert node(script, given) == [value for _, _, value in asked]


def test_random_steps_in_the_browser(browser):
    page = browser.new_page()
    result = page.evaluate(
        """async ([core, golden, given]) => {
            const url = URL.createObjectURL(new Blob([core], { type: "text/javascript" }));
            const roofline = await import(url);
            const check = new Function(golden + "; return check;")();
            return check(roofline, JSON.parse(given));
        }""",
        [core(), read("golden.js"), json.dumps(random_cases(120, seed=2))],
    )
    page.close()
    assert result["wrong"] == []
    assert 0 < result["worst"] <= 1e-12


def test_the_comparison_can_fail(node):
    given = random_cases(30, seed=3)
    for case in given["cases"]:
        if case["expected"]:
            case["expected"]["bound"]["flops"] *= 1 + 1e-10
    script = (
        core()
        + read("golden.js")
        + READ
        + "const roofline = { makeCase, bound, climb, fit, judge, levers, operators, total,"
        + " fewest };\n"
        + "console.log(JSON.stringify(check(roofline, given)));\n"
    )
    assert any(".bound.flops" in line for line in node(script, given)["wrong"])


@WHOLE
def test_open_coefficients_give_the_work_of_every_format(node, whole):
    """Binding the open table of every model gives ``model.work`` itself, term by term."""
    data = catalogue_data(whole)
    choices = []
    for i in range(len(data["models"])):
        weights = [None, WEIGHTS[i % len(WEIGHTS)], "bf16"][i % 3]
        kv = [None, *KV][i % (1 + len(KV))]
        compute = [None, *COMPUTE][i % (1 + len(COMPUTE))]
        for choice in ((None, None, None), (weights, kv, compute), ("int4:128", "fp8", None)):
            choices.append((i, *choice))
    script = (
        core()
        + READ
        + "const found = given.choices.map(([i, weights, kv, compute]) =>"
        + " bind(given.data.models[i], { weights, kv, compute }, given.data));\n"
        + "console.log(JSON.stringify(found));\n"
    )
    tables = node(script, {"data": data, "choices": choices})
    assert len(tables) == len(choices)
    for table, (i, weights, kv, compute) in zip(tables, choices, strict=True):
        name = data["models"][i]["id"]
        try:
            expected = load_once(name).work(weights, kv, compute).to_json()
        except RooflineError:
            continue
        assert table["resident"] == pytest.approx(expected["resident"], rel=1e-12)
        flat, wanted = _flat(table), _flat(expected)
        assert flat.keys() == wanted.keys(), (name, weights, kv, compute)
        for key, value in wanted.items():
            assert math.isclose(flat[key], value, rel_tol=1e-12), (name, key)


def _flat(table):
    # (operator, kind of cost, quantity) → coefficient; the numbering of quantities is free.
    found = {}
    for at, op in enumerate(table["operators"]):
        found[at, op["name"], op["kind"], op["compute"]] = op["count"]
        for kind, terms in {"flops": op["flops"], **op["bytes"]}.items():
            for q, c in terms:
                found[at, kind, json.dumps(table["quantities"][q], sort_keys=True)] = c
    return found
