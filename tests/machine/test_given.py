"""A machine by its figures: typed, in Python, and in place of a known machine's own."""

from __future__ import annotations

import json

import pytest

import roofline
from roofline import InputError, Step
from roofline.cli import main
from roofline.machine.load import load
from roofline.page.data import machine_json
from roofline.units import parse_quantity

FIGURES = ["--bandwidth", "400GB/s", "--peak", "28TFLOP/s", "--memory", "64GB"]


def asked(capsys, *line):
    assert main([*line]) == 0
    return capsys.readouterr().out


def test_figures_alone_are_a_machine(capsys):
    e = roofline.explain("llama-3.1-8b", roofline.given(bandwidth=400e9, peak=28e12, memory=64e9))
    # by hand: 15.01 GB of weights and 268 MB of cache at 400 GB/s; ridge 28e12 / 400e9
    assert e.bound.overlapped_s == pytest.approx(15.28e9 / 400e9, rel=2e-3)
    assert e.bound.ridge == pytest.approx(70)
    # (64e9 · 0.9 - 16.06e9) / 268 MB, less a little for activations
    assert e.fit.max_batch == 154
    said = asked(capsys, "explain", "llama-3.1-8b", *FIGURES)
    assert said.startswith("Llama-3.1-8B, bf16 · decode, batch 1, context 2048 · 400 GB/s, 28 "
                           "TFLOP/s, 64 GB (as given)")  # fmt: skip
    data = json.loads(asked(capsys, "explain", "llama-3.1-8b", *FIGURES, "--json"))
    assert data["machine"]["ceilings"] == "given"
    assert data["bound"]["overlapped_s"] == e.bound.overlapped_s


def test_figures_stand_in_place_of_a_known_machines_own(capsys):
    own, other = load("h100-sxm"), roofline.given(load("h100-sxm"), bandwidth=3e12)
    assert other.roof().bandwidth.value == 3e12
    assert other.roof().peak("bf16").value == own.roof().peak("bf16").value
    assert other.memory == own.memory
    said = asked(capsys, "explain", "llama-3.1-8b", "--on", "h100-sxm", "--bandwidth", "3TB/s")
    assert "H100 SXM (3 TB/s) (datasheet; memory bandwidth: as given)" in said.replace("\n", " ")


def test_every_verb_takes_them(capsys, tmp_path):
    assert "given" in asked(capsys, "sweep", "llama-3.1-8b", *FIGURES)
    assert "400 GB/s" in asked(capsys, "predict", "llama-3.1-8b", *FIGURES)
    path = tmp_path / "page.html"
    asked(capsys, "page", "llama-3.1-8b", *FIGURES, "-o", str(path))
    assert "400 GB/s, 28 TFLOP/s, 64 GB" in path.read_text(encoding="utf-8")
    assert (
        machine_json(roofline.given(bandwidth=4e11, peak=28e12), {})["datasheet"]["bandwidth"][
            "memory"
        ]["kind"]
        == "given"
    )


def test_peaks_by_precision(capsys):
    machine = roofline.given(bandwidth=4e11, peak={"bf16": 28e12, "int8": 56e12})
    e = roofline.explain("llama-3.1-8b", machine, Step.prefill(1, 2048), weights="int8")
    assert {used for used, _ in e.case.arithmetic.values()} == {"int8", "bf16"}
    line = ["--bandwidth", "400 GBps", "--peak", "bf16=28TFLOPS, int8=56 TOPS"]
    data = json.loads(asked(capsys, "explain", "llama-3.1-8b", *line, "--weights", "int8",
                            "--phase", "prefill", "--json"))  # fmt: skip
    assert data["bound"]["overlapped_s"] == e.bound.overlapped_s


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("", "which machine?"),
        ("--bandwidth 400GB/s", "needs a bandwidth and a peak"),
        ("--peak 28TFLOP/s --memory 64GB", "needs a bandwidth and a peak"),
        ("--bandwidth 400GB --peak 28TFLOP/s", "--bandwidth must be a quantity"),
        ("--bandwidth 400GB/s --peak 28", "FLOP per second, dense"),
        ("--bandwidth 400GB/s --peak bf61=28TFLOP/s", "no such precision"),
        ("--bandwidth 400GB/s --peak bf16=", "must be a quantity"),
        ("--on h100-sxm --memory 80", "it is in bytes"),
        ("--on nowhere --memory 80GB", "no machine 'nowhere'"),
    ],
)
def test_what_is_missing_or_impossible_is_said(line, says, capsys):
    assert main(["explain", "llama-3.1-8b", *line.split()]) == 2
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1


def test_rates_in_the_spellings_of_datasheets():
    for text in ("28TFLOP/s", "28 TFLOPS", "28 TFLOPs", "28TOPS", "28 TOP/s", "28T"):
        assert parse_quantity(text, "FLOP/s", "--peak") == 28e12
    for text in ("400GB/s", "400 GBps", "0.4TB/s", "400G"):
        assert parse_quantity(text, "B/s", "--bandwidth") == 400e9
    with pytest.raises(InputError):
        parse_quantity("400GB/s", "B", "--memory")
