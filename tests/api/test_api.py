"""The functions for Python: what they take and refuse, and that they say what the command says."""

from __future__ import annotations

import doctest
import inspect
import json
import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import roofline
from roofline.api import bench, measure, place, predict, sweep
from roofline.bound import explanation
from roofline.cli import main
from roofline.spelled import KINDS, OTHERS, as_keywords

FUNCTIONS = [
    roofline.bench, roofline.explain, roofline.measure, roofline.place, roofline.plot,
    roofline.predict, roofline.sweep,
]  # fmt: skip
ROOT = Path(__file__).parents[2]
SAMPLE = str(ROOT / "tests" / "results" / "samples" / "llama-bench-old.md")


def command(capsys: pytest.CaptureFixture[str], line: str) -> str:
    assert main(shlex.split(line)) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("module", [bench, explanation, measure, place, predict, sweep])
def test_the_examples_in_docstrings_are_true(module: Any) -> None:
    names = {f.__name__: f for f in FUNCTIONS} | {"Step": roofline.Step}
    flags = doctest.ELLIPSIS
    found = doctest.DocTestFinder(exclude_empty=True).find(module, extraglobs=names)
    for test in found:
        result = doctest.DocTestRunner(optionflags=flags).run(test)
        assert result.failed == 0, test.name


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_every_keyword_is_typed_checked_and_documented(function: Callable[..., Any]) -> None:
    signature = inspect.signature(function)
    text = function.__doc__ or ""
    for name, parameter in signature.parameters.items():
        assert parameter.kind is not parameter.VAR_KEYWORD, name
        assert parameter.annotation is not parameter.empty, name
        assert name in KINDS or name == "ax", f"{name} is checked by nothing"
        assert re.search(rf"\b{name}\b", text), f"{function.__name__}: {name} is not documented"
    assert "Raises:" in text


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_typo_names_the_nearest_keyword(function: Callable[..., Any]) -> None:
    for name in inspect.signature(function).parameters:
        wrong = name + "x"
        near = rf"takes no '{wrong}'; did you mean '\w+'\?|it takes .*\b{name}\b"
        with pytest.raises(TypeError, match=near):
            function(**{wrong: 1})


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_value_of_another_kind_is_said(function: Callable[..., Any]) -> None:
    given = {"model": "llama-3.1-8b", "machine": "h100-sxm", "models": "m", "machines": "m"}
    parameters = inspect.signature(function).parameters
    for name in parameters:
        if name == "ax":
            continue
        values = {n: v for n, v in given.items() if n in parameters} | {name: 1j}
        with pytest.raises(TypeError, match=rf"{function.__name__}\(\): {name} is .*not 1j"):
            function(**values)


def test_what_others_call_it_is_understood() -> None:
    taken = {n for f in FUNCTIONS for n in inspect.signature(f).parameters}
    assert set(OTHERS.values()) <= taken
    with pytest.raises(TypeError, match="takes no 'quantization'; did you mean 'weights'"):
        roofline.explain("llama-3.1-8b", "h100-sxm", quantization="fp8")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="takes no 'tp'; did you mean 'parallel'"):
        roofline.explain("llama-3.1-8b", "h100-sxm", tp=8)  # type: ignore[call-arg]


def test_a_message_speaks_of_keywords() -> None:
    with pytest.raises(roofline.InputError, match="give also model weights machine"):
        roofline.place(tokens_per_s=65)
    with pytest.raises(roofline.InputError, match="give either concurrency or rate"):
        roofline.predict("llama-3.1-8b", "h100-sxm", concurrency=1, rate=1)
    said = as_keywords("--link-latency, --as; 'roofline place --on M'; a--b, --")
    assert said == "latency, as_type; 'roofline place --on M'; a--b, --"


def test_explain_is_what_the_command_says(capsys: pytest.CaptureFixture[str]) -> None:
    options = "--batch 8 --context 4k --weights fp8 --kv fp8 --tp 2 --usable 0.8"
    said = json.loads(command(capsys, f"explain qwen3-8b --on h100-sxm {options} --json"))
    layout = roofline.Parallel(tp=2)
    found = roofline.explain(
        "qwen3-8b", "h100-sxm", batch=8, context=4096, weights="fp8", kv="fp8", parallel=layout,
        usable=0.8,
    )  # fmt: skip
    assert json.loads(json.dumps(found.to_json())) == said
    step = roofline.Step.decode(8, 4096)
    model, machine = roofline.load_model("qwen3-8b"), roofline.load_machine("h100-sxm")
    again = roofline.explain(
        model, machine, step, weights="fp8", kv="fp8", parallel=layout, usable=0.8
    )
    assert again.to_json() == found.to_json()
    names = [op["name"] for op in said["operators"]]
    assert [row["name"] for row in found.rows()] == names


