"""Where a row and the class both count, they agree."""

from __future__ import annotations

import json

import pytest

from oracle import classes
from roofline.count.step import Step
from roofline.errors import RooflineError
from roofline.model import trace
from roofline.model.load import from_config

SMALL = {"num_hidden_layers": 2}
KINDS = "llama gpt2 qwen3_moe gemma2 mixtral gpt_oss phi cohere2 starcoder2 olmoe exaone4".split()
STEPS = (Step.decode(1, 1), Step.decode(7, 5000), Step.prefill(2, 300, 50))
WHAT = ("flops", "weights", "kv_read", "kv_write", "held")


@pytest.mark.parametrize("kind", KINDS)
def test_they_agree(kind: str) -> None:
    changes = {"n_layer": 2} if kind == "gpt2" else SMALL
    data = json.loads(json.dumps(classes.config_of(kind, **changes).to_dict(), default=str))
    ours, traced = from_config(data, kind), trace.from_config(data, kind)
    assert traced.parameters == ours.parameters
    assert traced.active_parameters == ours.active_parameters
    for step in STEPS:
        for what in WHAT:
            a, b = ours.work().total(what, step), traced.work().total(what, step)
            assert b == pytest.approx(a, rel=1e-9), what
    assert traced.work().resident == pytest.approx(ours.work().resident, rel=1e-9)


def test_a_state_is_refused() -> None:
    data = classes.config_of("mamba", num_hidden_layers=2).to_dict()
    with pytest.raises(RooflineError, match="without weights"):
        trace.from_config(json.loads(json.dumps(data, default=str)), "mamba")


def test_nothing_known_is_refused() -> None:
    with pytest.raises(RooflineError):
        trace.from_config({"model_type": "nothing"}, "config")
