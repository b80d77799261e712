"""The pages on files say what the code does."""

import os
import re

import pytest

from roofline.files import gguf_header, safetensors
from roofline.model import formats, quant

ROOT = os.path.join(os.path.dirname(__file__), "../..")

CONFIGS = [
    {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True},
    {"quant_method": "gptq", "bits": 4, "group_size": 128},
    {"quant_method": "auto-round", "bits": 4, "group_size": 128},
    {"quant_method": "mlx", "bits": 4, "group_size": 64},
    {"quant_method": "fp8", "weight_block_size": [128, 128]},
    {"quant_method": "fbgemm_fp8"},
    {"quant_method": "mxfp4"},
    {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"},
    {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4",
     "bnb_4bit_use_double_quant": True},
    {"quant_method": "bitsandbytes", "load_in_8bit": True},
    {"quant_method": "exl2", "bits": 4.0, "head_bits": 6},
    {"quant_method": "exl3", "bits": 4.0, "head_bits": 6},
    {"quant_method": "aqlm", "in_group_size": 8, "num_codebooks": 1, "nbits_per_codebook": 16},
    {"quant_method": "higgs", "bits": 4},
    {"quant_method": "hqq", "nbits": 4, "group_size": 64},
    {"quant_method": "quanto", "weights": "int4"},
    {"quant_method": "eetq"},
    {"quant_method": "bitnet"},
    {"quant_method": "fp_quant"},
    {"quant_method": "ascend"},
    {"quant_method": "w8a8_int8"},
    {"quant_method": "w8a8_fp8"},
]  # fmt: skip


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_table_of_methods(language):
    with open(os.path.join(ROOT, "docs", language, "files.md"), encoding="utf-8") as file:
        text = file.read()
    rows = re.findall(r"^\| `([\w-]+)` \|[^|]*\| ([^|]*) \| ([^|]*) \|", text, re.MULTILINE)
    assert {method for method, _, _ in rows} == set(quant.METHODS)
    told = [(m, float(size), compute) for m, size, compute in rows if size[0].isdigit()]
    found = []
    for config in CONFIGS:
        scheme = quant.read({"quantization_config": config}, formats.BF16, "docs").scheme
        chosen = scheme.weight("model.layers.0.mlp.experts.*.up_proj")
        found.append((config["quant_method"], chosen.size, chosen.compute))
    assert told == found


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_limits(language):
    with open(os.path.join(ROOT, "docs", language, "files.md"), encoding="utf-8") as file:
        text = file.read()
    assert f"{gguf_header.GGUF_TENSORS:,}" in text
    assert f"{gguf_header.GGUF_KEYS:,}" in text
    assert f"{safetensors.SAFETENSORS_HEADER_BYTES >> 20} MB" in text
