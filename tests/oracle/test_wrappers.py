"""Models of transformers that see or hear: their text side against the real class."""

from __future__ import annotations

import json
from typing import Any

import pytest

from oracle import classes
from roofline.errors import RooflineError
from roofline.model.load import from_config

COMMON = """llava llava_next llava_onevision qwen2_vl qwen2_5_vl qwen3_vl qwen2_audio internvl
glm4v paligemma idefics3 mistral3 aria voxtral ernie4_5_vl_moe mllama""".split()
"""Those that everyone runs, one for each kind of text side."""

PLACES = (
    "language_model", "text_model", "model.language_model", "model.text_model", "thinker.model",
    "model.decoder",
)  # fmt: skip


def wrappers() -> dict[str, str]:
    """Every type that sees or hears and writes, and its class."""
    try:
        from transformers.models.auto import modeling_auto as auto
    except ImportError:
        return {}
    found = {
        **auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
        **auto.MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES,
    }
    return {k: v if isinstance(v, str) else v[0] for k, v in found.items()}


def text_side(model: Any) -> int | None:
    """Parameters of the decoder and its head, ``None`` where it is not in a usual place."""
    for place in PLACES:
        decoder = model
        for name in place.split("."):
            decoder = getattr(decoder, name, None)
        if decoder is not None:
            break
    else:
        return None
    held = {id(p): p.numel() for p in decoder.parameters()}
    head = model.get_output_embeddings() or getattr(decoder, "lm_head", None)
    if head is not None:
        held |= {id(p): p.numel() for p in head.parameters()}
    return sum(held.values())


def check(kind: str) -> None:
    import torch
    import transformers

    try:
        config = classes.config_of(kind)
        with torch.device("meta"):
            model = getattr(transformers, wrappers()[kind])._from_config(
                config, dtype=torch.bfloat16
            )
    except Exception as error:
        pytest.skip(f"transformers cannot build {kind}: {error!r}")
    theirs = text_side(model)
    data = json.loads(json.dumps(config.to_dict(), default=str))
    try:
        ours = from_config(data, kind)
    except RooflineError as error:
        assert kind not in COMMON
        pytest.skip(str(error))
    if theirs is None:
        pytest.skip("its text side is in no usual place")
    assert ours.parameters == theirs
    ours.work()


@pytest.mark.parametrize("kind", COMMON)
def test_common_wrapper(kind: str) -> None:
    check(kind)


ELSEWHERE = {"qwen2_5_omni"}
"""A class whose first decoder is the one that speaks."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(wrappers().keys() - {*COMMON} - ELSEWHERE))
def test_wrapper(kind: str) -> None:
    check(kind)
