"""What must hold for any model, machine and step."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.strategies import batches, cases, contexts, groups, steps
from roofline import Group, Step
from roofline.bound.arrays import Table
from roofline.bound.explanation import explain_case
from roofline.count.quantity import causal_pairs, entries, held, pairs, touched
from roofline.count.work import Work

few = settings(max_examples=150, deadline=None)


@few
@given(cases, contexts, st.lists(batches, min_size=2, max_size=8))
def test_intensity_never_falls_with_batch_nor_passes_its_limit(case, context, several):
    found = [case.bound(Step.decode(b, context)) for b in sorted(several)]
    intensities = [b.intensity for b in found]
    assert all(b >= a * (1 - 1e-12) for a, b in pairwise(intensities))
    limit = case.climb(Step.decode(1, context)).limit
    assert limit is None or intensities[-1] <= limit * (1 + 1e-12)


@few
@given(cases, contexts, st.lists(batches, min_size=2, max_size=8))
def test_the_word_never_flips_back(case, context, several):
    words = [case.bound(Step.decode(b, context)).memory_bound for b in sorted(several)]
    assert words == sorted(words, reverse=True)


@few
@given(cases, contexts)
def test_the_crossing_is_the_first_batch_at_the_ridge(case, context):
    crossing = case.climb(Step.decode(1, context)).crossing
    if crossing is None:
        assert case.bound(Step.decode(1 << 39, context)).memory_bound
        return
    assert not case.bound(Step.decode(crossing, context)).memory_bound
    if crossing > 1:
        before = case.bound(Step.decode(crossing - 1, context))
        assert before.compute_s <= before.memory_s * (1 + 1e-9)


@few
@given(cases, steps)
def test_bounds_are_ordered_and_shares_add_up(case, step):
    b = case.bound(step)
    assert b.overlapped_s <= b.serial_s * (1 + 1e-12)
    assert b.serial_s <= (b.compute_s + b.memory_s) * (1 + 1e-12)
    assert sum(b.shares.values()) == pytest.approx(1)
    # the classical verdict, intensity below the ridge, is the one of the times
    if abs(b.intensity / b.ridge - 1) > 1e-9:
        assert b.memory_bound == (b.intensity < b.ridge)


@few
@given(cases, steps)
def test_operators_add_up_to_the_step(case, step):
    b, ops = case.bound(step), case.operators(step)
    assert sum(op.flops for op in ops) == pytest.approx(b.flops, rel=1e-12)
    assert sum(op.bytes for op in ops) == pytest.approx(b.compulsory, rel=1e-12)
    assert sum(op.seconds for op in ops) == pytest.approx(b.serial_s, rel=1e-12)


@few
@given(cases, steps)
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
    for name in ("flops", "weights", "kv_read", "kv_write", "state", "compute_s", "memory_s",
                 "serial_s", "tokens", "intensity", "overlapped_s", "tokens_per_s"):  # fmt: skip
        assert getattr(array, name)[0] == pytest.approx(float(getattr(b, name)), rel=1e-12), name
    again = Work.from_json(json.loads(json.dumps(case.work.to_json())))
    assert again.operators == case.work.operators
    assert again.costs(step) == case.work.costs(step)


@few
@given(cases, groups, groups)
def test_a_mixed_step_is_its_parts_but_for_shared_weights(case, a, b):
    one, two = Step("mixed", (a,)), Step("mixed", (b,))
    both = case.bound(Step.mixed(one, two))
    parts = [case.bound(one), case.bound(two)]
    for name in ("flops", "kv_read", "kv_write", "state", "tokens"):
        assert getattr(both, name) == sum(getattr(p, name) for p in parts), name
    assert max(p.weights for p in parts) <= both.weights * (1 + 1e-12)
    assert both.weights <= sum(p.weights for p in parts) * (1 + 1e-12)


@few
@given(cases, contexts)
def test_what_fits_fits_and_one_more_does_not(case, context):
    fit = case.fit(Step.decode(1, context))
    if not fit.max_batch:
        return
    each = fit.kv_bytes_per_sequence + fit.workspace_per_sequence
    room = fit.memory_bytes * fit.usable
    assert fit.weight_bytes + fit.max_batch * each <= room * (1 + 1e-12)
    assert fit.weight_bytes + (fit.max_batch + 1) * each > room * (1 - 1e-12)


@few
@given(cases, st.builds(Step.decode, batches, contexts))
def test_levers_are_sorted_gains(case, step):
    e = explain_case(case, step)
    gains = [lever.gain for lever in e.levers]
    assert gains == sorted(gains, reverse=True)
    if e.verdict.code != "capacity":
        assert all(g >= 1.01 for g in gains)
        return
    for lever in e.levers:  # what is offered to a step that does not fit makes it fit
        changed = case.using(**{lever.code: lever.values["to"]})
        assert changed.fit(step).holds(step.batch)


@given(st.integers(0, 300), st.integers(1, 300), st.one_of(st.none(), st.integers(1, 400)),
       st.integers(1, 9))  # fmt: skip
def test_pairs_are_what_counting_one_by_one_gives(past, new, window, stride):
    top = window if window is not None else 10**9
    slow = sum(min((past + i) // stride, top) for i in range(1, new + 1))
    assert causal_pairs(past, new, window, stride) == slow


@given(st.integers(1, 40), st.integers(0, 300), st.integers(1, 60), st.integers(1, 90))
def test_chunks_are_what_counting_one_by_one_gives(batch, past, new, chunk):
    from roofline.count.quantity import Quantity

    group = (Group(batch, new, past),)
    first = (past // chunk) * chunk
    slow = sum(p % chunk + 1 for p in range(past, past + new))
    assert Quantity("chunk_pairs", chunk).value(group) == batch * slow
    assert Quantity("chunk_entries", chunk).value(group) == batch * (past + new - first)


@given(groups, st.integers(1, 10_000))
def test_a_window_is_never_more_than_none(group, window):
    g = (group,)
    assert pairs(window).value(g) <= pairs().value(g)
    assert entries(window).value(g) <= entries().value(g)
    assert held(window).value(g) <= entries(window).value(g)


@given(st.integers(1, 512), st.data())
def test_touched_experts_lie_between_k_and_all(experts, data):
    active = data.draw(st.integers(1, experts))
    tokens = data.draw(st.integers(1, 100_000))
    found = touched(experts, active).value((Group(tokens),))
    assert active * (1 - 1e-12) <= found <= min(experts, active * tokens) * (1 + 1e-12)


def test_touched_experts_of_qwen3_at_16_tokens():
    # E(1-(1-k/E)^T): 82 of 128, not 128 and not 8
    assert round(touched(128, 8).value((Group(16),))) == 82
