"""The machine catalogue as data: sources, units, relations, and every trap by its value.

Nothing here needs the package's code; the files are read as they are.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "src" / "roofline" / "machine" / "catalogue"
VALIDATION = ROOT.parent / "shared" / "validation"
FILES = {p.stem: json.loads(p.read_text(encoding="utf-8")) for p in sorted(FOLDER.glob("*.json"))}
MACHINES = {m["id"]: m for data in FILES.values() for m in data["machines"]}

GiB = 2**30
PRECISIONS = {"fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "fp6", "fp4", "int8", "int4"}
ACCUMULATORS = {"fp64", "fp32", "fp16", "int32"}

every = pytest.mark.parametrize("m", MACHINES.values(), ids=MACHINES.keys())


def compute(m: dict[str, Any], precision: str) -> float:
    return float(m["datasheet"]["compute"][precision]["value"])


def bandwidth(m: dict[str, Any]) -> float:
    return float(m["datasheet"]["bandwidth"]["memory"]["value"])


def figures(node: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Each figure of a machine with the path to it."""
    if isinstance(node, dict):
        if "value" in node:
            yield path, node
        else:
            for key, child in node.items():
                yield from figures(child, f"{path}.{key}" if path else key)
    elif isinstance(node, list):
        for child in node:
            yield from figures(child, path)


def key(name: str) -> str:
    """A name as it is looked up: case, spaces and hyphens do not count, + is spelled out."""
    return re.sub(r"[^a-z0-9.]", "", name.lower().replace("+", "plus"))


def labels(m: dict[str, Any]) -> set[str]:
    return {key(label) for label in (m["id"], m["name"], *m["aliases"])}


# --- form and sources


def test_there_are_enough() -> None:
    assert sum(len(data["machines"]) for data in FILES.values()) == len(MACHINES) >= 160


@pytest.mark.parametrize("page", ["en", "zh"])
def test_the_pages_say_how_many(page: str) -> None:
    text = (ROOT / "docs" / page / "machines.md").read_text(encoding="utf-8")
    assert re.findall(r"(\d+)(?:\nmachines| machines| 台：)", text) == [str(len(MACHINES))]


@pytest.mark.parametrize("stem", FILES)
def test_sources_are_complete_and_used(stem: str) -> None:
    data = FILES[stem]
    assert set(data) == {"schema", "sources", "machines"}
    assert data["schema"] == "roofline.machines/1"
    used = {f["source"] for m in data["machines"] for _, f in figures(m)}
    assert used == set(data["sources"])
    for name, source in data["sources"].items():
        assert set(source) == {"title", "url", "date"}, name
        assert source["url"].startswith("https://"), name
        assert re.fullmatch(r"20\d\d-[01]\d-[0-3]\d", source["date"]), name
        assert len(source["title"]) > 10, name


@every
def test_form(m: dict[str, Any]) -> None:
    required = {"id", "name", "vendor", "kind", "aliases", "released", "memory", "datasheet"}
    optional = {"cache", "measured", "links", "power", "notes", "assumed", "generation"}
    assert required <= set(m) <= required | optional
    assert re.fullmatch(r"[a-z0-9][a-z0-9.-]*", m["id"])
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9.-]*", alias) for alias in m["aliases"])
    assert m["kind"] in {"gpu", "cpu", "accelerator", "soc"}
    assert re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])", m["released"])
    assert {"type", "unified"} <= set(m["memory"]) <= {"capacity", "usable", "type", "unified"}
    assert "capacity" in m["memory"] or m["kind"] == "cpu"
    assert set(m["datasheet"]) == {"bandwidth", "compute"}
    assert set(m["datasheet"]["compute"]) <= PRECISIONS
    assert set(m.get("measured", {}).get("compute", {})) <= PRECISIONS
    for link in m.get("links", []):
        required = {"name", "bandwidth", "devices", "scope"}
        assert required <= set(link) <= required | {"latency", "topology"}
        assert link["scope"] in {"node", "rack", "cluster", "host"}
        assert link.get("topology", "mesh") == "mesh"
        assert type(link["devices"]) is int and link["devices"] >= 2
    for note in (*m.get("notes", []), *m.get("assumed", [])):
        assert note.endswith(".")


