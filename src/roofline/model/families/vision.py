"""Vision-language models: the text side is counted, the vision side set aside and said so."""

from __future__ import annotations

from ...errors import InputError
from ..config import Config
from ..model import Layer, Model

# What text_config is where it does not say, and where its layers are in the checkpoint.
_TEXT: dict[str, tuple[str, str]] = {
    "gemma3": ("gemma3_text", "model.language_model"),
    "gemma3n": ("gemma3n_text", "model.language_model"),
    "gemma4": ("gemma4_text", "model.language_model"),
    "gemma4_unified": ("gemma4_unified_text", "model.language_model"),
    "mistral3": ("mistral", "model.language_model"),
    "qwen3_vl": ("qwen3", "model.language_model"),
    "qwen3_vl_moe": ("qwen3_moe", "model.language_model"),
    "qwen3_5": ("qwen3_5_text", "model.language_model"),
    "qwen3_5_moe": ("qwen3_5_moe_text", "model.language_model"),
    "kimi_k25": ("kimi_k2", "language_model.model"),
    "llama4": ("llama4_text", "language_model.model"),
    "step3p7": ("step3p5", "model.language_model"),
    "minimax_m3_vl": ("minimax_m3_vl_text", "model.language_model"),
    "dots3_note": ("dots3_note_text", "model"),
    "fuyu": ("persimmon", "model.language_model"),
    "moss_transcribe_diarize": ("qwen3", "model.language_model"),
    "got_ocr2": ("qwen2", "model.language_model"),
}
_SAME = {"qwen3_vl_text": "qwen3", "qwen3_vl_moe_text": "qwen3_moe", "step3p7": "step3p5"}
_UPPER = ("torch_dtype", "dtype", "quantization_config")


def read(c: Config) -> Model:
    """The model of ``text_config``."""
    from . import find

    default, path = _TEXT[c.kind]
    if not c.has("text_config") and c.has("hidden_size"):
        raise InputError(f"{c.where}: text_config is missing; this is not all of the config")
    text = c.sub("text_config")
    kind = text.kind or default
    kind = _SAME.get(kind, kind)
    reader = find(kind)
    if reader is None or kind in _TEXT:
        raise c.refuse(f"its text model '{kind[:40]}' is not counted yet")
    upper = {k: c.data[k] for k in _UPPER if k in c.data}
    text.data = {**upper, **text.data, "model_type": kind}
    if "tie_word_embeddings" in c.data:
        # The head belongs to the whole model, and so does the word on it.
        text.data["tie_word_embeddings"] = c.data["tie_word_embeddings"]
    model = reader(text)
    layers = tuple(_moved(layer, path) for layer in model.layers)
    aside = "the vision encoder is set aside: text tokens only"
    return model.altered(
        name=c.where, architecture=c.kind, layers=layers, notes=(*model.notes, aside)
    )


def _moved(layer: Layer, path: str) -> Layer:
    prefix = layer.prefix.replace("model.", f"{path}.", 1)
    return Layer(layer.parts, layer.indices, layer.vectors, prefix, layer.runs)


READERS = dict.fromkeys((k for k in _TEXT if k != "step3p7"), read)
