"""Each tool's real format in, the steps and seconds that it measured out."""

from __future__ import annotations

import json
import os

import pytest

from roofline.engines import importers
from roofline.engines.importers import Incomplete, Reading
from roofline.engines.importers.reading import chunked, kept
from roofline.errors import InputError
from roofline.points import Part, Point
from roofline.step import Group

SAMPLES = os.path.join(os.path.dirname(__file__), "samples")


def load(name: str) -> list[Reading | Point]:
    return list(importers.read(os.path.join(SAMPLES, name)))


def shape(reading: Reading) -> tuple[object, ...]:
    return (reading.kind, reading.batch, reading.prompt, reading.output, reading.seconds)


EXPECTED = {
    "llama-bench.json": [
        ("prefill", 1, 1024, None, 0.1),
        ("decode", 1, 512, 128, 0.8),
        ("run", 1, 512, 128, 0.85),
    ],
    "llama-bench.md": [
        ("prefill", 1, 512, None, 512 / 7340.20),
        ("decode", 1, 0, 128, 128 / 120.60),
        ("decode", 1, 4096, 128, 128 / 101.71),
        ("run", 1, 512, 128, 640 / 540.0),
    ],
    "llama-batched-bench.jsonl": [
        ("prefill", 1, 128, None, 0.05),
        ("decode", 1, 128, 64, 0.8),
        ("prefill", 8, 128, None, 0.3),
        ("decode", 8, 128, 64, 1.6),
        ("prefill", 1, 128, None, 0.05),
        ("decode", 8, 128, 64, 1.6),
    ],
    "llama-batched-bench.md": [
        ("prefill", 1, 128, None, 0.05),
        ("decode", 1, 128, 64, 0.8),
        ("prefill", 8, 128, None, 0.3),
        ("decode", 8, 128, 64, 1.6),
    ],
    # 1024 tok/s, 4 of them first ones, 28 ms between tokens of one: 28.6 requests decode together.
    "vllm-serve.json": [("token", (1024 - 4) * 0.028, 1024, 256, 0.028)],
    "vllm-serve.txt": [("token", (1024 - 4) * 0.028, 1024, 256, 0.028)],
    "vllm-throughput.json": [("run", None, None, None, 30.0)],
    "vllm-latency.json": [("run", None, None, None, 1.25)],
    "sglang-serving.jsonl": [("token", (512 - 12) * 0.029, 1024, 512, 0.029)],
    "sglang-one-batch.jsonl": [
        ("prefill", 8, 1024, None, 0.5),
        ("prefill", 8, 1024, None, 0.5),
        ("step", 8, 1024, 256, 0.012),
        ("token", 4, 1024, 17, 0.05),
    ],
    # each decodes for its latency less the first token's, 1000 of them in 11.6 s
    "trtllm.json": [("token", (1.0932 - 0.1627) * 1000 / 11.5557, 128, 128, 7.3272e-3)],
    "trtllm.txt": [("token", (1.0932284 - 0.1627) * 1000 / 11.5557, 128, 128, 7.3272e-3)],
    "guidellm.json": [("token", (512 - 4) * 14.7e-3, 512, 128, 14.7e-3)],
    "aiperf.json": [("token", (512 - 2) * 12.5e-3, 550, 256, 12.5e-3)],
    "aiperf.csv": [("token", (512 - 2) * 12.5e-3, 550, 256, 12.5e-3)],
    "gpt-fast.txt": [("run", 1, 6, 200, 200 / 104.71)],
    "mlx-generate.txt": [("prefill", 1, 12, None, 0.1), ("decode", 1, 12, 100, 101 / 50)],
    "mlx-benchmark.txt": [
        ("prefill", 4, 512, 128, 2048 / 1024),
        ("decode", 4, 512, 128, 512 / 200),
    ],
    "mlperf-server.txt": [("token", (9.3199475 - 0.2008499) * 86.41, None, 25000 / 86.41, 0.04)],
    "mlperf-offline.txt": [("rate", None, None, 294, 1.0)],
    "ollama.txt": [("prefill", 1, 26, None, 0.13), ("decode", 1, 26, 300, 6.0)],
    "llama-cli.txt": [("prefill", 1, 20, None, 0.4), ("decode", 1, 20, 100, 4.0)],
}


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_each_format(name: str) -> None:
    found = [shape(reading) for reading in load(name) if isinstance(reading, Reading)]
    expected = EXPECTED[name]
    assert len(found) == len(expected)
    for got, want in zip(found, expected, strict=True):
        assert got[0] == want[0]
        for value, wanted in zip(got[1:], want[1:], strict=True):
            assert (value is None) == (wanted is None)
            if wanted is not None:
                assert value == pytest.approx(wanted)


