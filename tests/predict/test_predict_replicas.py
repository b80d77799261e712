"""Replicas that run apart serve so many times as much; those that share experts do not."""

from __future__ import annotations

import json

import pytest

from fakes.lengths import fixed
from roofline import Case, Parallel, load_machine, load_model
from roofline.cli import main
from roofline.predicting import Predictor, load_profile, predict_simulated
from roofline.predicting.lengths import between
from roofline.predicting.replicas import shared
from roofline.predicting.simulate import most, simulate


def predictor(model="llama-3.1-8b", **layout):
    case = Case(load_model(model), load_machine("h100-sxm"), parallel=Parallel(**layout))
    return Predictor(case, load_profile("vllm"))


def test_dense_replicas_serve_so_many_times_as_much():
    of = between((200, 800), (10, 60))
    served = [predict_simulated(predictor(dp=dp), of, {}, rate=2.0 * dp) for dp in (1, 2, 4)]
    first, *others = served
    for dp, found in zip((2, 4), others, strict=True):
        assert found.apart == dp
        assert found.most == pytest.approx(dp * first.most, rel=1e-12)
        # at so many times the rate each replica meets what the one met
        assert found.times == first.times
        assert found.running == pytest.approx(dp * first.running, rel=1e-12)
        assert found.tokens_per_s.value == pytest.approx(dp * first.tokens_per_s.value)


def test_replicas_that_share_experts_step_together():
    p = predictor("qwen3-30b-a3b", dp=2, ep=2)
    assert p.apart == 1
    assert predictor("qwen3-30b-a3b", tp=2).apart == 1
    found = predict_simulated(p, fixed(500, 20), {}, rate=2.0)
    assert found.apart == 1
    assert found.most == most(p, fixed(500, 20))


def test_clients_are_shared_as_evenly_as_they_go():
    one, of = predictor().replica, fixed(500, 20)
    load = {"concurrency": 8, "requests": 80}
    apart = shared(one, 4, of, **load)
    alone = simulate(one, of, concurrency=2, requests=20)
    assert apart.tokens_per_s == pytest.approx(4 * alone.tokens_per_s)
    uneven = shared(one, 3, of, **load)  # 3, 3 and 2
    assert 8 * 0.98 <= uneven.running <= 8 * 1.02
    assert shared(one, 16, of, **load).running == pytest.approx(8 * 1.0, rel=0.02)


def test_the_answer_says_how_replicas_run(capsys):
    argv = ["predict", "llama-3.1-8b", "--on", "h100-sxm", "--dp", "2", "--rate", "1",
            "--prompt", "300", "--output", "20", "--lang", "en"]  # fmt: skip
    assert main(argv) == 0
    assert "2 replicas run apart" in capsys.readouterr().out
    assert main([*argv, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["replicas_apart"] == 2
