"""Known totals: parameters from model cards, cache a token from papers; sources beside each."""

from __future__ import annotations

import pytest

from roofline.count.step import Step
from roofline.model.load import load


def cached(name: str, context: int, kv: str = "bf16") -> float:
    return load(name).work(kv=kv).total("held", Step.decode(1, context))


def per_token(name: str, at: int = 4096) -> float:
    return cached(name, at) - cached(name, at - 1)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("llama-3.1-8b", 8_030_261_248),  # safetensors metadata of meta-llama/Llama-3.1-8B
        ("deepseek-v3", 671_026_404_352),  # "671B" (arXiv 2412.19437)
        ("qwen3-30b-a3b", 30_532_122_624),  # "30.5B" (model card)
        ("gpt-oss-120b", 116_829_156_672),  # "116.83B" (arXiv 2508.10925, table 1)
        ("gpt-oss-20b", 20_914_757_184),  # "20.91B" (the same)
    ],
)
def test_parameters(name, parameters):
    assert load(name).parameters == parameters


@pytest.mark.parametrize(
    ("name", "billions", "tables"),
    [
        ("deepseek-v3", "37", False),  # arXiv 2412.19437: 37B activated for each token
        ("qwen3-30b-a3b", "3.3", True),  # model card: 3.3B activated
        ("gpt-oss-120b", "5.13", False),  # arXiv 2508.10925, table 1: 5.13B, unembedding only
        ("gpt-oss-20b", "3.61", False),  # the same
        ("deepseek-v4-flash", "13", False),  # model card: 284B, 13B activated
        ("deepseek-v4-pro", "49", False),  # model card: 1.6T, 49B activated
        ("nemotron-3-nano-30b-a3b", "3.6", True),  # model card: 31.6B, 3.6B with embeddings
        ("gemma-4-26b-a4b", "3.8", True),  # model card: 25.2B, 3.8B active
        ("glm-5", "40", False),  # model card: 744B, 40B active
    ],
)
def test_active_parameters(name, billions, tables):
    model = load(name)
    count = model.active_parameters if tables else model.active_without_tables
    digits = len(billions.partition(".")[2])
    # Some round, some cut: within one of the last digit printed.
    assert abs(count / 1e9 - float(billions)) < 10**-digits


def test_a_tied_table_is_the_head_and_stays_active():
    model = load("gemma-3-1b")
    assert model.tied
    assert model.active_without_tables == model.active_parameters == model.parameters


@pytest.mark.parametrize(
    ("name", "bytes_a_token"),
    [
        # 2 · 32 layers · 8 heads · 128 · 2 bytes.
        ("llama-3.1-8b", 131_072),
        # (512 + 64) · 61 layers · 2 bytes: 70.272 KB (arXiv 2505.09343, table 1).
        ("deepseek-v3", 70_272),
        # 516.096 KB and 327.680 KB in the same table are Llama-3.1-405B and Qwen2.5-72B.
        ("llama-3.1-405b", 516_096),
        ("qwen2.5-72b", 327_680),
        # 10 of 40 layers attend: 2 · 2 heads · 256 · 2 bytes each.
        ("qwen3.5-35b-a3b", 20_480),
    ],
)
def test_cache_a_token(name, bytes_a_token):
    assert per_token(name) == bytes_a_token


def test_a_window_holds_no_more_than_itself():
    # Gemma 3 27B: 10 of 62 layers see all, 52 see 1024 tokens; 16 heads of 128, keys and values.
    held = cached("gemma-3-27b", 131_072)
    assert held == (10 * 131_072 + 52 * 1024) * 2 * 16 * 128 * 2
    assert f"{held / 2**30:.1f}" == "10.4"


def test_deepseek_v4_pro_at_a_million_tokens():
    # 9.62 GiB in bf16, windows and buffers apart (vLLM blog, "DeepSeek V4 in vLLM", 2026-04).
    assert 9.62 <= cached("deepseek-v4-pro", 1 << 20) / 2**30 < 9.64
    # The same page: V3.2's cache is 8.7 times as large.
    ratio = cached("deepseek-v3.2", 1 << 20) / cached("deepseek-v4-pro", 1 << 20)
    assert f"{ratio:.1f}" == "8.7"