def test_every_sample_is_expected() -> None:
    same_rows = {"llama-bench.jsonl", "llama-bench.csv"}
    assert set(os.listdir(SAMPLES)) == EXPECTED.keys() | same_rows


def test_llama_bench_says_the_same_in_json_jsonl_and_csv() -> None:
    as_json, as_jsonl, as_csv = (load(f"llama-bench.{end}") for end in ("json", "jsonl", "csv"))
    for one, two, three in zip(as_json, as_jsonl, as_csv, strict=True):
        assert isinstance(one, Reading) and isinstance(two, Reading) and isinstance(three, Reading)
        assert shape(one) == shape(two) == shape(three)
        for field in ("weights", "kv", "weight_bytes", "model", "spread", "machine", "chunk"):
            assert getattr(one, field) == getattr(two, field) == getattr(three, field)


def test_llama_bench_carries_what_the_file_knows() -> None:
    first, second, third = load("llama-bench.json")
    assert isinstance(first, Reading) and isinstance(second, Reading) and isinstance(third, Reading)
    assert (first.weights, first.kv, first.weight_bytes) == ("q4_0", "fp16", 3825065984)
    assert first.machine == "NVIDIA GeForce RTX 4090"
    assert first.best == pytest.approx(0.099)
    assert first.samples == 3
    assert third.kv == "q8_0"
    assert third.extra["a_future_field"] == {"x": 1}
    point = second.point()
    assert point.parts == (Part((Group(1, 1, 512),), 128, True),)
    assert point.context == 512 + 64.5
    assert point.tokens_per_s == pytest.approx(160)
    assert first.point().parts == (Part((Group(1, 512, 0),), 1), Part((Group(1, 512, 512),), 1))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("llama 8B Q4_K - Medium", "q4_k_m"),
        ("llama 8B Q4_K - Small", "q4_k_s"),
        ("llama 7B mostly Q4_0", "q4_0"),
        ("qwen2 7B all F32", "fp32"),
        ("llama 8B F16", "fp16"),
        ("llama 8B BF16", "bf16"),
        ("qwen3moe 30B.A3B IQ4_XS - 4.25 bpw", "iq4_xs"),
        ("gpt-oss 20B MXFP4 MoE", "mxfp4"),
        ("llama 8B Q6_K", "q6_k"),
        ("no format here", None),
    ],
)
def test_quantisation_of_a_description(text: str, wanted: str | None) -> None:
    assert importers.llama_bench.quantisation(text) == wanted


def test_what_a_file_does_not_say_is_asked_for_by_option() -> None:
    (reading,) = load("vllm-latency.json")
    assert isinstance(reading, Reading)
    with pytest.raises(Incomplete) as missing:
        reading.point()
    assert missing.value.options == ("--batch", "--prompt", "--output")
    assert "give --batch --prompt --output" in str(missing.value)
    answered = reading.with_answers(batch=8, prompt=32, output=128)
    point = answered.point()
    assert point.basis == "run"
    assert point.parts[0] == Part((Group(8, 32, 0),), 1.0)
    assert point.parts[1].count == 127
    assert point.tokens == 8 * 128


def test_an_answer_never_overrides_the_file() -> None:
    reading = load("llama-bench.json")[1]
    assert isinstance(reading, Reading)
    assert reading.with_answers(batch=64, output=9).batch == 1
    assert reading.with_answers(output=9).output == 128


