"""Experts read are an expectation; what no routing beats is those of one token for all."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import roofline
from roofline import Case, Parallel, Step, load_machine, load_model
from roofline.cli import main
from roofline.count.group import Group
from roofline.count.quantity import touched

MODELS = ("gpt-oss-120b", "qwen3-30b-a3b", "deepseek-v3", "llama-4-scout", "llama-3.1-8b")


def test_the_case_of_a_gb10_by_hand():
    # counting.md: 128·(1-(1-4/128)^32) = 81.66 of 128 at 32 tokens; batch 32 in 102.4 ms
    e = roofline.explain("gpt-oss-120b", "gb10", Step.decode(32, 1024))
    found = e.case.routing(e.step)
    assert (found.experts, found.active) == (128, 4)
    assert found.expected == pytest.approx(128 * (1 - (1 - 4 / 128) ** 32))
    # Measured: above the expectation's roof, below the bound.
    assert e.fewest.overlapped_s < 0.1024 < e.bound.overlapped_s
    # Everything but the experts' weights is the same, theirs as 4 to 81.66.
    expert = sum(op.bytes for op in e.operators if op.kind == "experts")
    saved = e.bound.weights - e.fewest.weights
    assert saved == pytest.approx(expert * (1 - 4 / found.expected))
    assert (e.fewest.kv_read, e.fewest.flops) == (e.bound.kv_read, e.bound.flops)


@given(
    st.sampled_from(MODELS), st.integers(1, 300), st.integers(1, 5000),
    st.sampled_from([None, Parallel(dp=8, ep=8), Parallel(tp=8), Parallel(pp=2)]),
)  # fmt: skip
def test_no_routing_beats_the_fewest(name, batch, context, layout):
    if layout and layout.ep > 1 and name == "llama-3.1-8b":
        layout = None  # it has no experts to spread
    case = Case(load_model(name), load_machine("h200-sxm"), parallel=layout)
    step = Step.decode(batch, context)
    times = [case.bound(step, fewest=fewest).overlapped_s for fewest in (True, False)]
    assert times[0] <= times[1] * (1 + 1e-12)
    for chain in case.chains:  # of several stages, another may be the slowest
        expected, fewest = chain.bound(step), chain.bound(step, fewest=True)
        assert fewest.weights <= expected.weights * (1 + 1e-12)
        assert (fewest.flops, fewest.kv_read) == (expected.flops, expected.kv_read)
        if case.routing(step) is None:
            assert fewest.weights == expected.weights


@given(st.integers(1, 512), st.data())
def test_the_fewest_are_what_one_token_needs(experts, data):
    active = data.draw(st.integers(1, experts))
    q = touched(experts, active)
    groups = (Group(data.draw(st.integers(1, 1000))),)
    assert q.fewest(groups) == active
    assert active <= q.value(groups) * (1 + 1e-12) <= experts * (1 + 1e-9)
    assert q.value((Group(1),)) == pytest.approx(active)


def test_it_is_said_where_it_decides_and_nowhere_else(capsys):
    def said(*line):
        assert main(["explain", *line, "--no-chart"]) == 0
        return " ".join(capsys.readouterr().out.split())

    assert "81.7 of 128 a layer: an expectation" in said(
        "gpt-oss-120b", "--on", "gb10", "--batch", "32"
    )
    assert "expectation" not in said("gpt-oss-120b", "--on", "gb10")
    assert "expectation" not in said("llama-3.1-8b", "--on", "gb10", "--batch", "32")
    prefill = said("gpt-oss-120b", "--on", "gb10", "--phase", "prefill", "--prompt", "32k")
    assert "expectation" not in prefill  # all are touched, and arithmetic decides


def test_data_says_both(capsys):
    assert main(["explain", "gpt-oss-120b", "--on", "gb10", "--batch", "32", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["routing"]["decides"] is True
    assert data["bound"]["fewest_experts_s"] < data["bound"]["overlapped_s"]
    assert main(["explain", "llama-3.1-8b", "--on", "gb10", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["routing"] is None
    assert data["bound"]["fewest_experts_s"] == data["bound"]["overlapped_s"]