@every
def test_every_number_is_a_figure_with_its_source(m: dict[str, Any]) -> None:
    def bare(node: Any, path: str) -> Iterator[str]:
        if isinstance(node, dict) and "value" not in node:
            for name, child in node.items():
                yield from bare(child, f"{path}.{name}")
        elif isinstance(node, list):
            for child in node:
                yield from bare(child, path)
        elif isinstance(node, (int, float)) and not isinstance(node, bool):
            yield path

    assert [p for p in bare(m, m["id"]) if not p.endswith("links.devices")] == []
    for path, figure in figures(m):
        assert {"value", "source"} <= set(figure), path
        allowed = {"value", "source", "accumulate", "note", "spread", "date"}
        assert set(figure) <= allowed, path
        assert figure.get("accumulate", "fp32") in ACCUMULATORS, path


def test_a_name_finds_one_machine() -> None:
    owner: dict[str, str] = {}
    for m in MACHINES.values():
        listed = [key(label) for label in (m["id"], m["name"], *m["aliases"])]
        assert len(listed) == len(set(listed)), f"{m['id']} says a name twice"
        for label in listed:
            assert owner.setdefault(label, m["id"]) == m["id"], f"{label} is two machines"


TYPED = {
    "h100": "h100-sxm", "H100 SXM5": "h100-sxm", "NVIDIA H100 80GB HBM3": "h100-sxm",
    "h100_pcie": "h100-pcie", "NVIDIA H100 NVL": "h100-nvl", "H200": "h200-sxm",
    "NVIDIA A100-SXM4-80GB": "a100-80gb-sxm", "NVIDIA A100 80GB PCIe": "a100-80gb-pcie",
    "NVIDIA A100-SXM4-40GB": "a100-40gb-sxm", "NVIDIA A100-PCIE-40GB": "a100-40gb-pcie",
    "Tesla V100-SXM2-32GB": "v100-sxm-32gb", "Tesla T4": "t4", "NVIDIA A10G": "a10g",
    "NVIDIA L4": "l4", "l40s": "l40s", "NVIDIA GH200 480GB": "gh200-96gb",
    "b200_sxm": "b200", "b300_sxm": "b300", "GB200 NVL72": "gb200", "gb300": "gb300",
    "4090": "rtx-4090", "RTX 3090": "rtx-3090", "NVIDIA GeForce RTX 5090": "rtx-5090",
    "3060": "rtx-3060-12gb", "rtx4070ti": "rtx-4070-ti", "4070 Ti SUPER": "rtx-4070-ti-super",
    "A6000": "rtx-a6000", "rtx-6000-ada": "rtx-6000-ada", "rtx_pro_6000_server":
    "rtx-pro-6000-server", "dgx-spark": "gb10", "NVIDIA GB10": "gb10",
    "AMD Instinct MI300X": "mi300x", "7900 XTX": "rx-7900-xtx", "Strix Halo": "strix-halo",
    "Ryzen AI Max+ 395": "strix-halo", "gaudi3": "gaudi-3", "b60": "arc-pro-b60",
    "tpu v5e": "tpu-v5e", "trillium": "tpu-v6e", "ironwood": "tpu-v7", "trn2": "trainium2",
    "inf2": "inferentia2", "910c": "ascend-910c", "Apple M4": "m4", "m4-max-40c": "m4-max-40c",
    "EPYC 9654": "epyc-9654", "Xeon Platinum 8480+": "xeon-8480", "grace": "grace",
}  # fmt: skip


@pytest.mark.parametrize(("typed", "found"), TYPED.items())
def test_names_that_people_type(typed: str, found: str) -> None:
    assert [m["id"] for m in MACHINES.values() if key(typed) in labels(m)] == [found]


AMBIGUOUS = [
    "a100", "a100-sxm", "a100-pcie", "a100-80gb", "a100-40gb", "v100", "p100", "gh200",
    "rtx-3080", "rtx-4060-ti", "910b", "m1-max", "m2-ultra", "m3-max", "m4-pro", "m4-max",
    "xeon", "epyc", "tpu", "jetson",
]  # fmt: skip


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_a_name_of_several_variants_is_nobodys(name: str) -> None:
    """So that the look-up lists the variants instead of choosing one."""
    assert [m["id"] for m in MACHINES.values() if key(name) in labels(m)] == []


