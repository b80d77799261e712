"""Several devices from the command line, in both languages and as data."""

from __future__ import annotations

import csv
import io
import json

import pytest

import roofline
from roofline.cli import main


def run(capsys, *args):
    code = main(list(args))
    out = capsys.readouterr()
    assert code == 0, out.err
    return out.out


def explain(capsys, *args):
    return json.loads(run(capsys, "explain", *args, "--json"))


V100 = ("llama-2-7b", "--on", "v100-pcie-16gb", "--context", "512", "--tp", "2")


def test_two_v100_question_14(capsys):
    # 29 → 17 tokens/s: 64 all-reduces of 0.5 ms are 32 ms more a token
    answer = explain(capsys, *V100, "--link-latency", "0.5ms")
    assert answer["verdict"]["code"] == "communication"
    layers = next(op for op in answer["operators"] if op["name"] == "all_reduce[hidden]")
    assert layers["count"] == layers["messages"] == 64
    assert layers["seconds"] == pytest.approx(32e-3, rel=0.01)
    assert answer["verdict"]["shares"]["communication"] > 0.8
    alone = explain(capsys, "llama-2-7b", "--on", "v100-pcie-16gb", "--context", "512")
    assert answer["bound"]["serial_s"] > 2 * alone["bound"]["serial_s"]


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ("communication-bound", "16GB, tp 2", "66 messages", "as given")),
        ("zh", ("通信受限", "16GB，tp 2", "66 次消息", "给定值")),
    ],
)  # fmt: skip
def test_words_numbers_and_sources(capsys, language, words):
    text = run(capsys, "explain", *V100, "--link-latency", "500us", "--why", "--operators",
               "--lang", language)  # fmt: skip
    for word in (*words, "500 µs", "PCIe 3.0 x16", "all_reduce[hidden]", "2·(n-1)/n"):
        assert word in text, word


def test_json_says_what_is_per_device(capsys):
    args = ("llama-3.1-70b", "--on", "h100-sxm", "--batch", "32", "--tp", "16")
    answer = explain(capsys, *args)
    found = answer["parallel"]
    assert (found["tp"], found["pp"], found["ep"], found["dp"], found["devices"]) == (
        16,
        1,
        1,
        1,
        16,
    )
    assert "bytes" in found["per_device"] and "bound.tokens_per_s" in found["of_all_devices"]
    assert found["cache_copies"] == 2  # 8 key-value heads over 16 devices
    assert found["messages"] == 2 * 80 + 2
    reduce = next(w for w in found["wires"] if w["collective"] == "all_reduce")
    assert [x["name"] for x in reduce["links"]] == [
        "NVLink 4",
        "InfiniBand or Ethernet, one adapter per GPU",
    ]
    assert sum(x["carries"] for x in reduce["links"]) == pytest.approx(1)
    assert reduce["latency"]["source"]
    bound = answer["bound"]
    assert bound["overlapped_s"] == max(
        bound["compute_s"], bound["memory_s"], bound["communication_s"]
    )
    assert answer["bytes"]["sent"] == pytest.approx(
        sum(op["sent"] for op in answer["operators"] if op["kind"] == "communication")
    )


def test_one_device_has_no_layout(capsys):
    answer = explain(capsys, "llama-3.1-8b", "--on", "h100-sxm", "--tp", "1")
    assert answer["parallel"] is None
    assert answer["bytes"]["sent"] == answer["bound"]["communication_s"] == 0
    assert "communication" not in answer["verdict"]["shares"]


def test_beyond_a_node_is_said(capsys):
    text = " ".join(run(capsys, "explain", "llama-3.1-70b", "--on", "h100-sxm", "--tp", "16",
                        "--no-chart", "--lang", "en").split())  # fmt: skip
    assert "16 are more than the 8 that NVLink 4 joins" in text
    assert "holds each sequence's cache 2 times" in text


