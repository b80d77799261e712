"""Every model of transformers that sees or hears: its text side against the real class."""

from __future__ import annotations

import json
from typing import Any

import pytest

from oracle import classes
from roofline.errors import RooflineError
from roofline.model.load import from_config

TEXT = ("language_model.", "text_model.", "lm_head.", "model.decoder.")


def wrappers() -> dict[str, str]:
    try:
        from transformers.models.auto import modeling_auto as auto
    except ImportError:
        return {}
    return {**auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
            **auto.MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES}  # fmt: skip


def text_parameters(config: Any) -> int | None:
    """Parameters of the class of the text config, with a head; ``None`` where it has none."""
    text = config.get_text_config()
    name = classes.kinds().get(text.model_type)
    if name is None:
        return None
    tied = getattr(config, "tie_word_embeddings", None)
    if tied is not None:
        text.tie_word_embeddings = tied
    return classes.parameters(classes.build(text, name))
