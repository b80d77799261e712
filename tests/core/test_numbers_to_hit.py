"""The numbers of the counting convention, each to the digits given, each worked out by hand."""

from __future__ import annotations

import pytest

import roofline
from roofline import Case, Step, load_machine, load_model

DECODE = [
    ("llama-3.1-8b", 2048, (1.05, 13.33, 31.97, 49.15)),
    ("llama-3.1-8b", 8192, (1.20, 9.59, 14.75, 17.05)),
    ("llama-3.1-8b", 32768, (1.67, 6.15, 7.11, 7.39)),
    ("llama-3.1-70b", 2048, (1.03, 15.43, 50.78, 118.88)),
    ("mixtral-8x7b", 2048, (1.03, 4.40, 15.41, 42.02)),
    ("qwen3-30b-a3b", 2048, (1.22, 2.86, 6.80, 17.59)),
    ("deepseek-v3", 2048, (1.47, 3.11, 5.87, 20.09)),
]
PREFILL = [
    ("llama-3.1-8b", 29.69, 1910, False),
    ("qwen3-30b-a3b", 12.83, 210.9, True),
    ("deepseek-v3", 156.7, 116.9, True),
]


@pytest.fixture(scope="module")
def h100():
    return load_machine("h100-sxm")


def bf16(model, machine):
    return Case(load_model(model), machine, weights="bf16", kv="bf16")


@pytest.mark.parametrize(("model", "context", "expected"), DECODE)
def test_decode_intensity(model, context, expected, h100):
    case = bf16(model, h100)
    found = [case.bound(Step.decode(b, context)).intensity for b in (1, 16, 64, 256)]
    assert [round(x, 2) for x in found] == list(expected)


@pytest.mark.parametrize(("model", "tflop", "intensity", "memory_bound"), PREFILL)
def test_prefill_of_2048(model, tflop, intensity, memory_bound, h100):
    bound = bf16(model, h100).bound(Step.prefill(1, 2048))
    assert f"{bound.flops / 1e12:.4g}" == f"{tflop:.4g}"
    assert f"{bound.intensity:.4g}" == f"{intensity:.4g}"
    assert bound.memory_bound is memory_bound


def test_llama_on_an_h100_never_reaches_the_ridge(h100):
    case = bf16("llama-3.1-8b", h100)
    assert round(case.roof.ridge("bf16")) == 295
    at_2k, at_8k = case.climb(Step.decode(1, 2048)), case.climb(Step.decode(1, 8192))
    assert f"{at_2k.limit:.1f}" == "59.9"
    assert f"{at_8k.limit:.1f}" == "18.0"
    assert at_2k.crossing is None and at_2k.reason == "kv"
    assert at_2k.kv_outweighs == 56


def test_only_below_393_tokens_some_batch_reaches_the_ridge(h100):
    case = bf16("llama-3.1-8b", h100)
    assert case.climb(Step.decode(1, 392)).crossing is not None
    assert case.climb(Step.decode(1, 394)).crossing is None


def test_the_worked_example_two_flops_over_two_bytes(h100):
    bound = bf16("llama-3.1-8b", h100).bound(Step.decode(1, 1))
    assert f"{bound.intensity:.2f}" == "1.00"
    assert bf16("llama-3.1-8b", h100).bound(Step.decode(1, 8192)).intensity == pytest.approx(
        1.2, abs=0.005
    )


@pytest.mark.parametrize(
    ("model", "billions", "gigaflops"),
    [
        ("llama-3.1-8b", 8.030, 15.010),
        ("mixtral-8x7b", 46.703, 25.498),
        ("qwen3-30b-a3b", 30.532, 6.084),
        ("deepseek-v3", 671.026, 73.254),
    ],
)
def test_parameters_and_flops_of_one_token(model, billions, gigaflops):
    m = load_model(model)
    assert round(m.parameters / 1e9, 3) == billions
    assert round(m.work().total("flops", Step.decode(1, 1)) / 1e9, 3) == gigaflops


def test_parameters_to_the_unit():
    assert load_model("llama-3.1-8b").parameters == 8_030_261_248


@pytest.mark.parametrize(("model", "ratio"), [("llama-2-7b", 1), ("llama-3.1-8b", 4)])
def test_attention_has_the_intensity_of_its_heads(model, ratio, h100):
    # H/G with a 16-bit cache, less the entry that is written for the new token
    for batch in (1, 64, 1000):
        ops = Case(load_model(model), h100).operators(Step.decode(batch, 100_000))
        attention = next(op for op in ops if op.kind == "attention")
        assert attention.intensity == pytest.approx(ratio, rel=1e-4)


def test_absorbed_latent_attention_has_about_two_flops_a_head(h100):
    # 2·H·(2r+rope) FLOPs over (r+rope)·2 bytes: 242 for H = 128, r = 512, rope = 64
    case = bf16("deepseek-v3", h100)
    a, b = (case.operators(Step.decode(64, c)) for c in (100_000, 200_000))
    more = [next(op for op in ops if op.kind == "attention") for ops in (a, b)]
    slope = (more[1].flops - more[0].flops) / (more[1].bytes - more[0].bytes)
    assert slope == pytest.approx(242, abs=0.5)


def test_int4_matrices_cross_at_ridge_times_bytes_over_two():
    case = {
        (m, w): Case(load_model("llama-3.1-8b"), load_machine(m), weights=w)
        for m in ("a100-80gb-sxm", "h100-sxm")
        for w in ("int4", "bf16")
    }
    crossing = {k: round(c.climb(Step.decode()).linear_crossing) for k, c in case.items()}
    assert crossing == {
        ("a100-80gb-sxm", "int4"): 39,
        ("h100-sxm", "int4"): 76,
        ("a100-80gb-sxm", "bf16"): 153,
        ("h100-sxm", "bf16"): 295,
    }


def test_the_front_door():
    answer = roofline.explain("llama-3.1-8b", "h100-sxm")
    assert answer.verdict.code == "memory:weights"
    assert f"{answer.bound.tokens_per_s:.0f}" == "219"
    assert f"{answer.bound.overlapped_s * 1e3:.2f}" == "4.56"
    assert f"{answer.bound.peak_fraction:.2%}" == "0.36%"
