"""Exclusion lists: as their libraries read them, on real checkpoints and by hand."""

import json
import os

import pytest

from roofline.errors import RooflineError
from roofline.model import formats, quant
from roofline.model.load import from_config, load
from roofline.model.quant.expressions import is_tame

SHARED = os.path.join(os.path.dirname(__file__), "../../../shared/configs")
shared = pytest.mark.skipif(not os.path.isdir(SHARED), reason="needs ../shared/configs")


def files(name):
    """A real config and the quantisation config beside it, if any."""
    path = os.path.join(SHARED, name)
    with open(path + "_config.json") as file:
        config = json.load(file)
    if not os.path.isfile(path + "_hf_quant_config.json"):
        return config, None
    with open(path + "_hf_quant_config.json") as file:
        return config, json.load(file)


def real(name):
    config, sidecar = files(name)
    return from_config(config, name, sidecar)


@pytest.mark.parametrize(
    ("name", "size"),
    # total_size of the published model.safetensors.index.json; the model card
    # (arXiv 2508.10925, table 1) gives 60.8 and 12.8 GiB.
    [("gpt-oss-120b", 65_248_815_744), ("gpt-oss-20b", 13_761_264_768)],
)
def test_gpt_oss_to_the_byte(name, size):
    work = load(name).work()
    assert work.resident == size
    assert {op.name: op.compute for op in work.operators}["experts"] == "bf16"


@shared
def test_deepseek_v3():
    # 671,026,404,352 parameters: embedding, head, norms and routers in bf16, the rest a byte
    # with 4 bytes per block of 128×128; the rows of kv_a (576) make 4.5 blocks.
    h = 7168
    bf16 = 2 * 129280 * h + 61 * (2 * h + 1536 + 512) + h + 58 * 256 * h
    attention = 12 * 56 + 192 * 12 + 5 * 56 + 256 * 4 + 56 * 128
    dense, expert = 3 * 144 * 56, 3 * 16 * 56
    blocks = 61 * attention + 3 * dense + 58 * 257 * expert
    model = real("deepseek-ai--DeepSeek-V3")
    assert model.parameters == 671_026_404_352
    assert model.work().resident == model.parameters + bf16 + 4 * blocks
    # All files of the repository are 688.6 GB: this and layer 61, for multi-token prediction,
    # with copies of the table and the head.
    layer = h * 576 + h * 1536 + 1536 * 192 * 128 + 512 * 256 * 128 + 128 * 128 * h
    layer += 257 * 3 * h * 2048 + 4 * (attention + 257 * expert)
    layer += 2 * (2 * h * h + 2 * 129280 * h + 256 * h)
    assert (model.work().resident + layer) / 688.6e9 == pytest.approx(1, abs=1e-4)


@shared
@pytest.mark.parametrize(
    ("name", "by_hand"),
    [
        # Qwen3-32B in FP8: 64 layers of q, o 5120·8192, k, v 5120·1024 and 3·5120·25600, a
        # byte each and 4 for each block of 128×128; table and head 151936·5120, norms, bf16.
        ("Qwen--Qwen3-32B-FP8",
         64 * (5120 * (2 * 8192 + 2 * 1024 + 3 * 25600)
               + 4 * 40 * (2 * 64 + 2 * 8 + 3 * 200) + 2 * (2 * 5120 + 2 * 128))
         + 2 * (2 * 151936 * 5120 + 5120)),
        # Llama-3.1-70B in FP8: two fp32 scales a matrix.
        ("nvidia--Llama-3.1-70B-Instruct-FP8",
         80 * (8192 * (2 * 8192 + 2 * 1024 + 3 * 28672) + 7 * 8 + 2 * 2 * 8192)
         + 2 * (2 * 128256 * 8192 + 8192)),
        # Qwen3-235B in NVFP4: 9/16 byte a weight and 8 a matrix; routers in bf16.
        ("nvidia--Qwen3-235B-A22B-NVFP4",
         94 * ((4096 * (2 * 8192 + 2 * 512) + 128 * 3 * 4096 * 1536) * 9 // 16
               + 8 * (4 + 3 * 128) + 2 * (128 * 4096 + 2 * 4096 + 2 * 128))
         + 2 * (2 * 151936 * 4096 + 4096)),
    ],
)  # fmt: skip
def test_checkpoints_by_hand(name, by_hand):
    assert real(name).work().resident == by_hand


