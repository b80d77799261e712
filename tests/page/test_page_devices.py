"""Several devices on the page: the same formula as the core's, exchanges and links included."""

from __future__ import annotations

import json
import random
import threading

import pytest

from page.cases import WHOLE, catalogue_data, expected, groups_json, load_once, named, random_step
from page.conftest import Quiet
from page.files import read
from page.test_page_core import READ, _flat, core
from page.waits import go
from roofline.bound.case import Case
from roofline.bound.explanation import explain
from roofline.count.step import Step
from roofline.errors import InputError, RooflineError
from roofline.machine.load import load as load_machine
from roofline.model.load import from_config
from roofline.model.load import load as load_model
from roofline.page.bundle import bundle
from roofline.page.data import machine_json, page_data
from roofline.page.make import page as make_page
from roofline.page.serve import PageServer
from roofline.parallel import Parallel
from roofline.parallel.split import split
from roofline.say import answer
from roofline.words import Words

COUNTS = (1, 2, 4, 8, 16, 32, 64, 128)

# What is special about a model over devices.
KINDS = {
    "llama-3.1-70b": "8 key-value heads, replicated from 16 devices on",
    "deepseek-v3": "latent attention: the cache on every device; experts",
    "qwen3-30b-a3b": "4 key-value heads; experts, each divided",
    "mimo-v2-flash": "two kinds of operators that become alike at 8",
    "gpt-oss-20b": "windows, and a mixed checkpoint",
    "qwen3-next-80b-a3b": "recurrent layers",
    "gemma-3-270m": "one key-value head",
    "llama-3.1-70b-fp8": "blocks of a quantised checkpoint",
}


@WHOLE
def test_tables_of_many_devices_are_those_of_the_core(node, whole):
    """Binding gives what ``split`` gives, term by term, for every number of devices."""
    data = catalogue_data(whole)
    choices = [(None, None, None), ("int4:128", "fp8", None), (None, "fp8", "fp8")]
    asked = []
    for i, model in enumerate(data["models"]):
        some = COUNTS if model["id"] in KINDS else (2, 8)
        asked += [(i, n, *choices[(i + n) % 3]) for n in some]
    script = (
        core()
        + READ
        + "const found = given.asked.map(([i, devices, weights, kv, compute]) =>"
        + " bind(given.data.models[i], { devices, weights, kv, compute }, given.data));\n"
        + "console.log(JSON.stringify(found));\n"
    )
    refused = 0
    found = node(script, {"data": data, "asked": asked})
    for table, (i, n, *formats) in zip(found, asked, strict=True):
        name = data["models"][i]["id"]
        model = load_once(name)
        try:
            if n == 1:
                work = model.work(*formats)
            else:
                work = split(model, Parallel(tp=n), model.formats(*formats)).path
        except InputError:
            assert table is None, (name, n)
            refused += 1
            continue
        except RooflineError:
            continue
        wanted = work.to_json()
        assert table["resident"] == pytest.approx(wanted["resident"], rel=1e-12), (name, n)
        flat, other = _flat(_plain(table)), _flat(_plain(wanted))
        assert flat.keys() == other.keys(), (name, n, formats)
        for key, value in other.items():
            assert flat[key] == pytest.approx(value, rel=1e-12), (name, n, key)
    assert 0 < refused < len(asked) / 3


def _plain(table):
    # Latent attention's quantity with the costs of one device is a part of that of all.
    table = json.loads(json.dumps(table))
    for at, q in enumerate(table["quantities"]):
        if not q.get("costs"):
            continue
        unit = q["costs"][0]
        q["costs"] = [cost / unit for cost in q["costs"]]
        for op in table["operators"]:
            for terms in (op["flops"], *op["bytes"].values()):
                for term in terms:
                    if term[0] == at:
                        term[1] *= unit
    return table


@WHOLE
def test_every_kind_of_model_over_every_number_of_devices(node, whole):
    """Bounds, climbs, fits, verdicts, levers and operators, where links join so many."""
    data = page_data(list(KINDS), ["h100-sxm", "mi300x", "gb200", "rtx-4090"], date="2026-01-01")
    rng = random.Random(11)
    cases, codes, replicated = [], set(), 0
    for model in data["models"]:
        for machine in data["machines"]:
            for n in COUNTS:
                parallel = Parallel(tp=n)
                try:
                    case = Case(
                        load_once(model["id"]), load_machine(machine["id"]), parallel=parallel
                    )
                except RooflineError:
                    case = None
                steps = [random_step(rng), Step.decode(4, 2048), Step.prefill(1, 4096)]
                for step in steps if whole else [steps[(n.bit_length() + len(cases)) % 3]]:
                    answer = expected(case, step) if case else None
                    if answer:
                        codes.add(answer["verdict"]["code"])
                        replicated += case.parallel.tp > 1
                    cases.append(
                        {
                            "model": model["id"],
                            "machine": machine["id"],
                            "options": {"weights": "", "kv": "", "compute": "", "devices": n},
                            "phase": step.phase,
                            "groups": groups_json(step),
                            "expected": answer,
                        }
                    )
    script = (
        core()
        + read("golden.js")
        + READ
        + "const roofline = { makeCase, bound, climb, fit, judge, levers, operators, total,"
        + " fewest };\n"
        + "console.log(JSON.stringify(check(roofline, given)));\n"
    )
    result = node(script, {"data": data, "cases": cases})
    assert result["wrong"] == []
    assert 0 < result["worst"] <= 1e-12
    assert {"communication", "memory:weights", "compute", "capacity"} <= codes
    assert replicated > (200 if whole else 70)


