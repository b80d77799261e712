"""Names as hub ids end and as llama.cpp labels models: the catalogue's model in those weights."""

import pytest

from roofline.cli import main
from roofline.errors import NotFound, RooflineError, UnsupportedError
from roofline.model.load import load


@pytest.fixture(autouse=True)
def offline(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path))


NAMES = [
    # name, model, a matrix's format, bytes of a 1024 → 384 matrix, arithmetic
    ("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int8", "Qwen2.5-7B", 399360, "bf16"),
    ("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4", "Qwen2.5-7B", 202752, "bf16"),
    ("TheBloke/Llama-2-7B-Chat-GPTQ", "Llama-2-7B", 202752, "fp16"),
    ("hugging-quants/Meta-Llama-3.1-8B-Instruct-AWQ-INT4", "Llama-3.1-8B", 204288, "bf16"),
    ("Qwen/Qwen2.5-72B-Instruct-AWQ", "Qwen2.5-72B", 204288, "bf16"),
    ("RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8-dynamic", "Llama-3.1-8B", 393984, "fp8"),
    ("Qwen/Qwen3-8B-FP8", "Qwen3-8B", 393216 + 24 * 4, "fp8"),
    ("nvidia/Llama-3.3-70B-Instruct-NVFP4", "Llama-3.3-70B", 221192, "fp4"),
    ("RedHatAI/Llama-3.3-70B-Instruct-quantized.w4a16", "Llama-3.3-70B", 202752, "bf16"),
    ("RedHatAI/Llama-3.3-70B-Instruct-quantized.w8a8", "Llama-3.3-70B", 393984, "int8"),
    ("unsloth/Llama-3.2-3B-Instruct-bnb-4bit", "Llama-3.2-3B", 203936, "bf16"),
    ("mlx-community/Qwen3-30B-A3B-4bit", "Qwen3-30B-A3B", 221184, "bf16"),
    ("lmstudio-community/Qwen3-4B-Instruct-2507-MLX-4bit", "Qwen3-4B", 221184, "bf16"),
    ("mobiuslabsgmbh/Llama-3.1-8b-instruct_4bitgs64_hqq", "Llama-3.1-8B", 221184, "bf16"),
    ("Meta-Llama-3.1-8B-Instruct-HQQ-4bit", "Llama-3.1-8B", 221184, "bf16"),
    ("turboderp/Llama-3.1-8B-Instruct-exl2-4.0bpw", "Llama-3.1-8B", 196608, "bf16"),
    ("someone/Llama-3.1-8B-Instruct-4.25bpw-h6-exl2", "Llama-3.1-8B", 208896, "bf16"),
    ("bartowski/Meta-Llama-3.1-8B-Instruct-GGUF:Q8_0", "Llama-3.1-8B", 393216 * 34 // 32, "bf16"),
    ("Qwen_Qwen3-8B-GGUF:Q8_0", "Qwen3-8B", 393216 * 34 // 32, "bf16"),
    ("llama3.1:8b-instruct-q8_0", "Llama-3.1-8B", 393216 * 34 // 32, "bf16"),
    ("Qwen/Qwen3-4B-Thinking-2507", "Qwen3-4B", 2 * 393216, "bf16"),
    ("moonshotai/Kimi-K2-Instruct-0905", "Kimi-K2", 393216 + 24 * 4, "fp8"),
    ("gemma-3-27b-it-qat-q4_0-gguf", "Gemma-3-27B", 393216 * 18 // 32, "bf16"),
    ("qwen2 7B Q8_0", "Qwen2.5-7B", 393216 * 34 // 32, "bf16"),
    ("qwen3moe 30B.A3B Q8_0", "Qwen3-30B-A3B", 393216 * 34 // 32, "bf16"),
    ("llama 8B all F16", "Llama-3.1-8B", 2 * 393216, "fp16"),
]


@pytest.mark.parametrize(("name", "model", "size", "compute"), NAMES, ids=[n[0] for n in NAMES])
def test_a_name_says_model_and_weights(name, model, size, compute):
    found = load(name)
    stored = found.scheme.weight("model.layers.1.mlp.up_proj")
    assert (found.name, stored.stored(1024, 384), stored.compute) == (model, size, compute)
    assert any("by its name" in note for note in found.notes)


def test_mixes_and_the_checkpoints_own():
    assert load("llama 8B Q4_K - Medium").scheme.name == "q4_k_m"
    assert load("bartowski/Qwen2.5-7B-Instruct-GGUF:Q4_K_M").scheme.name == "q4_k_m"
    own = load("gpt-oss 120B MXFP4 MoE")
    assert own.work().resident == load("gpt-oss-120b").work().resident == 65_248_815_744
    assert load("deepseek2 671B Q4_K - Medium").parameters == load("deepseek-v3").parameters
    kv = load("amd/Llama-3.1-8B-Instruct-FP8-KV").kv
    assert kv is not None and kv.name == "fp8"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("llama-3.1-8b-4bit", "MLX.*bitsandbytes"),
        ("llama-3.1-8b-int8", "w8a16.*--weights int8"),
        ("bartowski/Meta-Llama-3.1-8B-Instruct-GGUF", ":Q4_K_M.*--weights q4_k_m"),
        ("unsloth/Qwen3-30B-A3B-GGUF:UD-Q4_K_XL", "--weights q4_k"),
        ("bartowski/Meta-Llama-3.1-8B-Instruct-exl2", "4.0bpw.*--weights 4.0bits"),
        ("Llama-3.1-8B-Instruct-MLX", "-4bit.*--weights int4:64"),
        ("someone/Llama-3.1-8B-AQLM", "--weights int4"),
    ],
)
def test_what_a_name_leaves_open_is_asked(name, says):
    model = load(name)
    with pytest.raises(UnsupportedError, match=says):
        model.work()
    assert model.work("bf16").resident == load("llama-3.1-8b").work("bf16").resident or (
        "Qwen" in name
    )


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("llama 7B mostly Q4_0", "llama-2-7b or mistral-7b"),
        ("llama 70B Q4_K - Medium", "llama-2-70b or llama-3.3-70b"),
        ("meta-llama/Llama-3.1-8B-Lexi-Uncensored-V2", "-lexi-uncensored-v2.*HF_HUB_OFFLINE"),
        ("qwen3 0.6B Foo", "'foo' is not known"),
        ("mistralai/Mistral-Small-Instruct-2409", "no model"),
        ("nosuch/thing-7b-GPTQ", "no model"),
    ],
)
def test_what_is_not_known_is_not_dropped(name, says):
    with pytest.raises(NotFound, match=says):
        load(name)


def test_the_advice_works_when_followed(capsys):
    name = "llama-3.1-8b-4bit"
    assert main(["explain", name, "--on", "h100-sxm", "--no-chart"]) == 2
    assert "--weights nf4" in capsys.readouterr().err
    assert main(["explain", name, "--on", "h100-sxm", "--no-chart", "--weights", "nf4"]) == 0


@pytest.mark.parametrize(
    "error",
    [
        RooflineError("x/y: the hub cannot be reached (Gone); give a folder"),
        NotFound("x/y: no such model or revision on the hub"),
    ],
)
def test_a_hub_that_fails_is_named(monkeypatch, error):
    from roofline.files import hub

    def fail(repo):
        raise error

    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr(hub, "fetch", fail)
    model = load("Qwen/Qwen2.5-7B-Instruct-AWQ")
    assert any("the hub" in note for note in model.notes)
    with pytest.raises(RooflineError, match="hub"):
        load("nosuch/thing")
