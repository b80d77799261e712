"""Mistakes seen in other tools, one test each."""

from __future__ import annotations

import pytest

from roofline.count.step import Step
from roofline.model.load import from_config, load

ONE = Step.decode(1, 2048)


def of(name, op, what="flops", step=ONE):
    found = [o for o in load(name).work().operators if o.name == op]
    assert found, op
    return sum(o.count * sum(c * q.value(step.groups) for q, c in getattr(o, what)) for o in found)


def test_cache_bytes_are_by_key_value_heads():
    # 8 of 32 heads: a quarter of what query heads would give.
    assert load("llama-3.1-8b").work().total("kv_read", ONE) == 2048 * 32 * 2 * 8 * 128 * 2


def test_head_width_is_the_given_one():
    # Qwen3-0.6B: 16 heads of 128, not of 1024/16 = 64.
    assert of("qwen3-0.6b", "attention.out", "weights") == 28 * (16 * 128) * 1024 * 2


def test_the_input_table_is_not_read():
    model = load("llama-3.1-8b")
    read = model.work().total("weights", ONE)
    vectors = sum(len(x.indices) * x.vectors for x in model.layers) + model.vectors
    assert read == 2 * (model.parameters - model.tables - vectors)
    assert read < model.work().resident


def test_the_head_is_there_at_its_full_cost():
    assert of("llama-3.1-8b", "head") == 2 * 4096 * 128_256
    # A tied one is read, too.
    assert of("gemma-3-1b", "head", "weights") == 1152 * 262_144 * 2


def test_a_gated_mlp_has_three_matrices():
    both = of("llama-3.1-8b", "mlp.gate_up") + of("llama-3.1-8b", "mlp.down")
    assert both == 2 * 32 * 3 * 4096 * 14_336


def test_experts_read_are_the_distinct_ones_hit():
    # Neither k, nor min(E, k·B), nor E: 128·(1 - (1 - 8/128)^B).
    one = 3 * 2048 * 768 * 2 * 48
    for batch in (1, 2, 16, 256):
        read = of("qwen3-30b-a3b", "experts", "weights", Step.decode(batch, 2048))
        hit = 128 * (1 - (1 - 8 / 128) ** batch)
        assert read == pytest.approx(hit * one, rel=1e-12)
        if batch == 16:
            assert 8 < hit < 128


def test_a_causal_prefill_has_half_the_pairs():
    t = 2048
    pairs = of("llama-3.1-8b", "attention", step=Step.prefill(1, t)) / (2 * 32 * 32 * 256)
    assert pairs == t * (t + 1) / 2


def test_latent_attention_is_not_multi_head():
    # 576 numbers a token and layer; multi-head would keep 128 · (192 + 128).
    assert load("deepseek-v3").work().total("kv_read", ONE) == 2048 * 61 * 576 * 2


def test_leading_dense_layers_are_not_experts():
    work = load("deepseek-v3").work()
    count = {op.name: op.count for op in work.operators}
    assert count["experts"] == 58
    assert count["mlp.down"] == 3


def test_sliding_windows_bound_the_cache():
    # gpt-oss: 18 of 36 layers see 128 tokens.
    read = load("gpt-oss-120b").work().total("kv_read", Step.decode(1, 32_768))
    assert read == 18 * (32_768 + 128) * 2 * 8 * 64 * 2


def test_peaks_are_dense():
    from roofline.machine.load import load as load_machine

    # NVIDIA prints 1,979 TFLOP/s with sparsity.
    assert load_machine("h100-sxm").roof().peak("bf16").value == pytest.approx(989.4e12, rel=1e-3)


def test_a_gigabyte_is_not_a_gibibyte():
    from roofline.machine.load import load as load_machine

    assert load_machine("h100-sxm").roof().bandwidth.value == pytest.approx(3.35e12, rel=1e-6)


def test_resident_is_not_read():
    # Of DeepSeek-V3's weights one token reads a seventeenth.
    work = load("deepseek-v3").work(weights="bf16")
    assert 15 < work.resident / work.total("weights", ONE) < 20


def test_the_shared_expert_and_router_are_counted():
    config = {
        "model_type": "qwen2_moe", "hidden_size": 64, "num_hidden_layers": 1, "vocab_size": 100,
        "num_attention_heads": 4, "intermediate_size": 128, "moe_intermediate_size": 32,
        "shared_expert_intermediate_size": 48, "num_experts": 8, "num_experts_per_tok": 2,
    }  # fmt: skip
    names = {op.name for op in from_config(config).work().operators}
    assert {"router", "experts", "experts.shared.gate_up", "experts.shared_gate"} <= names
