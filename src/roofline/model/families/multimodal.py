"""Models that see or hear: the text side is counted, the encoders are set aside and said so.

A config keeps its text model in a nested config (``text_config``, ``llm_config``, …), which may
hold only what differs from its class, or, in older ones, at the top among the wrapper's own
keys. A wrapper that is not in the table is read by its nested config alone, if that is a type
that is known.
"""

from __future__ import annotations

from ... import catalogue
from ...errors import InputError
from ...record import record
from ...words.note import Note
from ..config import NESTING, Config, short
from ..model import Layer, Model
from . import types

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

NESTED = (
    "text_config", "llm_config", "language_config", "thinker_config", "language_model_config",
    "lm_config", "text_model_config", "llm_cfg",
)  # fmt: skip
"""Keys under which a wrapper keeps its text model's config."""


@record
class Wrapper:
    """What a wrapper leaves unsaid.

    Attributes:
        text: the type of its text model where neither nested config nor class names one.
        path: where its layers are in the checkpoint.
    """

    text: str = ""
    path: str = "model.language_model"


_LM = "language_model.model"
WRAPPERS: dict[str, Wrapper] = {
    "gemma3": Wrapper("gemma3_text"),
    "shieldgemma2": Wrapper("gemma3_text"),
    "gemma3n": Wrapper("gemma3n_text"),
    "gemma4": Wrapper("gemma4_text"),
    "gemma4_unified": Wrapper("gemma4_unified_text"),
    "paligemma": Wrapper("gemma", _LM),
    "mistral3": Wrapper("mistral"),
    "pixtral": Wrapper("mistral", _LM),
    "qwen2_vl": Wrapper("qwen2"),
    "qwen2_5_vl": Wrapper("qwen2"),
    "qwen2_5_omni": Wrapper("qwen2", "thinker.model"),
    "qwen2_5_omni_thinker": Wrapper("qwen2", "thinker.model"),
    "qwen2_audio": Wrapper("qwen2", _LM),
    "qwen3_vl": Wrapper("qwen3"),
    "qwen3_vl_moe": Wrapper("qwen3_moe"),
    "qwen3_omni_moe": Wrapper("qwen3_moe", "thinker.model"),
    "qwen3_omni_moe_thinker": Wrapper("qwen3_moe", "thinker.model"),
    "qwen3_asr": Wrapper("qwen3", "thinker.model"),
    "qwen3_5": Wrapper("qwen3_5_text"),
    "qwen3_5_moe": Wrapper("qwen3_5_moe_text"),
    "kimi_vl": Wrapper("deepseek_v3", _LM),
    "kimi_k25": Wrapper("kimi_k2", _LM),
    "llama4": Wrapper("llama4_text", _LM),
    "step3p7": Wrapper("step3p5"),
    "step3_vl": Wrapper("step3_text"),
    "minimax_m3_vl": Wrapper("minimax_m3_vl_text"),
    "minimax_vl_01": Wrapper("minimax_text_01", _LM),
    "dots3_note": Wrapper("dots3_note_text", "model"),
    "dots_ocr": Wrapper("qwen2", "model"),
    "fuyu": Wrapper("persimmon"),
    "moss_transcribe_diarize": Wrapper("qwen3"),
    "got_ocr2": Wrapper("qwen2"),
    "GOT": Wrapper("qwen2", "model"),
    "llava": Wrapper("llama", _LM),
    "llava_llama": Wrapper("llama", "model"),
    "llava_mistral": Wrapper("mistral", "model"),
    "llava_qwen": Wrapper("qwen2", "model"),
    "llava_next": Wrapper("llama", _LM),
    "llava_next_video": Wrapper("llama", _LM),
    "llava_onevision": Wrapper("qwen2", _LM),
    "llava_onevision1_5": Wrapper("qwen3"),
    "video_llava": Wrapper("llama", _LM),
    "vipllava": Wrapper("llama", _LM),
    "bunny-llama": Wrapper("llama", "model"),
    "mobilevlm": Wrapper("llama", "model"),
    "internvl": Wrapper("qwen2"),
    "internvl_chat": Wrapper("", _LM),
    "interns1": Wrapper("qwen3"),
    "internlmxcomposer2": Wrapper("internlm2", "model"),
    "NVLM_D": Wrapper("qwen2", _LM),
    "h2ovl_chat": Wrapper("", _LM),
    "skywork_chat": Wrapper("", _LM),
    "glm4v": Wrapper("glm4v_text"),
    "glm46v": Wrapper("glm4v_text"),
    "glm4v_moe": Wrapper("glm4_moe"),
    "glm_ocr": Wrapper("glm_ocr_text"),
    "molmo2": Wrapper("molmo2_text"),
    "minicpmv": Wrapper("", "llm.model"),
    "minicpmo": Wrapper("", "llm.model"),
    "idefics2": Wrapper("mistral", "model.text_model"),
    "idefics3": Wrapper("llama", "model.text_model"),
    "smolvlm": Wrapper("llama", "model.text_model"),
    "phi3_v": Wrapper("phi3", "model"),
    "phi4mm": Wrapper("phi3", "model"),
    "deepseek_vl_v2": Wrapper("deepseek_v2", "language.model"),
    "deepseek_vl": Wrapper("llama"),
    "multi_modality": Wrapper("llama", _LM),
    "janus": Wrapper("llama"),
    "ovis": Wrapper("", "llm.model"),
    "ovis2_5": Wrapper("qwen3", "llm.model"),
    "ovis2": Wrapper("qwen2"),
    "aria": Wrapper("aria_text"),
    "aya_vision": Wrapper("cohere2"),
    "cohere2_vision": Wrapper("cohere2"),
    "ultravox": Wrapper("", _LM),
    "voxtral": Wrapper("llama", _LM),
    "granite_speech": Wrapper("granite", _LM),
    "ernie4_5_vl_moe": Wrapper("ernie4_5_vl_moe_text"),
    "ernie4_5_moe_vl": Wrapper("ernie4_5_vl_moe_text", "model"),
    "paddleocr_vl": Wrapper("ernie4_5", "model"),
    "blip-2": Wrapper("opt", "language_model.model.decoder"),
    "instructblip": Wrapper("opt", "language_model.model.decoder"),
    "Keye": Wrapper("qwen3", "model"),
    "KeyeVL1_5": Wrapper("qwen3", "model"),
    "lfm2_vl": Wrapper("lfm2"),
    "perception_lm": Wrapper("llama"),
    "emu3": Wrapper("llama"),
    "hunyuan_vl": Wrapper("hunyuan_v1_dense"),
    "hyperclovax_vlm": Wrapper("hyperclovax", _LM),
    "exaone4_5": Wrapper("exaone4"),
    "apertus1p5": Wrapper("apertus1p5_text"),
}  # fmt: skip