def test_a_step_and_a_batch_are_not_both_given() -> None:
    step = roofline.Step.decode(8, 4096)
    for function in (roofline.explain, roofline.predict):
        with pytest.raises(roofline.InputError, match="either a step or"):
            function("qwen3-8b", "h100-sxm", step, batch=8)  # type: ignore[operator]
    encoded = roofline.explain("bert-base", "h100-sxm", batch=4, context=128).step
    assert encoded == roofline.Step.encode(4, 128)


def test_sweep_is_what_the_command_says(capsys: pytest.CaptureFixture[str]) -> None:
    options = "--batch 1,8,500 --context 1k,8k --weights bf16,int4 --tp 1,2,3 --format jsonl"
    line = f"sweep llama-3.1-8b qwen3-8b --on h100-sxm rtx-4090 {options}"
    said = [json.loads(row) for row in command(capsys, line).splitlines()]
    found = roofline.sweep(
        ["llama-3.1-8b", "qwen3-8b"], ["h100-sxm", "rtx-4090"], batch=[1, 8, 500],
        context=[1024, 8192], weights=["bf16", "int4"],
        parallel=[None, *(roofline.Parallel(tp=n) for n in (2, 3))],
    )  # fmt: skip
    assert len(found.rows()) == len(said) == 96
    for row, other in zip(found.rows(), said, strict=True):
        assert row.keys() == other.keys()
        for name, value in row.items():
            close = isinstance(value, float)
            assert other[name] == (pytest.approx(value, rel=1e-8) if close else value), name
    assert len(found.left_out) == 8 and "3" in found.left_out[0]
    with pytest.raises(roofline.InputError, match="empty"):
        roofline.sweep([], "h100-sxm")
    with pytest.raises(roofline.InputError, match="batch must be whole numbers from 1"):
        roofline.sweep("qwen3-8b", "h100-sxm", batch=[1, -5])
    assert len(roofline.sweep("qwen3-8b", "h100-sxm", batch=range(1, 100_001)).rows()) == 100_000


@pytest.mark.parametrize(
    ("options", "given"),
    [
        ("--batch 4 --context 4k", {"batch": 4, "context": 4096}),
        ("--batch 4 --prompt 512 --output 64", {"batch": 4, "prompt": 512, "output": 64}),
        ("--concurrency 32", {"concurrency": 32}),
        ("--concurrency 9 --prompt 1k:2k", {"concurrency": 9, "prompt": (1024, 2048)}),
        (
            "--rate 2.5 --chunk 2k --max-batch 64 --output 100:300",
            {"rate": 2.5, "chunk": 2048, "max_batch": 64, "output": (100, 300)},
        ),
    ],
)
def test_predict_is_what_the_command_says(
    capsys: pytest.CaptureFixture[str], options: str, given: dict[str, Any]
) -> None:
    said = command(capsys, f"predict llama-3.1-8b --on h100-sxm --engine vllm {options} --json")
    found = roofline.predict("llama-3.1-8b", "h100-sxm", engine="vllm", **given)
    assert json.loads(json.dumps(found.to_json())) == json.loads(said)
    (row,) = found.rows()
    assert row["tokens_per_s"] == found.tokens_per_s.value


def test_lengths_are_pairs_or_a_file(tmp_path: Path) -> None:
    path = tmp_path / "seen.csv"
    path.write_text("100,40\n2000,20\n")
    ask = {"concurrency": 4, "weights": "fp8"}
    one = roofline.predict("llama-3.1-8b", "h100-sxm", lengths=path, **ask)  # type: ignore[arg-type]
    other = roofline.predict("llama-3.1-8b", "h100-sxm", lengths=[(100, 40), (2000, 20)], **ask)  # type: ignore[arg-type]
    assert one.to_json() == other.to_json()
    for wrong in ([], [(1,)], [(1, 0)], ["12"], [(1.5, 2)]):
        with pytest.raises(roofline.InputError, match="lengths"):
            roofline.predict("llama-3.1-8b", "h100-sxm", lengths=wrong, rate=1)  # type: ignore[arg-type]


def test_place_is_what_the_command_says(capsys: pytest.CaptureFixture[str]) -> None:
    said = command(capsys, f"place {SAMPLE} --on rtx-4090 --json").splitlines()
    found = roofline.place(SAMPLE, machine="rtx-4090")
    assert json.loads(json.dumps(found.to_json())) == [json.loads(line) for line in said]
    assert len(found) == len(found.rows()) == 2 and "RTX 4090" in str(found)
    points = [item.point for item, _ in found]
    assert roofline.place(points, machine="rtx-4090").rows() == found.rows()
    typed = "--model llama-2-7b --weights fp16 --on rtx-4090 --tokens-per-s 65 --context 512"
    said = command(capsys, f"place {typed} --json")
    model, machine = roofline.load_model("llama-2-7b"), roofline.load_machine("rtx-4090")
    one = roofline.place(model=model, weights="fp16", machine=machine, tokens_per_s=65, context=512)
    assert one.to_json()[0]["share"] == json.loads(said)["share"]
    with pytest.raises(roofline.InputError, match="paths or Points"):
        roofline.place([3])  # type: ignore[list-item]


