"""A device's share and its messages, added up by hand for models whose shapes are published."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest

from roofline import Case, Parallel, Step, load_machine, load_model
from roofline.count.reach import Reach
from roofline.parallel.shard import stage_sizes

H, LAYERS, HEADS, KV, D, MIDDLE, VOCAB = 4096, 32, 32, 8, 128, 14336, 128256  # Llama-3.1-8B


def llama(**options):
    return Case(load_model("llama-3.1-8b"), load_machine("h100-sxm"), **options)


@pytest.mark.parametrize("tp", [1, 2, 4, 8, 16, 32])
def test_a_device_of_llama_8b(tp):
    b = llama(parallel=Parallel(tp=tp)).bound(Step.decode(4, 1000))
    kv_heads = max(1, KV // tp)
    attention = H * HEADS // tp * D * 2 + H * kv_heads * D * 2  # q and out by heads; k, v
    mlp = 3 * H * MIDDLE // tp
    assert b.weights == 2 * (LAYERS * (attention + mlp) + H * VOCAB // tp)
    assert b.kv_read == 4 * 1000 * LAYERS * 2 * kv_heads * D * 2
    assert b.flops == 2 * 4 * (b.weights // 2) + 4 * 1000 * LAYERS * 2 * HEADS // tp * 2 * D


@pytest.mark.parametrize("tp", [2, 4, 8, 16])
def test_all_reduces_as_in_megatron(tp):
    # two a layer (Megatron-LM, section 3), one after the vocabulary-parallel table; logits gathered
    case = llama(parallel=Parallel(tp=tp))
    ops = {op.name: op for op in case.operators(Step.decode(4, 1000)) if op.wire}
    row = H * 2 * 4
    assert ops["all_reduce[hidden]"].messages == 2 * LAYERS
    assert ops["all_reduce[hidden]"].sent == pytest.approx(2 * LAYERS * 2 * (tp - 1) / tp * row)
    assert ops["all_reduce[embedding]"].sent == pytest.approx(2 * (tp - 1) / tp * row)
    assert ops["all_gather[logits]"].sent == pytest.approx((tp - 1) / tp * VOCAB * 2 * 4)
    assert case.bound(Step.decode(4, 1000)).messages == 2 * LAYERS + 2


def test_two_v100_with_half_a_millisecond_a_message():
    # gpt-fast issue 111: 29 tokens/s on one, 17 on two; 64 all-reduces of 0.5 ms
    step = Step.decode(1, 512)
    model, v100 = load_model("llama-2-7b"), load_machine("v100-pcie-16gb")
    one = Case(model, v100).bound(step)
    case = Case(model, v100, parallel=Parallel(tp=2), latency=0.5e-3)
    two, ops = case.bound(step), case.operators(step)
    layers = next(op for op in ops if op.name == "all_reduce[hidden]")
    assert layers.messages == 64
    assert layers.seconds == pytest.approx(32e-3, rel=0.01)
    assert two.communication_s == pytest.approx(33e-3, rel=0.01)  # and table and logits
    assert two.memory_s == pytest.approx(one.memory_s / 2, rel=1e-3)
    assert two.overlapped_s > 2 * one.overlapped_s  # slower on two than on one, as found
    assert two.communication_bound


def test_latent_attention_keeps_its_cache_whole_on_each_device():
    # DeepSeek-V3: 576 numbers a token and layer, 61 layers, whatever tp (70,272 bytes a token)
    model, h200 = load_model("deepseek-v3"), load_machine("h200-sxm")
    for tp in (1, 8):
        case = Case(model, h200, parallel=Parallel(tp=tp))
        assert case.fit(Step.decode(1, 1)).kv_bytes_per_sequence == 70_272
    replicas = Case(model, h200, parallel=Parallel(dp=8, ep=8))
    one, all_ = replicas.bound(Step.decode(8, 4096)), Case(model, h200).bound(Step.decode(8, 4096))
    assert one.kv_read == all_.kv_read / 8


def test_experts_spread_over_sixteen():
    # DeepSeek-V3, 58 layers of 256 experts, 8 a token; 3 matrices of 7168 × 2048
    model, h200 = load_model("deepseek-v3"), load_machine("h200-sxm")
    case = Case(model, h200, weights="fp8", parallel=Parallel(dp=16, ep=16))
    batch = 160
    ops = {op.name: op for op in case.operators(Step.decode(batch, 100))}
    one = 3 * 7168 * 2048
    reached = 16 * (1 - (1 - 8 / 256) ** batch)  # of this device's 16
    assert ops["experts"].bytes == pytest.approx(58 * reached * one)
    assert ops["experts"].flops == pytest.approx(58 * 2 * 8 * one * batch / 16)
    assert ops["router"].flops == 58 * 2 * 7168 * 256 * batch // 16
    # a token goes to each other device that has one of its experts (it chooses from 4 of 8
    # groups of 32; a device has half a group), in fp8 with a scale of fp32 for each 128, and a
    # sum comes back in bf16
    p = Fraction(4, 8) * (1 - Fraction(comb(112, 8), comb(128, 8)))
    rows = 58 * (batch // 16) * 15 * float(p) * 7168
    for name, element in (("all_to_all[dispatch]", 1 + 4 / 128), ("all_to_all[combine]", 2)):
        assert ops[name].sent == pytest.approx(rows * element)
        assert ops[name].messages == 58
    assert "all_reduce[hidden]" not in ops


def test_experts_in_one_replica_need_the_one_all_reduce_only():
    model, h100 = load_model("mixtral-8x7b"), load_machine("h100-sxm")
    by_width = Case(model, h100, parallel=Parallel(tp=8)).bound(Step.decode(16, 500))
    by_number = Case(model, h100, parallel=Parallel(tp=8, ep=8)).bound(Step.decode(16, 500))
    assert by_width == by_number
    assert by_width.messages == 2 * 32 + 2


def test_tensor_parallel_experts_over_replicas_gather_and_scatter():
    model, h100 = load_model("mixtral-8x7b"), load_machine("h100-sxm")
    case = Case(model, h100, parallel=Parallel(dp=4))
    ops = {op.name: op for op in case.operators(Step.decode(16, 500))}
    row = 16 * 4096 * 2  # of the tokens of all replicas
    assert ops["all_gather[dispatch]"].sent == pytest.approx(32 * 3 / 4 * row)
    assert ops["reduce_scatter[combine]"].sent == pytest.approx(32 * 3 / 4 * row)


def test_replicas_of_tensor_parallel_groups():
    # dp 2 × tp 2, experts over all 4: reduce-scatter then all-gather is an all-reduce's bytes
    model, h100 = load_model("mixtral-8x7b"), load_machine("h100-sxm")
    case = Case(model, h100, parallel=Parallel(tp=2, dp=2))
    ops = {op.name: op for op in case.operators(Step.decode(16, 500))}
    row = 4096 * 2
    assert ops["all_gather[dispatch]"].sent == pytest.approx(32 * 16 * row / 2)
    assert ops["reduce_scatter[combine]"].sent == pytest.approx(32 * 16 * row * 3 / 4)
    assert ops["all_gather[hidden]"].sent == pytest.approx(32 * 8 * row / 2)
    assert ops["all_reduce[hidden]"].sent == pytest.approx(32 * 8 * row)  # attention alone


def test_probability_that_a_device_is_needed():
    assert Reach(8, 2, 1, 1).hit(1) == 1
    assert Reach(8, 2, 8, 8).hit(1) == pytest.approx(2 / 8)
    assert Reach(4, 2, 2, 2).hit(1) == pytest.approx(1 - 1 / 6)  # of 6 pairs one misses both


def test_stages_as_even_as_they_go():
    assert stage_sizes(61, 4) == [15, 15, 16, 15]
    assert stage_sizes(32, 3) == [11, 11, 10]
    assert stage_sizes(80, 8) == [10] * 8
    assert stage_sizes(5, 5) == [1] * 5


def test_one_batch_through_two_stages_takes_both():
    one = llama().bound(Step.decode(4, 1000))
    case = llama(parallel=Parallel(pp=2, microbatches=1))
    two = case.bound(Step.decode(4, 1000))
    assert (two.weights, two.kv_read, two.flops) == (one.weights, one.kv_read, one.flops)
    send = next(op for op in case.operators(Step.decode(4, 1000)) if op.wire)
    assert (send.name, send.messages, send.sent) == ("send[stage]", 1, 4 * H * 2)
    assert two.overlapped_s == one.overlapped_s


def test_two_microbatches_read_the_slower_stage_twice():
    # the last stage has 16 layers and the head, read once for each microbatch of two sequences
    b = llama(parallel=Parallel(pp=2)).bound(Step.decode(4, 1000))
    layer = H * (HEADS + 2 * KV) * D + HEADS * D * H + 3 * H * MIDDLE
    assert b.weights == 2 * 2 * (16 * layer + H * VOCAB)
    assert b.kv_read == 4 * 1000 * 16 * 2 * KV * D * 2
    assert b.tokens == 4


def test_memory_of_the_fuller_stage_counts():
    fits = {pp: llama(parallel=Parallel(pp=pp)).fit(Step.decode(1, 2048)) for pp in (1, 2, 4)}
    assert fits[1].weight_bytes > fits[2].weight_bytes > fits[4].weight_bytes
    assert fits[1].max_batch < fits[2].max_batch < fits[4].max_batch
    # both ends hold a table or a head: 16 layers, 2 · 4096 · 128256 bytes, norms
    layer = H * (HEADS + 2 * KV) * D + HEADS * D * H + 3 * H * MIDDLE + 2 * H
    assert fits[2].weight_bytes == 2 * (16 * layer + H * VOCAB + H)


def test_a_tied_table_is_on_both_ends_of_a_pipeline():
    model, h100 = load_model("llama-3.2-1b"), load_machine("h100-sxm")
    assert model.tied
    whole = Case(model, h100).work.resident
    case = Case(model, h100, parallel=Parallel(pp=2))
    held = sum(resident for _, resident in case._stores)
    assert held == whole + 2 * 2048 * VOCAB


def test_a_batch_that_does_not_divide_waits_for_the_busiest_replica():
    case = llama(parallel=Parallel(dp=4))
    b = [case.bound(Step.decode(n, 1000)) for n in (4, 5, 8)]
    assert b[0].kv_read < b[1].kv_read == b[2].kv_read
    assert b[1].tokens == 5
