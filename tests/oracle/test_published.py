"""Published configs of 2024–2026, read by us as they are and by the classes that run them."""

from __future__ import annotations

import glob
import json
import os
from typing import Any

import pytest

from oracle import classes
from roofline.model.load import from_config

SHARED = os.path.join(os.path.dirname(__file__), "..", "..", "..", "shared", "configs")
FILES = sorted(
    os.path.basename(f)
    for f in glob.glob(os.path.join(SHARED, "*_config.json"))
    if "hf_quant" not in f
)

TYPES = {
    "minimax_m3": "minimax_m3_vl_text", "kimi_k2": "deepseek_v3", "step3p7": "",
    "qwen3_vl_text": "qwen3", "mimo": "", "nemotron-nas": "",
}  # fmt: skip
"""What a type is called in transformers, empty where it has no class for it."""


def published(file: str) -> dict[str, Any]:
    with open(os.path.join(SHARED, file), encoding="utf-8") as opened:
        found: dict[str, Any] = json.load(opened)
    return found


@pytest.mark.skipif(not FILES, reason="no ../shared beside the checkout")
def test_all_are_here() -> None:
    assert len(FILES) == 37


@pytest.mark.parametrize("file", FILES)
def test_parameters(file: str) -> None:
    config = published(file)
    ours = from_config(config, file)
    ours.work()
    data = {**config, **config.get("text_config", {})}
    kind = TYPES.get(data["model_type"], data["model_type"])
    if not kind:
        pytest.skip("transformers has no class for it; its total is held to the model card's")
    for key in ("model_type", "text_config", "vision_config", "quantization_config", "dtype",
                "torch_dtype", "architectures"):  # fmt: skip
        data.pop(key, None)
    theirs = classes.build(classes.config_of(kind, **data), classes.kinds()[kind])
    assert ours.parameters == classes.parameters(theirs)
