"""Methods that say of each module how it is stored, by hand, and those with a format for all."""

import json

import pytest

from roofline.errors import InputError, UnsupportedError
from roofline.model import formats, quant
from roofline.model.load import from_config, load

LLAMA = {
    "model_type": "llama", "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 1000,
    "torch_dtype": "bfloat16", "tie_word_embeddings": False,
}  # fmt: skip
UP, DOWN = "model.layers.0.mlp.up_proj", "model.layers.0.mlp.down_proj"


def scheme(config, sidecar=None):
    data = {"quantization_config": config} if config else {}
    return quant.read(data, formats.BF16, "test", sidecar).scheme


def stored(config, path=UP, inputs=1024, outputs=384):
    found = scheme(config).weight(path)
    return found.stored(inputs, outputs), found.compute


def vectors(**change):
    return {"vector_lens": [-1, 8], "num_centroids": [-1, 65536], "num_res_centroids": [-1, 256],
            "group_num": 1, "outlier_size": 0, "enable_norm": True, "enable_perm": False,
            **change}  # fmt: skip


def test_vptq():
    # 16 + 8 bits for 8 weights; codebooks of 65536 and 256 vectors of 8; 4 bytes an input.
    config = {"quant_method": "vptq", "config_for_layers": {
        UP: vectors(), DOWN: vectors(num_res_centroids=[-1, -1], enable_norm=False)}}  # fmt: skip
    books = 2 * 8 * (65536 + 256)
    assert stored(config) == (1024 * 384 * 3 // 8 + books + 4 * 1024, "bf16")
    assert stored(config, DOWN) == (1024 * 384 * 2 // 8 + 2 * 8 * 65536, "bf16")
    assert scheme(config).weight("model.layers.0.self_attn.q_proj").name == "bf16"
    assert scheme(config).weight("lm_head").name == "bf16"
    with pytest.raises(InputError, match="vector_lens"):
        stored({"quant_method": "vptq", "config_for_layers": {UP: vectors(vector_lens=8)}})


def test_spqr_as_its_shapes_say():
    shapes = {f"{UP}.dense_weights.shape": 20_000, f"{UP}.row_offsets.shape": 385,
              f"{UP}.col_vals.shape": [900], f"{UP}.in_perm.shape": 0}  # fmt: skip
    config = {"quant_method": "spqr", "bits": 3, "beta1": 16, "beta2": 16, "shapes": shapes}
    assert stored(config) == (8 * 20_000 + 4 * 385 + 4 * 900, "bf16")
    assert scheme(config).weight(DOWN).name == "bf16"
    with pytest.raises(UnsupportedError, match="--weights 4bits"):
        stored({"quant_method": "spqr", "bits": 3})


def test_hqq_by_module():
    one = {"weight_quant_params": {"nbits": 4, "group_size": 64}}
    two = {"weight_quant_params": {"nbits": 2, "group_size": 16}}
    config = {"quant_method": "hqq", "quant_config": {"mlp.up_proj": one, "self_attn.q_proj": two}}
    assert stored(config) == (1024 * 384 // 2 + 16 * 384 * 4, "bf16")
    assert scheme(config).weight("model.layers.1.self_attn.q_proj").name == "hqq int2:16"
    assert scheme(config).weight(DOWN).name == "bf16"


@pytest.mark.parametrize(
    ("kind", "size", "compute"),
    [
        ("W8A8", 1024 * 384 + 8 * 384, "int8"), ("W8A8_DYNAMIC", 1024 * 384 + 8 * 384, "int8"),
        ("W8A16", 1024 * 384 + 8 * 384, "bf16"), ("W4A8_DYNAMIC", 1024 * 192 + 4 * 384 * 4, "int8"),
        ("W4A4_FLATQUANT_DYNAMIC", 1024 * 192 + 4 * 384 * 4, "int4"),
        ("W8A8_MXFP8", 1024 * 384 * 33 // 32, "fp8"),
    ],
)  # fmt: skip
def test_ascend_as_described(kind, size, compute):
    told = {"model_quant_type": kind, "group_size": 256, f"{UP}.weight": kind,
            f"{UP}.weight_scale": kind, f"{DOWN}.weight": "FLOAT", "lm_head.weight": "FLOAT",
            "model.layers.0.self_attn.k_proj.kv_cache_scale": "C8"}  # fmt: skip
    found = quant.read({"quantize": "w8a8"}, formats.BF16, "test", {"description": told})
    up = found.scheme.weight(UP)
    assert (up.stored(1024, 384), up.compute) == (size, compute)
    assert found.scheme.weight(DOWN).name == found.scheme.weight("lm_head").name == "bf16"
    assert found.kv is not None and found.kv.size == 1


def test_an_ascend_folder(tmp_path):
    told = {f"model.layers.{i}.mlp.{m}_proj.weight": "W8A8_DYNAMIC" for i in range(2)
            for m in ("gate", "up", "down")}  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps({**LLAMA, "quantize": "w8a8_dynamic"}))
    name = "quant_model_description_w8a8_dynamic.json"
    (tmp_path / name).write_text(json.dumps(told))
    plain = from_config(LLAMA).work().resident
    saved = 2 * 3 * 256 * 512
    scales = 2 * 8 * (512 + 512 + 256)
    assert load(str(tmp_path)).work().resident == plain - saved + scales
    (tmp_path / name).write_text(json.dumps({"a.weight": "W3A3"}))
    with pytest.raises(UnsupportedError, match="W3A3"):
        load(str(tmp_path)).work()


def test_gemmas_own():
    config = {"quant_method": "gemma", "num_bits": 4, "quantize_embeddings": True,
              "module_quant_configs": {"self_attn": {"num_bits": 8}, "mlp.down": {}},
              "modules_to_not_convert": ["lm_head"]}  # fmt: skip
    assert stored(config) == (1024 * 192 + 4 * 384 + 8, "bf16")
    assert scheme(config).weight("model.layers.0.self_attn.q_proj").name == "int8:channel"
    assert scheme(config).weight("model.embed_tokens").name == "int4:channel"
    assert scheme(config).weight("lm_head").name == "bf16"
    with pytest.raises(InputError, match="for ever"):
        scheme({**config, "module_quant_configs": {"(a+)+": {}}})


@pytest.mark.parametrize(
    ("config", "size", "compute"),
    [
        ({"quant_method": "metal", "bits": 4, "group_size": 64}, 196608 + 16 * 384 * 4, "bf16"),
        ({"quant_method": "sinq", "nbits": 4, "group_size": 64}, 196608 + 16 * 384 * 4 + 2048,
         "bf16"),
        ({"quant_method": "qqq", "wbits": 4, "group_size": 128}, 196608 + 8 * 384 * 2, "int8"),
        ({"quant_method": "nvfp4"}, 196608 + 64 * 384 + 8, "fp4"),
        ({"quant_method": "mxfp8"}, 393216 * 33 // 32, "fp8"),
        ({"quant_method": "fouroversix", "dtype": "mxfp4"}, 393216 * 17 // 32, "fp4"),
        ({"quant_method": "fouroversix", "keep_master_weights": True}, 786432, "fp4"),
        ({"quant_method": "auto-round", "bits": 4, "group_size": 32, "data_type": "mx_fp",
          "act_bits": 4, "act_data_type": "mx_fp"}, 393216 * 17 // 32, "fp4"),
        ({"quant_method": "auto-round", "bits": 4, "group_size": 16, "data_type": "nv_fp",
          "act_bits": 16}, 196608 + 64 * 384 + 8, "bf16"),
        ({"quant_method": "auto-round", "bits": 8, "group_size": -1, "data_type": "int",
          "act_bits": 8}, 393216 + 2 * 384, "int8"),
        ({"quant_method": "quark", "global_quant_config": {
            "weight": [{"dtype": "fp8_e4m3", "qscheme": "per_tensor"},
                       {"dtype": "int4", "qscheme": "per_channel"}],
            "input_tensors": {"dtype": "fp8_e4m3", "is_dynamic": True}}},
         196608 + 2 * 384 + 4, "fp8"),
    ],
)  # fmt: skip
def test_one_format_for_all(config, size, compute):
    assert stored(config) == (size, compute)


def test_modelopt_in_groups():
    eight = {"weights": {"num_bits": 8, "type": "float"}, "targets": [DOWN],
             "input_activations": {"num_bits": 8, "type": "float", "dynamic": False}}  # fmt: skip
    four = {"weights": {"num_bits": 4, "type": "float", "group_size": 16}, "targets": ["Linear"]}
    config = {"quant_method": "modelopt", "config_groups": {"a": four, "b": eight},
              "ignore": ["lm_head"]}  # fmt: skip
    assert scheme(config).weight(UP).name == "nvfp4"
    assert scheme(config).weight(DOWN).name == "fp8"
    assert scheme(config).weight("lm_head").name == "bf16"


@pytest.mark.parametrize("method", ["vptq", "spqr", "gemma", "metal", "sinq", "qqq", "fouroversix"])
@pytest.mark.parametrize("wrong", [None, "x", 7, [1], {"a": 1}, {"a": {"b": []}}, True, 1e30])
def test_nonsense_is_refused_in_a_sentence(method, wrong):
    for key in ("config_for_layers", "shapes", "module_quant_configs", "bits", "group_size"):
        config = {"quant_method": method, key: wrong}
        try:
            from_config({**LLAMA, "quantization_config": config}).work()
        except InputError as error:
            assert 0 < len(str(error)) < 700
