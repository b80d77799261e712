"""Every model of the catalogue divides over devices, or is refused with what works."""

from __future__ import annotations

import re

import pytest

from roofline import Case, InputError, Parallel, Step, load_machine, load_model
from roofline.model.ffn import Experts
from roofline.model.load import entries

IDS = [entry["id"] for entry in entries()]
STEPS = (Step.decode(16, 3000), Step.prefill(1, 512), Step.verify(4, 3, 1000))
ENCODES = (Step.encode(16, 512), Step.encode(1, 128))


def h200(model, **layout):
    parallel = Parallel(**layout) if layout else None
    return Case(model, load_machine("h200-sxm"), parallel=parallel)


@pytest.mark.parametrize("name", IDS)
def test_two_do_together_what_one_did_and_little_more(name):
    model = load_model(name)
    try:
        pair = h200(model, tp=2)
    except InputError as error:
        offered = re.search(r"--tp may be ([\d, or]+)", str(error))[1]
        for tp in re.findall(r"\d+", offered):
            h200(model, tp=int(tp))
        return
    alone = h200(model)
    steps = ENCODES if model.encodes or not model.causal else STEPS
    for step in steps:
        one, two = alone.bound(step), pair.bound(step)
        # what has no heads is on both: latent caches, indexers, routers, low-rank projections
        assert one.flops * (1 - 1e-9) <= 2 * two.flops <= 1.15 * one.flops
        assert one.weights * (1 - 1e-9) <= 2 * two.weights <= 1.1 * one.weights
        kv, state = (b.kv_read + b.kv_write for b in (one, two)), (b.state for b in (one, two))
        for alone_has, each_has in (kv, state):  # kept twice where there is one head, or none
            assert alone_has * (1 - 1e-9) <= 2 * each_has <= 2 * alone_has * (1 + 1e-9)
        assert one.tokens == two.tokens
        layers = model.depth
        assert layers <= two.messages - 2 <= 3 * layers  # a sum after most parts
    weights = alone.fit(steps[0]).weight_bytes
    assert weights * (1 - 1e-9) <= 2 * pair.fit(steps[0]).weight_bytes <= 1.05 * weights


@pytest.mark.parametrize("name", IDS)
def test_replicas_stages_and_experts(name):
    model = load_model(name)
    one = h200(model)
    sparse = any(isinstance(p, Experts) for layer in model.layers for p in layer.parts)
    step = Step.encode(32, 512) if not model.causal else Step.decode(32, 3000)
    whole, replicas = one.bound(step), h200(model, dp=2).bound(step)
    own = whole.kv_read + whole.kv_write + whole.state
    assert 2 * (replicas.kv_read + replicas.kv_write + replicas.state) == pytest.approx(own)
    if not sparse:  # dense: nothing but the sequences is divided
        assert replicas.weights == pytest.approx(whole.weights)
        assert replicas.messages == 0
    staged = h200(model, pp=2, microbatches=1).bound(step)
    assert staged.flops == pytest.approx(whole.flops)
    assert staged.compulsory == pytest.approx(whole.compulsory)
    assert staged.messages == 1
    if sparse:
        spread = h200(model, dp=2, ep=2).bound(step)
        assert spread.weights < replicas.weights * 1.0001
        assert spread.communication_s > 0