def test_pipeline_and_replicas_are_said(capsys):
    layout = "--pp 4 --dp 2 --ep 2 --batch 9".split()
    said = run(capsys, "explain", "mixtral-8x7b", "--on", "h100-sxm", *layout, "--lang", "en")
    text = " ".join(said.split())
    assert "4 microbatches through 4 stages of at most 8 layers" in text
    assert "idle 43 % of a pass" in text  # 3 of 4 + 3
    assert "the batch does not divide by dp 2: the busiest replica has 5 of the sequences" in text
    assert "experts are taken to be chosen evenly" in text


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--tp", "3"], "--tp may be 1, 2, 4, 8, 16 or 32"),
        (["--tp", "x"], "--tp must be a whole number"),
        (["--tp", "0"], "tp must be a whole number from 1"),
        (["--ep", "2"], "tp × dp a multiple of 2"),
        (["--tp", "2", "--link", "tin cans"], "no one link 'tin cans'"),
        (["--tp", "2", "--link-latency", "soon"], "--link-latency must be"),
        (["--tp", "2", "--link", "25XB/s"], "--link must be"),
        (["--microbatches", "4"], "need pp of 2 or more"),
    ],
)
def test_a_wrong_layout_costs_one_sentence(capsys, args, said):
    assert main(["explain", "llama-3.1-8b", "--on", "h100-sxm", *args]) == 2
    out = capsys.readouterr()
    assert said in out.err
    assert out.err.count("\n") == 1
    assert not out.out


@pytest.mark.parametrize(
    ("link", "bandwidth"),
    [("25GB/s", 25e9), ("200Gb/s", 25e9), ("200 Gbps", 25e9), ("25e9", 25e9), ("1.5GB/s", 1.5e9)],
)
def test_bandwidth_in_bytes_and_in_bits(capsys, link, bandwidth):
    answer = explain(capsys, "llama-3.1-8b", "--on", "m4-max-40c", "--tp", "2", "--link", link)
    assert answer["parallel"]["wires"][0]["links"][0]["bandwidth"]["value"] == bandwidth
    assert answer["parallel"]["wires"][0]["latency"] is None


def test_a_sweep_over_layouts(capsys):
    out = run(capsys, "sweep", "qwen3-30b-a3b", "--on", "h100-sxm", "--tp", "1,3,8", "--ep", "1,8",
              "--batch", "1,64", "--format", "csv")  # fmt: skip
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [(r["devices"], r["layout"]) for r in rows] == [
        *[("1", "")] * 2, *[("8", "tp 8")] * 2, *[("8", "tp 8 ep 8")] * 2,
    ]  # fmt: skip
    for row in rows:
        parallel = roofline.Parallel(tp=int(row["devices"]))
        e = roofline.explain(
            "qwen3-30b-a3b", "h100-sxm", roofline.Step.decode(int(row["batch"])), parallel=parallel
        )
        assert float(row["seconds"]) == pytest.approx(e.bound.overlapped_s, rel=1e-8)
        assert float(row["tokens_per_s"]) == pytest.approx(e.bound.tokens_per_s, rel=1e-8)


def test_a_sweep_says_which_layouts_cannot_be(capsys):
    args = ["sweep", "llama-3.1-8b", "--on", "h100-sxm", "--tp", "2,3", "--batch", "1"]
    assert main([*args, "--steps"]) == 0
    out = capsys.readouterr()
    assert "2× h100-sxm tp 2" in out.out
    assert "left out: Llama-3.1-8B: 32 query heads" in out.err
    assert main([*args[:-3], "3", "--batch", "1"]) == 2


