"""What people really handed over, placed: each share as worked out by hand beside the files."""

from __future__ import annotations

import json

import pytest

from roofline.cli import main

# File and options → of each row that counts: phase, batch, share by hand, verdict where it matters.
CASES = {
    "vllm-throughput-line/input.txt --model qwen2.5-7b --weights bf16 --on mi100 --batch 256":
        [("run", 256, 0.48, None)],
    "mlperf-offline/offline.txt --model llama-2-70b --weights fp8 --kv fp8 --on h100-sxm --dp 8 "
    "--batch 2048 --prompt 294":
        [("run", 2048, 0.53, None)],
    "batched-bench-several-models/only120.md --model gpt-oss-120b --weights mxfp4 --on gb10":
        [("prefill", 4, 0.22, None), ("decode", 32, 1.45, "routing")],
    "llama-server-speculative/input.log --model qwen2.5-72b --weights iq4_xs --kv q8_0 "
    "--on radeon-pro-w7900":
        [("decode", 1, 0.59, None)],
    "trtllm-bench-log/input.log --on b200": [("run", None, 0.16, None)],
    "trtllm-bench-log/no_prefix.log --on b200": [("run", None, 0.16, None)],
    "sglang-server-log/input.log --model deepseek-v3 --on h200 --tp 8":
        [("decode", 1, 0.13, None)],
    "sweep-bench/input.md --model llama-3.1-8b --weights iq3_s --on ryzen-9-7950x":
        [("decode", 1, 0.60, None)],
    "llama-bench-sql/input.sql": [("decode", 1, 0.73, None)],
    "llama-bench-sql/same.jsonl": [("decode", 1, 0.73, None)],
    "llama-bench-device-line/input.md": [("prefill", 1, 0.45, None)],
    "llmperf/summary.json --model tinyllama-1.1b --on trainium": [("decode", None, 0.27, None)],
}  # fmt: skip


def placed(capsys, shared, line):
    file, *options = line.split()
    assert main(["place", f"{shared}/cases/{file}", *options, "--json"]) == 0
    rows = [json.loads(row) for row in capsys.readouterr().out.splitlines()]
    return [row["point"] | row for row in rows]


@pytest.mark.parametrize("line", CASES, ids=lambda line: line.split()[0])
def test_a_case_reaches_what_was_worked_out_by_hand(line, shared, capsys):
    rows = placed(capsys, shared, line)
    for phase, batch, share, code in CASES[line]:
        of_batch = [r for r in rows if r["phase"] == phase and r["batch"] == (batch or r["batch"])]
        near = [r for r in of_batch if abs(r["share"] - share) <= 0.011]
        assert near, [(r["phase"], r["batch"], r["share"]) for r in rows]
        assert code is None or near[0]["verdict"]["code"] == code
    if "several-models" not in line:
        assert all(r["share"] < 1 for r in rows)


def test_running_requests_by_littles_law(shared, capsys):
    options = "--model gpt-oss-20b --weights mxfp4 --on h100-sxm --tp 2"
    (row,) = placed(capsys, shared, f"vllm-mean-tpot/input.txt {options}")
    # 63.93 ms x (197,922 - 1,000) / 33.94 s
    assert row["batch"] == round(0.06393 * (197_922 - 1_000) / 33.94) == 371


def test_a_warm_up_is_no_point_and_steps_are_exact(shared, capsys):
    options = "--model qwen3-0.6b --weights bf16 --on m4-max-40c --batch 1 --prompt 128"
    rows = placed(capsys, shared, f"sglang-one-batch/input.txt {options}")
    assert [row["phase"] for row in rows] == ["prefill", "decode"]
    assert {row["verdict"]["share_is"] for row in rows} == {"exact"}


def test_other_models_rows_are_placed_as_what_they_say(shared, capsys):
    line = "batched-bench-several-models/input.md --model gpt-oss-120b --weights mxfp4"
    rows = placed(capsys, shared, line)
    models = {row["model"] for row in rows}
    assert len(models) > 1
    decode = [r for r in rows if r["phase"] == "decode" and r["batch"] == 32]
    assert [round(r["share"], 2) for r in decode] == [0.79, 1.45]


def test_stages_read_their_own_layers(shared, capsys):
    line = "layer-split/input.md --model deepseek-r1 --on rtx-3090 --pp 16 --microbatches 1"
    file, *options = f"{line} --link 16GB/s".split()
    assert main(["place", f"{shared}/cases/{file}", *options]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "each of the 16 stages reads about 1.13 GB of weights of its own" in said
    assert "hands on to the next once" in said
    assert "all-reduce" not in said


def test_the_file_never_wins_over_what_was_asked(shared, capsys):
    for file in ("input.json", "qwen.json"):
        rows = placed(capsys, shared, f"model-id-offline/{file} --model gemma-3-1b --on t4")
        assert {row["phase"] for row in rows} == {"decode", "prefill"}


def test_quoted_tables_and_tables_without_pipes_are_tables(shared, capsys):
    for file in ("llama.md", "quoted.md"):
        rows = placed(capsys, shared, f"tables-without-pipes/{file} --on rtx-4090")
        decode = [row for row in rows if row["phase"] == "decode"]
        assert decode[0]["share"] == pytest.approx(0.71, abs=0.01)