def test_the_multi_token_prediction_layer_is_counted_apart():
    model = load("deepseek-v3")
    drafter = model.drafter
    # 671.0 + 11.6 + table and head once more, 2 · 0.93, are the 684.5B tensors of the checkpoint.
    again = 2 * model.head.size
    assert f"{(model.parameters + drafter.parameters + again) / 1e9:.1f}" == "684.5"
    # Xiaomi counts it in: 7.83B (model card of MiMo-7B).
    mimo = load("mimo-7b")
    assert f"{(mimo.parameters + mimo.drafter.parameters) / 1e9:.2f}" == "7.83"
    # It reads the head, but does not hold it once more.
    work = drafter.work()
    head = next(op for op in work.operators if op.kind == "head")
    assert head.weights[0][1] == 2 * model.head.size
    assert work.resident < 2 * drafter.parameters + 1


def test_state_neither_grows_with_context_nor_amortises_over_batch():
    work = load("nemotron-3-nano-30b-a3b").work()
    # 23 Mamba-2 layers: 64 heads · 64 · 128 numbers in fp32, a convolution's tail in bf16.
    kept = 23 * (64 * 64 * 128 * 4 + (64 * 64 + 2 * 8 * 128) * 3 * 2)
    for context in (1, 2048, 1 << 20):
        assert work.total("state", Step.decode(1, context)) == 2 * kept
        assert work.total("state", Step.decode(64, context)) == 64 * 2 * kept
    state = [op for op in work.operators if op.kind == "state"]
    assert sum(op.count * op.held[0][1] for op in state) == kept


def test_sparse_attention_reads_the_best_and_scores_all():
    work = load("deepseek-v3.2").work()
    ops = {op.name: op for op in work.operators}
    near, far = Step.decode(1, 65_536), Step.decode(1, 131_072)

    def read(name, step):
        return sum(c * q.value(step.groups) for q, c in ops[name].kv_read)

    assert read("indexer", far) == 2 * read("indexer", near) == 131_072 * 128 * 2
    core = "attention[latent][top 2048]"
    assert read(core, far) == read(core, near) == 2048 * 576 * 2


def test_a_shared_cache_is_held_once_and_read_by_each():
    from roofline.model.load import from_config

    config = {
        "model_type": "gemma4_text", "hidden_size": 64, "num_hidden_layers": 4, "vocab_size": 100,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "global_head_dim": 16,
        "intermediate_size": 128, "sliding_window": 8, "hidden_size_per_layer_input": 0,
        "num_kv_shared_layers": 2,
        "layer_types": ["sliding_attention", "full_attention"] * 2,
    }  # fmt: skip
    work = from_config(config).work()
    step = Step.decode(1, 100)
    entry = 2 * 2 * 16 * 2
    assert work.total("held", step) == (8 + 100) * entry
    assert work.total("kv_write", step) == 2 * entry
    assert work.total("kv_read", step) == 2 * (8 + 100) * entry


def test_a_shared_block_is_held_once_and_run_each_time():
    from roofline import InputError, Parallel
    from roofline.model.load import from_config
    from roofline.parallel.shard import stages

    config = {
        "model_type": "zamba2", "hidden_size": 64, "num_hidden_layers": 6, "vocab_size": 100,
        "num_attention_heads": 4, "intermediate_size": 128, "mamba_d_state": 16,
        "mamba_d_conv": 4, "n_mamba_heads": 8, "adapter_rank": 8,
        "layers_block_type": ["mamba", "hybrid", "mamba", "hybrid", "mamba", "hybrid"],
    }  # fmt: skip
    model = from_config(config)
    assert model.depth == 6
    ops = {op.name: op for op in model.work().operators}
    assert ops["attention"].count == ops["attention.out"].count == 3
    once = 64 * 128 + 3 * 128 * 128 + 3 * 64 * 128
    block = next(layer for layer in model.layers if layer.runs == 3)
    assert block.parameters == once + 3 * 64
    with pytest.raises(InputError, match="share"):
        stages(model, Parallel(pp=2))
