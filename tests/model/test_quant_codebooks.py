"""Methods that store weights as codes, by hand and against published file sizes."""

from __future__ import annotations

import pytest

from roofline import UnsupportedError
from roofline.model.load import from_config

LLAMA = {
    "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256,
    "torch_dtype": "bfloat16", "tie_word_embeddings": False,
}  # fmt: skip
HIDDEN, MIDDLE, KV, VOCAB, LAYERS = 4096, 14336, 1024, 128256, 32
SHAPES = [(HIDDEN, HIDDEN), (HIDDEN, KV), (HIDDEN, KV), (HIDDEN, HIDDEN),
          (HIDDEN, MIDDLE), (HIDDEN, MIDDLE), (MIDDLE, HIDDEN)]  # fmt: skip
VECTORS = 2 * (2 * LAYERS + 1) * HIDDEN
TABLE = HEAD = 2 * VOCAB * HIDDEN


def resident(**quantization):
    model = from_config({**LLAMA, "quantization_config": quantization})
    return model.work().resident, model


def layers(size):
    return LAYERS * sum(size(i, o) for i, o in SHAPES)


def test_exl3_has_signs_beside_inputs_and_outputs():
    found, model = resident(quant_method="exl3", bits=4.0, head_bits=6)
    head = HIDDEN * VOCAB * 6 / 8 + 2 * (HIDDEN + VOCAB)
    assert found == layers(lambda i, o: i * o / 2 + 2 * (i + o)) + head + TABLE + VECTORS
    assert any("on average" in note for note in model.notes)


def test_exl2_is_its_average():
    found, _ = resident(quant_method="exl2", bits=5.0, head_bits=6)
    assert found == layers(lambda i, o: i * o * 5 / 8) + HIDDEN * VOCAB * 6 / 8 + TABLE + VECTORS


def test_aqlm_is_as_large_as_published():
    # ISTA-DASLab/Meta-Llama-3-8B-Instruct-AQLM-2Bit-1x16 is 4.08 GB
    found, _ = resident(
        quant_method="aqlm", in_group_size=8, out_group_size=1, num_codebooks=1,
        nbits_per_codebook=16, linear_weights_not_to_quantize=["lm_head.weight"],
    )  # fmt: skip
    books = 65536 * 8 * 2
    assert found == layers(lambda i, o: i * o / 4 + books + 2 * o) + HEAD + TABLE + VECTORS
    assert found == pytest.approx(4.08e9, rel=2e-3)


@pytest.mark.parametrize(
    ("quantization", "size", "compute"),
    [
        ({"quant_method": "hqq", "quant_config": {"weight_quant_params": {"nbits": 4,
          "group_size": 64}}, "skip_modules": ["lm_head"]},
         lambda i, o: i * o / 2 + i * o / 64 * 4, "bf16"),
        ({"quant_method": "hqq", "nbits": 3, "group_size": 64},
         lambda i, o: i * o * 0.4 + i * o / 64 * 4, "bf16"),
        ({"quant_method": "quanto", "weights": "int4"},
         lambda i, o: i * o / 2 + i * o / 128 * 4, "bf16"),
        ({"quant_method": "quanto", "weights": "int8", "activations": "int8"},
         lambda i, o: i * o + 2 * o, "int8"),
        ({"quant_method": "eetq", "weights": "int8"}, lambda i, o: i * o + 2 * o, "bf16"),
        ({"quant_method": "bitnet"}, lambda i, o: i * o / 4 + 2, "int8"),
        ({"quant_method": "w8a8_int8"}, lambda i, o: i * o + 4 * o, "int8"),
        ({"quant_method": "w8a8_fp8"}, lambda i, o: i * o + 4 * o, "fp8"),
        ({"quant_method": "fp_quant", "forward_dtype": "mxfp4"},
         lambda i, o: i * o / 2 + i * o / 32, "fp4"),
        ({"quant_method": "higgs", "bits": 4, "p": 2, "group_size": 256},
         lambda i, o: i * o / 2 + i * o / 256 * 2 + 256 * 2 * 2, "bf16"),
    ],
)  # fmt: skip
def test_the_bytes_of_a_method(quantization, size, compute):
    found, model = resident(**quantization)
    assert found == pytest.approx(layers(size) + HEAD + TABLE + VECTORS, rel=1e-7)
    used = {op.compute for op in model.work().operators if op.kind == "linear"}
    assert used == {compute}


def test_ascends_quantize_key_is_not_taken_for_16_bits():
    model = from_config({**LLAMA, "quantize": "w8a8_dynamic"})
    expected = layers(lambda i, o: i * o + 8 * o) + HEAD + TABLE + VECTORS
    assert model.work().resident == expected
    assert any("quant_model_description.json" in note for note in model.notes)
    with pytest.raises(UnsupportedError, match="'w3a3'"):
        from_config({**LLAMA, "quantize": "w3a3"}).work()


def test_what_is_not_known_is_refused_with_a_way_that_works():
    model = from_config({**LLAMA, "quantization_config": {"quant_method": "bcq"}})
    with pytest.raises(UnsupportedError, match=r"'bcq' is not counted.*--weights FORMAT"):
        model.work()
    assert model.work("3bits").resident > 0
    for broken in ({"bits": "four"}, {"bits": None}, {"bits": 99}, {"bits": True}):
        with pytest.raises(UnsupportedError, match="bits must be from"):
            from_config({**LLAMA, "quantization_config": {"quant_method": "exl3", **broken}}).work()
