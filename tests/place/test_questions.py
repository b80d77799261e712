"""Questions that people asked in public threads, typed in as `place`, answered rightly."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roofline.cli import main


def ask(capsys: pytest.CaptureFixture[str], line: str) -> tuple[dict[str, Any], str]:
    """The answer as data and as English words."""
    assert main(["place", *line.split(), "--json"]) == 0
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert main(["place", *line.split(), "--lang", "en"]) == 0
    return data, " ".join(capsys.readouterr().out.split())


def causes(data: dict[str, Any]) -> list[str]:
    return [cause["code"] for cause in data["verdict"]["causes"]]


def test_2_a_7b_at_65_tokens_on_a_4090_is_at_the_wall(capsys: pytest.CaptureFixture[str]) -> None:
    data, said = ask(
        capsys, "--model llama-2-7b --weights bf16 --on rtx-4090 --tokens-per-s 65 --context 64"
    )
    assert data["bytes"]["weights"] == pytest.approx(13.2e9, rel=0.01)
    assert data["achieved"]["bytes_per_s"] == pytest.approx(859e9, rel=0.01)
    assert data["share"] == pytest.approx(0.85, abs=0.01)
    assert data["verdict"]["code"] == "memory:weights"
    assert "at the wall: reading the weights" in said


def test_3_a_70b_at_9_tokens_on_an_a100_is_software(capsys: pytest.CaptureFixture[str]) -> None:
    data, said = ask(capsys, "--bytes 35.5GB --on a100-40gb-sxm --tokens-per-s 9")
    assert 1 / data["bound"]["overlapped_s"] == pytest.approx(44, abs=1)
    assert data["share"] == pytest.approx(0.20, abs=0.01)
    assert data["verdict"]["code"] == "kernel"
    assert "the rest is software" in said
    model, said = ask(
        capsys, "--model llama-2-70b --weights int4 --on a100-40gb-sxm --tokens-per-s 9"
    )
    assert model["share"] == pytest.approx(0.20, abs=0.01)
    assert causes(model)[0] == "dequantise"
    assert "unpacking int4 weights" in said


@pytest.mark.parametrize(
    ("rate", "code"), [("4.3", "memory:weights"), ("2.4", "kernel")], ids=["after", "before"]
)
def test_19_two_sockets_first_misplaced_then_at_the_wall(
    capsys: pytest.CaptureFixture[str], rate: str, code: str
) -> None:
    line = "--model llama-3.1-70b --weights fp16 --bandwidth 819GB/s --peak 20TFLOP/s "
    data, said = ask(capsys, line + f"--tokens-per-s {rate}")
    assert data["verdict"]["code"] == code
    if rate == "4.3":
        assert data["achieved"]["bytes_per_s"] == pytest.approx(608e9, rel=0.02)
        assert data["share"] == pytest.approx(0.74, abs=0.02)
    else:
        assert causes(data)[0] == "numa"
        assert "memory placement" in said


def test_20_a_gb10_at_its_measured_bandwidth_is_exhausted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    low, said = ask(capsys, "--on gb10 --bandwidth 234GB/s --bytes 10.5GB --seconds 45ms")
    assert low["bound"]["overlapped_s"] == pytest.approx(0.045, rel=0.02)
    assert low["verdict"]["code"] == "memory:weights"
    assert "Stop tuning" in said
    high, _ = ask(capsys, "--on gb10 --bandwidth 234GB/s --bytes 13GB --seconds 45ms")
    assert high["bound"]["overlapped_s"] == pytest.approx(0.0555, rel=0.01)
    assert high["verdict"]["code"] == "suspect"  # so the bytes are not all read on each step
    assert causes(high)[0] == "bytes"


def test_22_3868_gb_a_second_on_a_4090_is_its_cache(capsys: pytest.CaptureFixture[str]) -> None:
    data, said = ask(capsys, "--on rtx-4090 --achieved 3868GB/s")
    assert data["verdict"]["code"] == "suspect"
    assert data["share"] == pytest.approx(3868 / 1008, rel=0.01)
    assert causes(data)[0] == "probe"
    assert data["verdict"]["causes"][0]["cache"] == pytest.approx(72e6, rel=0.06)
    assert "must read several times that" in said
    told, said = ask(capsys, "--on rtx-4090 --achieved 3868GB/s --working-set 64MB")
    assert causes(told)[0] == "probe"
    far, _ = ask(capsys, "--on rtx-4090 --achieved 3868GB/s --working-set 4GB")
    assert "probe" not in causes(far)


def test_23_above_a_roof_is_an_error_to_explain(capsys: pytest.CaptureFixture[str]) -> None:
    card, said = ask(
        capsys, "--model llama-2-7b --weights bf16 --on a100-40gb-sxm --tokens-per-s 140"
    )
    assert card["verdict"]["code"] == "suspect"
    assert causes(card)[0] == "machine"
    assert "80GB" in card["verdict"]["causes"][0]["machine"]
    assert "not a score" in said
    cache, said = ask(
        capsys,
        "--model llama-3.1-8b --weights bf16 --on h100-sxm --batch 128 --context 8k "
        "--tokens-per-s 3800",
    )
    assert cache["verdict"]["code"] == "suspect"
    assert {"devices", "window"} <= set(causes(cache))
    assert causes(cache)[0] == "capacity"  # 57 sequences of 8k fit beside the weights, not 128
    assert "sequences fit, not 128" in said


def test_23_devices_and_their_kv_heads_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    """Two cards taken for one, and eight KV heads over sixteen cards taken to be divided."""
    line = "--model llama-3.1-70b --weights fp8 --on h100-sxm --context 2k --batch 8 "
    one, _ = ask(capsys, line + "--tokens-per-s 600")
    assert one["verdict"]["code"] == "suspect"
    assert next(c for c in one["verdict"]["causes"] if c["code"] == "devices")["devices"] == 2
    two, said = ask(capsys, line + "--tokens-per-s 600 --devices 2")
    assert two["verdict"]["code"] == "memory:weights"
    assert two["share"] == pytest.approx(one["share"] / 2, rel=0.01)
    assert "2 over NVLink 4" in said
    line = "--model llama-3.1-70b --weights bf16 --on h100-sxm --context 16k --batch 64 "
    many, said = ask(capsys, line + "--devices 16 --tokens-per-s 4300")
    assert many["verdict"]["code"] == "suspect"
    layout = next(c for c in many["verdict"]["causes"] if c["code"] == "layout")
    assert layout["layout"].startswith("tp ")
    assert "dp" in layout["layout"]
    assert layout["share"] <= 1.02


def test_24_700_of_2000_is_35_percent(capsys: pytest.CaptureFixture[str]) -> None:
    data, said = ask(capsys, "--achieved 700GB/s --bandwidth 2TB/s")
    assert data["share"] == pytest.approx(0.35)
    assert "35 %" in said


def test_25_a_roof_is_a_ceiling_not_a_forecast(capsys: pytest.CaptureFixture[str]) -> None:
    data, said = ask(capsys, "--roof 8934 --tokens-per-s 5353")
    assert data["share"] == pytest.approx(0.60, abs=0.005)
    assert "5353 of 8934 tokens/s: 60 % of that roof" in said
    assert "a ceiling, not a forecast" in said
    assert "roofline calibrate" in said