def test_the_lever_of_more_devices_is_asked_of_the_model(capsys):
    def lever(*args):
        answer = explain(capsys, *args)
        found = [x["at_most"] for x in answer["verdict"]["levers"] if x["code"] == "devices"]
        return answer["bytes"], found

    # Gemma's one key-value head cannot be divided: a second device halves the weights alone,
    # and not the 18 layers' 2 × 2048 × 256 that project to it
    moved, found = lever("gemma-2b", "--on", "h100-sxm", "--batch", "64", "--context", "8192")
    kv = moved["kv_read"] + moved["kv_write"]
    weights = moved["weights"]
    half = (weights + 18 * 2 * 2048 * 256 * 2) / 2
    assert found == [pytest.approx((weights + kv) / (half + kv))]
    assert lever("llama-3.1-8b", "--on", "h100-sxm")[1] == [pytest.approx(2)]
    assert lever("falcon-7b", "--on", "h100-sxm")[1] == []  # 71 heads do not divide by two
    assert lever(*V100[:-2], "--link-latency", "0.5ms")[1] == []  # slower on two than on one


def test_sweep_counts_communication_as_explain_does(capsys):
    answer = explain(capsys, "llama-3.1-8b", "--on", "h100-sxm", "--tp", "4")
    rows = run(capsys, "sweep", "llama-3.1-8b", "--on", "h100-sxm", "--tp", "1,4", "--batch", "1",
               "--format", "jsonl").splitlines()  # fmt: skip
    one, four = (json.loads(row) for row in rows)
    bound = answer["bound"]
    assert four["serial_seconds"] == pytest.approx(bound["serial_s"], rel=1e-8)
    assert four["communication_seconds"] == pytest.approx(bound["communication_s"], rel=1e-8)
    assert one["communication_seconds"] == 0
    # four devices are four times as fast only where nothing is waited for
    assert one["serial_seconds"] / four["serial_seconds"] < 3.5
    table = run(capsys, "sweep", "llama-3.1-8b", "--on", "h100-sxm", "--tp", "4", "--batch", "1",
                "--lang", "en")  # fmt: skip
    share = answer["verdict"]["shares"]["communication"]
    assert "serial tok/s" in table
    assert f" {share:.0%}".replace("%", " %") in table


def test_sweep_says_first_what_does_not_fit(capsys):
    argv = ("sweep", "llama-3.1-70b", "--on", "h100-sxm", "--batch", "1,64")
    first, *_ = run(capsys, *argv, "--lang", "en").splitlines()
    assert first.startswith("does not fit: Llama-3.1-70B, bf16, context 2048, batch 1 on h100-sxm")
    assert "as --tp 2" in first
    assert "(24)" in run(capsys, *argv, "--lang", "en")
    rows = [json.loads(x) for x in run(capsys, *argv, "--format", "jsonl").splitlines()]
    assert [(x["fits"], x["held_by_devices"], x["max_batch"]) for x in rows] == [
        (False, 2, 0),
        (False, 3, 0),
    ]


def test_stages_read_their_own_layers_and_hand_on_once(capsys):
    """The case ``layer-split``: 16 cards, each with a sixteenth of what a token reads."""
    argv = ("deepseek-r1", "--on", "rtx-3090", "--pp", "16", "--microbatches", "1",
            "--link", "16GB/s", "--weights", "3.92bits")  # fmt: skip
    text = " ".join(run(capsys, "explain", *argv, "--lang", "en").split())
    assert "reads 1.12 GB of weights a step on average" in text
    assert "each sends 14.3 kB in 1 messages" in text
    assert "on its way through all stages" in text
    assert "all-reduce" not in text
    answer = explain(capsys, *argv)
    whole, device = answer["bytes"]["weights"], answer["parallel"]["device"]
    assert whole == pytest.approx(18e9, rel=0.01)
    assert device["weights"] < whole / 10
    assert answer["parallel"]["per_device"] == ["device", "fits"]
    assert "bound" in answer["parallel"]["of_the_way_through_all_stages"]
    # with many microbatches the busiest stage is what takes longest, and what is shown
    many = explain(capsys, "llama-3.1-70b", "--on", "h100-sxm", "--pp", "2", "--batch", "64")
    assert many["parallel"]["of_the_way_through_all_stages"] == []
    assert many["parallel"]["device"]["weights"] == many["bytes"]["weights"]