@pytest.mark.parametrize("stem", FILES)
def test_a_machine_is_readable_at_a_glance(stem: str) -> None:
    text = (FOLDER / f"{stem}.json").read_text(encoding="utf-8")
    for entry in text.split("\n    {\n")[1:]:
        assert entry.count("\n") < 45
    assert text.endswith("}\n") and "\t" not in text


# --- units


@every
def test_units(m: dict[str, Any]) -> None:
    """Each value lies where only the right unit puts it."""
    assert 1.5e10 <= bandwidth(m) <= 3e13
    for precision in m["datasheet"]["compute"]:
        assert 1e11 <= compute(m, precision) <= 2e16, precision
    for link in m.get("links", []):
        assert 1e10 <= link["bandwidth"]["value"] <= 1e12, link["name"]
    if "power" in m:
        assert 10 <= m["power"]["value"] <= 2000
    if "cache" in m:
        assert 2**20 < m["cache"]["capacity"]["value"] < 2**30
    memory = m["memory"]
    if "capacity" in memory:
        assert 4e9 < memory["capacity"]["value"] < 1e12
    if "usable" in memory:
        assert 0.7 < memory["usable"]["value"] / memory["capacity"]["value"] <= 1


@every
def test_capacity_is_whole_gigabytes_as_the_vendor_counts_them(m: dict[str, Any]) -> None:
    if "capacity" not in m["memory"]:
        return
    value = m["memory"]["capacity"]["value"]
    assert type(value) is int
    assert value % GiB == 0 or value % 10**9 == 0


@every
def test_ridge(m: dict[str, Any]) -> None:
    """FLOP/byte where compute begins to bind, in the widest format that matrix units take."""
    sheet = m["datasheet"]["compute"]
    precision = next(p for p in ("bf16", "fp16", "fp32") if p in sheet)
    ridge = compute(m, precision) / bandwidth(m)
    matrix = m["kind"] == "accelerator" or "int8" in sheet or precision == "bf16"
    low, high = (18, 1400) if matrix and m["kind"] != "cpu" else (3, 1400)
    assert low < ridge < high, ridge


@pytest.mark.parametrize(
    ("name", "ridge"),
    [("h100-sxm", 295.2), ("a100-80gb-sxm", 153.0), ("h20", 37.0), ("rtx-4090", 163.9),
     ("mi300x", 246.7), ("tpu-v5e", 240.5), ("b200", 281.25), ("m2-ultra-76c", 34.0)],
)  # fmt: skip
def test_ridges_by_hand(name: str, ridge: float) -> None:
    m = MACHINES[name]
    precision = "bf16" if "bf16" in m["datasheet"]["compute"] else "fp16"
    assert compute(m, precision) / bandwidth(m) == pytest.approx(ridge, rel=2e-3)


# --- relations between precisions


def about(value: float) -> Any:
    return pytest.approx(value, rel=0.04)


# What breaks the rule that half the bits give twice the rate, and is meant to.
FP8_IS_NOT_TWICE = {
    "gaudi-3": 1.0, "inferentia2": 1.0, "trainium": 1.0, "trainium2": 1.947, "trainium3": 3.751,
}  # fmt: skip
FP16_IS_NOT_BF16 = {"mi100"}


@every
def test_dense_relations(m: dict[str, Any]) -> None:
    sheet = {p: f["value"] for p, f in m["datasheet"]["compute"].items()}
    if m["kind"] == "cpu":
        return
    if {"bf16", "fp16"} <= set(sheet):
        assert (sheet["bf16"] == sheet["fp16"]) == (m["id"] not in FP16_IS_NOT_BF16)
    if {"bf16", "fp8"} <= set(sheet):
        assert sheet["fp8"] == about(sheet["bf16"] * FP8_IS_NOT_TWICE.get(m["id"], 2))
    if {"tf32", "bf16"} <= set(sheet) and m["vendor"] in {"NVIDIA", "AMD", "Intel"}:
        assert sheet["tf32"] == pytest.approx(sheet["bf16"] / 2, rel=0.03)
    vector = m["datasheet"]["compute"].get("fp16", {}).get("accumulate") == "fp16"
    if m["vendor"] == "NVIDIA" and "int8" in sheet and "fp16" in sheet and not vector:
        geforce = "GeForce" in m["name"]
        if m["id"] not in {"b300", "gb300"}:  # cut down there
            assert sheet["int8"] == about(sheet["fp16"] * (4 if geforce else 2))
    if m["vendor"] == "NVIDIA" and "fp4" in sheet and "fp8" in sheet and "bf16" in sheet:
        times = {"b300": 3.0, "gb300": 3.0}.get(m["id"], 4 if "GeForce" in m["name"] else 2)
        assert sheet["fp4"] == about(sheet["fp8"] * times)


