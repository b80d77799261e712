"""What must hold for any layout, model, machine and step."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from core.strategies import steps
from parallel.strategies import MODELS, case, cases, layouts
from roofline import Group, InputError, Parallel, Step, load_model
from roofline.bound.arrays import Table
from roofline.bound.explanation import explain_case
from roofline.count.quantity import Quantity
from roofline.count.work import Work
from roofline.record import replace

few = settings(max_examples=60, deadline=None)
batches = st.integers(1, 4096)
contexts = st.integers(1, 100_000)


def same(a, b, rel=1e-12):
    return a == pytest.approx(b, rel=rel)


@few
@given(st.sampled_from(MODELS), steps)
def test_one_device_is_no_layout(model, step):
    alone, one = case(model, "h100-sxm"), case(model, "h100-sxm", Parallel())
    assert alone.work == one.work
    assert alone.bound(step) == one.bound(step)
    assert alone.fit(step) == one.fit(step)
    assert alone.climb(step) == one.climb(step)


@few
@given(cases(), steps)
def test_bounds_are_ordered_and_shares_add_up(case, step):
    b = case.bound(step)
    assert b.overlapped_s <= b.serial_s * (1 + 1e-12)
    assert b.serial_s <= (b.compute_s + b.memory_s + b.communication_s) * (1 + 1e-12)
    assert sum(b.shares.values()) == pytest.approx(1)
    assert min(b.shares.values()) >= 0


@few
@given(cases(), steps)
def test_operators_add_up_to_the_step(case, step):
    b, ops = case.bound(step), case.operators(step)
    assert same(sum(op.flops for op in ops), b.flops)
    assert same(sum(op.bytes for op in ops), b.compulsory)
    assert same(sum(op.sent for op in ops), b.sent)
    assert same(sum(op.messages for op in ops), b.messages)
    assert same(sum(op.seconds for op in ops), b.serial_s)
    assert same(sum(op.seconds for op in ops if op.wire), b.communication_s)


@few
@given(cases(), steps)
def test_scalars_arrays_and_json_agree(case, step):
    b = case.bound(step)
    many = Step(
        step.phase,
        tuple(
            Group(np.array([g.batch]), np.array([g.new_tokens]), np.array([g.past]), g.all_logits)
            for g in step.groups
        ),
    )
    array = Table(case).bounds(many)
    for name in ("overlapped_s", "tokens", "tokens_per_s"):
        assert same(getattr(array, name)[0], float(getattr(b, name))), name
    if len(case.chains) == 1:  # of two that take equally long either may be shown
        for name in ("flops", "weights", "kv_read", "kv_write", "state", "compute_s", "memory_s",
                     "serial_s", "communication_s"):  # fmt: skip
            assert same(getattr(array, name)[0], float(getattr(b, name))), name
    for chain in case.chains:
        again = Work.from_json(json.loads(json.dumps(chain.work.to_json())))
        assert again.operators == chain.work.operators
        assert again.costs(step) == chain.work.costs(step)
        assert again.total("sent", step) == chain.work.total("sent", step)
        assert again.total("messages", step) == chain.work.total("messages", step)


@few
@given(st.sampled_from(MODELS), st.sampled_from((2, 4, 8)), steps)
def test_devices_together_do_what_one_did(model, tp, step):
    layout = Parallel(tp=tp, ep=tp if model in ("qwen3-30b-a3b", "deepseek-v3") else 1)
    try:
        split = case(model, "h100-sxm", layout)
    except InputError:
        assume(False)
    alone = case(model, "h100-sxm")
    # latent attention chooses its cheaper form by what its heads cost, alike on every device
    together, one = split.bound(step), alone.bound(step)
    assert tp * together.flops >= one.flops * (1 - 1e-12)
    assert tp * together.compulsory >= one.compulsory * (1 - 1e-9)
    held = {op.name: op for op in split.operators(step)}
    for op in alone.operators(step):
        # (blocks of a quantised matrix that a cut goes through are padded: not for those)
        divided = op.kind in ("experts", "head") or op.name.startswith("mlp")
        if divided and not model.startswith("gpt-oss") and load_model(model).vocab % tp == 0:
            assert same(tp * held[op.name].flops, op.flops), op.name
            assert same(tp * held[op.name].bytes, op.bytes), op.name


@few
@given(cases(layouts().map(lambda p: replace(p, pp=1, microbatches=None))), steps)
def test_more_devices_never_have_more_to_do(case, step):
    layout, b = case.parallel, case.bound(step)
    for change in ({"tp": 2 * layout.tp}, {"dp": 2 * layout.dp}):
        try:
            more = case.using(parallel=replace(layout, **change)).bound(step)
        except InputError:
            continue
        assert more.compute_s <= b.compute_s * (1 + 1e-9)
        assert more.memory_s <= b.memory_s * (1 + 1e-9)


@few
@given(cases(layouts().map(lambda p: replace(p, dp=1, ep=1, pp=1, microbatches=None))),
       contexts, st.lists(batches, min_size=2, max_size=6))  # fmt: skip
def test_intensity_never_falls_with_batch_nor_passes_its_limit(case, context, several):
    found = [case.bound(Step.decode(b, context)) for b in sorted(several)]
    assert all(b.intensity >= a.intensity * (1 - 1e-12) for a, b in pairwise(found))
    limit = case.climb(Step.decode(1, context)).limit
    assert limit is None or found[-1].intensity <= limit * (1 + 1e-12)


@few
@given(cases(), contexts, st.lists(batches, min_size=2, max_size=6))
def test_time_never_falls_with_batch(case, context, several):
    found = [case.bound(Step.decode(b, context)).overlapped_s for b in sorted(several)]
    assert all(b >= a * (1 - 1e-12) for a, b in pairwise(found))


@few
@given(cases(layouts().map(lambda p: replace(p, pp=1, microbatches=None))), contexts)
def test_the_crossing_is_the_first_even_batch_at_the_ridge(case, context):
    crossing, unit = case.climb(Step.decode(1, context)).crossing, case.parallel.dp
    if crossing is None:
        assert case.bound(Step.decode(unit << 30, context)).memory_bound
        return
    assert crossing % unit == 0
    assert not case.bound(Step.decode(crossing, context)).memory_bound
    if crossing > unit:
        before = case.bound(Step.decode(crossing - unit, context))
        assert before.compute_s <= before.memory_s * (1 + 1e-9)


@few
@given(cases(), contexts)
def test_what_fits_fits_and_one_more_a_replica_does_not(case, context):
    fit = case.fit(Step.decode(1, context))
    if not fit.max_batch:
        return
    waves, dp = case.parallel.waves, case.parallel.dp
    each = fit.kv_bytes_per_sequence + fit.workspace_per_sequence / waves
    room = fit.memory_bytes * fit.usable
    a_replica = fit.max_batch // dp
    assert fit.max_batch % dp == 0
    assert fit.weight_bytes + a_replica * each <= room * (1 + 1e-12)
    assert fit.weight_bytes + (a_replica + 1) * each > room * (1 - 1e-12)


@few
@given(cases(), st.builds(Step.decode, batches, contexts))
def test_levers_are_sorted_gains_of_the_same_model(case, step):
    found = explain_case(case, step).levers
    gains = [lever.gain for lever in found]
    assert gains == sorted(gains, reverse=True)
    if case.fit(step).holds(step.batch) is False:
        # what makes a step fit is worth naming whatever speed it gives, and nothing else is
        assert {lever.code for lever in found} <= {"weights", "kv"}
        for lever in found:
            other = case.using(**{lever.code: lever.values["to"]})
            assert other.fit(step).holds(step.batch)
    else:
        assert all(g >= 1.01 for g in gains)
    for lever in found:
        if lever.code == "devices":
            # twice the devices halve the work; a mesh of twice the devices has more than twice
            # the wires in use
            assert lever.gain <= (2.0001 if not case.bound(step).communication_bound else 4)
            assert lever.values["devices"] == 2 * case.parallel.devices


@given(st.integers(1, 60), st.integers(1, 50), st.integers(1, 12), st.integers(1, 9))
def test_passes_are_what_dealing_out_sequences_gives(batch, other, most, over):
    groups = (Group(batch), Group(other))
    largest = max(len(range(0, g.batch, over)) for g in groups)
    assert Quantity("passes", over=over, most=most).value(groups) == min(most, largest)
    busiest = [sum(1 for i in range(g.batch) if i % over == 0) for g in groups]
    assert Quantity("tokens", over=over).value(groups) == sum(busiest)


@given(st.integers(1, 400), st.integers(1, 8))
def test_experts_touched_pass_by_pass(batch, most):
    q = Quantity("touched", experts=64, active=4, most=most)
    passes = min(most, batch)
    each = 64 * (1 - (1 - 4 / 64) ** (batch / passes))
    assert q.value((Group(batch),)) == pytest.approx(passes * each)
