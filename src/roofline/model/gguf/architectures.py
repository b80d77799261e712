"""llama.cpp's architectures: the ``model_type`` of each, and what makes its config."""

from __future__ import annotations

from .kinds import (
    cohere,
    cohere_moe,
    delta,
    experts,
    falcon,
    gated,
    granite_hybrid,
    granite_moe,
    indexed,
    jamba,
    kind,
    latent,
    lfm,
    llama,
    mamba2,
    minicpm3,
    mpt,
    no_window,
    olmo2,
    routed,
    shared,
    sliding,
    stablelm,
    starcoder,
)
from .metadata import Extra
from .mixes import (
    deci,
    deepseek4,
    gemma3n,
    gemma4,
    kimi_linear,
    laguna,
    llama4,
    mimo,
    minimax_m3,
    nemotron_h,
    step,
)
from .remote import dbrx, grok, jais, pangu, plamo, selective, state_space

_QWEN_MOE = (experts(), gated, no_window)
_NARROW = experts("num_experts", "intermediate_size")
_LOCAL = experts("num_local_experts", "intermediate_size")
_ROUTED = experts("n_routed_experts")

ARCHITECTURES: dict[str, tuple[Extra, ...]] = {
    # dense
    "llama": (no_window, llama),
    "mistral3": (no_window, kind("ministral3")),
    "qwen2": (no_window, kind("qwen2")),
    "qwen2vl": (no_window, kind("qwen2")),
    "qwen3": (no_window, kind("qwen3")),
    "qwen3vl": (no_window, kind("qwen3")),
    "gemma": (kind("gemma"),),
    "gemma2": (kind("gemma2"),),
    "gemma3": (sliding, kind("gemma3_text")),
    "phi2": (kind("phi"),),
    "phi3": (sliding, kind("phi3")),
    "gptneox": (kind("gpt_neox"),),
    "gpt2": (kind("gpt2"),),
    "gptj": (kind("gptj"),),
    "bloom": (kind("bloom"),),
    "mpt": (mpt,),
    "falcon": (falcon,),
    "starcoder": (starcoder,),
    "starcoder2": (no_window, kind("starcoder2")),
    "olmo": (kind("olmo"),),
    "olmo2": (olmo2,),
    "command-r": (cohere,),
    "cohere2": (sliding, kind("cohere2")),
    "granite": (kind("granite"),),
    "stablelm": (stablelm,),
    "smollm3": (no_window, kind("smollm3")),
    "glm4": (kind("glm4"),),
    "chatglm": (kind("glm"),),
    "exaone": (kind("exaone"),),
    "exaone4": (sliding, kind("exaone4")),
    "seed_oss": (kind("seed_oss"),),
    "apertus": (kind("apertus"),),
    "arcee": (kind("arcee"),),
    "nemotron": (kind("nemotron"),),
    "hunyuan-dense": (kind("hunyuan_v1_dense"),),
    "jais2": (kind("jais2"),),
    "ernie4_5": (kind("ernie4_5"),),
    "bitnet": (kind("bitnet"),),
    "deci": (deci,),
    # Llama in all but names and norms
    "internlm2": (kind("llama"),),
    "baichuan": (kind("llama"),),
    "xverse": (kind("llama"),),
    "orion": (kind("llama"),),
    "minicpm": (kind("llama"),),
    # of the days of remote code
    "qwen": (lambda m: {"model_type": "qwen", "no_bias": True},),
    "codeshell": (kind("codeshell"),),
    "plamo": (plamo,),
    "jais": (jais,),
    "pangu-embedded": (pangu,),
    "bailingmoe": (experts(), shared("num_shared_experts"), kind("bailing_moe")),
    "grok": (experts(), grok),
    "dbrx": (dbrx,),
    "arctic": (_LOCAL, kind("arctic")),
    # experts
    "qwen2moe": (*_QWEN_MOE, kind("qwen2_moe")),
    "qwen3moe": (*_QWEN_MOE, kind("qwen3_moe")),
    "qwen3vlmoe": (*_QWEN_MOE, kind("qwen3_moe")),
    "gpt-oss": (_LOCAL, sliding, kind("gpt_oss")),
    "glm4moe": (
        _ROUTED, shared("n_shared_experts"), kind("glm4_moe"),
        lambda m: {"use_qk_norm": m.holds("attn_q_norm.weight")},
    ),
    "deepseek": (_ROUTED, shared("n_shared_experts"), kind("glm4_moe")),
    "bailingmoe2": (
        _ROUTED, shared("n_shared_experts"), kind("glm4_moe"),
        lambda m: {"use_qk_norm": m.holds("attn_q_norm.weight")},
    ),
    "dots1": (_ROUTED, shared("n_shared_experts"), no_window, kind("dots1")),
    "ernie4_5-moe": (
        experts("moe_num_experts", active="moe_k"), shared("moe_num_shared_experts"),
        kind("ernie4_5_moe"),
    ),
    "exaone-moe": (experts(), shared("num_shared_experts"), sliding, kind("exaone_moe")),
    "olmoe": (_NARROW, kind("olmoe")),
    "granitemoe": (_LOCAL, granite_moe),
    "hunyuan-moe": (
        experts(active="moe_topk"), shared("num_shared_expert"), kind("hunyuan_v1_moe"),
    ),
    "hy_v3": (experts(), shared("num_shared_experts"), kind("hy_v3")),
    "minimax-m2": (_LOCAL, kind("minimax_m2")),
    "phimoe": (_LOCAL, no_window, kind("phimoe")),
    "afmoe": (experts(), shared("num_shared_experts"), sliding, kind("afmoe")),
    "mellum": (experts(), sliding, kind("mellum")),
    "cohere2moe": (_NARROW, shared("num_shared_experts"), sliding, cohere_moe),
    # latent attention, indexers, compressed caches
    "deepseek2": (latent, routed),
    "minicpm3": (minicpm3,),
    "deepseek32": (latent, routed, indexed, kind("deepseek_v32")),
    "glm-dsa": (latent, routed, indexed, kind("glm_moe_dsa")),
    "deepseek4": (_ROUTED, shared("n_shared_experts"), deepseek4),
    "minimax-m3": (experts("num_local_experts"), minimax_m3),
    # states
    "qwen3next": (*_QWEN_MOE, delta, kind("qwen3_next")),
    "qwen35": (delta, kind("qwen3_5_text")),
    "qwen35moe": (*_QWEN_MOE, delta, kind("qwen3_5_moe_text")),
    "kimi-linear": (experts(active="num_experts_per_token"), latent, kimi_linear),
    "nemotron_h": (nemotron_h,),
    "nemotron_h_moe": (nemotron_h,),
    "granitehybrid": (granite_hybrid,),
    "falcon-h1": (mamba2, kind("falcon_h1")),
    "jamba": (jamba,),
    "mamba": (selective,),
    "mamba2": (state_space,),
    "lfm2": (lfm("lfm2"),),
    "lfm2moe": (experts(), lfm("lfm2_moe")),
    # mixes
    "gemma3n": (sliding, gemma3n),
    "gemma4": (sliding, gemma4),
    "llama4": (experts("num_local_experts", "intermediate_size"), llama4),
    "mimo2": (_ROUTED, mimo),
    "step35": (_ROUTED, step),
    "laguna": (experts(), gated, sliding, laguna),
}  # fmt: skip
"""For each ``general.architecture``, what makes its config, the later over the earlier."""

ALIKE = frozenset(
    ("internlm2", "baichuan", "xverse", "orion", "minicpm", "deepseek", "bailingmoe2")
)
"""Architectures that are read as another's like, and keep their own name."""