@every
def test_tensor_rates_follow_the_vector_rate_of_the_same_chip(m: dict[str, Any]) -> None:
    """An oracle from the architecture: SM for SM, fp32-accumulated bf16 over vector fp32.

    GeForce 2, RTX workstation and the L4 family 4, whatever the clock or the SM count. A sparse
    figure, an fp16 accumulator or a vector rate in the wrong place breaks it.
    """
    sheet = m["datasheet"]["compute"]
    if m["id"] == "rtx-5090-d":  # its tensor units are cut down, its vector units are not
        assert compute(m, "bf16") / compute(m, "fp32") == pytest.approx(2 * 2375 / 3352, rel=0.005)
    elif m["name"].startswith("NVIDIA GeForce RTX") and "bf16" in sheet:
        assert compute(m, "bf16") / compute(m, "fp32") == pytest.approx(2, rel=0.005)
    elif m["name"].startswith("NVIDIA RTX") or m["id"] in {"a10", "a40", "l4"}:
        assert compute(m, "bf16") / compute(m, "fp32") == pytest.approx(4, rel=0.005)


@every
def test_a_matrix_rate_says_what_accumulates(m: dict[str, Any]) -> None:
    for precision, figure in m["datasheet"]["compute"].items():
        if precision in {"fp64", "fp32"}:
            continue
        if m["vendor"] == "Qualcomm" and precision == "fp16":
            assert "accumulate" not in figure  # not published
            continue
        expected = {"int8": {"int32"}, "int4": {"int32"}}.get(precision, {"fp32", "fp16"})
        assert figure["accumulate"] in expected, precision


def test_fp16_accumulation_only_where_nothing_else_exists() -> None:
    halved = [
        (m["id"], p)
        for m in MACHINES.values()
        for p, f in m["datasheet"]["compute"].items()
        if f.get("accumulate") == "fp16"
    ]
    vector = {"p100-pcie", "p100-sxm", "mi50-32gb", "gtx-1660-ti", "gtx-1660-super"}
    vector |= {name for name in MACHINES if name.startswith("rx-6")}
    assert {name for name, _ in halved} - vector == {
        name for name, m in MACHINES.items() if m["kind"] == "cpu" and
        m["datasheet"]["compute"].get("fp16", {}).get("accumulate") == "fp16"
    }  # fmt: skip


@every
def test_measured_lies_below_the_sheet(m: dict[str, Any]) -> None:
    for kind, table in m.get("measured", {}).items():
        for name, figure in table.items():
            if name in m["datasheet"].get(kind, {}):
                share = figure["value"] / m["datasheet"][kind][name]["value"]
                assert 0.3 < share < 1, f"{kind}.{name}"


@every
def test_cpu_bandwidth_is_channels_times_rate_times_8(m: dict[str, Any]) -> None:
    rate = re.fullmatch(r"(?:DDR|MRDIMM)\d?-(\d+)", m["memory"]["type"])
    if m["kind"] != "cpu" or rate is None:
        return
    channels = int(m["datasheet"]["bandwidth"]["memory"]["note"].split()[0])
    assert channels in {2, 4, 8, 12, 16, 24}
    assert bandwidth(m) == channels * int(rate[1]) * 1e6 * 8


@every
def test_cpu_peak_is_what_its_note_multiplies(m: dict[str, Any]) -> None:
    if m["kind"] != "cpu":
        return
    for figure in m["datasheet"]["compute"].values():
        parts = re.findall(r"(\d+) cores × (\d+) per clock × ([\d.]+) GHz", figure["note"])
        peak = sum(int(cores) * int(per) * float(ghz) * 1e9 for cores, per, ghz in parts)
        assert figure["value"] == pytest.approx(peak, rel=1e-3)


