"""Configs in the forms that makers publish: nested, partial, renamed, without a type, with NaN."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

import roofline
from roofline import catalogue
from roofline.count.step import Step
from roofline.errors import InputError, NotFound, RooflineError, UnsupportedError
from roofline.model import trace
from roofline.model.config import parse_json
from roofline.model.families import architectures, multimodal, types
from roofline.model.load import from_config, from_path, load

LLAMA = {
    "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
    "tie_word_embeddings": False, "torch_dtype": "bfloat16",
}  # fmt: skip
QWEN2 = {
    "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
    "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064,
    "tie_word_embeddings": False, "torch_dtype": "bfloat16", "use_sliding_window": False,
    "sliding_window": 32768, "max_window_layers": 28,
}  # fmt: skip
SEES = {"vision_config": {"hidden_size": 1280, "depth": 32}}
LLAMA_8B, QWEN2_7B, VICUNA = 8_030_261_248, 7_615_616_512, 6_738_415_616

WRAPPED: dict[str, tuple[dict[str, Any], int]] = {
    "qwen2-vl: keys at the top": ({"model_type": "qwen2_vl", **QWEN2, **SEES}, QWEN2_7B),
    "qwen2.5-vl: both": (
        {"model_type": "qwen2_5_vl", **QWEN2, **SEES,
         "text_config": {"model_type": "qwen2_5_vl_text", **QWEN2}},
        QWEN2_7B,
    ),
    "qwen2.5-omni: twice nested": (
        {"model_type": "qwen2_5_omni", "talker_config": {"hidden_size": 1}, "thinker_config": {
            "model_type": "qwen2_5_omni_thinker", "audio_config": {"d_model": 1280}, **SEES,
            "text_config": {"model_type": "qwen2_5_omni_text", **QWEN2}}},
        QWEN2_7B,
    ),
    "llava 1.5: what differs from the class": (
        {"model_type": "llava", "image_token_index": 32000, **SEES, "text_config": {
            "_name_or_path": "lmsys/vicuna-7b-v1.5", "architectures": ["LlamaForCausalLM"],
            "max_position_embeddings": 4096, "model_type": "llama", "rms_norm_eps": 1e-5,
            "torch_dtype": "float16", "vocab_size": 32064}},
        VICUNA + 2 * 64 * 4096,
    ),
    "llava 1.6 mistral: the class of another": (
        {"model_type": "llava_next", **SEES, "text_config": {
            "model_type": "mistral", "intermediate_size": 14336, "num_key_value_heads": 8,
            "max_position_embeddings": 32768, "sliding_window": None, "vocab_size": 32064,
            "torch_dtype": "bfloat16"}},
        7_241_732_096 + 2 * 64 * 4096,
    ),
    "llava of the first code": (
        {"model_type": "llava", "architectures": ["LlavaQwenForCausalLM"], **QWEN2,
         "mm_vision_tower": "openai/clip", "mm_hidden_size": 1024},
        QWEN2_7B,
    ),
    "internvl_chat: llm_config": (
        {"model_type": "internvl_chat", "select_layer": -1, "tie_word_embeddings": True, **SEES,
         "llm_config": {"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], **QWEN2}},
        QWEN2_7B,
    ),
    "internvl_chat: InternLM2": (
        {"model_type": "internvl_chat", **SEES, "llm_config": {
            "model_type": "internlm2", "architectures": ["InternLM2ForCausalLM"], "bias": False,
            **LLAMA, "vocab_size": 92553}},
        7_737_708_544 + 2 * 9 * 4096,
    ),
    "minicpm-v 2.6": (
        {"model_type": "minicpmv", "version": 2.6, "query_num": 64, **QWEN2, **SEES}, QWEN2_7B
    ),
    "minicpm-v 2.5: no version": ({"model_type": "minicpmv", "query_num": 96, **LLAMA}, LLAMA_8B),
    "phi-3-vision": (
        {"model_type": "phi3_v", "img_processor": {"name": "clip"}, "hidden_size": 3072,
         "intermediate_size": 8192, "num_hidden_layers": 32, "num_attention_heads": 32,
         "num_key_value_heads": 32, "vocab_size": 32064, "sliding_window": 131072},
        3_821_079_552,
    ),
    "deepseek-ocr: latent attention switched off": (
        {"model_type": "deepseek_vl_v2", **SEES, "language_config": {
            "model_type": "deepseek_v2", "use_mla": False, "hidden_size": 1280,
            "intermediate_size": 6848, "moe_intermediate_size": 896, "n_routed_experts": 64,
            "n_shared_experts": 2, "num_experts_per_tok": 6, "first_k_dense_replace": 1,
            "num_hidden_layers": 12, "num_attention_heads": 10, "num_key_value_heads": 10,
            "kv_lora_rank": None, "q_lora_rank": None, "qk_nope_head_dim": 0,
            "qk_rope_head_dim": 0, "v_head_dim": 0, "vocab_size": 129280, "lm_head": True,
            "rm_head": False, "topk_method": "greedy", "torch_dtype": "bfloat16"}},
        2_934_734_080,
    ),
    "a wrapper nobody knows": (
        {"model_type": "some_vlm", "vision_config": {"a": 1}, "text_config": {
            "model_type": "llama", **LLAMA}},
        LLAMA_8B,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRAPPED)
def test_the_text_side_is_counted(name: str) -> None:
    config, total = WRAPPED[name]
    model = from_config(config, name)
    assert model.parameters == total
    assert any("set aside: text tokens only" in note for note in model.notes)
    model.work()


def test_what_a_nested_config_leaves_to_its_class_is_said() -> None:
    config, _ = WRAPPED["llava 1.5: what differs from the class"]
    notes = " ".join(from_config(config, "llava").notes)
    assert "text_config leaves to its class" in notes and "num_hidden_layers 32" in notes


def test_both_encoders_and_the_voice_are_named() -> None:
    notes = from_config(WRAPPED["qwen2.5-omni: twice nested"][0], "omni").notes
    assert "the vision encoder and audio encoder are set aside: text tokens only" in notes
    assert "the speech generator is set aside: text tokens only" in notes


def test_a_text_model_named_elsewhere_is_pointed_at() -> None:
    named = "meta-llama/Llama-3.3-70B-Instruct"
    config = {"model_type": "ultravox", "text_model_id": named, "hidden_size": 8192}
    with pytest.raises(UnsupportedError, match=r"Llama-3\.3-70B-Instruct.*count that"):
        from_config(config, "ultravox")


def test_an_encoder_decoder_in_a_wrapper_is_refused() -> None:
    inner = {"model_type": "bart", "d_model": 1024, "decoder_layers": 12}
    with pytest.raises(UnsupportedError):
        from_config({"model_type": "florence2", "text_config": inner}, "florence")


def test_wrappers_are_listed_where_readers_are_found() -> None:
    assert set(multimodal.WRAPPERS) <= set(architectures())


# Types and classes


def test_classes_run_types_that_are_known() -> None:
    assert set(types.classes().values()) <= set(architectures())
    assert set(types.ALIASES.values()) <= set(architectures())


@pytest.mark.parametrize(
    ("names", "rows"),
    [
        (["LlamaForCausalLM"], 128256), (["LLaMAForCausalLM"], 128256),
        (["X", "LlamaForCausalLM"], 128256), (["LlamaModel"], 0),
        (["LlamaForSequenceClassification"], 2),  # a score for each of two labels
    ],
)  # fmt: skip
def test_a_config_without_a_type_is_read_by_its_class(names: list[str], rows: int) -> None:
    model = from_config({"architectures": names, **LLAMA}, "config")
    assert model.parameters == LLAMA_8B - (128256 - rows) * 4096
    assert any("no model_type: read by its class" in note for note in model.notes)


def test_a_renamed_type_is_read_by_its_class() -> None:
    model = from_config({"model_type": "my", "architectures": ["LlamaForCausalLM"], **LLAMA})
    assert model.parameters == LLAMA_8B and model.architecture == "my"


@pytest.mark.parametrize("name", ["LlamaForCausalLMEagle3", "DeepSeekMTPModel", "MedusaModel"])
def test_drafters_are_not_counted_alone(name: str) -> None:
    with pytest.raises(UnsupportedError, match="drafts"):
        from_config({"model_type": "llama", "architectures": [name], **LLAMA}, "config")


def test_neither_type_nor_class() -> None:
    with pytest.raises(InputError, match="neither model_type nor architectures"):
        from_config(dict(LLAMA), "config")


# --as, and what is refused whatever it is called


def test_an_unknown_type_says_what_to_do_and_that_works() -> None:
    config = {"model_type": "foo_lm", **LLAMA, "my_flag": True, "bos_token_id": 1}
    with pytest.raises(UnsupportedError) as error:
        from_config(config, "config")
    assert "--as TYPE" in str(error.value) and "--trace" in str(error.value)
    for name in ("llama", "LlamaForCausalLM"):
        model = from_config(config, "config", as_type=name)
        assert (model.parameters, model.architecture) == (LLAMA_8B, "foo_lm")
        assert f"counted as {name}, as asked for (--as)" in model.notes


def test_as_reads_a_nested_config() -> None:
    config = {"model_type": "foo_vl", **SEES, "llm_config": {"model_type": "foo_lm", **LLAMA}}
    with pytest.raises(UnsupportedError, match="--as TYPE"):
        from_config(config, "config")
    assert from_config(config, "config", as_type="llama").parameters == LLAMA_8B


@pytest.mark.parametrize(
    "change",
    [
        {"num_memory_heads": 16}, {"n_routed_experts": 8}, {"kv_lora_rank": 512},
        {"engram_hash_size": 1000}, {"hybrid_layer_pattern": [0, 1]}, {"latent_dim": 64},
        {"attention_bias_rank": 4}, {"use_qk_norm": True}, {"sliding_window": 4096},
        {"extra_gate": True},
    ],
    ids=lambda change: next(iter(change)),
)  # fmt: skip
def test_as_refuses_structure_that_the_type_does_not_know(change: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedError, match=next(iter(change))):
        from_config({"model_type": "foo_lm", **LLAMA, **change}, "config", as_type="llama")


@pytest.mark.parametrize(
    "change",
    [
        {"num_memory_heads": 16}, {"moe_latent_size": 512}, {"mamba_num_heads": 8},
        {"num_experts": 8, "num_experts_per_tok": 2}, {"ngram_table_size": 100_000},
    ],
    ids=lambda change: next(iter(change)),
)  # fmt: skip
def test_a_known_type_with_new_structure_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedError, match=next(iter(change))):
        from_config({"model_type": "llama", **LLAMA, **change}, "config")


@pytest.mark.parametrize(
    "change",
    [
        {"my_flag": True}, {"attn_pdrop": 0.1}, {"pretraining_tp": 1}, {"rope_theta": 1e6},
        {"eos_token_id": [1, 2]}, {"num_labels": 2}, {"num_attention_heads_note": ""},
        {"unsloth_version": "2025.1"}, {"router_aux_loss_coef": 0.001}, {"max_batch_size": 8},
        {"torch_dtype": "bfloat16"}, {"num_logits_to_keep": 1}, {"sliding_window": None},
    ],
    ids=lambda change: next(iter(change)),
)  # fmt: skip
def test_what_changes_no_shape_is_no_reason_to_refuse(change: dict[str, Any]) -> None:
    assert from_config({"model_type": "llama", **LLAMA, **change}).parameters == LLAMA_8B


def test_as_nothing_known_names_the_nearest() -> None:
    with pytest.raises(InputError, match="llama"):
        load("llama-3.1-8b", as_type="lama")


def test_as_from_python(tmp_path: Any) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "foo_lm", **LLAMA}))
    assert roofline.load_model(str(path), as_type="llama").parameters == LLAMA_8B
    answer = roofline.explain(str(path), "h100-sxm", Step.decode(1, 2048), as_type="llama")
    assert round(answer.bound.intensity, 2) == 1.05


# Advice that is printed works


def test_an_unknown_quantisation_is_counted_in_a_format_that_is_named() -> None:
    config = {"model_type": "llama", **LLAMA, "quantization_config": {"quant_method": "magic"}}
    model = from_config(config, "config")
    with pytest.raises(UnsupportedError, match=r"magic.*--weights FORMAT"):
        model.work()
    plain = from_config({"model_type": "llama", **LLAMA}, "config")
    assert model.work("int4").resident == plain.work("int4").resident


@pytest.mark.parametrize("key", ["llm_config", "text_config"])
def test_a_quantisation_beside_the_text_model_is_read(key: str) -> None:
    stored = {"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 128}}
    plain = {"model_type": "some_vlm", key: {"model_type": "llama", **LLAMA}}
    inner = {"model_type": "some_vlm", key: {"model_type": "llama", **LLAMA, **stored}}
    outer = {**plain, **stored}
    assert from_config(inner).work().resident == from_config(outer).work().resident
    assert from_config(inner).work().resident < from_config(plain).work().resident / 2


@pytest.mark.parametrize("name", ["qwen2.5-omni: twice nested", "internvl_chat: InternLM2"])
def test_a_list_names_layers_whatever_the_wrapper_calls_them(name: str) -> None:
    config, _ = WRAPPED[name]
    listed = {"quant_method": "awq", "bits": 4, "group_size": 128}
    whole = from_config({**config, "quantization_config": listed}, name)
    kept = {**listed, "modules_to_not_convert": ["model.layers.0."]}
    model = from_config({**config, "quantization_config": kept}, name)
    layer = model.layers[0]
    paths = [m.path for part in layer.parts for m in part.linears()]
    assert {model.scheme.weight(f"{layer.prefix}.0.{p}").name for p in paths} <= {"bf16", "fp16"}
    assert model.work().resident > whole.work().resident


def test_trace_says_what_it_takes(tmp_path: Any) -> None:
    pytest.importorskip("transformers")
    with pytest.raises(UnsupportedError, match=r"no model_type 'foo_lm'.*--as TYPE"):
        trace.from_config({"model_type": "foo_lm"}, "config")
    path = tmp_path / "a.gguf"
    path.write_bytes(b"GGUF")
    with pytest.raises(InputError, match="GGUF"):
        trace.load(str(path))
    with pytest.raises(NotFound):
        trace.load("no-such-model-at-all")


# Files as they are published


def test_python_writes_infinity() -> None:
    text = '{"time_step_limit": [0.0, Infinity], "a": NaN, "b": -Infinity}'
    assert parse_json(text, "config", constants=True)["time_step_limit"] == [0.0, float("inf")]
    with pytest.raises(InputError, match="Infinity"):
        parse_json(text, "machine")


CASES = {
    "nvidia--Nemotron-H-56B-Base-8K": (56_324_350_464, 112_648_700_928),
    "qwen2.5-vl-7b": (QWEN2_7B, 2 * QWEN2_7B),
    "sgl-project--DeepSeek-V4-Flash-FP8": (284_332_230_231, None),
    "nvidia--GLM-5.2-NVFP4": (743_377_000_704, None),
}
FOLDER = os.path.join(os.path.dirname(__file__), "..", "..", "..", "shared", "cases")


@pytest.mark.skipif(not os.path.isdir(FOLDER), reason="no ../shared beside the checkout")
@pytest.mark.parametrize("name", CASES)
def test_configs_that_were_handed_over(name: str) -> None:
    parameters, resident = CASES[name]
    model = from_path(os.path.join(FOLDER, name, "config.json"))
    assert model.parameters == parameters
    assert resident is None or model.work().resident == resident
    model.work()


def test_layer_names_of_glm_5_2() -> None:
    entry = load("glm-5.2-fp8")
    found = next(m for m in catalogue.read("model/catalogue.json")["models"]
                 if m["id"] == "glm-5.2-fp8")  # fmt: skip
    depth = found["config"]["num_hidden_layers"]
    names = {"layer_types": ["deepseek_sparse_attention"] * depth, "num_experts": 256}
    model = from_config({**found["config"], **names}, "glm", found.get("quant_config"))
    assert model.parameters == entry.parameters
    with pytest.raises(RooflineError, match="num_experts"):
        from_config({**found["config"], "num_experts": 128}, "glm")
