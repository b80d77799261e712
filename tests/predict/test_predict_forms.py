"""The forms: monotone, above the roof, the same for numbers and arrays."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roofline.bound.case import Case
from roofline.count.step import Step
from roofline.engines.known import why_not
from roofline.machine.load import load as load_machine
from roofline.model.load import load as load_model
from roofline.parallel import Parallel
from roofline.predicting import Predictor, load_profile
from roofline.predicting.collective import exchange
from roofline.predicting.device import device
from roofline.predicting.kernel import KernelPlan, smooth_max
from roofline.predicting.profile import names
from roofline.predicting.steptime import NAMES, Rates

positive = st.floats(1e-9, 1e3)
CASES = [
    ("llama-3.1-8b", "h100-sxm", {}, Parallel()),
    ("llama-3.1-70b", "a100-80gb-sxm", {}, Parallel(tp=4)),
    ("mixtral-8x7b", "mi300x", {}, Parallel(tp=2)),
    ("qwen3-30b-a3b", "l40s", {"weights": "fp8"}, Parallel()),
    ("deepseek-v3", "b200", {"weights": "nvfp4", "kv": "fp8"}, Parallel(tp=8)),
    ("deepseek-v3", "b200", {"weights": "fp8"}, Parallel(dp=8, ep=8)),
    ("gpt-oss-20b", "rtx-5090", {"weights": "mxfp4"}, Parallel()),
    ("llama-2-7b", "m2-max-38c", {"weights": "q4_0", "kv": "fp16"}, Parallel()),
    ("gemma-2-9b", "max-1550", {}, Parallel()),
]


def predictor(case: int, engine: str = "vllm") -> Predictor:
    model, machine, formats, layout = CASES[case]
    on = Case(load_model(model), load_machine(machine), parallel=layout, **formats)
    return Predictor(on, load_profile(engine))


PREDICTORS = {
    (i, e): predictor(i, e)
    for i, (_, machine, *_) in enumerate(CASES)
    for e in names()
    if why_not(load_profile(e).engine, load_machine(machine)) is None
}
some = st.sampled_from(sorted(PREDICTORS))


@given(positive, positive, positive)
def test_smooth_max_lies_between_max_and_sum(a: float, b: float, more: float) -> None:
    value = smooth_max(a, b)
    assert max(a, b) * (1 - 1e-12) <= value <= (a + b) * (1 + 1e-12)
    assert smooth_max(a + more, b) >= value


@settings(max_examples=200, deadline=None)
@given(some, st.integers(1, 512), st.integers(1, 60_000), st.integers(1, 512))
def test_decode_grows_with_batch_and_context(
    which: tuple[int, str], batch: int, context: int, more: int
) -> None:
    p = PREDICTORS[which]
    time = p.step(Step.decode(batch, context)).total
    assert p.step(Step.decode(batch + more, context)).total >= time * (1 - 1e-12)
    assert p.step(Step.decode(batch, context + more)).total >= time * (1 - 1e-12)


@settings(max_examples=100, deadline=None)
@given(some, st.integers(1, 8), st.integers(1, 20_000), st.integers(1, 4096))
def test_prefill_grows_with_the_prompt(
    which: tuple[int, str], batch: int, prompt: int, more: int
) -> None:
    p = PREDICTORS[which]
    if prompt <= 16 < prompt + more:  # another kernel from there on
        prompt += 16
    assert (
        p.step(Step.prefill(batch, prompt + more)).total
        >= p.step(Step.prefill(batch, prompt)).total
    )


@settings(max_examples=200, deadline=None)
@given(some, st.integers(1, 2048), st.integers(1, 100_000), st.booleans())
def test_no_prediction_is_faster_than_the_roof(
    which: tuple[int, str], batch: int, tokens: int, decode: bool
) -> None:
    p = PREDICTORS[which]
    step = Step.decode(batch, tokens) if decode else Step.prefill(min(batch, 16), tokens)
    assert p.step(step).total >= p.roof(step) * (1 - 1e-9)


@pytest.mark.parametrize("case", range(len(CASES)))
def test_arrays_are_the_same_as_numbers(case: int) -> None:
    p = predictor(case)
    batch, context = np.array([1, 7, 64, 300]), np.array([5, 900, 8000, 2048])
    whole = p.step(Step.decode(batch, context))
    for i, (b, c) in enumerate(zip(batch.tolist(), context.tolist(), strict=True)):
        one = p.step(Step.decode(b, c))
        for name in NAMES:
            part = np.broadcast_to(getattr(whole, name), batch.shape)[i]
            assert math.isclose(part, getattr(one, name), rel_tol=1e-12, abs_tol=1e-18), name


def test_many_steps_in_chunks_are_the_same_as_at_once() -> None:
    p = predictor(3)
    n = np.arange(10_000)
    steps = Step.mixed(Step.decode(n % 300 + 1, n + 1), Step.prefill(1, 512))
    assert np.allclose(p.seconds(steps), p.step(steps).total, rtol=1e-13)
    assert p.seconds(Step.decode(4, 100)).shape == (1,)


def test_the_parts_of_a_mixed_step_share_the_weights() -> None:
    p = predictor(0)
    decode, prefill = Step.decode(32, 2048), Step.prefill(1, 1024)
    both = p.step(Step.mixed(decode, prefill)).total
    assert p.step(decode).total < both < p.step(decode).total + p.step(prefill).total


def test_a_plan_holds_a_share_of_the_weights() -> None:
    model, machine, formats, _ = CASES[1]
    step = Step.decode(8, 2048)

    def stored(tp: int) -> float:
        layout = Parallel(tp=tp)
        on = Case(load_model(model), load_machine(machine), parallel=layout, **formats)
        found = KernelPlan(on.work, on.interconnect)(step)
        assert bool(found.exchanges) == (tp > 1)
        return float(sum(k.count * k.stored for k in found.kernels))

    assert math.isclose(stored(2), 4 * stored(8), rel_tol=0.01)


def test_stages_take_the_longer_of_the_way_and_the_busiest() -> None:
    def at(pp: int) -> Predictor:
        on = Case(
            load_model("llama-3.1-70b"), load_machine("h100-sxm"), parallel=Parallel(tp=4, pp=pp)
        )
        return Predictor(on, load_profile("vllm"))

    step = Step.decode(64, 2048)
    whole, staged = at(1).step(step).total, at(2).step(step).total
    assert 0.8 * whole < staged < 2 * whole
    assert staged >= at(2).roof(step)


@given(st.floats(1, 1e9), st.integers(2, 64), st.floats(1, 1e9))
def test_messages_grow_with_size(size: float, devices: int, more: float) -> None:
    c = {"collective.floor": 5e-6, "collective.bandwidth": 0.7}
    ring = exchange(size, devices, 1 / 4.5e11, c)
    assert exchange(size + more, devices, 1 / 4.5e11, c) > ring
    once = {**c, "collective.once": 4e-6}
    assert exchange(size, devices, 1 / 4.5e11, once) <= ring
    several = exchange(np.array([size, size]), np.array([devices, 2 * devices]), 1 / 4.5e11, once)
    assert math.isclose(several[0], exchange(size, devices, 1 / 4.5e11, once), rel_tol=1e-12)


def test_vector_units_take_in_weights_only_so_fast() -> None:
    on = device(load_machine("a100-80gb-sxm"))
    c = dict(load_profile("llamacpp").resolve(on).values)
    assert on.vector == 19.5e12
    free = Rates(on, {**c, "linear.intake": 0.0})("linear", "fp16")
    bound = Rates(on, {**c, "linear.intake": 0.1})("linear", "fp16")
    assert math.isclose(1 / bound.stream, 1 / free.stream + 1 / (0.1 * on.vector))
    attention = Rates(on, {**c, "linear.intake": 0.1})("decode", "fp16")
    assert attention.stream == Rates(on, {**c, "linear.intake": 0.0})("decode", "fp16").stream
    unknown = device(load_machine("arc-b580"))
    assert math.isinf(unknown.vector)
    c = load_profile("vllm").resolve(unknown).values
    assert Rates(unknown, {**c, "linear.intake": 0.1})("linear", "fp16").stream == (
        pytest.approx(unknown.bandwidth * c["linear.bandwidth"])
    )
