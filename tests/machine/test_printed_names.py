"""Machines by the names that operating systems, tools and clouds print."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import roofline
from roofline import NotFound
from roofline.cli import main
from roofline.machine import names
from roofline.machine.load import entries, load
from roofline.machine.names import Known, printed, squeezed
from roofline.machine.spelling import counted, detailed, spellings

PRINTED = {
    # lscpu, /proc/cpuinfo, llama-bench
    "AMD Ryzen 9 7950X 16-Core Processor": "ryzen-9-7950x",
    "Intel(R) Xeon(R) Platinum 8480+": "xeon-8480",
    "Xeon Platinum 8480+": "xeon-8480",
    "AMD EPYC 9654 96-Core Processor": "epyc-9654",
    "13th Gen Intel(R) Core(TM) i9-13900K": "core-i9-13900k",
    "Intel(R) Xeon(R) Platinum 8380 CPU @ 2.30GHz": "xeon-8380",
    "AMD RYZEN AI MAX+ 395 w/ Radeon 8060S": "strix-halo",
    "Ryzen AI Max+ 395": "strix-halo",
    # nvidia-smi, PyTorch
    "NVIDIA DGX Spark": "gb10",
    "NVIDIA GB10": "gb10",
    "NVIDIA GeForce RTX 3080 Laptop GPU": "rtx-3080-laptop",
    "NVIDIA GeForce RTX 4090 D": "rtx-4090-d",
    "NVIDIA A800-SXM4-80GB": "a800-80gb-sxm",
    "Tesla V100-PCIE-16GB, compute capability 7.0, VMM: yes": "v100-pcie-16gb",
    "NVIDIA GeForce GTX 1080 Ti": "gtx-1080-ti",
    "NVIDIA Jetson AGX Orin Developer Kit": "jetson-agx-orin-64gb",
    # Vulkan, Metal, SYCL, ROCm, CANN
    "AMD Radeon RX 7900 XTX (RADV NAVI31)": "rx-7900-xtx",
    "Radeon 8060S Graphics (AMD open-source driver)": "strix-halo",
    "Intel(R) Arc(tm) A770 Graphics (DG2)": "arc-a770",
    "AMD Instinct MI300X OAM": "mi300x",
    "gfx1151": "strix-halo",
    "Ascend910B4": "ascend-910b4",
    "Apple M3 Max": "m3-max-40c",
    "AMD Radeon Graphics (RADV GFX1151)": "strix-halo",
    "NVIDIA GeForce RTX 4090/PCIe/SSE2": "rtx-4090",
    "ggml_vulkan: 0 = AMD Radeon RX 7900 XTX (RADV NAVI31) (radv) | uma: 0": "rx-7900-xtx",
    # lspci, /proc/cpuinfo, shops
    "NVIDIA Corporation GA102 [GeForce RTX 3090] (rev a1)": "rtx-3090",
    "GA104M [GeForce RTX 3070 Mobile / Max-Q] (rev a1)": "rtx-3070-laptop",
    "model name\t: AMD Ryzen 9 7950X 16-Core Processor": "ryzen-9-7950x",
    "RTX 4090 (Laptop)": "rtx-4090-laptop",
    "H100 (PCIe)": "h100-pcie",
    "H100 PCIe 5.0 x16": "h100-pcie",
    "Tesla V100 (SXM2, 32 GB)": "v100-sxm-32gb",
    "RTX 4090 24GB GDDR6X": "rtx-4090",
    "MI300X 192GB": "mi300x",
    "Apple M3 Max (30 GPU cores)": "m3-max-30c",
    "MacBook Pro (16-inch, M4 Max, 40-core GPU)": "m4-max-40c",
    "Mac mini (M4 Pro, 14-core CPU, 20-core GPU)": "m4-pro-20c",
    "Raspberry Pi 5 Model B Rev 1.0": "raspberry-pi-5",
    # clouds, and several of them
    "8x H100 SXM": "h100-sxm",
    "2 × NVIDIA GeForce RTX 3090": "rtx-3090",
    "p5.48xlarge": "h100-sxm",
    "ml.p4d.24xlarge": "a100-40gb-sxm",
    "g6e.xlarge": "l40s",
    "Standard_ND96isr_H100_v5": "h100-sxm",
    "a2-ultragpu-8g": "a100-80gb-sxm",
}


@pytest.mark.parametrize(("name", "found"), PRINTED.items())
def test_a_printed_name_finds_its_machine(name, found):
    assert load(name).id == found


@pytest.mark.parametrize(
    "name",
    ["A100", "m3-max", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "NVIDIA GeForce GTX 1660", "gfx942",
     "GeForce RTX 3060 Laptop Ti", "Quadro P5000", "Processor", "(R)", "8x", "  "],
)  # fmt: skip
def test_a_name_of_no_or_several_machines_is_refused(name):
    with pytest.raises(NotFound):
        load(name)


def test_no_part_becomes_its_sibling():
    known = Known.of(entries())
    shapes = ("{}", "8x {}", "{} (driver 1.2)", "{} GPU", "GPU 0: {} (UUID: GPU-1)", "{} x4")
    for id in known.entries:
        for shape in shapes:
            found = printed(shape.format(id), known)
            assert found and found.id.removesuffix("-2s") == id.removesuffix("-2s"), shape
    for name in ("rtx-4090", "rtx-4090-laptop", "rtx-4090-d", "h100-pcie", "h100-sxm"):
        assert load(f"8x {name}").id == name


OF_SEVERAL = {
    "M3 Max": ["m3-max-30c", "m3-max-40c"],
    "4x A100 80GB": ["a100-80gb-sxm", "a100-80gb-pcie"],
    "4x L40s": ["l40s", "l40"],
    "AMD Instinct MI250X/MI250": ["mi250x", "mi250"],
    "Navi 31 [Radeon RX 7900 XT/7900 XTX/7900M]": ["rx-7900-xt", "rx-7900-xtx"],
    "NVIDIA GeForce RTX 4090, NVIDIA GeForce RTX 3090": ["rtx-4090", "rtx-3090"],
    "gfx1100": ["rx-7900-xtx", "rx-7900-xt"],
    "RTX 4090 48GB": ["--on rtx-4090 --memory 48GB"],
    "H100 HBM2e": ["HBM3, not HBM2e"],
    "H200 PCIe 5.0 x16": ["no PCIe card"],
    "Intel(R) Xeon(R) CPU @ 2.20GHz": ["xeon-8480"],
}


@pytest.mark.parametrize(("name", "said"), OF_SEVERAL.items())
def test_a_name_of_several_is_refused_with_them(name, said):
    with pytest.raises(NotFound) as refused:
        load(name)
    assert all(part in str(refused.value) for part in said)


def test_a_part_that_is_not_listed_is_not_its_sibling():
    for name in (
        "NVIDIA GeForce RTX 2080 Super with Max-Q Design",
        "RTX 4090 (Max-Q)",
        "AMD Instinct MI60 / MI50",
        "NVIDIA A100-SXM-64GB",
        "NVIDIA A10-24Q",
        "Apple M4 Max 50-core GPU",
    ):
        with pytest.raises(NotFound):
            load(name)


def test_what_a_name_leaves_open_is_said(capsys):
    said = roofline.explain("llama-3.1-8b", "Apple M3 Max").notes
    assert any("m3-max-30c" in note for note in said)
    assert main(["explain", "llama-3.1-8b", "--on", "p5.48xlarge", "--no-chart"]) == 0
    assert "--tp 8 counts all" in " ".join(capsys.readouterr().out.split())
    assert roofline.explain("llama-3.1-8b", "h100-sxm").case.notes == ()


def test_one_process_of_a_package_of_two_dies(capsys):
    assert main(["explain", "llama-3.1-8b", "--on", "mi250x", "--no-chart"]) == 0
    assert "--on mi250x-gcd" in " ".join(capsys.readouterr().out.split())
    die, whole = load("mi250x-gcd"), load("mi250x")
    assert die.roof().bandwidth.value == whole.roof().bandwidth.value / 2
    assert die.roof().peak("bf16").value == whole.roof().peak("bf16").value / 2


def test_what_is_unknown_can_be_given(capsys):
    assert main(["explain", "llama-3.1-8b", "--on", "Snapdragon X Elite"]) == 2
    assert "--bandwidth 400GB/s --peak" in capsys.readouterr().err


def test_what_is_taken_off():
    assert "Ryzen 9 7950X" in spellings("AMD Ryzen 9 7950X 16-Core Processor")
    assert list(spellings("RTX 4090 (Laptop)")) == ["RTX 4090 (Laptop)", "RTX 4090 Laptop"]
    assert list(counted("RTX 3090"))[1:] == []
    assert list(counted("dual RTX 3090"))[1:] == [(2, "RTX 3090")]
    assert list(counted("H100 (x8)"))[1:] == [(8, "H100")]
    assert detailed("RTX 4090 24GB GDDR6X") == ("RTX 4090", {"capacity": "24", "memory": "GDDR6X"})


def test_how_many_a_name_means_is_said():
    for name in ("NVIDIA L40S, NVIDIA L40S", "2x L40S", "L40S x2", "L40S 48GB x2", "dual L40S"):
        assert load(name).id == "l40s"
        assert any("--tp 2 counts all" in note for note in load(name).assumed)
    assert load("RTX 4090, 24 GB").assumed == ()
    assert load("2x AMD EPYC 9654 96-Core Processor").id == "epyc-9654-2s"


def test_the_names_are_of_known_machines():
    """Every entry that names.json points at, and none that the catalogue knows as another."""
    data = json.loads((Path(names.__file__).parent / "names.json").read_text(encoding="utf-8"))
    known = Known.of(entries())
    assert {x["id"] for x in data["taken"].values()} <= set(known.entries)
    assert {i for of in data["of"].values() for i in of} <= set(known.entries)
    assert all(len(of) > 1 for of in data["of"].values())
    for name, meant in data["taken"].items():
        assert known.spelled.get(squeezed(name), meant["id"]) == meant["id"], name