def test_one_pool_is_called_one() -> None:
    unified = {name for name, m in MACHINES.items() if m["memory"]["unified"]}
    socs = {name for name, m in MACHINES.items() if m["kind"] == "soc"}
    assert unified == socs
    assert {"gb10", "strix-halo", "mi300a", "jetson-thor", "m4-max-40c"} <= unified


# --- the traps that other catalogues fell into, by value

T, G = 1e12, 1e9
PEAKS = [
    # sparse taken for dense
    ("h100-sxm", "bf16", 989 * T), ("h100-sxm", "fp8", 1979 * T), ("l4", "bf16", 121 * T),
    ("l4", "fp8", 242.5 * T), ("l40s", "bf16", 362.05 * T), ("l40s", "fp8", 733 * T),
    ("a100-80gb-sxm", "bf16", 312 * T), ("a100-80gb-sxm", "int8", 624 * T),
    ("b200", "bf16", 2250 * T), ("b200", "fp8", 4500 * T), ("b200", "fp4", 9000 * T),
    # vector taken for tensor: 267 and 78 are the vector rates
    ("h100-sxm", "fp16", 989 * T), ("a100-40gb-sxm", "fp16", 312 * T),
    # which accumulator: half the headline on GeForce
    ("rtx-4090", "bf16", 165.2 * T), ("rtx-3090", "bf16", 71 * T), ("rtx-5090", "bf16", 209.5 * T),
    ("rtx-4090", "fp16", 165.2 * T), ("rtx-3090", "fp16", 71 * T), ("rtx-5090", "fp16", 209.5 * T),
    # which variant
    ("h100-pcie", "bf16", 756 * T), ("h100-nvl", "bf16", 835 * T), ("h20", "bf16", 148 * T),
    ("a10", "bf16", 125 * T), ("a10g", "bf16", 70 * T),
    ("mi300x", "bf16", 1307.4 * T), ("mi325x", "bf16", 1307.4 * T),
    # Gaudi
    ("gaudi-3", "bf16", 1835 * T), ("gaudi-3", "fp8", 1835 * T),
    ("gaudi-2", "bf16", 432 * T), ("gaudi-2", "fp8", 865 * T),
    # TPU
    ("tpu-v5e", "bf16", 197 * T), ("tpu-v5p", "bf16", 459 * T), ("tpu-v6e", "bf16", 918 * T),
    ("tpu-v7", "bf16", 2307 * T),
]  # fmt: skip

BANDWIDTHS = [
    ("h100-sxm", 3350 * G), ("h100-pcie", 2000 * G), ("h100-nvl", 3900 * G),
    ("a100-80gb-sxm", 2039 * G), ("a100-80gb-pcie", 1935 * G), ("a100-40gb-sxm", 1555 * G),
    ("a100-40gb-pcie", 1555 * G), ("gh200-96gb", 4000 * G), ("gh200-144gb", 4900 * G),
    ("h200-sxm", 4800 * G), ("h20", 4000 * G), ("mi300x", 5300 * G), ("mi325x", 6000 * G),
    ("mi355x", 8000 * G), ("b200", 8000 * G), ("gaudi-2", 2460 * G),
    ("rtx-pro-6000-server", 1597 * G), ("rtx-pro-6000", 1792 * G),
    ("tpu-v5e", 819 * G), ("tpu-v5p", 2765 * G), ("tpu-v6e", 1638 * G), ("tpu-v7", 7370 * G),
    ("m1", 68.25 * G), ("m1-pro-16c", 200 * G), ("m1-max-32c", 400 * G), ("m1-ultra-64c", 800 * G),
    ("m2", 100 * G), ("m2-pro-19c", 200 * G), ("m2-max-38c", 400 * G), ("m2-ultra-76c", 800 * G),
    ("m3", 100 * G), ("m3-pro-18c", 150 * G), ("m3-max-30c", 300 * G), ("m3-max-40c", 400 * G),
    ("m3-ultra-80c", 819 * G), ("m4", 120 * G), ("m4-pro-20c", 273 * G),
    ("m4-max-32c", 410 * G), ("m4-max-40c", 546 * G), ("gb10", 273 * G), ("strix-halo", 256 * G),
]  # fmt: skip

