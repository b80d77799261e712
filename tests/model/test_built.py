"""What a config may name that a class is built of: nothing that runs, and nothing without end."""

from __future__ import annotations

import builtins
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from roofline.errors import InputError, RooflineError
from roofline.model import trace
from roofline.model.built import plain

LLAMA: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4,
    "num_hidden_layers": 2, "vocab_size": 256,
}  # fmt: skip

EVIL = """
import os
open(os.environ["ROOFLINE_TEST_MARK"], "w").close()
from transformers import PretrainedConfig, PreTrainedModel
class Config(PretrainedConfig): pass
class Model(PreTrainedModel): config_class = Config
"""


@pytest.fixture
def mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with code that leaves a mark; somebody says yes to all questions."""
    code = tmp_path / "repo"
    code.mkdir()
    (code / "evil.py").write_text(EVIL)
    (code / "config.json").write_text("{}")
    path = tmp_path / "mark"
    monkeypatch.setenv("ROOFLINE_TEST_MARK", str(path))
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.setattr(builtins, "input", lambda *_: "y")
    return path


@pytest.mark.parametrize("kind", ["llama", "clip_vision_model", "whisper", "vit"])
def test_code_that_a_config_names_is_not_run(kind: str, mark: Path, tmp_path: Path) -> None:
    """`clip_vision_model` has a config class and no causal one: transformers would ask, and run."""
    pytest.importorskip("transformers")
    repo = str(tmp_path / "repo")
    named = dict.fromkeys(("AutoModelForCausalLM", "AutoModel"), f"{repo}--evil.Model")
    named["AutoConfig"] = f"{repo}--evil.Config"
    data = LLAMA | {"model_type": kind, "auto_map": named}
    path = tmp_path / "config.json"
    path.write_text(json.dumps(data))
    if kind == "llama":
        assert trace.load(str(path)).layers
    else:
        with pytest.raises(RooflineError):
            trace.load(str(path))
    assert not mark.exists()


def test_code_in_a_folder_with_weights_is_not_run(mark: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    pytest.importorskip("safetensors")
    import torch
    import transformers
    from safetensors.torch import save_file

    from roofline.engines import pretrained

    folder = tmp_path / "repo"
    own = {"AutoConfig": "evil.Config", "AutoModelForCausalLM": "evil.Model"}
    (folder / "config.json").write_text(json.dumps({"model_type": "unknown-kind", "auto_map": own}))
    save_file({"x": torch.zeros(1)}, str(folder / "model.safetensors"))
    assert pretrained.has_weights(str(folder))
    with pytest.raises(InputError):
        pretrained.load(torch, transformers, str(folder), torch.float32)
    pretrained.write(torch, transformers, None, str(folder))
    assert not mark.exists()


def test_a_pickle_is_not_read(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    import torch
    import transformers

    from roofline.engines import pretrained

    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**LLAMA))
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    with pytest.raises(InputError, match="does not load"):
        pretrained.load(torch, transformers, str(tmp_path), torch.float32)


def test_what_names_code_files_and_hosts_goes_however_deep() -> None:
    inner = {"auto_map": {}, "_name_or_path": "x/y", "attn_implementation": "x/kernels", "a": 1}
    data = {"text_config": inner, "list": [inner, 3], "hidden_size": 64, **inner}
    assert plain(data, "x") == {
        "text_config": {"a": 1}, "list": [{"a": 1}, 3], "hidden_size": 64, "a": 1
    }  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"num_hidden_layers": 10**6},
        {"num_hidden_layers": 600},
        {"text_config": {"num_hidden_layers": 10**6}},
        {"decoder_layers": 10**5},
        {"num_nextn_predict_layers": 10**5},
        {"num_experts": 10**6},
        {"num_experts": 1024, "num_hidden_layers": 500},
        {"vocab_size": 10**12},
        {"hidden_size": 10**400},
        {"layer_types": ["full_attention"] * 20_000},
        {"x": "y" * 20_000},
        {str(i): 1 for i in range(20_000)},
        json.loads('{"a":' * 30 + "1" + "}" * 30),
        {"a": json.loads("[" * 300 + "1" + "]" * 300)},
    ],
)
def test_sizes_without_end_are_refused_before_anything_is_built(change: dict[str, Any]) -> None:
    pytest.importorskip("transformers")
    began = time.monotonic()
    with pytest.raises(InputError):
        trace.from_config({**LLAMA, **change})
    assert time.monotonic() - began < 60  # the first one imports the library


def test_large_numbers_that_are_no_sizes_pass() -> None:
    data = {"rope_theta": 10**9, "seed": 2**40, "eos_token_id": [1, 2**30], "big": True}
    assert plain(data, "x") == data


@pytest.mark.parametrize("kind", [None, 7, ["llama"], {"a": 1}, ""])
def test_a_type_that_is_none_is_refused(kind: Any) -> None:
    pytest.importorskip("transformers")
    with pytest.raises(RooflineError):
        trace.from_config({**LLAMA, "model_type": kind})


def test_real_sizes_pass(shared: str) -> None:
    folder = os.path.join(shared, "configs")
    for name in sorted(os.listdir(folder)):
        if name.endswith(".json"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                data = json.load(file)
            if isinstance(data, dict):
                plain(data, name)
