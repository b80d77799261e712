"""Which model a row is of: by what was asked, by its name, its label or its size."""

from __future__ import annotations

import json

import pytest

from roofline import InputError, RooflineError
from roofline.cli import main
from roofline.count.group import Group
from roofline.model.load import load
from roofline.placing.names import in_catalogue, weights_of
from roofline.placing.resolve import OtherModel, Resolver
from roofline.points import Part, Point, Seconds


def point(**said):
    return Point(parts=(Part((Group(1, 1, 99),)),), seconds=Seconds(0.01), **said)


@pytest.mark.parametrize(
    ("said", "parameters", "found", "weights"),
    [
        ("google/gemma-3-1b-it", None, "gemma-3-1b", None),
        ("Qwen/Qwen2.5-32B-Instruct-GPTQ-Int8", None, "qwen2.5-32b", "int8:128"),
        ("ggml-org/gpt-oss-120b-GGUF", None, "gpt-oss-120b", None),
        ("/models/Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf", None, "llama-3.1-8b", "q4_k_m"),
        ("neuralmagic/Meta-Llama-3.1-70B-Instruct-FP8", None, "llama-3.1-70b", "fp8"),
        ("meta-llama/Llama-2-7b-chat-hf", None, "llama-2-7b", None),
        # labels of llama-bench, with the params column
        ("llama 7B mostly F16", 6.74e9, "llama-2-7b", None),
        ("llama 7B Q4_0", 6.74e9, "llama-2-7b", None),
        ("gpt-oss 20B MXFP4 MoE", 20.91e9, "gpt-oss-20b", None),
        ("qwen3moe 30B.A3B Q8_0", 30.53e9, "qwen3-30b-a3b", None),
        ("llama 8B Q4_K - Medium", 8.03e9, "llama-3-8b", None),
        ("something else 7B Q4_0", 6.74e9, None, None),
        ("my-own-model", None, None, None),
    ],
)
def test_what_a_file_calls_a_model(said, parameters, found, weights):
    assert in_catalogue(said, parameters) == found
    if "/" in said:
        assert weights_of(said) == weights


def test_what_was_asked_wins_over_a_name_that_the_hub_would_have_to_know(monkeypatch):
    def never(*_):
        raise AssertionError("the hub was asked")

    monkeypatch.setattr("roofline.files.hub.fetch", never)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    for said in ("some/private-model", "Qwen/Qwen2.5-32B-Instruct-GPTQ-Int8", "gpt-4"):
        _, case = Resolver(model="gemma-3-1b", machine="t4").case(point(model=said, engine="vllm"))
        assert case.model.name == load("gemma-3-1b").name
    with pytest.raises(InputError, match="give --model"):
        Resolver(machine="t4").case(point(model="some/private-model", engine="vllm"))


def test_a_row_of_another_size_is_not_the_model_asked_about():
    resolver = Resolver(model="gpt-oss-120b", machine="gb10", weights="mxfp4")
    row = point(model="gpt-oss 20B MXFP4 MoE", parameters=20.91e9, engine="llama.cpp")
    assert resolver.case(row)[1].model.name == load("gpt-oss-20b").name
    heading = point(model="ggml-org/gpt-oss-20b-GGUF", engine="llama.cpp")
    assert resolver.case(heading)[1].model.name == load("gpt-oss-20b").name
    same = point(model="gpt-oss 120B MXFP4 MoE", parameters=116.83e9, engine="llama.cpp")
    assert resolver.case(same)[1].model.name == load("gpt-oss-120b").name
    with pytest.raises(OtherModel, match="is not gpt-oss-120b, and not known"):
        resolver.case(point(model="mystery 3B Q8_0", parameters=3e9, engine="llama.cpp"))


