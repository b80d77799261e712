"""From a config to a model: one reader per family of architectures.

A reader is a function from a :class:`~roofline.model.config.Config` to a
:class:`~roofline.model.model.Model`. To add an architecture, add its row to the table of
the family it belongs to, or a new file here with a ``READERS`` table.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from ...errors import UnsupportedError
from ..config import Config
from ..model import Model

Reader = Callable[[Config], Model]

# Which file reads which model_type; files are imported when one of theirs is read.
FILES: dict[str, tuple[str, ...]] = {
    "classic": (
        "gpt2", "gpt-sw3", "openai-gpt", "gptj", "codegen", "bloom", "biogpt", "ctrl",
        "gpt_bigcode", "gpt_neo", "gpt_neox_japanese", "mpt", "xglm", "opt", "falcon",
    ),
    "dense": (
        "llama", "exaone", "internlm3", "iquestcoder", "granite", "helium", "cwm", "hyperclovax",
        "seed_oss", "ernie4_5", "mistral", "mistral3_text", "ministral", "ministral3", "qwen2",
        "mimo", "qwen3", "smollm3", "gemma", "gemma2", "gemma3_text", "vaultgemma", "phi", "phi3",
        "olmo", "olmo2", "olmo3", "gpt_neox", "starcoder2", "cohere", "cohere2", "stablelm",
        "apertus", "apertus1p5_text", "arcee", "bitnet", "exaone4", "glm", "glm4", "granite_swa",
        "hunyuan_v1_dense", "jais2", "nanochat", "nemotron", "persimmon", "phi4_multimodal",
        "diffllama", "doge", "modernbert-decoder", "moshi",
    ),
    "experts": (
        "mixtral", "qwen2_moe", "qwen3_moe", "gpt_oss", "afmoe", "aria_text", "beam",
        "cohere2_moe", "dots1", "ernie4_5_moe", "exaone_moe", "flex_olmo", "olmoe", "flint",
        "glm4_moe", "sarvam_moe", "granitemoe", "granitemoeshared", "granitemoe_swa",
        "hunyuan_v1_moe", "dbrx", "hy_v3", "kolibri1", "mellum", "minimax_m2", "phimoe",
        "solar_open",
    ),
    "latent": (
        "deepseek_v2", "deepseek_v3", "kimi_k2", "sarvam_mla", "axk1", "glm4_moe_lite",
        "minicpm3", "youtu",
    ),
    "sparse": (
        "deepseek_v32", "glm_moe_dsa", "dots3_note_text", "hy_v4", "axk2", "minimax_m3_vl_text",
        "minimax_m3",
    ),
    "compressed": ("deepseek_v4",),
    "hybrid": (
        "qwen3_next", "qwen3_5_text", "qwen3_5_moe_text", "lara_mini", "olmo_hybrid",
        "kimi_linear", "bailing_hybrid", "minimax", "nemotron_h", "bamba", "granitemoehybrid",
        "falcon_h1", "jamba", "lfm2", "lfm2_moe", "lfm3", "recurrent_gemma",
    ),
    "gemma": ("gemma3n_text", "gemma4_text", "gemma4_unified_text"),
    "mixes": (
        "llama4_text", "mimo_v2_flash", "step3p5", "step3p7", "laguna", "nemotron-nas", "hrm_text",
        "mllama",
    ),
    "recurrences": (
        "mamba", "falcon_mamba", "mamba2", "rwkv", "xlstm", "zamba", "zamba2",
    ),
    "encoders": (
        "bert", "bert-generation", "big_bird", "camembert", "data2vec-text", "electra", "ernie",
        "git", "megatron-bert", "rembert", "roc_bert", "roformer", "xlm", "roberta",
        "roberta-prelayernorm", "xlm-roberta", "xlm-roberta-xl", "xmod",
    ),
    "seq2seq": (
        "bart", "bigbird_pegasus", "blenderbot", "blenderbot-small", "marian", "mbart", "mvp",
        "pegasus", "plbart", "trocr", "whisper",
    ),
    "vision": (
        "gemma3", "gemma3n", "gemma4", "gemma4_unified", "mistral3", "qwen3_vl", "qwen3_vl_moe",
        "qwen3_5", "qwen3_5_moe", "kimi_k25", "llama4", "minimax_m3_vl", "dots3_note", "fuyu",
        "got_ocr2", "moss_transcribe_diarize",
    ),
}  # fmt: skip

_HOME = {kind: file for file, kinds in FILES.items() for kind in kinds}


def architectures() -> tuple[str, ...]:
    """Every ``model_type`` that can be read, sorted."""
    return tuple(sorted(_HOME))


def read(config: Config) -> Model:
    """The model of a config.

    Raises:
        InputError: a value is missing or impossible.
        UnsupportedError: an architecture, or a part of one, that is not counted.
    """
    kind = config.word("model_type")
    reader = find(kind)
    if reader is None:
        import difflib

        near = difflib.get_close_matches(kind, _HOME, 3)
        hint = f" (the nearest known: {', '.join(near)})" if near else ""
        raise UnsupportedError(
            f"{config.where}: the architecture '{kind[:60]}' is not counted yet{hint}; "
            "'roofline models --architectures' lists those that are"
        )
    return reader(config)


def find(kind: str) -> Reader | None:
    """The reader of a ``model_type``, or ``None``."""
    file = _HOME.get(kind)
    if file is None:
        return None
    readers: dict[str, Reader] = import_module(f".{file}", __name__).READERS
    return readers[kind]
