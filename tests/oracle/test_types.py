"""Every causal-LM type of transformers, from its default config: parameters, and FLOPs of one
token, equal to the unit; or refused by name. None is wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

from oracle import classes
from roofline.count.step import Step
from roofline.errors import RooflineError
from roofline.model.load import from_config

COMMON = """llama mistral mixtral qwen2 qwen2_moe qwen3 qwen3_moe gemma gemma2 gemma3_text phi phi3
gpt_oss deepseek_v2 deepseek_v3 olmo olmo2 falcon gpt_neox gpt2 opt starcoder2 cohere
cohere2""".split()
"""The families that everyone runs."""

FLOPLESS = "equal but for FLOPs, which the class cannot run"

Tally = dict[str, dict[str, str]]


def check(kind: str, tally: Tally) -> None:
    name = classes.kinds()[kind]
    try:
        config = classes.config_of(kind)
        model = classes.build(config, name)
    except Exception as error:
        tally["unbuildable"][kind] = str(error).strip().split("\n")[0]
        pytest.skip(f"transformers cannot build {kind}: {error!r}")
    data = json.loads(json.dumps(config.to_dict(), default=str))
    try:
        ours = from_config(data, kind)
        work = ours.work()
    except RooflineError as error:
        tally["refused"][kind] = str(error)
        assert kind not in COMMON
        pytest.skip(str(error))
    try:
        flops = classes.flops(model)
    except Exception:
        flops = None
    theirs = {"parameters": classes.parameters(model), "flops": flops}
    counted: dict[str, Any] = {"parameters": ours.parameters, "flops": None}
    if flops is not None:
        counted["flops"] = work.total("flops", Step.decode(1, 1))
    outcome = "wrong" if counted != theirs else "equal" if flops is not None else FLOPLESS
    tally[outcome][kind] = f"{counted}, the class has {theirs}"
    assert counted == theirs


@pytest.mark.parametrize("kind", COMMON)
def test_common_type(kind: str, tally: Tally) -> None:
    check(kind, tally)


def others() -> list[str]:
    try:
        return [kind for kind in classes.kinds() if kind not in COMMON]
    except ImportError:
        return []


@pytest.mark.slow
@pytest.mark.parametrize("kind", others())
def test_type(kind: str, tally: Tally) -> None:
    check(kind, tally)