def test_links_are_those_of_the_core(node):
    """Seconds a byte and a message of every machine, and where no link joins so many."""
    data = named()
    script = (
        bundle("devices", exports=True)
        + READ
        + "const costs = (w) => w && [w.per_byte, w.per_message, w.shares.length];\n"
        + "console.log(JSON.stringify(given.machines.map((m) =>"
        + " given.counts.map((n) => costs(wireOf(m, n))))));\n"
    )
    counts = [n for n in COUNTS if n > 1]
    found = node(script, {"machines": data["machines"], "counts": counts})
    from roofline.machine.links import Interconnect

    joined = 0
    for machine, row in zip(data["machines"], found, strict=True):
        interconnect = Interconnect(load_machine(machine["id"]))
        for n, got in zip(counts, row, strict=True):
            try:
                wire = interconnect.wire("all_reduce", n)
            except InputError:
                assert got is None, (machine["id"], n)
                continue
            wanted = [wire.second_per_byte, wire.second_per_message, len(wire.shares)]
            assert got == pytest.approx(wanted, rel=1e-12), (machine["id"], n)
            joined += 1
    assert joined > 200


def test_a_dropped_machine_keeps_its_links(node):
    """A machine file on the page talks over the same links as in the core."""
    machine = load_machine("h100-sxm")
    given = {
        "name": "Mine",
        "datasheet": {"bandwidth": {"memory": 1e12}, "compute": {"bf16": 1e14}},
        "links": [
            {"name": "NVLink 9", "bandwidth": {"value": 4e11}, "devices": 4},
            {"name": "cable", "bandwidth": 2e10, "latency": 1e-5, "devices": 64, "scope": "rack"},
            {"name": "to the host", "bandwidth": 9e11, "devices": 2, "scope": "host"},
        ],
    }
    data = page_data([], [machine], date="2026-01-01")
    script = (
        bundle("drop", "devices", exports=True)
        + READ
        + "const { machine } = readMachine(given.file, given.data, (key) => key);\n"
        + "const bad = readMachine({ ...given.file, links: [{ bandwidth: 1e300 }] }, given.data,"
        + " (key) => key);\n"
        + "console.log(JSON.stringify([[2, 4, 8].map((n) => wireOf(machine, n)), bad]));\n"
    )
    (two, four, eight), bad = node(script, {"data": data, "file": given})
    from roofline.machine.links import Interconnect
    from roofline.machine.load import from_data

    interconnect = Interconnect(from_data(given, "mine"))
    for got, n in ((two, 2), (four, 4), (eight, 8)):
        wire = interconnect.wire("all_reduce", n)
        assert got["per_byte"] == pytest.approx(wire.second_per_byte, rel=1e-12)
        assert got["per_message"] == pytest.approx(wire.second_per_message, rel=1e-12)
    assert bad == {"error": "drop.machine.wrong"}
    assert machine_json(machine, {})["links"][0]["latency"]["value"] == 2.63e-6


def test_a_served_page_says_what_python_answers(browser):
    """A config that only the core can read, over devices: the page's words are the core's."""
    config = {
        "model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 10, "vocab_size": 50257,
        "num_attention_heads": 16, "num_key_value_heads": 4, "intermediate_size": 5632,
        "max_position_embeddings": 8192, "torch_dtype": "bfloat16",
    }  # fmt: skip
    things = {"models": ["llama-3.1-70b"], "machines": ["h100-sxm", "mi300x", "rtx-4090"]}
    page_text = make_page(**things, language="en", live=True)
    with PageServer(page_text) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        context = browser.new_context(locale="en-US")
        page = context.new_page()
        quiet = Quiet(page)
        page.goto(server.address)
        page.fill("#config", json.dumps(config))
        page.click("#files button")
        page.locator("h2.title", has_text="config").wait_for()
        own = from_config(config, "config.json")
        cases = [
            (own, "file-config.json", "h100-sxm", 8, 16),
            (own, "file-config.json", "rtx-4090", 4, 1),
            (load_model("llama-3.1-70b"), "llama-3.1-70b", "mi300x", 4, 64),
            (load_model("llama-3.1-70b"), "llama-3.1-70b", "h100-sxm", 16, 8),
        ]
        for model, id, machine, devices, batch in cases:
            go(page, f"#m={id}&on={machine}&tp={devices}&b={batch}")
            said = page.inner_text(".panel").replace("\xa0", " ")
            e = explain(model, machine, Step.decode(batch, 2048), parallel=Parallel(tp=devices))
            (label, because), *rest = answer.lines(e, Words("en"))
            assert label in said
            for sentence in (because, rest[0][1].split(" · ")[0], *(x for _, x in rest[3:5])):
                assert sentence in said, (id, machine, devices)
        context.close()
        server.shutdown()
        thread.join()
    assert quiet.said == []
