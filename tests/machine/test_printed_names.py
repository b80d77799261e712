"""Machines by the names that operating systems, tools and clouds print."""

from __future__ import annotations

import pytest

import roofline
from roofline import NotFound
from roofline.cli import main
from roofline.machine.load import entries, load
from roofline.machine.names import printed, spellings, squeezed

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
    # clouds, and several of them
    "8x H100 SXM": "h100-sxm",
    "2 × NVIDIA GeForce RTX 3090": "rtx-3090",
    "p5.48xlarge": "h100-sxm",
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
    listed = entries()
    known = {squeezed(x): e["id"] for e in listed for x in (e["id"], e["name"], *e["aliases"])}
    for e in listed:
        for more in ("{}", "8x {}", "{} (driver 1.2)", "{} GPU"):
            assert printed(more.format(e["id"]), known).id == e["id"], more.format(e["id"])
    for name in ("rtx-4090", "rtx-4090-laptop", "rtx-4090-d", "h100-pcie", "h100-sxm"):
        assert load(f"8x {name}").id == name


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


def test_spellings_end_in_the_bare_name():
    assert list(spellings("AMD Ryzen 9 7950X 16-Core Processor"))[-1] == "Ryzen 9 7950X"