@shared
def test_multi_token_prediction_is_stored_as_its_list_says():
    # DeepSeek-V3: layer 61 in FP8 but for what joins its inputs; NVIDIA's of V3.2 excludes it.
    own = real("deepseek-ai--DeepSeek-V3").drafter
    assert own.scheme.weight("model.layers.61.mlp.experts.*.up_proj").name == "fp8-block128"
    assert own.scheme.weight("model.layers.61.eh_proj").name == "bf16"
    excluded = real("nvidia--DeepSeek-V3.2-NVFP4").drafter
    assert excluded.scheme.weight("model.layers.61.mlp.experts.*.up_proj").name == "bf16"
    # Qwen3.5 calls its layer mtp.layers.0.
    named = real("nvidia--Qwen3.5-122B-A10B-NVFP4")
    path = "mlp.experts.*.up_proj"
    assert named.scheme.weight(f"model.layers.47.{path}").name == "nvfp4"
    if named.drafter:
        assert named.drafter.scheme.weight(f"model.layers.48.{path}").name == "bf16"


@shared
def test_kimi_quantises_routed_experts_alone():
    # int4 in groups of 32: 60 layers of 384 experts, 3·7168·2048 each at 0.5625 byte.
    model = real("moonshotai--Kimi-K2.5")
    experts = 60 * 384 * 3 * 7168 * 2048
    rest = model.parameters - experts
    assert model.work().resident == experts * 9 // 16 + 2 * rest
    chosen = model.scheme
    assert chosen.weight("model.layers.5.mlp.experts.*.up_proj").name == "int4:32"
    for path in ("mlp.shared_experts.up_proj", "self_attn.q_a_proj", "mlp.gate"):
        assert chosen.weight(f"model.layers.5.{path}").name == "bf16"
    assert chosen.weight("model.layers.0.mlp.gate_proj").name == "bf16"
    assert chosen.weight("lm_head").name == "bf16"


CASES = os.path.join(SHARED, "../cases")
cases = pytest.mark.skipif(not os.path.isdir(CASES), reason="needs ../shared/cases")


@cases
def test_unsloth_27b_in_two_formats():
    # MLPs of layers 56-63 in FP8 as the first group that matches them says: 21.6 GB.
    model = load(os.path.join(CASES, "unsloth-27b-nvfp4/config.json"))
    assert model.scheme.weight("model.layers.56.mlp.up_proj").name == "fp8-channel"
    assert model.scheme.weight("model.layers.55.mlp.up_proj").name == "nvfp4"
    assert model.work().resident == pytest.approx(21.6e9, abs=0.05e9)


@cases
def test_glm_5_2_in_nvfp4():
    # 75 layers of 256 experts in 9/16 of a byte and 8 bytes a matrix, the rest in bf16.
    model = load(os.path.join(CASES, "nvidia--GLM-5.2-NVFP4/config.json"))
    experts = 75 * 256 * 3 * 6144 * 2048
    rest = model.parameters - experts
    assert model.parameters == 743_377_000_704
    assert model.work().resident == experts * 9 // 16 + 75 * 256 * 3 * 8 + 2 * rest
    assert model.kv is not None and model.kv.name == "fp8"


