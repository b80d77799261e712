"""Quantised checkpoints: bytes of single matrices, and what is refused."""

import pytest

from roofline.count.step import Step
from roofline.errors import InputError, UnsupportedError
from roofline.model import formats, quant
from roofline.model.load import from_config

LLAMA = {
    "model_type": "llama", "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 4,
    "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 1000,
    "torch_dtype": "bfloat16", "tie_word_embeddings": False,
}  # fmt: skip


def scheme(config, **around):
    return quant.read({"quantization_config": config, **around}, formats.BF16, "test").scheme


def up(config, inputs=1024, outputs=384):
    """Bytes and arithmetic of one matrix."""
    chosen = scheme(config)
    path = "model.layers.0.mlp.up_proj"
    return chosen.weight(path).stored(inputs, outputs), chosen.compute(path)


# Bytes of a 1024 → 384 layer's tensors as compressed-tensors 0.20.1 wrote them (its presets,
# run once on the CPU), ``weight_shape`` of 16 bytes apart.
INT = {"type": "int", "symmetric": True}
FLOAT = {"type": "float", "symmetric": True}
TOKEN8 = {"num_bits": 8, "strategy": "token", "dynamic": True}
GROUP = {"group_size": 128, "strategy": "group"}
PRESETS = [
    ("W4A16", {**INT, **GROUP, "num_bits": 4}, None, 202752, "bf16"),
    ("W4A16_ASYM", {**GROUP, "type": "int", "symmetric": False, "num_bits": 4}, None,
     204288, "bf16"),
    ("W8A16", {**INT, **GROUP, "num_bits": 8}, None, 399360, "bf16"),
    ("W8A8", {**INT, "num_bits": 8, "strategy": "channel"}, {**TOKEN8, "type": "int"},
     393984, "int8"),
    ("FP8", {**FLOAT, "num_bits": 8, "strategy": "tensor"},
     {**FLOAT, "num_bits": 8, "strategy": "tensor", "dynamic": False}, 393220, "fp8"),
    ("FP8_DYNAMIC", {**FLOAT, "num_bits": 8, "strategy": "channel"},
     {**TOKEN8, "type": "float"}, 393984, "fp8"),
    ("FP8_BLOCK", {**FLOAT, "num_bits": 8, "strategy": "block", "block_structure": [128, 128]},
     {**FLOAT, **GROUP, "num_bits": 8, "dynamic": True}, 393264, "fp8"),
    ("NVFP4", {**FLOAT, "num_bits": 4, "strategy": "tensor_group", "group_size": 16},
     {**FLOAT, "num_bits": 4, "strategy": "tensor_group", "group_size": 16, "dynamic": "local"},
     221192, "fp4"),
    ("NVFP4A16", {**FLOAT, "num_bits": 4, "strategy": "tensor_group", "group_size": 16}, None,
     221188, "bf16"),
    ("MXFP4", {**FLOAT, "num_bits": 4, "strategy": "group", "group_size": 32},
     {**FLOAT, "num_bits": 4, "strategy": "group", "group_size": 32, "dynamic": True},
     208896, "fp4"),
    ("MXFP8", {**FLOAT, "num_bits": 8, "strategy": "group", "group_size": 32},
     {**FLOAT, "num_bits": 8, "strategy": "group", "group_size": 32, "dynamic": True},
     405504, "fp8"),
    # 4-bit weights under 8-bit activations run at the 8-bit ceiling; kernels read them packed.
    ("W4AFP8", {**INT, **GROUP, "num_bits": 4}, {**TOKEN8, "type": "float"}, 202752, "fp8"),
    ("W4A8", {**INT, **GROUP, "num_bits": 4}, {**TOKEN8, "type": "int"}, 202752, "int8"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("weights", "acts", "size", "compute"), [p[1:] for p in PRESETS], ids=[p[0] for p in PRESETS]
)
def test_compressed_tensors_presets(weights, acts, size, compute):
    group = {"targets": ["Linear"], "weights": weights, "input_activations": acts}
    config = {"quant_method": "compressed-tensors", "config_groups": {"group_0": group}}
    assert up(config) == (size, compute)


def overlapping(*targets):
    """Groups of FP8, NVFP4, … with these targets; the formats by module."""
    kinds = [PRESETS[5][1], PRESETS[7][1], PRESETS[0][1]]
    groups = {
        f"group_{i}": {"targets": named, "weights": kinds[i]} for i, named in enumerate(targets)
    }
    config = {"quant_method": "compressed-tensors", "config_groups": groups, "ignore": ["lm_head"]}
    chosen = scheme(config)
    return lambda path: chosen.weight(path).name


def test_of_groups_that_overlap_the_first_match_counts():
    # compressed-tensors 0.20.1, match_targets: names, then expressions, then classes.
    some, all_of_them = [r"re:.*layers\.(2|3)\.mlp.*"], [r"re:.*mlp\.(gate|up|down)_proj$"]
    stored = overlapping(some, all_of_them)
    assert stored("model.layers.1.mlp.up_proj") == "nvfp4"
    assert stored("model.layers.3.mlp.up_proj") == "fp8-channel"
    assert overlapping(all_of_them, some)("model.layers.3.mlp.up_proj") == "fp8-channel"
    one = overlapping(["Linear"], all_of_them, ["model.layers.3.mlp.up_proj"])
    assert one("model.layers.3.mlp.up_proj") == "int4:128"
    assert one("model.layers.3.mlp.down_proj") == "nvfp4"
    assert one("model.layers.3.self_attn.q_proj") == "fp8-channel"
    assert one("lm_head") == one("model.embed_tokens") == "bf16"
    assert overlapping(["Linear"], ["Linear"])("model.layers.3.mlp.up_proj") == "fp8-channel"


def test_classes_that_targets_name():
    stored = overlapping(["Linear"], ["Embedding"], ["FusedMoE"])
    assert stored("model.embed_tokens") == "nvfp4"
    assert stored("model.layers.3.mlp.experts.*.up_proj") == "int4:128"
    assert stored("model.layers.3.mlp.up_proj") == "fp8-channel"
    with pytest.raises(UnsupportedError, match="Conv2d"):
        overlapping(["Conv2d"])


def test_a_group_for_attention_is_the_cache():
    groups = {
        "group_0": {"targets": ["Linear"], "weights": PRESETS[5][1]},
        "group_1": {"targets": ["LlamaAttention"],
                    "input_activations": {**FLOAT, "num_bits": 8, "strategy": "tensor"}},
    }  # fmt: skip
    config = {"quant_method": "compressed-tensors", "config_groups": groups}
    assert quant.read({"quantization_config": config}, formats.BF16, "test").kv.name == "fp8"


@pytest.mark.parametrize(
    ("kind", "double", "inputs", "outputs", "size"),
    [
        # state_dict of bitsandbytes 0.50.2's Linear4bit on the CPU, the JSON note apart
        ("nf4", False, 1000, 640, 360064), ("nf4", True, 1000, 640, 331248),
        ("fp4", False, 4096, 1024, 2359360), ("fp4", True, 4096, 1024, 2164800),
        ("nf4", False, 96, 50, 2764), ("nf4", True, 96, 50, 3567),
    ],
)  # fmt: skip
def test_bitsandbytes_four_bits(kind, double, inputs, outputs, size):
    config = {
        "quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": kind,
        "bnb_4bit_use_double_quant": double, "bnb_4bit_compute_dtype": "bfloat16",
    }  # fmt: skip
    assert up(config, inputs, outputs) == (size, "bf16")


def test_bitsandbytes_eight_bits():
    config = {"quant_method": "bitsandbytes", "load_in_8bit": True}
    assert up(config) == (1024 * 384 + 384 * 4, "int8")


def test_awq():
    # qweight + qzeros + scales: in·out/2 + (in/128)·out·(1/2 + 2)
    config = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}
    assert up(config) == (1024 * 384 // 2 + 8 * 384 * 5 // 2, "bf16")


def test_gptq():
    config = {"quant_method": "gptq", "bits": 4, "group_size": 128, "sym": True}
    assert up(config) == (1024 * 384 // 2 + 8 * 384 * 2, "bf16")
    assert up({**config, "sym": False})[0] == 1024 * 384 // 2 + 8 * 384 * 5 // 2
    assert up({**config, "desc_act": True})[0] == 1024 * 384 // 2 + 8 * 384 * 2 + 4 * 1024
    assert up({**config, "group_size": -1})[0] == 1024 * 384 // 2 + 384 * 2
    assert up({**config, "bits": 3})[0] == 1024 * 384 * 3 // 8 + 8 * 384 * 2
    dynamic = {r"-:.*\.up_proj": {}, r".*\.down_proj": {"bits": 8, "group_size": 64}}
    chosen = scheme({**config, "dynamic": dynamic})
    assert chosen.weight("model.layers.1.mlp.up_proj").name == "bf16"
    assert chosen.weight("model.layers.1.mlp.down_proj").name == "int8:64"
    assert chosen.weight("model.layers.1.mlp.gate_proj").name == "int4:128"


def test_gptq_head_only_where_it_says_so():
    config = {"quant_method": "gptq", "bits": 4, "group_size": 128}
    assert scheme(config).weight("lm_head").name == "bf16"
    assert scheme({**config, "lm_head": True}).weight("lm_head").name == "int4:128"


def test_fp8_blocks_count_partial_ones():
    config = {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128]}
    assert up(config, 7168, 576) == (7168 * 576 + 56 * 5 * 4, "fp8")
    assert up({"quant_method": "fp8", "activation_scheme": "static"}) == (1024 * 384 + 8, "fp8")
    assert up({"quant_method": "fbgemm_fp8"}) == (1024 * 384 + 4 * 384, "fp8")


def test_deepseek_v4_experts_in_fp4():
    config = {"quant_method": "fp8", "weight_block_size": [128, 128]}
    chosen = scheme(config, expert_dtype="fp4")
    expert = chosen.weight("model.layers.3.mlp.experts.*.up_proj")
    assert (expert.stored(4096, 2048), expert.compute) == (4096 * 2048 * 17 // 32, "fp8")
    assert chosen.weight("model.layers.3.mlp.shared_experts.up_proj").name == "fp8-block128"
    with pytest.raises(UnsupportedError, match="int3"):
        scheme(config, expert_dtype="int3")


def test_modelopt():
    def algorithm(name, **more):
        return {"quant_method": "modelopt", "quantization": {"quant_algo": name, **more}}

    assert up(algorithm("FP8")) == (1024 * 384 + 8, "fp8")
    assert up(algorithm("NVFP4")) == (1024 * 384 // 2 + 64 * 384 + 8, "fp4")
    assert up(algorithm("W4A16_NVFP4"))[1] == "bf16"
    assert up(algorithm("W4A8_AWQ"))[1] == "fp8"
    assert up(algorithm("MXFP8"))[0] == 1024 * 384 + 32 * 384
    with pytest.raises(UnsupportedError, match="NVFP4_SVDQUANT"):
        up(algorithm("NVFP4_SVDQUANT"))


def test_modelopt_mixed_by_module():
    layers = {
        "model.layers.0.mlp.up_proj": {"quant_algo": "FP8"},
        "model.layers.0.mlp.down_proj": {"quant_algo": "NVFP4", "group_size": 16},
        **{f"model.layers.0.mlp.experts.{e}.up_proj": {"quant_algo": "NVFP4"} for e in range(4)},
    }
    config = {"quant_algo": "MIXED_PRECISION", "quantized_layers": layers}
    chosen = scheme({"quant_method": "modelopt", **config})
    assert chosen.weight("model.layers.0.mlp.up_proj").name == "fp8"
    assert chosen.weight("model.layers.0.mlp.down_proj").name == "nvfp4"
    assert chosen.weight("model.layers.0.mlp.experts.*.up_proj").name == "nvfp4"
    assert chosen.weight("model.layers.0.self_attn.q_proj").name == "bf16"


def test_torchao():
    def config(kind, **data):
        kind = {"_type": kind, "_version": 2, "_data": data}
        return {"quant_method": "torchao", "quant_type": {"default": kind}}

    # Sizes of the tensors of torchao 0.18.0 on the CPU, constant zero points apart.
    rows = {"_type": "PerRow", "_version": 1, "_data": {"dim": -1}}
    channels = 384 * 1024 + 384 * 4
    assert up(config("Int8WeightOnlyConfig", group_size=None, granularity=rows)) == (
        channels,
        "bf16",
    )
    assert up(config("Float8WeightOnlyConfig", granularity=rows)) == (channels, "bf16")
    assert up(config("Int8DynamicActivationInt8WeightConfig")) == (channels, "int8")
    assert up(config("Float8DynamicActivationFloat8WeightConfig"))[1] == "fp8"
    assert up(config("Int4WeightOnlyConfig", group_size=64))[0] == 384 * 512 + 16 * 384 * 4
    old = {"quant_method": "torchao", "quant_type": "int4_weight_only",
           "quant_type_kwargs": {"group_size": 64}}  # fmt: skip
    assert up(old) == up(config("Int4WeightOnlyConfig", group_size=64))
    with pytest.raises(UnsupportedError, match="autoquant"):
        up({"quant_method": "torchao", "quant_type": "autoquant"})


def test_torchao_by_name():
    def one(kind, **data):
        return {"_type": kind, "_data": data}

    entries = {
        "_default": one("Int4WeightOnlyConfig", group_size=128),
        r"re:model\.layers\.\d+\.self_attn\..*": one("Int8WeightOnlyConfig"),
        "model.layers.1.mlp.up_proj": None,
        "model.embed_tokens": one("IntxWeightOnlyConfig", weight_dtype={"_data": "int8"}),
    }
    kind = one("FqnToConfig", fqn_to_config=entries)
    chosen = scheme({"quant_method": "torchao", "quant_type": {"default": kind}})
    assert chosen.weight("model.layers.0.mlp.up_proj").name == "int4:128z"
    assert chosen.weight("model.layers.0.self_attn.q_proj").name == "int8:channel"
    assert chosen.weight("model.layers.1.mlp.up_proj").name == "bf16"
    assert chosen.weight("model.embed_tokens").name == "int8:channel"
    assert chosen.weight("lm_head").name == "bf16"


def test_quark():
    def config(weight, inputs=None, **more):
        layer = {"weight": weight, "input_tensors": inputs}
        return {"quant_method": "quark", "global_quant_config": layer, **more}

    fp8 = {"dtype": "fp8_e4m3", "qscheme": "per_tensor", "is_dynamic": False}
    mx = {"dtype": "fp4", "qscheme": "per_group", "group_size": 32, "scale_format": "e8m0"}
    assert up(config(fp8, fp8)) == (1024 * 384 + 8, "fp8")
    assert up(config(mx, {**mx, "is_dynamic": True})) == (1024 * 384 * 17 // 32, "fp4")
    group = {"dtype": "uint4", "qscheme": "per_group", "group_size": 128}
    assert up(config(group)) == (1024 * 384 // 2 + 8 * 384 * 5 // 2, "bf16")
    kept = scheme(config(mx, mx, exclude=["lm_head", "*self_attn*"]))
    assert kept.weight("model.layers.0.self_attn.q_proj").name == "bf16"
    cache = {"*k_proj": {"output_tensors": fp8}, "*v_proj": {"output_tensors": fp8}}
    data = {"quantization_config": config(fp8, fp8, kv_cache_quant_config=cache)}
    assert quant.read(data, formats.BF16, "test").kv.name == "fp8"


def test_auto_round():
    config = {
        "quant_method": "auto-round", "bits": 4, "group_size": 128, "sym": True,
        "block_name_to_quantize": "model.layers",
        "extra_config": {"model.layers.1.mlp.up_proj": {"bits": 16},
                         "lm_head": {"bits": 8}},
    }  # fmt: skip
    chosen = scheme(config)
    assert chosen.weight("model.layers.0.mlp.up_proj").name == "int4:128"
    assert chosen.weight("model.layers.1.mlp.up_proj").name == "bf16"
    assert chosen.weight("lm_head").name == "int8:128"


def test_mlx_quantises_tables_and_routers():
    mlx = {"group_size": 64, "bits": 4, "model.layers.0.mlp.gate": {"group_size": 64, "bits": 8}}
    found = quant.read({"quantization": mlx}, formats.BF16, "test").scheme
    assert found.weight("model.embed_tokens").size == 0.5 + 4 / 64
    assert found.weight("lm_head").name == "int4:64z"
    assert found.weight("model.layers.0.mlp.gate").name == "int8:64z"


def test_small_model_by_hand():
    # q, o 256·256, k, v 256·128, gate, up, down 256·512; 4 layers; table and head 1000·256.
    fp8 = {"quant_method": "fp8", "weight_block_size": [128, 128]}
    model = from_config({**LLAMA, "quantization_config": fp8})
    linear = 2 * 256 * 256 + 2 * 256 * 128 + 3 * 256 * 512
    scales = 4 * (2 * 4 + 2 * 2 + 3 * 8)
    norms = 2 * (4 * 2 * 256 + 256)
    assert model.work().resident == 4 * (linear + scales) + 2 * 2 * 1000 * 256 + norms
    read = model.work().total("weights", Step.decode())
    assert read == 4 * (linear + scales) + 2 * 1000 * 256
    assert {op.compute for op in model.work().operators} == {"fp8", "bf16"}


def test_weights_override_the_checkpoint():
    fp8 = {"quant_method": "fp8", "weight_block_size": [128, 128]}
    quantised = from_config({**LLAMA, "quantization_config": fp8})
    plain = from_config(LLAMA)
    assert quantised.work("bf16").to_json() == plain.work("bf16").to_json()
    assert quantised.work().resident < quantised.work("bf16").resident


def test_cache_that_the_checkpoint_asks_for():
    sidecar = {"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}
    model = from_config(LLAMA, sidecar=sidecar)
    half, whole = model.work(), model.work(kv="bf16")
    step = Step.decode(1, 1000)
    assert half.total("kv_read", step) * 2 == whole.total("kv_read", step)


def test_single_experts_are_refused():
    config = {
        "model_type": "mixtral", "hidden_size": 256, "intermediate_size": 512,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "vocab_size": 1000, "num_local_experts": 4, "num_experts_per_tok": 2,
    }  # fmt: skip

    def kept(count):
        names = [f"model.layers.0.block_sparse_moe.experts.{e}.w1" for e in range(count)]
        found = {"quant_method": "fp8", "modules_to_not_convert": names}
        return {**config, "quantization_config": found}

    model = from_config(kept(4))
    assert model.scheme.weight("model.layers.0.block_sparse_moe.experts.*.gate_proj").name == "bf16"
    assert model.scheme.weight("model.layers.1.block_sparse_moe.experts.*.gate_proj").name == "fp8"
    with pytest.raises(UnsupportedError, match="3 of 4 experts"):
        from_config(kept(3)).work()


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"quant_method": "bcq", "bits": 4}, "'bcq' is not counted"),
        ({"quant_method": 7}, "must be a name"),
        ({"bits": 4}, "names no quant_method"),
        ({"quant_method": "awq", "bits": 77}, "bits is 77"),
        ({"quant_method": "awq", "bits": 4, "group_size": True}, "group_size"),
        ({"quant_method": "gptq", "bits": 4, "dynamic": [1]}, "dynamic"),
        ({"quant_method": "fp8", "weight_block_size": [0, 128]}, "weight_block_size"),
        ({"quant_method": "fp8", "modules_to_not_convert": "lm_head"}, "list of module names"),
        ({"quant_method": "compressed-tensors"}, "config_groups"),
        ({"quant_method": "compressed-tensors", "format": "marlin-24",
          "config_groups": {"a": {"weights": {}}}}, "marlin-24"),
        ({"quant_method": "compressed-tensors", "sparsity_config": {"format": "sparse-24-bitmask"},
          "config_groups": {"a": {"weights": {}}}}, "sparse"),
        ({"quant_method": "compressed-tensors", "ignore": ["re:(a+)+"],
          "config_groups": {"a": {"weights": {}}}}, "for ever"),
        ({"quant_method": "modelopt", "quantization": {"quant_algo": "FP2"}}, "FP2"),
        ({"quant_method": "bitsandbytes"}, "neither or both"),
        ({"quant_method": "torchao", "quant_type": {"default": 3}}, "torchao"),
        ({"quant_method": "quark", "global_quant_config": {"weight": [1, 2]}}, "2 stages"),
    ],
)  # fmt: skip
def test_refused_with_a_sentence(config, says):
    with pytest.raises(InputError, match=says):
        from_config({**LLAMA, "quantization_config": config}).work()