CAPACITIES = [
    ("h100-sxm", 85_899_345_920), ("a100-80gb-pcie", 80 * GiB), ("a100-40gb-pcie", 40 * GiB),
    ("h100-nvl", 94 * GiB), ("h200-sxm", 141 * GiB), ("b200", 180 * GiB), ("gb200", 186 * GiB),
    ("mi300x", 192 * GiB), ("mi325x", 256 * GiB), ("gb10", 128 * 10**9),
    ("tpu-v5e", 16 * GiB), ("tpu-v5p", 95 * GiB), ("tpu-v6e", 32 * GiB), ("tpu-v7", 192 * GiB),
]  # fmt: skip


@pytest.mark.parametrize(("name", "precision", "value"), PEAKS)
def test_trap_peak(name: str, precision: str, value: float) -> None:
    assert compute(MACHINES[name], precision) == value
    assert MACHINES[name]["datasheet"]["compute"][precision]["accumulate"] in {"fp32", "int32"}


@pytest.mark.parametrize(("name", "value"), BANDWIDTHS)
def test_trap_bandwidth(name: str, value: float) -> None:
    assert bandwidth(MACHINES[name]) == value


@pytest.mark.parametrize(("name", "value"), CAPACITIES)
def test_trap_capacity(name: str, value: int) -> None:
    assert MACHINES[name]["memory"]["capacity"]["value"] == value


def test_trap_usable_memory_of_an_h100() -> None:
    usable = MACHINES["h100-sxm"]["memory"]["usable"]["value"]
    assert usable / GiB == pytest.approx(79.65, abs=0.005)


@pytest.mark.parametrize(
    ("name", "precision", "value", "share"),
    [("h100-sxm", "bf16", 794.5, 0.80), ("a100-80gb-sxm", "bf16", 271.2, 0.87),
     ("b200", "bf16", 1745, 0.78), ("mi300x", "bf16", 668.4, 0.51),
     ("h800-sxm", "bf16", 865, 0.87)],
)  # fmt: skip
def test_published_matrix_products(name: str, precision: str, value: float, share: float) -> None:
    m = MACHINES[name]
    assert m["measured"]["compute"][precision]["value"] == value * T
    assert value * T / compute(m, precision) == pytest.approx(share, abs=0.01)


def test_published_read_bandwidths_and_a_measured_ridge() -> None:
    read = {
        n: MACHINES[n]["measured"]["bandwidth"]["memory"]["value"] for n in ("rtx-3090", "gb10")
    }
    assert read["rtx-3090"] == pytest.approx(854 * G, abs=1 * G)
    assert 231 * G <= read["gb10"] <= 234 * G
    h800 = MACHINES["h800-sxm"]
    ridge = h800["measured"]["compute"]["bf16"]["value"] / bandwidth(h800)
    assert ridge == pytest.approx(258, abs=0.5)


@pytest.mark.parametrize(
    ("name", "link", "value", "devices"),
    [("a100-80gb-sxm", "NVLink 3", 300, 8), ("h100-sxm", "NVLink 4", 450, 8),
     ("h800-sxm", "NVLink 4", 200, 8), ("h200-sxm", "NVLink 4", 450, 8),
     ("b200", "NVLink 5", 900, 8), ("gb200", "NVLink 5", 900, 72),
     ("v100-sxm-16gb", "NVLink 2", 150, 8),
     ("mi300x", "Infinity Fabric", 448, 8), ("a40", "NVLink 3 bridge", 56.25, 2)],
)  # fmt: skip
def test_links_are_one_direction(name: str, link: str, value: float, devices: int) -> None:
    """Sheets print both directions summed: 600, 900, 1800 GB/s."""
    found = next(x for x in MACHINES[name]["links"] if x["name"] == link)
    assert (found["bandwidth"]["value"], found["devices"]) == (value * G, devices)


# --- against the best structured source found, with its known doubts


