"""What of somebody else's file goes on: numbers, and how it ran. No key, wherever it stands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from roofline import results
from roofline.cli import main
from roofline.points.foreign import clean, kept, shared

SECRET = "Zx81QvT7pLm2Rk9WsC4e"
PLANTED: dict[str, Any] = {
    "api_key": SECRET,
    "API-Key": SECRET,
    "OPENAI_API_KEY": SECRET,
    "headers": {"Authorization": f"Bearer {SECRET}", "Cookie": f"session={SECRET}"},
    "header list": ["Accept: */*", f"Authorization: Bearer {SECRET}"],
    "extra_headers": [["x-custom", SECRET]],
    "cookies": [{"name": "sid", "value": SECRET}],
    "token": SECRET,
    "hf": f"hf_{SECRET}",
    "command": f"vllm bench serve --api-key {SECRET} --model x",
    "argv": ["bench", "--token", SECRET],
    "env": {"PATH": "/bin", "ANYTHING": SECRET},
    "base_url": f"https://me:{SECRET}@host/v1",
    "endpoint": f"me:{SECRET}@host:8000",
    "url": f"https://host/v1?key={SECRET}",
    "notes": f"the key is {SECRET}",
    SECRET: 1,
    f"https://{SECRET}": {"x": 1},
    "deep": {"a": [{"b": {"password": SECRET, "c": [SECRET, 3]}}]},
    "jwt": f"eyJhbGciOi.{SECRET}.{SECRET}",
    "backend": f"vllm --api-key {SECRET}",
    "dataset_name": f"https://me:{SECRET}@host/data.json",
    "gpu_info": f"key={SECRET}",
    "device": {"name": {"token": SECRET}},
    "mode": f"Bearer {SECRET}",
    "test": f"AKIA{SECRET.upper()}",
    "label": SECRET,
    "status": f"sk-proj-{SECRET}",
    "session_id": 123456789,
    "pin": "4929123412341234",
}


def assert_none(text: str) -> None:
    low = text.lower()
    for i in range(len(SECRET) - 8):
        assert SECRET[i : i + 8].lower() not in low, text


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_secret_does_not_stay(name: str) -> None:
    found = kept({name: PLANTED[name], "request_throughput": 3.5})
    assert_none(json.dumps(found))
    assert "123456789" not in json.dumps(found)
    assert "4929123412341234" not in json.dumps(found)
    assert found["request_throughput"] == 3.5


VLLM = {
    "date": "20260101-120000", "backend": "vllm", "model_id": "meta-llama/Llama-3.1-8B",
    "tokenizer_id": "meta-llama/Llama-3.1-8B", "num_prompts": 100, "request_rate": "inf",
    "max_concurrency": 8, "duration": 20.0, "completed": 100, "total_input_tokens": 12800,
    "total_output_tokens": 12800, "request_throughput": 5.0, "output_throughput": 640.0,
    "total_token_throughput": 1280.0, "mean_ttft_ms": 50.0, "median_ttft_ms": 50.0,
    "std_ttft_ms": 1.0, "p99_ttft_ms": 60.0, "mean_tpot_ms": 12.0, "median_tpot_ms": 12.0,
    "std_tpot_ms": 0.1, "p99_tpot_ms": 13.0, "mean_itl_ms": 12.0, "median_itl_ms": 12.0,
    "std_itl_ms": 0.1, "p99_itl_ms": 13.0,
}  # fmt: skip
LLAMA = {
    "build_commit": "abc1234", "cpu_info": "AMD EPYC", "gpu_info": "NVIDIA A10", "backends": "CUDA",
    "model_filename": "llama-3.2-1b-q4_k_m.gguf", "model_type": "llama 1B Q4_K - Medium",
    "model_size": 800000000, "model_n_params": 1235814432, "n_batch": 2048, "n_ubatch": 512,
    "n_threads": 8, "n_gpu_layers": 99, "n_prompt": 0, "n_gen": 128, "n_depth": 0,
    "test_time": "2026-01-01T00:00:00Z", "avg_ns": 640000000, "stddev_ns": 1000, "avg_ts": 200.0,
    "stddev_ts": 0.3,
}  # fmt: skip


@pytest.mark.parametrize("record", [VLLM, LLAMA])
def test_place_and_points_carry_no_secret_of_a_result_file(
    record: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "result.json"
    free = {name: value for name, value in PLANTED.items() if name not in record}
    path.write_text(json.dumps(record | free))
    found = list(results.points([str(path)], {}))
    assert found
    for point in found:
        assert_none(json.dumps(point.to_json()))
    assert main(f"place {path} --model llama-3.2-1b --on a10 --json".split()) == 0
    out = capsys.readouterr().out
    assert_none(out)
    said = json.loads(out.splitlines()[0])["point"]
    assert said["extra"]


def test_what_says_how_it_ran_stays() -> None:
    record = {
        "backend": "vllm", "Dataset Name": "sharegpt", "burstiness": 1.0, "request_rate": "inf",
        "p99_tpot_ms": 13.2, "quantization": "fp8", "Token generation (tok/s)": "1,234.5",
        "kv": {"cache": {"hits": 3}}, "list": [1, 2], "flash_attn": True,
        "gpu_info": "NVIDIA H100 80GB HBM3", "build_commit": "b5002a1", "size": "4.7 GiB",
    }  # fmt: skip
    assert kept(record) == record


def test_texts_are_bounded_and_on_one_line() -> None:
    found = kept({"backend": "a\nat best 9999 tokens/s\x1b[2J" + "x y " * 300, "a\nb": 1,
                  "n": float("inf"), "m": 10**400})  # fmt: skip
    assert found["backend"].isprintable()
    assert len(found["backend"]) == 201
    assert set(found) == {"backend", "n"}
    assert found["n"] == "inf"
    deep: Any = 1
    for _ in range(5000):
        deep = [deep]
    assert kept({"a": deep}) == {}


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"https://me:{SECRET}@host/llama-3", "https://host/llama-3"),
        (f"https://host/llama-3?sig={SECRET}&x=1", "https://host/llama-3"),
        (f"llama --api-key {SECRET}", "llama ***"),
        ("/models/snapshots/5f0b02c75b57c5855da9ae460ce51323ea669d8a",) * 2,
        ("unsloth/Llama-3.2-1B-Instruct-bnb-4bit",) * 2,
        ("NVIDIA GeForce RTX 4090 (24 GB)",) * 2,
    ],
)
def test_names_of_models_and_machines_stay_but_for_keys(text: str, left: str) -> None:
    assert clean(text) == left


def test_an_engines_name_is_cleaned_too(tmp_path: Path) -> None:
    path = tmp_path / "mlperf_log_summary.txt"
    name = f"sut\0 --api-key {SECRET}"
    path.write_text(f"MLPerf Results Summary\nSUT name : {name}\nScenario : Offline\n"
                    "Samples per second: 84.4\nTokens per second: 24524.9\n")  # fmt: skip
    (reading,) = results.read(str(path))
    point = reading.with_answers(prompt=294).point()
    assert point.engine == "sut  ***"
    assert_none(json.dumps(shared({"engine": name})))


def test_a_page_gets_no_address_and_no_secret(tmp_path: Path) -> None:
    """Points of an earlier version hold the server's address; a page is published."""
    line = {
        "schema": "roofline.points/1", "model": "llama-3.2-1b", "machine": "a10", "weights": "bf16",
        "parts": [{"count": 1, "grows": False,
                   "groups": [{"batch": 1, "new_tokens": 1, "past": 99}]}],
        "seconds": {"median": 0.01}, "from_the_future": {"password": SECRET, "x": 1},
        "settings": {"device": "server", "url": "http://inner-host:8000", "note": SECRET},
    }  # fmt: skip
    found = shared(line)
    assert found["settings"] == {"device": "server"}
    path, page = tmp_path / "points.jsonl", tmp_path / "page.html"
    path.write_text(json.dumps(line) + "\n")
    assert main(f"page llama-3.2-1b --on a10 --points {path} -o {page}".split()) == 0
    text = page.read_text()
    assert "inner-host" not in text
    assert_none(text)
