"""What people who run LLMs ask, typed in as commands, with the right answer."""

from __future__ import annotations

import json

import pytest

from roofline.cli import main


def explain(capsys, *argv):
    assert main(["explain", *argv, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def levers(data, code):
    return {x["to"]: x["at_most"] for x in data["verdict"]["levers"] if x["code"] == code}


def test_1_utilisation_near_100_percent_with_one_request(capsys):
    data = explain(capsys, "llama-3.1-8b", "--on", "h100-sxm", "--context", "1")
    assert data["intensity"] == pytest.approx(1.0, abs=0.005)
    assert data["intensity"] / data["ridge"] == pytest.approx(0.0034, abs=0.00005)


def test_2_llama_7b_on_a_4090_at_65_tokens_is_at_the_wall(capsys):
    data = explain(
        capsys, "llama-2-7b", "--on", "rtx-4090", "--context", "1", "--achieved", "65 tok/s"
    )
    assert data["achieved"]["bytes_per_s"] == pytest.approx(859e9, rel=0.01)
    assert data["achieved"]["of_roof"] == pytest.approx(0.85, abs=0.01)


def test_4_an_h100_pcie_is_no_faster_than_an_a100_at_decode(capsys):
    speed = {
        m: explain(capsys, "llama-3.1-8b", "--on", m)["bound"]["tokens_per_s"]
        for m in ("h100-pcie", "h100-sxm", "a100-80gb-sxm")
    }
    assert speed["h100-pcie"] / speed["a100-80gb-sxm"] == pytest.approx(1.0, abs=0.03)
    assert speed["h100-sxm"] / speed["a100-80gb-sxm"] == pytest.approx(1.64, abs=0.01)


def test_5_300_tokens_a_second_with_qwen3_30b_a3b(capsys):
    data = explain(
        capsys, "qwen3-30b-a3b", "--on", "rtx-4090", "--weights", "4.85bits", "--context", "512"
    )
    assert data["bytes"]["compulsory"] == pytest.approx(1.9e9, rel=0.03)
    assert 300 * data["bytes"]["compulsory"] == pytest.approx(570e9, rel=0.03)


def test_8_batching_does_not_speed_up_a_15k_prefill_on_an_a100(capsys):
    data = explain(
        capsys, "llama-3.1-8b", "--on", "a100-80gb-sxm", "--phase", "prefill", "--prompt", "15000"
    )
    assert data["flops"] == pytest.approx(268e12, rel=0.005)
    assert data["bound"]["overlapped_s"] == pytest.approx(0.86, abs=0.005)
    assert data["verdict"]["code"] == "compute"
    assert not any(x["code"] == "batch" for x in data["verdict"]["levers"])  # gain 1.0×


def test_9_the_course_that_says_1_4_16_64(capsys):
    found = [
        explain(capsys, "llama-3-8b", "--on", "h100-sxm", "--batch", str(b)) for b in (1, 4, 16, 64)
    ]
    assert [round(x["intensity"], 1) for x in found] == [1.1, 4.0, 13.3, 32.0]
    assert all(x["crossing_batch"] is None for x in found)


@pytest.mark.parametrize(
    ("machine", "int4", "bf16"), [("a100-80gb-sxm", 39, 153), ("h100-sxm", 76, 295)]
)
def test_10_where_awq_stops_winning(capsys, machine, int4, bf16):
    for weights, expected in (("int4", int4), ("bf16", bf16)):
        data = explain(capsys, "llama-2-7b", "--on", machine, "--weights", weights)
        assert round(data["linear_crossing_tokens"]) == expected


def test_12_what_an_fp8_cache_can_bring(capsys):
    expected = {"1k": 1.04, "4k": 1.14, "8k": 1.24, "16k": 1.39}
    for context, gain in expected.items():
        data = explain(
            capsys, "qwen3-8b", "--on", "a100-80gb-sxm", "--batch", "8", "--context", context
        )
        assert levers(data, "kv")["fp8"] == pytest.approx(gain, abs=0.015)


def test_13_which_max_num_seqs(capsys):
    fits = [
        explain(capsys, "llama-3.1-8b", "--on", "h100-sxm", "--usable", u) for u in ("0.85", "0.9")
    ]
    assert all(205 <= x["fits"]["max_batch"] <= 230 for x in fits)
    assert fits[0]["kv_outweighs_weights_batch"] == 56
    assert fits[0]["crossing_batch"] is None


def test_15_989_or_1979_for_an_h100(capsys):
    assert main(["machines", "h100-sxm", "--json"]) == 0
    machine = json.loads(capsys.readouterr().out)["machines"][0]
    peak = machine["datasheet"]["compute"]["bf16"]
    assert peak["value"] == pytest.approx(989e12, rel=0.001)
    assert "sparsity" in peak["note"] and "twice" in peak["note"]


def test_18_no_gain_past_four_threads(capsys):
    decode = explain(capsys, "llama-3.1-8b", "--on", "xeon-8480")
    prefill = explain(
        capsys, "llama-3.1-8b", "--on", "xeon-8480", "--phase", "prefill", "--prompt", "2048"
    )
    assert decode["verdict"]["code"] == "memory:weights"
    assert prefill["verdict"]["code"] == "compute"


def test_24_700_gb_a_second_of_2_tb_is_35_percent(capsys):
    data = explain(capsys, "llama-3.1-8b", "--on", "h100-pcie", "--achieved", "700 GB/s")
    assert data["achieved"]["of_roof"] == pytest.approx(0.35, abs=0.001)
    assert not data["achieved"]["suspect"]


def test_27_a_crossing_map_may_say_none(capsys):
    none = explain(capsys, "llama-3.1-8b", "--on", "h100-sxm")
    assert none["crossing_batch"] is None and none["intensity_limit"] < none["ridge"]
    some = explain(capsys, "llama-3.1-8b", "--on", "h100-sxm", "--context", "256")
    assert some["crossing_batch"] > 295 and some["intensity_limit"] > some["ridge"]