_UPPER = ("torch_dtype", "dtype")
_SIDES = {
    "side.vision": (
        "vision", "visual", "image", "img_processor", "vit_", "video", "mm_vision", "vpm",
    ),
    "side.audio": ("audio", "speech", "sound", "whisper", "acoustic"),
    "side.talker": ("talker", "token2wav", "code2wav", "tts", "enable_talker"),
}  # fmt: skip

_ASIDE = ("aside.one", "aside.more", "aside.cross")


def nests(c: Config) -> str:
    """The key of a nested config of a text model, empty where there is none."""
    result = [key for key in NESTED if isinstance(c.data.get(key), dict) and c.data[key]]
    if result and c.data.get("hidden_size") is not None and not _shaped(c.data[result[0]]):
        return ""  # all is at the top; the nested one is a stub
    return result[0] if result else ""


def text_of(data: dict[str, Any]) -> dict[str, Any]:
    """The parsed config of the text model inside a wrapper's, empty where there is none."""
    result: dict[str, Any] = {}
    for _ in range(NESTING):
        inner = next((data[k] for k in NESTED if isinstance(data.get(k), dict)), None)
        if inner is None:
            break
        result = data = inner
    return result


def _shaped(data: dict[str, Any]) -> bool:
    keys = ("hidden_size", "n_embd", "d_model", "num_hidden_layers", "intermediate_size")
    return any(k in data for k in (*keys, *NESTED))


def wraps(c: Config, known: Mapping[str, str]) -> bool:
    """Whether a config is a wrapper's: of a known one, or with a decoder that is known.

    Args:
        known: the types that have a reader, and the file of each.
    """
    if c.kind in WRAPPERS:
        return True
    if not c.kind or types.canonical(c.kind, known):
        return False
    key = nests(c)
    if not key:
        return False
    inner = c.sub(key)
    kind = types.canonical(inner.kind, known)
    return wraps(inner, known) if not kind else known[kind] not in ("seq2seq", "encoders")


def text_side(c: Config, as_type: str | None = None) -> Config:
    """The config of a wrapper's text model, with what the wrapper says of it.

    Args:
        as_type: the type that it will be read as.

    Raises:
        InputError: no text model is in it.
        UnsupportedError: which text model it has is not said.
    """
    key = nests(c)
    text = c.sub(key) if key else _flat(c)
    upper = {k: c.data[k] for k in _UPPER if c.data.get(k) is not None}
    if not any(text.data.get(k) for k in _UPPER):
        text.data = {**upper, **{k: v for k, v in text.data.items() if k not in upper}}
    if key == "text_config" and isinstance(c.data.get("tie_word_embeddings"), bool):
        # The head belongs to the whole model, and so does the word on it.
        text.data = {**text.data, "tie_word_embeddings": c.data["tie_word_embeddings"]}
    if as_type is None:
        text.data = {**text.data, "model_type": _kind(c, text)}
    if key:
        text.class_defaults = _defaults(as_type or text.kind)
    return text