@shared
def test_every_quantised_config_is_understood():
    """Each one in the shared folder, whether or not its architecture is counted."""
    found = {}
    for file in sorted(os.listdir(SHARED)):
        if file.endswith("_config.json") and not file.endswith("_hf_quant_config.json"):
            name = file.removesuffix("_config.json")
            config, sidecar = files(name)
            read = quant.read(config, formats.BF16, name, sidecar)
            if read is not None:
                found[name] = (read.method, read.kv.name if read.kv else None)
    assert len(found) == 16
    assert found["nvidia--DeepSeek-V3.2-NVFP4"] == ("modelopt", "fp8")
    assert found["MiniMaxAI--MiniMax-M2.5"] == ("fp8", None)
    assert found["openai--gpt-oss-120b"] == ("mxfp4", None)


# Read by hand in each config: a module, and whether it is quantised.
LISTED = {
    "MiniMaxAI--MiniMax-M2.5": {
        "model.layers.0.block_sparse_moe.gate": 0, "model.layers.0.self_attn.q_proj": 1,
        "model.layers.0.block_sparse_moe.experts.*.gate_proj": 1, "lm_head": 0,
        "model.layers.0.mlp.experts.*.down_proj": 1,
    },
    "Qwen--Qwen3-30B-A3B-FP8": {
        "model.layers.47.mlp.gate": 0, "model.layers.47.mlp.experts.*.gate_proj": 1,
        "model.layers.4.self_attn.o_proj": 1, "lm_head": 0, "model.embed_tokens": 0,
    },
    "openai--gpt-oss-120b": {
        "model.layers.3.mlp.experts.*.gate_proj": 1, "model.layers.3.self_attn.q_proj": 0,
        "model.layers.3.mlp.router": 0, "lm_head": 0,
    },
    "nvidia--DeepSeek-V3.2-NVFP4": {
        "model.layers.0.self_attn.indexer.wq_b": 0, "model.layers.0.self_attn.q_a_proj": 0,
        "model.layers.0.self_attn.kv_b_proj": 0, "model.layers.0.self_attn.o_proj": 1,
        "model.layers.6.mlp.experts.*.up_proj": 1, "model.layers.61.self_attn.o_proj": 0,
        "model.layers.6.self_attn.o_proj": 1, "lm_head": 0,
    },
    "nvidia--Gemma-4-26B-A4B-NVFP4": {
        "model.layers.7.self_attn.q_proj": 0, "model.layers.7.mlp.gate_proj": 0,
        "model.layers.7.experts.*.gate_proj": 1, "model.layers.7.moe.experts.*.gate_proj": 1,
        "lm_head": 0,
    },
    "nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4": {
        "backbone.layers.5.mixer.q_proj": 0, "backbone.layers.4.mixer.in_proj": 0,
        "backbone.layers.0.mixer.in_proj": 1, "backbone.layers.1.mixer.experts.*.up_proj": 1,
        "backbone.layers.1.mixer.shared_experts.up_proj": 1, "lm_head": 0,
    },
    "nvidia--Qwen3.5-122B-A10B-NVFP4": {
        "model.layers.0.linear_attn.in_proj_qkv": 0, "model.layers.3.self_attn.q_proj": 0,
        "model.layers.3.mlp.experts.*.down_proj": 1, "model.layers.3.mlp.shared_expert.up_proj": 0,
        "model.layers.3.mlp.shared_expert_gate": 0, "lm_head": 0,
    },
    "nvidia--Qwen3-235B-A22B-NVFP4": {
        "model.layers.93.mlp.gate": 0, "model.layers.93.mlp.experts.*.up_proj": 1,
        "model.layers.9.self_attn.k_proj": 1, "lm_head": 0,
    },
    "zai-org--GLM-5.2-FP8": {
        "model.layers.36.mlp.gate": 0, "model.layers.0.mlp.gate_proj": 1,
        "model.layers.36.self_attn.q_a_proj": 1, "model.layers.36.mlp.experts.*.up_proj": 1,
        "lm_head": 0,
    },
}  # fmt: skip


