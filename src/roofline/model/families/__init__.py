"""From a config to a model: one reader per family of architectures.

A reader is a function from a :class:`~roofline.model.config.Config` to a
:class:`~roofline.model.model.Model`. To add an architecture, add its row to the table of
the family it belongs to, or a new file here with a ``READERS`` table.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from ...errors import RooflineError
from ...words.note import Note
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
        "diffllama", "doge", "modernbert-decoder", "moshi", "glm4v_text", "glm_ocr_text",
        "molmo2_text",
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
        "llama4_text", "mimo_v2_flash", "step3p5", "laguna", "nemotron-nas", "hrm_text",
        "mllama",
    ),
    "recurrences": (
        "mamba", "falcon_mamba", "mamba2", "rwkv", "xlstm", "zamba", "zamba2",
    ),
    "encoders": (
        "bert", "bert-generation", "big_bird", "camembert", "data2vec-text", "distilbert",
        "electra", "ernie", "git", "gte", "jina_embeddings_v3", "megatron-bert", "mpnet", "new",
        "nomic_bert", "rembert", "roc_bert", "roformer", "xlm", "roberta", "roberta-prelayernorm",
        "xlm-roberta", "xlm-roberta-flash", "xlm-roberta-xl", "xmod",
    ),
    "embedders": ("albert", "deberta-v2", "eurobert", "modernbert", "mt5", "t5", "umt5"),
    "nvembed": ("nvembed",),
    "seq2seq": (
        "bart", "bigbird_pegasus", "blenderbot", "blenderbot-small", "marian", "mbart", "mvp",
        "pegasus", "plbart", "trocr", "whisper",
    ),
    "remote": (
        "aquila", "xverse", "skywork", "baichuan", "orion", "teleflm", "PanguEmbedded",
        "internlm", "internlm2", "qwen", "chatglm", "phi-msft", "mixformer-sequential",
        "stablelm_epoch", "minicpm", "codeshell", "telechat", "jais", "plamo", "RefinedWeb",
        "RefinedWebModel", "openelm", "molmo",
    ),
    "remote_experts": (
        "deepseek", "bailing_moe", "bailing_moe_v2", "grok-1", "hunyuan", "arctic",
        "minimax_text_01", "minimax_m1", "step3_text", "ernie4_5_vl_moe_text",
    ),
    "multimodal": (
        "gemma3", "shieldgemma2", "gemma3n", "gemma4", "gemma4_unified", "paligemma", "mistral3",
        "pixtral", "qwen2_vl", "qwen2_5_vl", "qwen2_5_omni", "qwen2_5_omni_thinker",
        "qwen2_audio", "qwen3_vl", "qwen3_vl_moe", "qwen3_omni_moe", "qwen3_omni_moe_thinker",
        "qwen3_asr", "qwen3_5", "qwen3_5_moe", "kimi_vl", "kimi_k25", "llama4", "step3p7",
        "step3_vl", "minimax_m3_vl", "minimax_vl_01", "dots3_note", "dots_ocr", "fuyu",
        "moss_transcribe_diarize", "got_ocr2", "GOT", "llava", "llava_llama", "llava_mistral",
        "llava_qwen", "llava_next", "llava_next_video", "llava_onevision", "llava_onevision1_5",
        "video_llava", "vipllava", "bunny-llama", "mobilevlm", "internvl", "internvl_chat",
        "interns1", "internlmxcomposer2", "NVLM_D", "h2ovl_chat", "skywork_chat", "glm4v",
        "glm46v", "glm4v_moe", "glm_ocr", "molmo2", "minicpmv", "minicpmo", "idefics2", "idefics3",
        "smolvlm", "phi3_v", "phi4mm", "deepseek_vl_v2", "deepseek_vl", "multi_modality", "janus",
        "ovis", "ovis2_5", "ovis2", "aria", "aya_vision", "cohere2_vision", "ultravox", "voxtral",
        "granite_speech", "ernie4_5_vl_moe", "ernie4_5_moe_vl", "paddleocr_vl", "blip-2",
        "instructblip", "Keye", "KeyeVL1_5", "lfm2_vl", "perception_lm", "emu3", "hunyuan_vl",
        "hyperclovax_vlm", "exaone4_5", "apertus1p5",
    ),
}  # fmt: skip

_HOME = {kind: file for file, kinds in FILES.items() for kind in kinds}


def architectures() -> tuple[str, ...]:
    """Every ``model_type`` that can be read, sorted."""
    return tuple(sorted(_HOME))


def read(config: Config, as_type: str | None = None) -> Model:
    """The model of a config.

    Args:
        as_type: the type to read it as, where it names one that is another renamed.

    Raises:
        InputError: a value is missing or impossible.
        UnsupportedError: an architecture, or a part of one, that is not counted.
    """
    from . import types

    types.refuse_drafters(config)
    plain = as_type is None and _HOME.get(config.kind) not in (None, "multimodal")
    if not plain:
        from . import multimodal

        if as_type is None and multimodal.wraps(config, _HOME):
            return _inside(config)
    kind, note = types.resolve(config, _HOME, as_type)
    if as_type is not None and _HOME[kind] != "multimodal" and multimodal.nests(config):
        return _inside(config, as_type)
    own = config.kind or kind
    try:
        model = _by(config, kind, strict=as_type is not None)
    except RooflineError:
        # A type that means something else in transformers (Grok-2's "git"): then its class.
        other = next((k for n in types.named(config) if (k := types.of_class(n))), kind)
        if as_type is not None or _HOME[other] in (_HOME[kind], "multimodal"):
            raise
        try:
            model = _by(config, kind := other, strict=False)
        except RooflineError:
            pass
        else:
            note = Note("class.other", type=own[:60], kind=kind)
            return model.altered(architecture=kind, notes=(*model.notes, note))
        raise
    return model.altered(
        architecture=own if model.architecture == kind else model.architecture,
        notes=(*model.notes, note) if note else model.notes,
    )


def _by(config: Config, kind: str, *, strict: bool) -> Model:
    # Read by the reader of a type.
    from . import types

    reader = _reader(kind)
    given, seen = config.data, set(config.seen)
    both = {"bidirectional": True} if types.BOTH.search(config.kind) else {}
    config.data = {**given, "model_type": kind, **both}
    config.strict = strict
    try:
        return _directed(config, reader(config), _HOME[kind] in ("dense", "experts"))
    except RooflineError:
        config.data, config.seen = given, seen
        raise


_DIRECTIONS = {"is_causal", "bidirectional", "use_bidirectional_attention"}


def _directed(config: Config, model: Model, named: bool) -> Model:
    # Obeys what a config says of directions, and a class without a head where it is believed.
    named = named and "architectures" in config.data
    if not named and not _DIRECTIONS & config.data.keys():
        return model
    from .directions import directed

    return directed(config, model, named)


def _reader(kind: str) -> Reader:
    if _HOME[kind] == "multimodal":
        return _inside
    readers: dict[str, Reader] = import_module(f".{_HOME[kind]}", __name__).READERS
    return readers[kind]


def _inside(config: Config, as_type: str | None = None) -> Model:
    # A wrapper: its text side is read as any config is.
    from . import multimodal

    text = multimodal.text_side(config, as_type)
    return multimodal.wrapped(config, text, read(text, as_type))