def test_weights_are_guessed_as_explain_takes_them():
    def weights(**said):
        return Resolver(machine="h100-sxm").case(point(**said))[1].weights

    assert weights(model="llama-3.1-8b", engine="vllm") == "bf16"
    assert weights(model="neuralmagic/Meta-Llama-3.1-8B-Instruct-FP8", engine="vllm") == "fp8"
    assert "mxfp4" in weights(model="ggml-org/gpt-oss-20b-GGUF", engine="llama.cpp")
    with pytest.raises(InputError, match="give --weights"):
        weights(model="llama-3.1-8b", engine="llama.cpp")  # a GGUF of which type?


def test_quantised_products_of_llama_cpp_are_bytes():
    resolver = Resolver(model="llama-2-7b", machine="rtx-4090", weights="q4_0")
    _, case = resolver.case(point(engine="llama.cpp"))
    assert {used for used, _ in case.arithmetic.values()} >= {"int8"}
    _, plain = resolver.case(point(engine="vllm"))
    assert "int8" not in {used for used, _ in plain.arithmetic.values()}


TABLE = """
| model                  |      size |  params | backend | ngl |  test |          t/s |
| ---------------------- | --------: | ------: | ------- | --: | ----: | -----------: |
| llama 7B Q4_0          |  3.56 GiB |  6.74 B | CUDA    |  99 | tg128 | 120.0 ± 0.41 |
| mystery 3B Q4_0        |  1.70 GiB |  3.01 B | CUDA    |  99 | tg128 | 220.0 ± 0.41 |
"""


def test_rows_of_a_model_that_is_not_known_are_set_aside_in_a_sentence(tmp_path, capsys):
    path = tmp_path / "table.md"
    path.write_text(TABLE)
    asked = ["place", str(path), "--model", "llama-2-7b", "--on", "rtx-4090"]
    assert main(asked) == 0
    said = capsys.readouterr()
    assert "left out: 1 results of another model" in said.err
    assert "mystery 3B" in said.err
    assert main([*asked, "--json"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1
    only = tmp_path / "only.md"
    only.write_text("\n".join(line for line in TABLE.splitlines() if "llama" not in line))
    assert main(["place", str(only), *asked[2:]]) == 2
    assert "mystery 3B" in capsys.readouterr().err


def test_files_are_held_to_a_machine_by_its_figures(tmp_path, capsys):
    path = tmp_path / "table.md"
    path.write_text(TABLE)
    asked = ["place", str(path), "--model", "llama-2-7b", "--json"]
    assert main([*asked, "--bandwidth", "1TB/s", "--peak", "200TFLOP/s"]) == 0
    share = json.loads(capsys.readouterr().out)["share"]
    # 3.56 GiB and half a megabyte a token at 1 TB/s, 120 a second
    assert share == pytest.approx(120 * 3.78e9 / 1e12, rel=0.01)


@pytest.mark.parametrize(
    ("said", "model", "weights"),
    [
        ("Qwen/Qwen3-30B-A3B-MLX-8bit", "Qwen3-30B-A3B", "int8:64z (MLX)"),
        ("bartowski/Qwen2.5-7B-Instruct-GGUF:Q4_K_M", "Qwen2.5-7B", "q4_k_m"),
        ("RedHatAI/Qwen3-32B-NVFP4A16", "Qwen3-32B", "nvfp4 (compressed-tensors)"),
        ("turboderp/Llama-3.1-8B-Instruct-exl2-4.0bpw", "Llama-3.1-8B", "4 bits"),
    ],
)
def test_a_row_is_told_by_the_words_that_explain_knows(said, model, weights):
    row = point(model=said, machine="h100-sxm")
    _, case = Resolver().case(row)
    assert (case.model.name, case.parallel.devices) == (model, 1)
    assert case.weights.startswith(weights)
    assert Resolver(weights="bf16").case(row)[1].weights == "bf16"


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("someone/Llama-3.1-8B-Frobnicated", "--model"),
        ("bartowski/Qwen2.5-7B-Instruct-exl2", "--weights"),
    ],
)
def test_a_row_whose_name_leaves_something_open_asks_for_it(said, asked):
    with pytest.raises(RooflineError, match=asked):
        Resolver().case(point(model=said, machine="h100-sxm"))