def wrapped(c: Config, text: Config, model: Model) -> Model:
    """The wrapper's model, of the model that was read from its text side."""
    key = nests(c)
    path = WRAPPERS[c.kind].path if c.kind in WRAPPERS else ""
    path = path or ("model.language_model" if key == "text_config" else _LM)
    layers = tuple(_moved(layer, path) for layer in model.layers)
    notes = [*model.notes, *_left(text, key), *_aside(c, model)]
    if c.kind and c.kind not in WRAPPERS:
        notes.append(Note("wrapper.unknown", type=c.kind[:60], kind=text.kind))
    return model.altered(
        name=c.where, architecture=c.kind or model.architecture, layers=layers,
        notes=tuple(dict.fromkeys(notes)),
    )  # fmt: skip


def _flat(c: Config) -> Config:
    # Older configs: the text model's keys among the wrapper's own.
    named = c.data.get("text_model_id")
    if isinstance(named, str) and named and "num_hidden_layers" not in c.data:
        raise c.refuse(f"its text model is {short(named)} (text_model_id): count that")
    if c.data.get("hidden_size") is None and c.data.get("n_embd") is None:
        raise InputError(f"{c.where}: text_config is missing; this is not all of the config")
    inside = [k for k, v in c.data.items() if isinstance(v, dict) and k in (*NESTED, "llm_config")]
    text = Config({k: v for k, v in c.data.items() if k not in inside}, c.where)
    text.seen = c.seen
    return text


def _kind(c: Config, text: Config) -> str:
    # What the nested config says, else its class, else the wrapper's own class, else its type.
    own = text.kind if text.kind != c.kind else ""
    if own and own in WRAPPERS and not nests(text):
        own = WRAPPERS[own].text or own
    if own:
        return own
    if c.kind in ("minicpmv", "minicpmo"):
        return _minicpm(c)
    for name in (*(types.named(text) if text.data is not c.data else ()), *types.named(c)):
        if name in LANGUAGE:
            return LANGUAGE[name]
        if (result := types.of_class(name)) and result not in WRAPPERS:
            return result
    if c.kind in WRAPPERS and WRAPPERS[c.kind].text:
        return WRAPPERS[c.kind].text
    raise c.refuse("it does not say which text model it has; '--as TYPE' does")


LANGUAGE = {
    "LlavaLlamaForCausalLM": "llama", "LlavaMistralForCausalLM": "mistral",
    "LlavaQwenForCausalLM": "qwen2", "LlavaQwen2ForCausalLM": "qwen2",
    "LlavaGemmaForCausalLM": "gemma", "LlavaPhiForCausalLM": "phi",
    "LlavaMptForCausalLM": "mpt", "LlavaMixtralForCausalLM": "mixtral",
    "BunnyLlamaForCausalLM": "llama", "BunnyQwenForCausalLM": "qwen2",
    "BunnyPhi3ForCausalLM": "phi3", "MobileLlamaForCausalLM": "llama",
}  # fmt: skip
"""The text model of classes that keep all keys at the top."""


def _minicpm(c: Config) -> str:
    # The text model went with the version; the first two named none (vLLM's minicpmv.py).
    version = str(c.data.get("version") or ("2.0" if c.data.get("hidden_size") == 2304 else "2.5"))
    known = {"2.0": "minicpm", "2.5": "llama", "2.6": "qwen2", "4.0": "llama", "4": "llama",
             "4.5": "qwen3"}  # fmt: skip
    if version not in known:
        raise c.refuse(f"version {short(version)} is not known; '--as TYPE' names its text model")
    return known[version]


def _defaults(kind: str) -> dict[str, Any]:
    table: dict[str, dict[str, Any]] = catalogue.read("model/families/defaults.json")["types"]
    return table.get(kind) or table.get(types.ALIASES.get(kind, ""), {})


def _left(text: Config, key: str) -> list[str]:
    # What the nested config leaves to its class.
    filled = {k: v for k, v in sorted(text.filled.items()) if v is not False}
    if not filled:
        return []
    given = ", ".join(f"{k} {short(v)}" for k, v in filled.items())
    return [Note("wrapper.left", key=key, given=given)]


def _aside(c: Config, inner: Model) -> list[str]:
    # What besides text the config speaks of; a nested wrapper has said so of its own.
    result = [
        side
        for side, starts in _SIDES.items()
        if any(key.startswith(starts) and value for key, value in c.data.items())
    ]
    if not result and any(getattr(note, "code", "") in _ASIDE for note in inner.notes):
        return []
    sides = [Note(side) for side in result or ["side.vision"]]
    if len(sides) == 1:
        return [Note("aside.one", side=sides[0])]
    return [Note("aside.more", sides=sides)]


def _moved(layer: Layer, path: str) -> Layer:
    prefix = layer.prefix.replace("model.", f"{path}.", 1)
    return Layer(layer.parts, layer.indices, layer.vectors, prefix, layer.runs)
