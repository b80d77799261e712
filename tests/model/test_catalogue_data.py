"""The model catalogue as data: names, sources, and counts against classes we did not write."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import warnings
from typing import Any

import pytest

from roofline import catalogue

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHARED = os.path.join(ROOT, "..", "shared", "configs")
MODELS: list[dict[str, Any]] = catalogue.read("model/catalogue.json")["models"]
BY_ID = {m["id"]: m for m in MODELS}

_spec = importlib.util.spec_from_file_location(
    "scripts_models", os.path.join(ROOT, "scripts", "models.py")
)
assert _spec is not None and _spec.loader is not None
scripts = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(scripts)


def labels(model: dict[str, Any]) -> set[str]:
    return {model["id"], model["name"], *model["aliases"]}


def repository(model: dict[str, Any]) -> str:
    found = re.fullmatch(r"https://huggingface\.co/([^/]+/[^/]+)", model["source"]["url"])
    assert found, model["source"]["url"]
    return found[1]


# Names


def test_there_are_at_least_75() -> None:
    assert len(MODELS) >= 75


def test_no_two_models_share_a_name() -> None:
    owner: dict[str, str] = {}
    for model in MODELS:
        for name in {catalogue.key(label).replace("-", "") for label in labels(model)}:
            assert owner.setdefault(name, model["id"]) == model["id"], name


@pytest.mark.parametrize("wanted", sorted(BY_ID))
def test_every_name_finds_its_model(wanted: str) -> None:
    model = BY_ID[wanted]
    for label in {*labels(model), repository(model), wanted.upper()}:
        assert catalogue.find(label, MODELS, "model")["id"] == wanted, label


def test_a_plus_in_a_name_is_not_lost() -> None:
    assert catalogue.find("Command-R+", MODELS, "model")["id"] == "command-r-plus"
    assert catalogue.find("command-r", MODELS, "model")["id"] == "command-r"


@pytest.mark.parametrize("wanted", sorted(BY_ID))
def test_entry_is_well_formed(wanted: str) -> None:
    model = BY_ID[wanted]
    assert model.keys() <= {
        "id", "name", "org", "aliases", "released", "parameters_published", "active_published",
        "parameters_note", "encodes", "source", "config", "quant_config",
    }  # fmt: skip
    assert re.fullmatch(r"[a-z0-9]+([.-][a-z0-9]+)*", model["id"])
    assert model["released"] is None or re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])", model["released"])
    for key in ("parameters_published", "active_published"):
        assert model.get(key) is None or published(model[key])[0] > 0
    source = model["source"]
    assert source.keys() == {"title", "url", "date"} and source["title"]
    assert repository(model).split("/")[0] == model["org"]
    assert re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])(-\d\d)?", source["date"])
    assert isinstance(model["config"]["model_type"], str)
    assert scripts.trim(model["config"]) == model["config"], "a key that fixes no shape"


# The file and the pages are what the script makes of them


def test_catalogue_is_laid_out() -> None:
    text = scripts.read(scripts.CATALOGUE)
    assert text == scripts.layout(json.loads(text)), "run scripts/models.py"


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_page_has_the_table_of_this_catalogue(lang: str) -> None:
    text = scripts.read(scripts.PAGES[lang])
    assert text == scripts.page(text, MODELS, lang), "run scripts/models.py"
    assert all(f"| `{wanted}` |" in text for wanted in BY_ID)


# Against the published configs


@pytest.mark.skipif(not os.path.isdir(SHARED), reason="../shared is not there")
def test_configs_are_the_published_ones() -> None:
    by_repository = {repository(m): m for m in MODELS}
    files = sorted(f for f in os.listdir(SHARED) if f.endswith("_config.json"))
    assert files
    for file in files:
        with open(os.path.join(SHARED, file), encoding="utf-8") as opened:
            data = json.load(opened)
        name, _, rest = file.removesuffix("_config.json").partition("--")
        quantised = rest.endswith("_hf_quant")
        model = by_repository[f"{name}/{rest.removesuffix('_hf_quant')}"]
        if quantised:
            assert model["quant_config"] == data, file
        else:
            assert model["config"] == scripts.trim(data), file
            assert file.replace("_config", "_hf_quant_config") in files or (
                "quant_config" not in model
            )


# Against transformers


def published(text: str) -> tuple[float, float]:
    """A printed count, and half of its last digit."""
    if "," in text:
        return float(text.replace(",", "")), 0.0
    found = re.fullmatch(r"(\d+)(?:\.(\d+))?([MBT])", text)
    assert found, text
    unit = {"M": 1e6, "B": 1e9, "T": 1e12}[found[3]]
    return float(text[:-1]) * unit, 0.5 * unit / 10 ** len(found[2] or "")


def distinct() -> list[str]:
    """The models whose config differs from all before it in more than its format."""
    found: dict[str, str] = {}
    for model in MODELS:
        shapes = {k: v for k, v in model["config"].items() if k not in FORMATS}
        found.setdefault(json.dumps([shapes, model["parameters_published"]]), model["id"])
    return list(found.values())


FORMATS = {"quantization_config", "torch_dtype", "dtype"}

# What a repository's own code calls otherwise than transformers does.
SAME_TYPE = {"kimi_k2": "deepseek_v3"}
SAME_CLASS = {"PhiMoEForCausalLM": "PhimoeForCausalLM"}


@pytest.fixture(scope="module")
def transformers() -> Any:
    pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = pytest.importorskip("transformers")
    module.logging.set_verbosity_error()
    return module


def parameters(transformers: Any, config: dict[str, Any]) -> int | None:
    """The parameters of the class of that config, ``None`` where there is no class."""
    import torch

    if config["model_type"] == "kimi_k25":
        config = config["text_config"]  # its vision encoder is within the last printed digit
    data = {k: v for k, v in json.loads(json.dumps(config)).items() if k not in FORMATS}
    kind = data.pop("model_type")
    kind = SAME_TYPE.get(kind, kind)
    name = (data.pop("architectures", None) or [""])[0]
    made = getattr(transformers, SAME_CLASS.get(name, name), None)
    if kind not in transformers.CONFIG_MAPPING or made is None:
        return None
    if kind == "dbrx":
        data["attn_config"]["rope_theta"] = 500_000.0  # it does not build without
    with warnings.catch_warnings(), torch.device("meta"):
        warnings.simplefilter("ignore")
        built = made(transformers.AutoConfig.for_model(kind, **data))
    return sum(p.numel() for p in built.parameters())


@pytest.mark.parametrize("wanted", distinct())
def test_parameters_are_the_published_ones(transformers: Any, wanted: str) -> None:
    model = BY_ID[wanted]
    count = parameters(transformers, model["config"])
    if count is None:
        pytest.skip(f"transformers has no class for {model['config']['model_type']}")
    printed, half = published(model["parameters_published"])
    equal = abs(count - printed) <= half
    if "parameters_note" in model:
        assert not equal, f"{count} is what is printed: the note has lost its reason"
    else:
        assert equal, f"the config gives {count}, published is {model['parameters_published']}"


def test_most_models_have_a_class_to_be_held_against(transformers: Any) -> None:
    without = [
        m["config"]["model_type"]
        for m in MODELS
        if not hasattr(transformers, (m["config"].get("architectures") or [""])[0])
    ]
    assert len(without) <= 9, without
