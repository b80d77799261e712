"""Rates are rates: what a second does, whatever the batch; batches by Little's law."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from roofline.cli import main

LINE = "Throughput: 7.77 requests/s, 3259.16 total tokens/s, 1569.15 output tokens/s"
VLLM = "--model qwen2.5-7b --weights bf16 --on mi100"

OFFLINE = """================================================
MLPerf Results Summary
================================================
SUT name : some-sut
Scenario : Offline
Mode     : PerformanceOnly
Samples per second: 84.4792
Tokens per second: 24524.9
Result is : VALID
"""
MLPERF = "--model llama-2-70b --weights fp8 --kv fp8 --on h100-sxm --dp 8 --prompt 294"

SERVED = """============ Serving Benchmark Result ============
Successful requests:                     1000
Benchmark duration (s):                  33.94
Total input tokens:                      215312
Total generated tokens:                  197922
Output token throughput (tok/s):         5831.00
Mean TTFT (ms):                          6173.79
Mean TPOT (ms):                          149.48
{more}==================================================
"""
GPT = "--model gpt-oss-20b --weights mxfp4 --on h100-sxm --tp 2"


def placed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, options: str
) -> list[dict[str, Any]]:
    path = tmp_path / "result.txt"
    path.write_text(text)
    assert main(["place", str(path), *options.split(), "--json"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize(
    ("line", "options"),
    [
        (LINE, "--batch 256"),
        ("Throughput: 7.77 requests/s, 3259.16 tokens/s", "--batch 256 --prompt 218"),
        ("Throughput: 7.77 requests/s, 3259.16 tokens/s", "--batch 256 --output 202"),
        ("Throughput: 7.77 requests/s", "--batch 256 --prompt 218 --output 202"),
    ],
)
def test_a_rate_is_what_one_second_does(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, line: str, options: str
) -> None:
    (data,) = placed(capsys, tmp_path, line, f"{VLLM} {options}")
    assert data["share"] == pytest.approx(0.48, abs=0.01)
    assert data["share_is"] == "at least"
    assert data["achieved"]["tokens_per_s"] == pytest.approx(1569, rel=0.01)
    run = {"elapsed_time": 128.7, "num_requests": 1000, "total_num_tokens": 419454}
    (same,) = placed(capsys, tmp_path, json.dumps(run), f"{VLLM} --batch 256 --prompt 218")
    assert same["share"] == pytest.approx(data["share"], abs=0.01)


def test_a_length_at_odds_with_the_sum_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "line.txt"
    path.write_text("Throughput: 7.77 requests/s, 3259.16 tokens/s")
    assert main(["place", str(path), *VLLM.split(), "--prompt", "500"]) == 2
    assert "a request has 419.454 tokens" in capsys.readouterr().err
    assert main(["place", str(path), *VLLM.split()]) == 2
    assert "give --prompt --output" in capsys.readouterr().err


def test_mlperf_offline_is_held_against_its_samples_a_second(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (data,) = placed(capsys, tmp_path, OFFLINE, f"{MLPERF} --batch 2048")
    # every token of prompt and answer passes all 68.45e9 weights of the matrices once, on 8 cards
    flops = (84.48 * 294 + 24525) * 2 * 68.45e9
    assert 8 * data["flops"] == pytest.approx(flops, rel=0.03)
    assert data["bound"]["compute_s"] == pytest.approx(flops / 15.83e15, abs=0.015)
    assert data["share"] == pytest.approx(0.53, abs=0.01)


def test_a_rate_without_a_batch_is_held_against_any(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (data,) = placed(capsys, tmp_path, OFFLINE, MLPERF)
    assert data["share"] == pytest.approx(0.44, abs=0.01)  # the arithmetic, with attention's
    assert data["verdict"]["code"] == "kernel"
    for batch in (8, 512, 8192):
        (said,) = placed(capsys, tmp_path, OFFLINE, f"{MLPERF} --batch {batch}")
        assert said["share"] >= data["share"] - 1e-9


def running(data: dict[str, Any]) -> int:
    return int(data["point"]["parts"][0]["groups"][0]["batch"])


def test_a_mean_over_tokens_gives_the_running_batch(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = SERVED.format(more="Mean ITL (ms):                           63.93\n")
    (data,) = placed(capsys, tmp_path, text, GPT)
    assert running(data) == 371  # 63.93 ms × (197922 - 1000) / 33.94 s
    assert data["point"]["seconds"]["median"] == pytest.approx(0.06393)
    assert data["point"]["notes"] == ["batch-from-itl"]


def test_the_mean_latency_gives_it_too(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = SERVED.format(more="Mean E2EL (ms):                          18762.80\n")
    (data,) = placed(capsys, tmp_path, text, GPT)
    assert running(data) == round((18.7628 - 6.17379) * 1000 / 33.94)
    assert data["point"]["notes"] == ["batch-from-latency"]


def test_a_mean_over_requests_gives_no_more_than_were_open(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = SERVED.format(more="Maximum request concurrency:             512\n")
    (data,) = placed(capsys, tmp_path, text, GPT)
    assert running(data) == 512  # 149.48 ms × 197922 / 33.94 s would be 872
    (data,) = placed(capsys, tmp_path, SERVED.format(more=""), GPT)
    assert data["point"]["notes"] == ["batch-from-tpot"]
