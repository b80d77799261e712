"""What does not fit says so first, with what would hold it; nothing offered still would not."""

from __future__ import annotations

import json
from itertools import product

import pytest

import roofline
from roofline import Case, Group, InputError, Parallel, Step, load_machine, load_model
from roofline.bound.explanation import explain_case
from roofline.bound.hold import held_by
from roofline.chart import picture
from roofline.cli import main
from roofline.machine.links import divisors
from roofline.say.answer import lines
from roofline.words import Words

EN = Words("en")


def case(model, machine, **options):
    return Case(load_model(model), load_machine(machine), **options)


def layouts(n):
    """Every layout of n devices, experts whole on each device's share or divided."""
    for tp, dp in product(divisors(n), repeat=2):
        if n % (tp * dp) == 0:
            for ep in {1, tp * dp}:
                yield Parallel(tp, n // (tp * dp), ep, dp)


def held_so(of, step, layout):
    try:
        after = of.using(parallel=None if layout.single else layout)
    except roofline.RooflineError:
        return False
    return after.fit(step).holds(step.batch)


# Hand sums: 812 GB of 405B in bf16 over 23.2 GB (90 % of 24 GiB) is 35.0, and no 36 or 37
# cards divide 126 layers so that the fullest has 23.2 GB; 141 GB of 70B over 77 GB is 1.8.
@pytest.mark.parametrize(
    ("model", "machine", "step", "devices", "options"),
    [
        ("llama-3.1-405b", "h100-sxm", Step.decode(), 11, "--pp 11"),
        ("llama-3.1-70b", "h100-sxm", Step.decode(), 2, "--tp 2"),
        ("deepseek-v3", "h100-sxm", Step.decode(), 10, "--tp 2 --pp 5"),
        ("mixtral-8x7b", "h100-sxm", Step.decode(64, 32768), 6, "--tp 2 --pp 3"),
    ],
)
def test_the_fewest_devices_are_those_of_a_search_by_hand(model, machine, step, devices, options):
    of = case(model, machine)
    found = held_by(of, step)[0]
    assert (found.layout.devices, found.options, found.joined) == (devices, options, True)
    assert held_so(of, step, found.layout)
    assert not any(held_so(of, step, x) for n in range(1, devices) for x in layouts(n))


def test_replicas_hold_a_batch_that_one_device_does_not():
    # 2000 sequences of 8192 tokens have 2.1 TB of cache, 30 cards' worth with the weights.
    found = held_by(case("llama-3.1-8b", "h100-sxm"), Step.decode(2000, 8192))[0]
    assert found.layout.dp > 1
    assert 28 <= found.layout.devices <= 32
    assert found.max_batch >= 2000


def test_where_no_link_joins_so_many_the_answer_says_so():
    e = explain_case(case("llama-3.1-405b", "rtx-4090"), Step.decode())
    first, second = held_by(e.case, e.step)
    assert first.layout.devices == 38
    assert second.layout == Parallel(tp=64)
    assert not first.joined
    said = [f"{label}: {text}" for label, text in lines(e, EN)]
    assert said[0].startswith("does not fit: the weights alone, 812 GB")
    assert "38 × NVIDIA GeForce RTX 4090 would hold it" in said[1]
    assert "--link" in said[1]
    assert said[3].startswith("if it fitted: 1.25 tokens/s")
    assert not any("2.00×" in line or "drafted" in line for line in said)


@pytest.mark.parametrize(
    ("options", "step", "said"),
    [
        ({}, Step.decode(2000, 8192), "batch 2000 does not fit: 56 at most"),
        ({}, Step.decode(1, 1 << 20), "and one sequence needs"),
        ({"weights": "fp32", "usable": 0.3}, Step.decode(), "the weights alone"),
        (
            {"parallel": Parallel(tp=2)},
            Step.decode(2000, 8192),
            "on the fullest of the 2 devices: batch 2000",
        ),
    ],
)
def test_what_there_is_no_room_for_is_named(options, step, said):
    e = explain_case(case("llama-3.1-8b", "h100-sxm", **options), step)
    assert e.verdict.code == "capacity"
    label, sentence = lines(e, EN)[0]
    assert label == "does not fit"
    assert said in sentence


def test_formats_that_make_it_fit_are_offered_as_such():
    e = explain_case(case("llama-3.1-70b", "h100-sxm"), Step.decode())
    assert [(x.code, x.values["to"]) for x in e.levers] == [
        ("weights", "int4:128"),
        ("weights", "fp8"),
    ]
    # 36.5 GB of int4 over 3.35 TB/s, and the cache
    assert e.levers[0].values["tokens_per_s"] == pytest.approx(92, rel=0.02)
    nothing = explain_case(case("llama-3.1-405b", "rtx-4090"), Step.decode())
    assert nothing.levers == ()


def test_json_marks_what_does_not_fit():
    e = explain_case(case("llama-3.1-70b", "h100-sxm"), Step.decode())
    data = json.loads(json.dumps(e.to_json()))
    assert data["verdict"]["code"] == "capacity"
    assert data["fits"]["step"] is False
    assert data["fits"]["held_by"][0] | {"max_batch": 0, "tokens_per_s": 0} == {
        "devices": 2, "tp": 2, "pp": 1, "dp": 1, "ep": 1, "link_known": True,
        "max_batch": 0, "tokens_per_s": 0,
    }  # fmt: skip
    small = explain_case(case("llama-3.1-8b", "h100-sxm"), Step.decode()).to_json()
    assert (small["fits"]["step"], small["fits"]["held_by"]) == (True, [])


def test_what_is_advised_works_when_followed(capsys):
    for model, machine in (("llama-3.1-70b", "h100-sxm"), ("mixtral-8x7b", "l40s")):
        found = held_by(case(model, machine), Step.decode())
        for one in found:
            link = [] if one.joined else ["--link", "25GB/s"]
            assert main(["explain", model, "--on", machine, *one.options.split(), *link]) == 0
            assert "does not fit" not in capsys.readouterr().out


def test_a_ragged_step_has_one_number_for_what_fits():
    step = Step("decode", (Group(20, 1, 100), Group(40, 1, 2000), Group(3, 1, 9000)))
    e = roofline.explain("llama-3.1-8b", "h100-sxm", step)
    assert picture.draw(e.case, e.step).full.label == str(e.fit.max_batch)
    assert f"batch {e.fit.max_batch}" in str(e)
    assert f"full at batch {e.fit.max_batch}" in str(e)


def test_memory_that_is_not_known_is_no_reason_to_refuse():
    from roofline.record import replace

    machine = replace(load_machine("h100-sxm"), capacity=None, usable=None)
    of = Case(load_model("llama-3.1-405b"), machine)
    assert of.fit(Step.decode()).holds(1) is None
    assert held_by(of, Step.decode()) == ()
    with pytest.raises(InputError):
        of.using(usable=0)


def test_a_ragged_step_is_said_whole():
    step = Step("decode", (Group(20, 1, 100), Group(3, 1, 9000)))
    said = " ".join(str(roofline.explain("llama-3.1-8b", "h100-sxm", step)).split())
    assert "decode, batch 20, context 101 + decode, batch 3, context 9001" in said
    assert "prefill beside" not in said
    assert "reaches the ridge" not in said  # that is of the first group alone
