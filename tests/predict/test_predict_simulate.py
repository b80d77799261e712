"""The simulated server: nothing is lost, and in its steady state it agrees with the formula."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.lengths import fixed
from roofline.bound.case import Case
from roofline.cli import main
from roofline.errors import InputError
from roofline.machine.load import load as load_machine
from roofline.model.load import load as load_model
from roofline.predicting import Predictor, load_profile
from roofline.predicting.lengths import between
from roofline.predicting.serve import steady
from roofline.predicting.simulate import simulate

P = Predictor(Case(load_model("llama-3.1-8b"), load_machine("h100-sxm")), load_profile("vllm"))
SMALL = Predictor(
    Case(load_model("llama-3.1-8b"), load_machine("rtx-4090"), usable=0.9), load_profile("vllm")
)


@pytest.mark.parametrize(("concurrency", "prompt", "output"), [(4, 512, 128), (32, 1024, 256)])
def test_the_steady_state_is_that_of_the_formula(
    concurrency: int, prompt: int, output: int
) -> None:
    found = simulate(
        P,
        between((prompt * 4 // 5, prompt * 6 // 5), (output * 4 // 5, output * 6 // 5)),
        concurrency=concurrency,
        requests=8 * concurrency,
    )
    formula = steady(P, concurrency, prompt, output)
    assert statistics.mean(found.tpot) == pytest.approx(formula.tpot, rel=0.12)
    assert found.running == pytest.approx(concurrency, rel=0.1)
    assert found.preempted == 0


def test_one_request_alone_takes_what_its_steps_take() -> None:
    found = simulate(P, fixed(1000, 50), concurrency=1, requests=5)
    alone = float(P.prefill(1, 1000).total) + P.resolved.values["request.floor"]
    assert found.ttft[-1] == pytest.approx(alone, rel=1e-9)
    assert found.tpot[-1] == pytest.approx(float(P.decode(1, 1000, 50).total), rel=1e-3)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 40),
    st.integers(1, 4000),
    st.integers(1, 60),
    st.integers(256, 8192),
    st.integers(0, 99),
)
def test_every_request_finishes(
    concurrency: int, prompt: int, output: int, budget: int, seed: int
) -> None:
    load = {"concurrency": concurrency, "requests": 40, "budget": budget, "seed": seed}
    found = simulate(SMALL, between((1, prompt), (1, output)), **load)  # type: ignore[arg-type]
    assert len(found.ttft) == 40 - max(8, min(concurrency, 20))
    assert all(t > 0 for t in (*found.ttft, *found.tpot))
    assert simulate(SMALL, between((1, prompt), (1, output)), **load) == found  # type: ignore[arg-type]


def test_a_full_cache_puts_requests_back_and_loses_none() -> None:
    room = SMALL.places(2048)
    assert room is not None and room < 64
    found = simulate(SMALL, fixed(64, 1500), concurrency=64, requests=128)
    assert found.preempted > 0 and len(found.ttft) == 64
    assert found.running < 64


def test_a_faster_rate_waits_longer_and_too_fast_a_one_is_refused() -> None:
    slow = simulate(P, fixed(512, 64), rate=2)
    fast = simulate(P, fixed(512, 64), rate=30)
    assert statistics.mean(fast.tpot) > statistics.mean(slow.tpot)
    assert fast.running > slow.running
    with pytest.raises(InputError, match="more than this engine serves"):
        simulate(P, fixed(2048, 512), rate=500)


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(InputError, match="either"):
        simulate(P, fixed(1, 1))
    with pytest.raises(InputError, match="either"):
        simulate(P, fixed(1, 1), rate=1, concurrency=1)
    with pytest.raises(InputError, match="does not fit"):
        simulate(SMALL, fixed(400_000, 1), rate=1)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    "load", [["--rate", "5"], ["--concurrency", "8", "--prompt", "100:300", "--output", "20:60"]]
)
def test_the_verb_simulates(
    load: list[str], language: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["predict", "llama-3.1-8b", "--on", "h100-sxm", "--lang", language, *load]
    assert main(asked) == 0
    out, err = capsys.readouterr()
    assert not err and "{" not in out and out.count("90 %") >= 4


@pytest.mark.parametrize(
    ("load", "message"),
    [
        (["--rate", "0"], "--rate must be"),
        (["--rate", "nan"], "--rate must be"),
        (["--rate", "1", "--concurrency", "2"], "either"),
        (["--output", "5:9"], "lengths that vary"),
        (["--rate", "1", "--output", "9:5"], "--output must be"),
        (["--rate", "1", "--prompt", "x:9"], "--prompt must be"),
    ],
)
def test_a_wrong_load_costs_one_sentence(
    load: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["predict", "llama-3.1-8b", "--on", "h100-sxm", *load]) == 2
    assert message in capsys.readouterr().err