def test_results_go_to_pandas_in_one_call() -> None:
    pandas = pytest.importorskip("pandas")
    machine = roofline.load_machine("h100-sxm")
    results = [
        roofline.explain("qwen3-8b", machine),
        roofline.sweep("qwen3-8b", machine, batch=[1, 2]),
        roofline.predict("qwen3-8b", machine),
        roofline.place(model="qwen3-8b", weights="bf16", machine=machine, tokens_per_s=100),
        machine,
    ]
    for result in results:
        frame = result.to_pandas()
        assert isinstance(frame, pandas.DataFrame) and len(frame) == len(result.rows()) > 0
        assert list(frame.columns) == list(result.rows()[0])


def test_without_pandas_the_command_that_brings_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(roofline.MissingExtra, match=r"pip install .*pandas"):
        roofline.load_machine("h100-sxm").to_pandas()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_of_the_documents_names_and_runs_everything(
    language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / "docs" / language / "api.md").read_text(encoding="utf-8")
    for name in roofline.__all__:
        assert re.search(rf"`[^`\n]*\b{name}\b", text), f"{name} is not on the page"
    for function in FUNCTIONS:
        part = text.split(f"## `roofline.{function.__name__}`")[1].split("\n## ")[0]
        for name in inspect.signature(function).parameters:
            assert f"`{name}`" in part, f"{function.__name__}: {name} is not on the page"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ROOFLINE_HOME", str(tmp_path))
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        if (
            "bench(" in block or "measure(" in block
        ):  # they time this machine: tests/engines run them
            compile(block, language, "exec")
            continue
        exec(compile(block, language, "exec"), names)
    assert not [f for f in os.listdir(tmp_path) if not f.endswith((".csv", ".svg", ".png"))]


@pytest.mark.alone
def test_measure_and_bench_answer(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    out = tmp_path / "machine.json"
    found = roofline.measure("cpu", seconds=2, force=True, out=out)
    assert found.path == str(out) and found.rows() and found.machine.prefers == "measured"
    assert roofline.explain("smollm2-135m", out).case.roof.kind == "measured"
    heard: list[Any] = []
    placed = roofline.bench(
        "smollm2-135m", engine="llamacpp", layers=2, batch=[1, 2], prompt=0, seconds=0.2,
        out=tmp_path / "points.jsonl", tell=heard.append,
    )  # fmt: skip
    assert len(placed) == 2 and heard
    assert [row["batch"] for row in placed.rows()] == [1, 2]
    assert len(roofline.place(tmp_path / "points.jsonl", model="smollm2-135m")) == 2


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda: roofline.load_model(3), TypeError, "name is a model's name or a path"),
        (lambda: roofline.load_machine(None), TypeError, "name is a machine's name"),
        (lambda: roofline.given(bandwidth="1TB/s", peak=1e14), TypeError, "bandwidth is bytes/s"),
        (lambda: roofline.given(bandwith=1e12), TypeError, "did you mean 'bandwidth'"),
        (lambda: placed_at(tokens_per_s=-5), roofline.InputError, "tokens_per_s must be"),
        (lambda: placed_at(tokens_per_s=float("nan")), roofline.InputError, "not nan"),
        (lambda: placed_at(seconds=0), roofline.InputError, "seconds must be"),
        (lambda: placed_at(achieved=-1.0), roofline.InputError, "achieved must be"),
        (lambda: roofline.bench("qwen3-0.6b", engine="vllm"), roofline.InputError, "no engine 'vl"),
        (lambda: roofline.bench("qwen3-0.6b", batch=[0]), roofline.InputError, "batch must be"),
        (lambda: roofline.predict("qwen3-8b", "l4", output=-3), roofline.InputError, "output must"),
        (lambda: roofline.measure("cpu", mode="slow"), roofline.InputError, "quick, standard"),
        (lambda: roofline.sweep("qwen3-8b", "l4", batch=range(0)), roofline.InputError, "empty"),
    ],
)
def test_what_cannot_be_is_said(call: Callable[[], Any], error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=re.escape(told)):
        call()


def placed_at(**given: Any) -> Any:
    return roofline.place(model="qwen3-8b", machine="l4", weights="fp8", **given)


def test_paths_and_numpy_are_taken(tmp_path: Path) -> None:
    np = pytest.importorskip("numpy")
    path = tmp_path / "config.json"
    config = {
        "model_type": "llama", "hidden_size": 256, "num_hidden_layers": 2, "vocab_size": 1000,
        "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 512,
        "torch_dtype": "bfloat16",
    }  # fmt: skip
    path.write_text(json.dumps(config))
    one = roofline.explain(roofline.load_model(path), "l4", batch=np.int32(4))
    assert one.to_json() == roofline.explain(path, "l4", batch=4).to_json()
    machines = (name for name in ("l4", "h100-sxm"))
    found = roofline.sweep(path, machines, batch=np.array([1, 2]), context=np.int64(4096))
    assert len(found.rows()) == 4
