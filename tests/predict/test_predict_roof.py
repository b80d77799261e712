"""Nothing is faster than its roof, whatever the options."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from core.strategies import steps
from roofline import Case, Group, Parallel, RooflineError, Step, load_machine, load_model
from roofline.cli import main
from roofline.predicting import (
    Predictor,
    load_profile,
    predict_request,
    predict_served,
    predict_simulated,
    predict_step,
)
from roofline.predicting.lengths import between
from roofline.predicting.profile import names

MODELS = ("llama-3.1-8b", "llama-3.1-70b", "qwen3-30b-a3b", "deepseek-v3", "gemma-3-27b",
          "gpt-oss-20b", "qwen3-next-80b-a3b", "falcon-mamba-7b")  # fmt: skip
MACHINES = ("h100-sxm", "mi300x", "rtx-4090", "gb200", "m2-max-38c", "xeon-8480", "t4")
LAYOUTS = (
    Parallel(), Parallel(tp=2), Parallel(tp=8), Parallel(dp=4), Parallel(pp=2),
    Parallel(pp=3, microbatches=1), Parallel(tp=2, pp=2, microbatches=5), Parallel(dp=4, ep=4),
    Parallel(tp=4, ep=4), Parallel(tp=2, dp=2, ep=4, pp=2),
)  # fmt: skip
TIGHT = 1 - 1e-9


@cache
def predictor(model, machine, engine, layout, options):
    on = Case(load_model(model), load_machine(machine), parallel=layout, **dict(options))
    return Predictor(on, load_profile(engine))


@st.composite
def predictors(draw):
    options = {
        "weights": draw(st.sampled_from((None, None, "fp8", "int4", "q4_k", "nvfp4"))),
        "kv": draw(st.sampled_from((None, None, "fp8", "int8"))),
        "compute": draw(st.sampled_from((None, None, None, "fp8", "fp16"))),
        "usable": draw(st.sampled_from((0.9, 0.5, 1.0))),
        "link": draw(st.sampled_from((None, 25e9, 1e8, 1e13))),
        "latency": draw(st.sampled_from((None, None, 1e-3, 1e-7, 0.1))),
    }
    try:
        return predictor(
            draw(st.sampled_from(MODELS)),
            draw(st.sampled_from(MACHINES)),
            draw(st.sampled_from(names())),
            draw(st.sampled_from(LAYOUTS)),
            tuple(options.items()),
        )
    except RooflineError:
        assume(False)  # it does not divide so, or no link joins so many, or no such ceiling


def above(found):
    """The expected time, and both ends of its interval, against the bound."""
    assert found.of_bound <= 1 + 1e-9
    bound = found.roof_s * TIGHT
    least = found.times["step" if found.kind == "step" else "tpot"]
    assert bound <= least.low <= least.value <= least.high
    for t in found.times.values():
        assert 0 < t.low <= t.value <= t.high
    return True


@settings(max_examples=300, deadline=None)
@given(predictors(), steps)
def test_no_step_is(p, step):
    found = predict_step(p, step)
    assert found.roof_s == p.case.bound(step).overlapped_s
    assert above(found)
    many = tuple(
        Group(np.array([g.batch]), np.array([g.new_tokens]), np.array([g.past]), g.all_logits)
        for g in step.groups
    )
    assert p.seconds(Step(step.phase, many))[0] == pytest.approx(found.parts.total, rel=1e-9)


@settings(max_examples=80, deadline=None)
@given(predictors(), st.integers(1, 300), st.integers(1, 20_000), st.integers(1, 2000))
def test_no_request_and_no_server_is(p, batch, prompt, output):
    try:
        whole = predict_request(p, batch, prompt, output)
        served = predict_served(p, batch, prompt, output)
    except RooflineError:
        assume(False)  # not even one sequence fits
    assert above(whole)
    assert above(served)
    first = p.roof(Step.prefill(1, prompt)) * TIGHT
    assert whole.times["ttft"].low >= first
    assert served.times["ttft"].low >= first


@pytest.mark.parametrize(
    ("model", "layout", "options", "load"),
    [
        ("llama-3.1-8b", Parallel(), {}, {"rate": 2.0}),
        ("llama-3.1-8b", Parallel(tp=2), {"latency": 1e-3}, {"rate": 0.05}),
        ("llama-3.1-8b", Parallel(dp=3), {}, {"concurrency": 7, "requests": 40}),
        ("qwen3-30b-a3b", Parallel(dp=2, ep=2), {}, {"rate": 2.0}),
    ],
)
def test_no_simulated_server_is(model, layout, options, load):
    p = predictor(model, "h100-sxm", "vllm", layout, tuple(options.items()))
    assert above(predict_simulated(p, between((300, 1500), (20, 80)), {}, **load))


def test_a_message_takes_its_latency(capsys):
    """65 all-reduces and a gather at 1 ms each are 66 ms, whatever the profile says of them."""
    argv = ["predict", "llama-3.1-8b", "--on", "h100-sxm", "--tp", "2", "--link-latency", "1ms"]
    assert main([*argv, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["bound_s"] == pytest.approx(66e-3, rel=0.01)
    assert data["times"]["step"]["low"] >= data["bound_s"]
    assert data["of_bound"] < 1
    assert data["parts_s"]["messages"] > 66e-3
