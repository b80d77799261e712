"""Answers travel to other processes, and are found again when asked again."""

from __future__ import annotations

import pickle

import pytest

import roofline
from roofline import Parallel, Step
from roofline.model.load import entries

MODELS = {(m.get("quantisation"), m["id"].rpartition("-")[2]): m["id"] for m in entries()}


@pytest.mark.parametrize("name", sorted(set(MODELS.values())))
def test_an_answer_pickles(name):
    answer = roofline.explain(name, "h100-sxm")
    again = pickle.loads(pickle.dumps(answer))
    assert again.bound == answer.bound
    assert again.case.using(kv="fp8").fit(again.step) == answer.case.using(kv="fp8").fit(again.step)


def test_the_same_question_is_priced_once():
    model, machine = roofline.load_model("llama-3.1-8b"), roofline.load_machine("h100-sxm")
    first = roofline.explain(model, machine, Step.decode(4, 512), kv="fp8")
    again = roofline.explain(model, machine, Step.decode(8, 512), kv="fp8")
    assert again.case is first.case
    others = [
        roofline.explain(model, machine, kv="bf16"),
        roofline.explain(model, machine, kv="fp8", parallel=Parallel(tp=2)),
        roofline.explain(roofline.load_model("llama-3.1-8b"), machine, kv="fp8"),
        roofline.explain(model, roofline.load_machine("h100-sxm"), kv="fp8"),
    ]
    assert all(other.case is not first.case for other in others)
