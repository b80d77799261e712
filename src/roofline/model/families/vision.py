"""Vision-language models: the text side is counted, the vision side set aside and said so."""

from __future__ import annotations

from ..config import Config
from ..model import Model

_TEXT = {
    "gemma3": "gemma3_text",
    "mistral3": "mistral",
    "qwen3_vl": "qwen3",
    "kimi_k25": "kimi_k2",
}
_NAMES = {"qwen3_vl_text": "qwen3", "mistral": "mistral"}


def read(c: Config) -> Model:
    """The model of ``text_config``."""
    from . import find

    text = c.sub("text_config")
    kind = text.kind or _TEXT[c.kind]
    kind = _NAMES.get(kind, kind)
    text.data = {
        **{k: c.data[k] for k in ("torch_dtype", "dtype", "tie_word_embeddings") if k in c.data},
        **text.data,
        "model_type": kind,
    }
    reader = find(kind)
    if reader is None:
        raise c.refuse(f"its text model '{kind[:40]}' is not counted yet")
    model = reader(text)
    aside = "the vision encoder is set aside: text tokens only"
    return model.altered(name=c.where, architecture=c.kind, notes=(*model.notes, aside))


READERS = dict.fromkeys(_TEXT, read)
