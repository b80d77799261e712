"""Each tool's real format in, the steps and seconds that it measured out."""

from __future__ import annotations

import json
import os

import pytest

from roofline import results
from roofline.count.group import Group
from roofline.errors import InputError
from roofline.points import Part, Point
from roofline.results import Incomplete, Reading
from roofline.results.reading import chunked, kept

SAMPLES = os.path.join(os.path.dirname(__file__), "samples")


def load(name: str) -> list[Reading | Point]:
    return list(results.read(os.path.join(SAMPLES, name)))


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
    # means of 10 running requests at 410 tokens/s, 5 % of 100,000 tokens of cache between them
    "vllm-server.log": [("token", 10, None, None, 10 / 410)],
    "vllm-server-v0.log": [("token", 3, None, None, 3 / 90)],
    "vllm-throughput.txt": [
        ("rate", None, 200, 250, 1.0),
        ("rate", None, 200, 250, 1.0),
    ],
    "vllm-latency.txt": [("run", 8, 32, 128, 1.25)],
    "sglang-server.log": [
        ("token", 2, None, None, 2 / 102),
        ("token", 4, None, None, 4 / 400),
        ("first", 2, 512, None, 1024 / 4096),
    ],
    # 4096 tokens/s × 0.5 s in 8 prompts; 1438.2 tokens/s × 1.78 s in all: 64 more of each
    "sglang-one-batch.txt": [("prefill", 8, 256, 64, 0.5), ("step", 8, 256, 64, 0.02)],
    "sglang-offline.txt": [("run", None, 512, 128, 8.0)],
    "llama-bench.sql": [("prefill", 1, 2048, None, 0.25), ("decode", 1, 512, 128, 8.0)],
    "llama-bench-old.md": [("prefill", 1, 512, None, 0.25), ("decode", 1, 0, 128, 4.0)],
    "llama-bench-vulkan.md": [("decode", 1, 0, 128, 1.28)],
    "llama-sweep-bench.md": [
        ("prefill", 1, 512, None, 1.6),
        ("decode", 1, 0, 128, 8.0),
        ("prefill", 1, 512, None, 2.0),
        ("decode", 1, 1024, 128, 9.0),
    ],
    "llama-sweep-bench.jsonl": [("prefill", 1, 512, None, 1.6), ("decode", 1, 512, 128, 8.0)],
    "llama-batched-bench-models.md": [
        ("prefill", 32, 512, None, 4.0),
        ("decode", 32, 512, 32, 1.6),
        ("prefill", 1, 2048, None, 0.5),
        ("prefill", 1, 1024, None, 1.0),
        ("decode", 4, 1024, 32, 2.0),
    ],
    # 1536 tokens/s × 4 s: the depth was computed with the prompt
    "llama-benchy.md": [
        ("first", 1, 2048, None, 1.0),
        ("token", 1, 2048, 32, 0.02),
        ("first", 1, 2048 + 4096, None, 4.0),
        ("token", 1, 2048 + 4096, 32, 0.025),
    ],
    # 4 × 1024 tokens, then 4 × 512 more after them: 2048 tokens/s × 1 s
    "llama-benchy-concurrent.md": [
        ("first", 4, 1024, None, 1.0),
        ("first", 4, 512, None, 1.0),
        ("token", 4, 512 + 1024, 128, 0.02),
    ],
    "llama-benchy.json": [("first", 2, 1024, None, 1.0), ("token", 2, 1024, 64, 0.02)],
    "ollama.jsonl": [("prefill", 1, 26, None, 0.13), ("decode", 1, 26, 300, 6.0)],
    "ollama-long.txt": [("prefill", 1, 10, None, 0.5), ("decode", 1, 10, 1000, 125.0)],
    "llama-server.json": [("prefill", 1, 28, None, 0.07), ("decode", 1, 264, 200, 2.0)],
    "llama-server-stream.txt": [("prefill", 1, 20, None, 0.4), ("decode", 1, 20, 100, 4.0)],
    "llama-server.log": [("prefill", 1, 20, None, 0.1), ("decode", 1, 1000, 200, 5.0)],
    "llama-cli-short.txt": [("token", 1, None, None, 0.04)],
    # 3 requests a second of 1 s each after their first token
    "llmperf.json": [("token", 3, 500, 101, 0.01)],
    # 10 times 1 s in 12 s, of which the first token takes no part; one after another: TTFT as well
    "llmperf-responses.json": [("token", 1, 500, 101, 0.01), ("first", 1, 500, 101, 0.2)],
    "lmdeploy-throughput.txt": [("token", 100, 240, 200, 100 / (1000 - 5))],
    "lmdeploy-generation.txt": [("token", 16, 128, 101, 0.02)],
    "lmdeploy-table.txt": [("token", (1000 - 5) * 0.05, 500, 200, 0.05)],
    "lmdeploy.csv": [("token", 128, 200, 250, 128 / (2500 - 10))],
    # (10,010 - 10) tokens/s × 17.6 ms
    "evalscope.txt": [("token", 176, 1024, 1001, 0.0176)],
    # (3.9 - 0.4) s × 1 request/s; 0.0099 s is only 1 over the rate
    "evalscope-old.txt": [("token", 3.5, 50, 101, 0.035)],
    "evalscope.json": [("token", 1, 1000, 1000, 0.025), ("first", 1, 1000, 1000, 0.02)],
    "evalscope-report.txt": [("token", 8, None, 201, 0.02)],
    # (12.3 - 2) s × 8 / 20 s
    "aisbench.txt": [("token", 4.12, 1500, 501, 0.0206)],
    "aisbench.json": [("run", 4.92, 1500, 501, 20.0)],
    "koboldcpp.txt": [
        ("prefill", 1, 1000, None, 1.0),
        ("decode", 1, 1020, 100, 5.0),
        ("prefill", 1, 80, None, 0.4),
        ("decode", 1, 554, 60, 3.0),
        ("prefill", 1, 1, None, 0.5),
        ("decode", 1, 3668, 100, 4.0),
    ],
    "koboldcpp-benchmark.txt": [("prefill", 1, 4096, None, 4.0), ("decode", 1, 4096, 100, 4.0)],
    "koboldcpp.csv": [("prefill", 1, 4096, None, 4.0), ("decode", 1, 4096, 100, 4.0)],
    "exllamav2.txt": [
        ("prefill", 1, 4096, None, 0.5),
        ("decode", 1, 1, 127, 1.0),
        ("decode", 1, 128, 128, 1.28),
    ],
    "exllamav3.txt": [
        ("prefill", 1, 256, None, 0.1),
        ("decode", 1, 0, 100, 2.0),
        ("decode", 1, 4096, 100, 2.5),
    ],
    "tabbyapi.log": [
        ("prefill", 1, 20, None, 0.1),
        ("decode", 1, 532, 120, 4.0),
        ("run", 1, 13, 28, 1.4),
    ],
    # 60 ms × 201 tokens less 2.1 s to the first: 9.96 s, 2 requests a second
    "jetstream.txt": [("token", 19.92, 200, 201, 9.96 / 200)],
    "jetstream.json": [("token", 19.92, 200, 201, 9.96 / 200)],
    # 3280 tokens/s of 1025 each
    "inferencex.json": [("token", 3280 * 1024 / 1025 * 0.0185, 1024, 1025, 0.0185)],
    "inferencex-row.json": [("token", 1023 * 0.025, 1024, 1024, 0.025)],
    "guidellm.yaml": [("token", (512 - 4) * 14.7e-3, 512, 128, 14.7e-3)],
    "ktransformers.log": [("prefill", 1, 100, None, 2.0), ("decode", 1, 100, 100, 8.0)],
    "mlperf-inferred.txt": [("rate", None, None, 69, 1.0)],
    # 10 requests a second that decode for 6 s
    "mlperf-interactive.txt": [("token", 60, None, 301, 0.02)],
    "mlperf-single.txt": [("token", 1, None, 101, 0.015)],
    "plain.csv": [("step", 1, None, None, 0.01), ("step", 8, None, None, 0.0125)],
    "plain-german.csv": [("token", 4, 512, 128, 4 / 250.5)],
    "plain.json": [("step", 4, None, None, 0.02), ("token", 2, 512, 128, 0.02)],
    "plain.md": [("step", 1, None, None, 0.001), ("step", 2, None, None, 0.01)],
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
    assert results.llama_bench.quantisation(text) == wanted


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
        list(results.read(path))
    assert says in str(refused.value) or "nested too deeply" in str(refused.value)
    assert path in str(refused.value)


def test_a_missing_file_is_one_sentence() -> None:
    with pytest.raises(InputError, match="No such file"):
        list(results.read("/nonexistent/x.json"))