def test_speculation_counts_steps_not_tokens() -> None:
    (reading,) = load("sglang-serving.jsonl")
    assert isinstance(reading, Reading)
    assert reading.accept == 2.4
    (part,) = reading.point().parts
    assert part.count == pytest.approx(1 / 2.4)
    assert part.groups[0].new_tokens == 2  # at least: the drafted length is not in the file


def test_a_server_point_is_marked_as_an_average() -> None:
    (reading,) = load("vllm-serve.json")
    assert isinstance(reading, Reading)
    point = reading.point()
    assert point.basis == "token"
    assert point.batch == 29
    assert point.context == 1024 + 128 + 1
    assert point.seconds.spread == pytest.approx(1.4 / 28)


def test_keys_and_passwords_are_not_kept() -> None:
    for name in ("guidellm.json", "aiperf.json"):
        for reading in load(name):
            assert isinstance(reading, Reading)
            assert "sk-never" not in json.dumps(reading.point().to_json())
    own = {"a": [{"API-Key": "x", "b": 1}], "Authorization": "y", "token": 3, "n": float("inf")}
    assert kept(own) == {"a": [{"b": 1}], "token": 3, "n": "inf"}


def test_an_invalid_mlperf_run_says_so() -> None:
    (reading,) = load("mlperf-offline.txt")
    assert isinstance(reading, Reading)
    assert reading.notes == ("invalid-run",)


@pytest.mark.parametrize(
    ("batch", "prompt", "depth", "chunk"),
    [(1, 512, 0, 512), (8, 128, 0, 512), (3, 300, 7, 512), (5, 1000, 0, 512), (1, 4096, 0, 512)],
)
def test_chunks_hold_every_token_and_no_step_is_too_long(
    batch: int, prompt: int, depth: int, chunk: int
) -> None:
    parts = chunked(batch, prompt, depth, chunk)
    assert sum(part.tokens for part in parts) == batch * prompt
    assert sum(part.count for part in parts) == -(-batch * prompt // chunk)
    for part in parts:
        assert sum(group.batch * group.new_tokens for group in part.groups) <= chunk


def test_a_prefill_of_millions_of_chunks_stays_small() -> None:
    parts = chunked(4096, 100_003, 0, 512)
    assert len(parts) == 1
    assert parts[0].count == -(-4096 * 100_003 // 512)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "no results in it that are known"),
        ("hello\nworld\n", "no results in it that are known"),
        ('{"a": 1}', "of no known format (its fields: a)"),
        ("[1, 2]", "JSON, but not of objects"),
        ('{"a": ', "not JSON"),
        ('{"n_prompt": 0, "n_gen": 0, "avg_ns": 5}', "nothing was measured"),
        ('{"n_prompt": 5, "n_gen": 0, "avg_ns": "x"}', "avg_ns is 'x', not a number"),
        ('{"n_prompt": 5, "n_gen": 0, "avg_ns": [1]}', "avg_ns is [1], not a number"),
        ('{"n_prompt": 5, "n_gen": 0, "avg_ts": -1}', "avg_ts is -1, it must be above 0"),
        ("| model | test | t/s |\n|-|-|-|\n| a | xy9 | 5 |\n", "test is 'xy9'"),
        ("| model | test | t/s |\n|-|-|-|\n| a | tg9 | x |\n", "'x' is not a number"),
        ("[" * 100_000, "not JSON"),
        ('{"a":' * 5_000 + "1" + "}" * 5_000, "known"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(
    tmp_path: object, content: str, says: str
) -> None:
    path = os.path.join(str(tmp_path), "file")
    with open(path, "w") as file:
        file.write(content)
    with pytest.raises(InputError) as refused:
        list(importers.read(path))
    assert says in str(refused.value) or "nested too deeply" in str(refused.value)
    assert path in str(refused.value)


def test_a_missing_file_is_one_sentence() -> None:
    with pytest.raises(InputError, match="No such file"):
        list(importers.read("/nonexistent/x.json"))
