"""A machine says which ceilings hold where none are asked for; kinds are never mixed unsaid."""

from __future__ import annotations

import json

import pytest

import roofline
from roofline import InputError, Step
from roofline.bound.case import Case
from roofline.cli import main
from roofline.count.group import Group
from roofline.machine.here import path_for
from roofline.machine.load import from_data, load
from roofline.page.data import machine_json
from roofline.placing import typed
from roofline.placing.resolve import Resolver
from roofline.points import Part, Point, Seconds
from roofline.say.titles import title
from roofline.words import Words

SHEET = {"bandwidth": {"memory": 100e9}, "compute": {"bf16": 2e12, "fp32": 1e12}}
SEEN = {"bandwidth": {"memory": 60e9}, "compute": {"bf16": 1.5e12, "fp32": 0.8e12}}
MODEL = "llama-3.2-1b"


@pytest.fixture
def here(tmp_path, monkeypatch):
    path = tmp_path / "roofline-data" / "machines"
    path.mkdir(parents=True)
    for device in ("cpu", "cuda:0"):
        data = {"name": f"this {device}", "datasheet": SHEET, "measured": SEEN}
        with open(path_for(device), "w", encoding="utf-8") as file:
            json.dump(data, file)


@pytest.mark.parametrize("name", ["here", "HERE", "here:cpu", "here:cuda:0"])
def test_here_is_measured_wherever_it_is_asked(name, here, capsys):
    assert load(name).default_ceilings == "measured"
    assert roofline.explain(MODEL, name).case.roof.kind == "measured"
    point = Point(parts=(Part((Group(1, 1, 0),)),), seconds=Seconds(0.1), weights="bf16")
    _, case = Resolver(model=MODEL, machine=name).case(point)
    assert case.roof.bandwidth.value == 60e9
    asked = typed.Typed(seconds=0.1, model=MODEL, weights="bf16", machine=name)
    assert typed.placed(asked).kind == "measured"
    reached = typed.placed(typed.Typed(achieved=30e9, machine=name))
    assert reached.share == pytest.approx(0.5)
    assert main(["sweep", MODEL, "--on", name, "--batch", "1", "--format", "csv"]) == 0
    swept = capsys.readouterr().out.splitlines()[1]
    assert main(["explain", MODEL, "--on", name, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["machine"]["ceilings"] == "measured"
    assert f"{said['bound']['overlapped_s']:.6g}"[:6] in swept
    assert machine_json(name, {})["ceilings"] == "measured"


def test_a_file_may_say_its_default_and_an_option_overrides_it():
    machine = from_data({"name": "x", "datasheet": SHEET, "measured": SEEN, "ceilings": "measured"},
                        "x")  # fmt: skip
    assert Case(roofline.load_model(MODEL), machine).roof.kind == "measured"
    assert Case(roofline.load_model(MODEL), machine, ceilings="datasheet").roof.kind == "datasheet"
    with pytest.raises(InputError, match="datasheet or measured"):
        from_data({"name": "x", "datasheet": SHEET, "ceilings": "best"}, "x")


def test_a_borrowed_ceiling_is_named_in_the_title_and_in_data():
    e = roofline.explain("llama-3.1-8b", "mi300x", Step.prefill(1, 2048), ceilings="measured")
    assert e.case.borrowed == {"memory": "datasheet"}
    assert "(measured; memory bandwidth: datasheet)" in title(e, Words("en"))
    assert e.to_json()["machine"]["borrowed"] == {"memory": "datasheet"}
    plain = roofline.explain("llama-3.1-8b", "mi300x", Step.prefill(1, 2048))
    assert plain.case.borrowed == {} and title(plain, Words("en")).endswith("(datasheet)")


def test_levers_compare_ceilings_of_one_kind():
    # MI300X: bf16 was measured, fp8 was not. On the sheet's figures alone, by the same step:
    def fp8(ceilings):
        e = roofline.explain("llama-3.1-8b", "mi300x", Step.prefill(1, 2048), ceilings=ceilings)
        return next(x.gain for x in e.levers if x.code == "compute")

    assert fp8("measured") == pytest.approx(fp8("datasheet"), rel=1e-9)
    assert fp8("measured") < 2.0  # the sheet's fp8 is twice its bf16
