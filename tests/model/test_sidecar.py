"""What lies beside a config and says how it is quantised is read, or refused: never passed over."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import roofline
from roofline.errors import InputError

CONFIG = {
    "model_type": "llama", "hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "intermediate_size": 512, "vocab_size": 1000,
    "torch_dtype": "bfloat16",
}  # fmt: skip


@pytest.mark.skipif(os.name != "posix", reason="links of POSIX")
@pytest.mark.parametrize("kind", ["dangling", "device", "folder", "pipe"])
@pytest.mark.parametrize("name", ["hf_quant_config.json", "quant_model_description.json"])
def test_a_sidecar_that_cannot_be_read_is_refused(tmp_path: Path, kind: str, name: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    beside = tmp_path / name
    if kind == "dangling":
        beside.symlink_to(tmp_path / "nowhere.json")
    elif kind == "device":
        beside.symlink_to("/dev/zero")
    elif kind == "folder":
        beside.mkdir()
    else:
        os.mkfifo(beside)
    with pytest.raises(InputError, match=name):
        roofline.load_model(str(tmp_path))
