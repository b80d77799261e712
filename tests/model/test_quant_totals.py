"""Whole quantised checkpoints by hand: which matrices their configs quantise, and their bytes.

The matrices are read off each config with pencil and paper; everything else (tables, heads,
routers, norms, what a list excludes) stays at two bytes a parameter.
"""

import os

import pytest

from model.test_quant_names import real, shared


def fp8(inputs, outputs, scale=4):
    """A byte a weight, a scale for each block of 128×128, partial ones included."""
    return inputs * outputs + scale * -(-inputs // 128) * -(-outputs // 128)


def nvfp4(inputs, outputs):
    """Half a byte a weight, a byte for each 16, two fp32 scales a matrix."""
    return inputs * outputs * 9 // 16 + 8


def v3(h=7168, heads=128, rank=1536, latent=512, nope=128, rope=64, value=128):
    """DeepSeek's latent attention without its output: q_a, q_b, kv_a, kv_b."""
    return [(h, rank, 1), (rank, heads * (nope + rope), 1), (h, latent + rope, 1),
            (latent, heads * (nope + value), 1)]  # fmt: skip


def mlp(h, width, count=1):
    return [(h, width, 2 * count), (width, h, count)]


def layers(n, *matrices):
    return [(i, o, n * c) for group in matrices for i, o, c in group]


QUANTISED = {
    # 62 layers: attention of 48 and 8 heads of 128, 256 experts of 1536.
    "MiniMaxAI--MiniMax-M2.5": (fp8, layers(
        62, [(3072, 6144, 1), (3072, 1024, 2), (6144, 3072, 1)], mlp(3072, 1536, 256))),
    # 9 full layers (4 key-value heads), 39 sliding (8), keys of 192, values of 128; 47 sparse.
    "XiaomiMiMo--MiMo-V2-Flash": (fp8, [
        *layers(48, [(4096, 64 * 192, 1), (64 * 128, 4096, 1)]),
        *layers(9, [(4096, 4 * 192, 1), (4096, 4 * 128, 1)]),
        *layers(39, [(4096, 8 * 192, 1), (4096, 8 * 128, 1)]),
        *mlp(4096, 16384), *layers(47, mlp(4096, 2048, 256))]),
    # DeepSeek-V3 and, in every layer, an indexer of 64 heads of 128.
    "deepseek-ai--DeepSeek-V3.2": (fp8, [
        *layers(61, v3(), [(128 * 128, 7168, 1), (1536, 64 * 128, 1), (7168, 128, 1)]),
        *layers(3, mlp(7168, 18432)), *layers(58, mlp(7168, 2048, 257))]),
    # NVIDIA's leaves the latent projections and the indexer in bf16.
    "nvidia--DeepSeek-V3.2-NVFP4": (nvfp4, [
        *layers(61, [(128 * 128, 7168, 1)]),
        *layers(3, mlp(7168, 18432)), *layers(58, mlp(7168, 2048, 257))]),
    # 78 layers, 21 with an indexer of 32 heads; 75 sparse, one shared expert.
    "zai-org--GLM-5.2-FP8": (fp8, [
        *layers(78, v3(6144, 64, 2048, 512, 192, 64, 256), [(64 * 256, 6144, 1)]),
        *layers(21, [(2048, 32 * 128, 1), (6144, 128, 1)]),
        *layers(3, mlp(6144, 12288)), *layers(75, mlp(6144, 2048, 257))]),
    # Experts alone.
    "nvidia--Gemma-4-26B-A4B-NVFP4": (nvfp4, layers(30, mlp(2816, 704, 128))),
    "nvidia--Qwen3.5-122B-A10B-NVFP4": (nvfp4, layers(48, mlp(3072, 1024, 256))),
    # 23 Mamba layers, those before the 6 attention layers kept; 23 of 128 ungated experts.
    "nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4": (nvfp4, [
        *layers(17, [(2688, 2 * 4096 + 2 * 8 * 128 + 64, 1), (4096, 2688, 1)]),
        *layers(23, [(2688, 1856, 128), (1856, 2688, 128), (2688, 3712, 1), (3712, 2688, 1)])]),
}  # fmt: skip


@shared
@pytest.mark.parametrize("name", QUANTISED)
def test_totals(name):
    stored, matrices = QUANTISED[name]
    model = real(name)
    weights = sum(i * o * n for i, o, n in matrices)
    by_hand = 2 * (model.parameters - weights) + sum(n * stored(i, o) for i, o, n in matrices)
    assert model.work().resident == by_hand


@shared
def test_deepseek_v4_flash():
    """Three formats: routed experts in MXFP4, the rest in FP8 with a scale byte a block, what
    compresses the cache in bf16, what mixes the streams in fp32."""
    model = real("deepseek-ai--DeepSeek-V4-Flash")
    experts = 43 * 256 * 3 * 4096 * 2048
    dense = [
        *layers(43, [(4096, 1024, 1), (4096, 512, 1), (1024, 64 * 512, 1), (4096, 8192, 1),
                     (8192, 4096, 1)], mlp(4096, 2048)),
        *layers(21, [(1024, 64 * 128, 1)]),
    ]  # fmt: skip
    streams = 43 * 2 * 4 * 4096 * 24 + 4 * 4096 * 4
    rest = model.parameters - experts - streams - sum(i * o * n for i, o, n in dense)
    assert model.work().resident == (
        experts * 17 // 32 + sum(n * fp8(i, o, 1) for i, o, n in dense) + 4 * streams + 2 * rest
    )
    compute = {op.name: op.compute for op in model.work().operators}
    assert compute["experts"] == "fp8"


@shared
def test_every_quantised_config_has_a_total():
    """These, and those of ``test_quant_names`` (gpt-oss, Kimi, three by hand, two Qwen)."""
    from model.test_quant_names import SHARED, files

    elsewhere = {
        "openai--gpt-oss-120b", "deepseek-ai--DeepSeek-V3", "moonshotai--Kimi-K2.5",
        "Qwen--Qwen3-32B-FP8", "nvidia--Llama-3.1-70B-Instruct-FP8",
        "nvidia--Qwen3-235B-A22B-NVFP4", "Qwen--Qwen3-30B-A3B-FP8",
        "deepseek-ai--DeepSeek-V4-Flash",
    }  # fmt: skip
    quantised = set()
    for file in os.listdir(SHARED):
        if file.endswith("_config.json") and not file.endswith("_hf_quant_config.json"):
            name = file.removesuffix("_config.json")
            config, sidecar = files(name)
            text = config.get("text_config", {})
            if sidecar or "quantization_config" in config or "quantization_config" in text:
                quantised.add(name)
    assert quantised == set(QUANTISED) | elsewhere


@shared
def test_qwen3_30b_in_fp8():
    model = real("Qwen--Qwen3-30B-A3B-FP8")
    matrices = layers(48, [(2048, 4096, 1), (2048, 512, 2), (4096, 2048, 1)], mlp(2048, 768, 128))
    weights = sum(i * o * n for i, o, n in matrices)
    by_hand = 2 * (model.parameters - weights) + sum(n * fp8(i, o) for i, o, n in matrices)
    assert model.work().resident == by_hand