SYSTEMS = {
    "a100_pcie": "a100-80gb-pcie", "a100_sxm": "a100-80gb-sxm", "a30": "a30", "b200_sxm": "b200",
    "b300_sxm": "b300", "b60": "arc-pro-b60", "gb200": "gb200", "gb300": "gb300",
    "h100_pcie": "h100-pcie", "h100_sxm": "h100-sxm", "h200_sxm": "h200-sxm", "l4": "l4",
    "l40s": "l40s", "rtx_pro_6000_server": "rtx-pro-6000-server",
}  # fmt: skip
DOUBTS = {
    ("rtx_pro_6000_server", "mem_bw"): "the workstation card's figure",
    ("b200_sxm", "mem_bw"): "HGX 7.7; NVIDIA says up to 8",
    ("b300_sxm", "mem_bw"): "HGX 7.75; NVIDIA says up to 8",
    ("b300_sxm", "fp4_tc_flops"): "14; HGX prints 108 for eight",
    ("b60", "fp8_tc_flops"): "no fp8 hardware: it is the rate of fp16",
}
COLUMNS = {
    "bfloat16_tc_flops": "bf16", "int8_tc_flops": "int8", "fp8_tc_flops": "fp8",
    "fp4_tc_flops": "fp4", "float32_tc_flops": "fp32",
}  # fmt: skip


def rows(name: str) -> list[dict[str, str]]:
    path = VALIDATION / name
    if not path.is_file():
        pytest.skip(f"needs ../shared/validation/{name}")
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_against_aiconfigurator_systems() -> None:
    table = rows("systems.csv")
    assert {row["system"] for row in table} == set(SYSTEMS)
    differ = set()
    for row in table:
        m = MACHINES[SYSTEMS[row["system"]]]
        ours = {c: compute(m, p) for c, p in COLUMNS.items() if p in m["datasheet"]["compute"]}
        ours["mem_bw"] = bandwidth(m)
        ours["power"] = m["power"]["value"]
        for column in (*COLUMNS, "mem_bw", "power"):
            if not row[column]:
                continue
            same = column in ours and ours[column] == pytest.approx(float(row[column]), rel=5e-3)
            if not same:
                differ.add((row["system"], column))
        memory = {f["value"] for f in (m["memory"]["capacity"], m["memory"].get("usable")) if f}
        assert int(float(row["mem_capacity"])) in memory, row["system"]
        if row["system"].endswith("sxm") or row["system"].startswith("gb"):
            fastest = max(x["bandwidth"]["value"] for x in m["links"])
            assert fastest == float(row["node_intra_node_bw"]), row["system"]
    assert differ == set(DOUBTS)


def test_against_the_apple_table_of_llama_cpp() -> None:
    """Its discussion 4167 lists bandwidth and GPU cores by chip (Ultra rounded to 800)."""
    seen = set()
    for row in rows("llamacpp.csv"):
        found = re.fullmatch(r"Apple (M\d) ?(Pro|Max|Ultra)? (\d+)c", row["hardware"])
        if not found:
            continue
        chip, tier, cores = found.groups()
        base = f"{chip}-{tier}".lower() if tier else chip.lower()
        m = MACHINES.get(f"{base}-{cores}c") or MACHINES.get(base)
        if m is None or f"({cores}-core" not in m["name"]:
            continue  # the smallest bins are not listed
        seen.add(m["id"])
        assert bandwidth(m) / G == pytest.approx(float(row["bw_gb_s"]), rel=0.025), m["id"]
    assert len(seen) >= 15


# --- what joins more than a node


NETWORK = {
    "h100-sxm": 50e9, "h800-sxm": 50e9, "h200-sxm": 50e9, "h20": 50e9, "b200": 50e9, "b300": 100e9,
    "a100-80gb-sxm": 25e9, "a100-40gb-sxm": 25e9, "mi300x": 50e9, "mi325x": 50e9, "mi355x": 50e9,
    "mi250x": 25e9, "ascend-910b1": 25e9, "gaudi-3": 75e9,
}  # fmt: skip


@pytest.mark.parametrize(("name", "rate"), NETWORK.items())
def test_servers_have_a_network(name: str, rate: float) -> None:
    """Gb/s of a device's adapter, over eight: 400 Gb/s are 50 GB/s in one direction."""
    links = [x for x in MACHINES[name]["links"] if x["scope"] == "cluster"]
    assert [x["bandwidth"]["value"] for x in links] == [rate]
    assert all(x["devices"] > 16 for x in links)


@pytest.mark.parametrize("name", ["rtx-4090", "rtx-3090", "rtx-5090", "l4", "l40s", "rtx-a6000"])
def test_a_host_joins_eight_cards(name: str) -> None:
    assert max(x["devices"] for x in MACHINES[name]["links"] if x["scope"] == "node") == 8
