"""What somebody measured of an explained step: speeds with place's verdict, and counters."""

from __future__ import annotations

import json

import pytest

import roofline
from roofline import InputError, Parallel, Step
from roofline.bound.counters import counter
from roofline.cli import main
from roofline.placing.seen import seen

ON = ["explain", "llama-3.1-8b", "--on", "h100-sxm", "--no-chart"]


def said(capsys, *line):
    assert main([*line]) == 0
    return " ".join(capsys.readouterr().out.split())


def test_explain_judges_as_place_does(capsys):
    text = said(capsys, "explain", "llama-2-7b", "--on", "rtx-4090", "--context", "512",
                "--achieved", "65 tok/s", "--no-chart")  # fmt: skip
    assert "at the wall" in text
    typed = ["place", "--model", "llama-2-7b", "--weights", "fp16", "--on", "rtx-4090",
             "--context", "512", "--json"]  # fmt: skip
    for rate in ("65", "20", "200"):
        main([*typed, "--tokens-per-s", rate])
        placed = json.loads(capsys.readouterr().out)["verdict"]
        main(["explain", "llama-2-7b", "--on", "rtx-4090", "--context", "512", "--weights", "fp16",
              "--achieved", f"{rate} tok/s", "--json"])  # fmt: skip
        explained = json.loads(capsys.readouterr().out)["achieved"]
        assert explained["verdict"]["code"] == placed["code"]
        assert explained["verdict"]["causes"] == placed["causes"]
        assert explained["of_roof"] == pytest.approx(placed["share"])


@pytest.mark.parametrize(
    ("text", "kind", "share"),
    [
        ("98 % utilisation", "utilisation", 0.98), ("GPU utilization 98%", "utilisation", 0.98),
        ("GPU-Util 100 %", "utilisation", 1.0), ("98.5% util", "utilisation", 0.985),
        ("利用率 98％", "utilisation", 0.98), ("memory utilization 40%", "memory", 0.4),
        ("GPU-Util 98", "utilisation", 0.98), ("GPU 利用率：98", "utilisation", 0.98),
        ("all-reduce is 71 % of the step", "communication", 0.71),
        ("nccl 71%", "communication", 0.71), ("通信占 30%", "communication", 0.3),
    ],
)  # fmt: skip
def test_percentages_of_monitors(text, kind, share):
    found = counter(text)
    assert (found.kind, found.share) == (kind, pytest.approx(share))


@pytest.mark.parametrize(
    "text", ["65 tok/s", "15.4 ms", "98 %", "", "util", "98 tok/s util", "util 0.98"]
)
def test_what_is_no_such_percentage(text):
    assert counter(text) is None


def test_what_a_utilisation_says_and_does_not(capsys):
    text = said(capsys, *ON, "--achieved", "98 % utilisation")
    assert "some kernel was running in 98 %" in text
    assert "0.36 % of peak compute" in text  # questions.md, 1: about a third of a per cent
    assert "tensor active (1004)" in text
    assert main([*ON, "--achieved", "120 % utilisation"]) == 2
    assert "at most 100 %" in capsys.readouterr().err
    data = json.loads(said(capsys, *ON, "--achieved", "98 % util", "--json"))
    assert data["achieved"]["kind"] == "utilisation"
    assert main(["place", "--achieved", "98 % utilisation", "--on", "h100-sxm"]) == 2
    assert "is no bandwidth" in capsys.readouterr().err


def test_a_share_of_communication_is_held_against_the_links():
    e = roofline.explain("llama-3.1-8b", "h100-sxm", Step.decode(1), parallel=Parallel(tp=8))
    held = seen("all-reduce is 71 % of the step", e).to_json()
    rest = max(e.bound.compute_s, e.bound.memory_s)
    # x / (x + rest) = 0.71
    assert held["exchange_s"] / (held["exchange_s"] + rest) == pytest.approx(0.71)
    assert held["needed_s"] == e.bound.communication_s
    with pytest.raises(InputError, match="several devices"):
        seen("nccl 71%", roofline.explain("llama-3.1-8b", "h100-sxm"))


def test_a_partly_offloaded_run_is_not_the_kernels_fault(capsys):
    line = ["place", "--model", "llama-3.1-70b", "--weights", "q4_k_m", "--on", "rtx-4090",
            "--tokens-per-s", "2"]  # fmt: skip
    assert "only 40 of 80 layers were on the device" in said(capsys, *line, "--gpu-layers", "40")
    assert "the rest is software" in said(capsys, *line)
    assert "were on the device" not in said(capsys, *line, "--gpu-layers", "81")


def test_a_kernel_of_ones_own_has_bytes_and_flops(capsys):
    line = ["place", "--bytes", "1GB", "--flops", "2TFLOP", "--seconds", "4ms", "--on", "h100-sxm",
            "--json"]  # fmt: skip
    placed = json.loads(said(capsys, *line))
    assert placed["share"] == pytest.approx(2e12 / 989e12 / 4e-3, rel=1e-3)  # arithmetic binds
    line[4] = "10GFLOP"
    placed = json.loads(said(capsys, *line))
    assert placed["share"] == pytest.approx(1e9 / 3.35e12 / 4e-3, rel=1e-3)  # traffic binds
    assert main(["place", "--flops", "2TFLOP", "--seconds", "4ms", "--on", "h100-sxm"]) == 2
    assert "beside the --bytes" in capsys.readouterr().err