@shared
@pytest.mark.parametrize("name", LISTED)
def test_lists_by_hand(name):
    config, sidecar = files(name)
    chosen = quant.read(config, formats.BF16, name, sidecar).scheme
    got = {path: int(chosen.weight(path).name != "bf16") for path in LISTED[name]}
    assert got == LISTED[name]


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("language_model.model.layers.3.self_attn.q_proj", "model.layers.3.self_attn.q_proj"),
        ("model.language_model.layers.3.mlp*", "model.layers.3.mlp*"),
        ("backbone.layers.4.mixer.in_proj", "model.layers.4.mixer.in_proj"),
        ("transformer.h.0.mlp.c_fc", "model.layers.0.mlp.up_proj"),
        ("model.layers.0.block_sparse_moe.experts.7.w2", "model.layers.0.mlp.experts.*.down_proj"),
        ("language_model.lm_head", "lm_head"),
        ("model.layers.0.self_attn.out_proj", "model.layers.0.self_attn.o_proj"),
        ("mtp.layers.0*", "mtp.layers.0*"),
        ("vision_tower.encoder.layers.0.mlp", "vision_tower.encoder.layers.0.mlp"),
    ],
)
def test_canonical(theirs, ours):
    assert quant.canonical(theirs) == ours


def test_lists_do_not_match_neighbours():
    names = quant.Names(["model.layers.1.mlp.up_proj"], "exact", "test")
    assert names.matches("model.layers.1.mlp.up_proj")
    assert not names.matches("model.layers.11.mlp.up_proj")
    module = quant.Names(["model.layers.1", "mlp.gate"], "module", "test")
    assert module.matches("model.layers.1.mlp.up_proj")
    assert not module.matches("model.layers.11.mlp.up_proj")
    assert module.matches("model.layers.2.mlp.gate")
    assert not module.matches("model.layers.2.mlp.gate_proj")


def test_fused_names_stand_for_their_parts():
    names = quant.Names(["model.layers.0.self_attn.qkv_proj"], "exact", "test")
    assert names.matches("model.layers.0.self_attn.k_proj")
    assert not names.matches("model.layers.0.self_attn.o_proj")
    names = quant.Names([r"re:.*mlp\.gate_up_proj$"], "exact", "test")
    assert names.matches("model.layers.0.mlp.gate_proj")


@pytest.mark.parametrize(
    ("expression", "tame"),
    [
        (r".*mlp\.(gate|up|gate_up|down)_proj.*", True), (r"(a+)+$", False),
        (r"(.*a){20}", False), (r"((a|b*))*", False), (r"(?:ab)+", True), (r"[*+]+", True),
        (r"(b*|a)*", False), (r".*.*.*.*.*.*.*x", False),
        (r"a.*|b.*|c.*|d.*|e.*|f.*|g.*|h.*", True), (r"\(\w+\)+", True),
        (r"(.|.)*x", False), (r"(a|a)*$", False), (r"(a|ab)*c", False), (r"(?:a?){30}b", False),
        (r"a?" * 30 + "b", False), (r"(a|aa)" * 30, False), (r"(?:(?:(?:){999}){999}){999}", False),
        (r"(?:(?:a{999}){999}){999}", False), (r"(\w+\.)*x", False), (r"([]a+]*)*", False),
        (r"(?P<n>a*)(?P=n)*", False), (r"(?=(a+))*b", False), (r"(?x) ( a + ) +", False),
        (r"(?:a|b)*x", True), (r"(?:[ab])*x", True), (r"model\.layers\.\d+\..*(q|k|v)_proj$", True),
        (r"^model\.layers\.(1|22|333)\..*\.(gate|up|down)_proj$", True), (r"(a{2,3}){4}", False),
        (r"(?!lm_head|.*gate$).*", True), (r"(a*?)*?b", False), (r"(?>a*)*b", False),
        (r".*\.\d+\..*experts\..*_proj", True), (r"\d{1,3}\.(\w{2})+", False),
    ],
)  # fmt: skip
def test_expressions_end(expression, tame):
    assert is_tame(expression) is tame


