"""Engines by any of their names, and where they run."""

from __future__ import annotations

import pytest

from roofline import UnsupportedError
from roofline.cli import main
from roofline.engines.known import canonical, check, engines, why_not
from roofline.machine.load import entries, load
from roofline.machine.machine import Machine
from roofline.predicting.profile import load as load_profile
from roofline.predicting.profile import names


@pytest.mark.parametrize(
    ("name", "engine"),
    [
        ("llama.cpp", "llamacpp"), ("llama-cpp", "llamacpp"), ("LLAMA.CPP", "llamacpp"),
        ("Ollama", "llamacpp"), ("vLLM", "vllm"), ("TensorRT-LLM", "trtllm"), ("trt-llm", "trtllm"),
        ("TensorRT-LLM 2024", "trtllm-2024"), ("vllm-2024", "vllm-2024"), ("SGLang", "sglang"),
        ("PyTorch", "torch"), ("endpoint", "endpoint"), ("mine.json", "mine.json"),
    ],
)  # fmt: skip
def test_an_engine_by_any_of_its_names(name, engine):
    assert canonical(name) == engine


def test_every_profile_is_of_an_engine_that_is_known():
    for name in names():
        assert load_profile(name).engine in engines()


def test_no_name_means_two_engines():
    seen = [n.lower() for e in engines().values() for n in (e["name"], *e["aliases"])]
    assert len(seen) == len(set(seen))


@pytest.mark.parametrize(
    ("engine", "machine"),
    [("llamacpp", "tpu-v5e"), ("trtllm", "mi300x"), ("trtllm", "m4-max-40c"), ("trtllm", "gaudi-3"),
     ("sglang", "m4-max-40c"), ("llamacpp", "trainium2"), ("vllm", "p100-sxm"),
     ("trtllm", "epyc-9654"), ("sglang", "trainium2"), ("llamacpp", "gaudi-3")],
)  # fmt: skip
def test_what_cannot_run_is_refused_with_what_can(engine, machine):
    with pytest.raises(UnsupportedError, match=r"does not run on .*; choose --engine") as caught:
        check(engine, load(machine))
    for other in str(caught.value).rpartition("--engine ")[2].split(" or "):
        assert why_not(other, load(machine)) is None


@pytest.mark.parametrize(
    ("engine", "machine"),
    [("vllm", "h100-sxm"), ("vllm", "mi300x"), ("vllm", "tpu-v5e"), ("trtllm", "gb10"),
     ("llamacpp", "m4-max-40c"), ("llamacpp", "p40"), ("sglang", "mi300x"), ("vllm", "epyc-9654"),
     ("llamacpp", "ascend-910b")],
)  # fmt: skip
def test_what_can_run_is_not(engine, machine):
    if not any(entry["id"].startswith(machine) for entry in entries()):
        pytest.skip(f"no {machine} in the catalogue")
    name = next(e["id"] for e in entries() if e["id"].startswith(machine))
    check(engine, load(name))


def test_of_an_unknown_vendor_nothing_is_refused():
    for engine in (*engines(), "mine"):
        check(engine, Machine("x", "x", vendor="Own chips", kind="accelerator"))


def test_the_command_says_it_in_a_sentence(capsys):
    asked = ["predict", "llama-3.1-8b", "--on", "mi300x", "--engine", "TensorRT-LLM"]
    assert main(asked) == 2
    assert capsys.readouterr().err == (
        "roofline: TensorRT-LLM does not run on AMD Instinct MI300X: it is not made for AMD GPUs; "
        "choose --engine vllm or sglang or llamacpp or torch\n"
    )