LLAMA = {
    "model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "vocab_size": 99,
    "num_hidden_layers": 32, "num_attention_heads": 4, "torch_dtype": "bfloat16",
}  # fmt: skip
INT4 = {"num_bits": 4, "type": "int", "symmetric": True, "strategy": "group", "group_size": 128}


def written(ways, text):
    """Quantisation configs that hold an expression, by the library that writes it so."""
    return {
        "compressed-tensors": {"quant_method": "compressed-tensors", "format": "pack-quantized",
            "ignore": [f"re:{text}"],
            "config_groups": {"g": {"targets": ["Linear"], "weights": INT4}}},
        "its targets": {"quant_method": "compressed-tensors", "format": "pack-quantized",
            "config_groups": {"g": {"targets": [f"re:{text}"], "weights": INT4}}},
        "gptq": {"quant_method": "gptq", "bits": 4, "group_size": 128,
            "dynamic": {f"-:{text}": {}}},
        "auto-round": {"quant_method": "auto-round", "bits": 4, "group_size": 128,
            "extra_config": {text: {"bits": 8}}},
        "bitsandbytes": {"quant_method": "bitsandbytes", "load_in_4bit": True,
            "llm_int8_skip_modules": [text]},
        "gemma": {"quant_method": "gemma", "module_quant_configs": {text: {"num_bits": 4}}},
    }[ways]  # fmt: skip


@pytest.mark.parametrize("text", ["(.|.)*x", "(a+)+$", "(?:\\w?\\.?)*!", "(\\w|\\.|mo)*!"])
@pytest.mark.parametrize(
    "way", ["compressed-tensors", "its targets", "gptq", "auto-round", "bitsandbytes", "gemma"]
)
def test_an_expression_without_end_is_refused_whoever_writes_it(way, text):

    with pytest.raises(RooflineError, match="could take for ever"):
        from_config({**LLAMA, "quantization_config": written(way, text)}, "x").work()


def test_more_expressions_than_any_checkpoint_has_are_refused():
    many = [f"re:.*layers\\.{i}\\..*" for i in range(20_000)]
    with pytest.raises(RooflineError, match="more than 4096 expressions"):
        quant.Names(many, "exact", "test")
    with pytest.raises(RooflineError, match="characters of them"):
        quant.Names(["re:" + "x" * 4000 + str(i) for i in range(100)], "exact", "test")


def test_lists_of_one_config_share_what_they_may_cost(monkeypatch):
    """Globs, endings and parts are held against each module too; their time is counted."""
    from roofline.model.quant import expressions

    clock = iter(range(10**6))
    monkeypatch.setattr(expressions.time, "thread_time", lambda: float(next(clock)))
    with expressions.one_config():
        lists = [quant.Names([f"*{i}*x*"], "glob", "test") for i in range(3)]
    paths = [f"model.layers.{i}.mlp.up_proj" for i in range(10)]
    with pytest.raises(RooflineError, match="take more than 4 s"):
        [[names.matches(path) for names in lists] for path in paths]
    assert next(clock) == 10  # five names a second each, two looks at the clock


def test_a_named_config_finds_its_own_quantisation_beside_it(tmp_path):
    import json

    from roofline import load_model

    config = {
        "model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "vocab_size": 99,
        "num_hidden_layers": 2, "num_attention_heads": 4, "torch_dtype": "bfloat16",
    }  # fmt: skip
    quant = {"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}
    (tmp_path / "a_config.json").write_text(json.dumps(config))
    (tmp_path / "b_config.json").write_text(json.dumps(config))
    (tmp_path / "b_hf_quant_config.json").write_text(json.dumps(quant))
    assert load_model(str(tmp_path / "a_config.json")).scheme.name == "bf16"
    model = load_model(str(tmp_path / "b_config.json"))
    assert model.scheme.name == "fp8 (modelopt)"
    assert model.kv.name == "fp8"
