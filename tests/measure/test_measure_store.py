"""Files are whole or absent; nothing is lost; `here` finds them; two are compared."""

import errno
import json
import os
import re
import threading

import pytest

from fakes.measure_fakes import figure, topology
from roofline.errors import InputError, NotFound, RooflineError
from roofline.files import folders
from roofline.machine import diff, here
from roofline.machine.load import entries, from_data, load
from roofline.measuring import match, record, store
from roofline.measuring.devices import ProbedDevice
from roofline.measuring.limits import HostLimits
from roofline.measuring.quiet import Finding
from roofline.measuring.session import Result
from roofline.record import replace
from roofline.say.machines import difference
from roofline.words import Words


def result(**kwargs):
    t = topology()
    made = Result(
        device=ProbedDevice("cpu", t.name, "cpu", t.memory, 2),
        topology=t,
        limits=HostLimits(t.cores, None, 32 << 30),
        mode="quick",
        kernels="llvmlite",
        seconds=9.5,
    )
    for f in (
        figure("bandwidth.memory", 3e10),
        figure("bandwidth.memory.copy", 4e10),
        figure("bandwidth.memory.core", 2e10),
        figure("bandwidth.L2", 2e11, repeat=0.03),
        figure("compute.fp32", 3e11),
        figure("compute.int8", 9e11),
        figure("overhead.launch", 3e-6),
        figure("gemm.fp32.m1", 1e10, intensity=0.5),
    ):
        made.figures[f.key] = f
    for name, value in kwargs.items():
        setattr(made, name, value)
    return made


def test_a_run_is_a_machine():
    data = record.machine(result(), date="2026-01-02")
    machine = from_data(data, "test")
    assert machine.name == "Example CPU 9000, 2 cores"
    assert machine.kind == "cpu"
    assert dict(machine.measured.bandwidth).keys() == {"memory", "L2"}
    memory = machine.measured.bandwidth["memory"]
    assert (memory.value, memory.spread, memory.date) == (3e10, 0.05, "2026-01-02")
    assert memory.source.startswith("roofline measure")
    assert machine.measured.compute["int8"].accumulate == "int32"
    assert machine.roof("measured").ridge("fp32") == 10
    assert machine.capacity.value == 64 << 30
    keys = [s["key"] for s in data["measurement"]["samples"]]
    assert "bandwidth.memory.copy" in keys
    assert data["measurement"]["repeatability"] == 0.03
    json.dumps(data, allow_nan=False)


def test_nothing_in_the_file_names_a_person_or_a_host(monkeypatch):
    import getpass
    import platform

    text = store.text(record.machine(result()))
    for private in (platform.node(), os.path.expanduser("~")):
        if len(private) > 5:
            assert private not in text
    user = getpass.getuser()
    assert not re.search(rf"\b{re.escape(user)}\b", text) or len(user) < 5
    assert "serial" not in text.lower()


def test_a_container_has_the_memory_of_its_limit():
    t = topology()
    data = record.machine(result(limits=HostLimits(t.cores, None, 1 << 30, 2 << 30)))
    assert data["memory"]["capacity"]["value"] == 2 << 30


def test_interrupted_and_busy_runs_say_so():
    made = result(
        missing=("compute.bf16",), findings=[Finding("disturbed", "warn", {"cpus": 0.3, "of": 2})]
    )
    data = record.machine(made)
    assert data["measurement"]["complete"] is False
    assert "interrupted: without compute.bf16" in data["notes"]
    assert any("disturbed" in note for note in data["notes"])
    from_data(data, "test")


def test_the_sheet_of_a_known_part_is_carried_over():
    entry = next(e for e in entries() if e["id"] == "h100-sxm")
    data = record.machine(result(), entry)
    machine = from_data(data, "test")
    assert machine.name == "NVIDIA H100 SXM, 2 cores"
    assert machine.datasheet.bandwidth["memory"].value == 3.35e12
    assert machine.datasheet.bandwidth["memory"].url
    assert machine.links
    assert machine.roof("datasheet").bandwidth.value == 3.35e12
    assert machine.roof().kind == "measured"  # a run's own figures hold by default


def test_merge_keeps_what_an_interrupted_run_lacks():
    old = record.machine(result(), date="2026-01-01")
    short = result(missing=("compute.fp32",))
    del short.figures["compute.fp32"]
    new = record.merge(record.machine(short, date="2026-02-02"), old)
    machine = from_data(new, "test")
    assert machine.measured.compute["fp32"].date == "2026-01-01"
    assert machine.measured.compute["int8"].date == "2026-02-02"


def test_a_roof_below_the_run_before_is_named():
    old, lower = record.machine(result(), date="2026-01-01"), result()
    assert record.below(record.machine(lower), old) is None
    figure = lower.figures["compute.fp32"]
    lower.figures["compute.fp32"] = replace(figure, best=0.8 * figure.best)
    new = record.machine(lower)
    key, down = record.below(new, old)
    assert (key, round(down, 3)) == ("compute.fp32", 0.2)
    assert record.below(old, new) is None


@pytest.mark.parametrize(
    "measured",
    [None, [], {"compute": 7}, {"compute": {"fp32": "fast"}}, {"compute": {"fp32": {"value": -1}}}],
)
def test_an_earlier_file_that_somebody_edited_is_no_trap(measured):
    new = record.machine(result())
    old = {"schema": record.SCHEMA, "measured": measured, "sources": measured}
    assert record.below(new, old) is None
    assert record.merge(new, old)["measured"]["compute"]["fp32"]["value"] > 0


def test_save_is_all_or_nothing(tmp_path, monkeypatch):
    path = str(tmp_path / "deep" / "here.json")
    store.save({"schema": record.SCHEMA, "a": 1}, path)
    assert store.load(path)["a"] == 1

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(store.os, "fsync", full)
    with pytest.raises(RooflineError, match="No space left"):
        store.save({"schema": record.SCHEMA, "a": 2}, path)
    assert store.load(path)["a"] == 1
    assert os.listdir(tmp_path / "deep") == ["here.json"]


def test_keep_sets_the_earlier_file_aside(tmp_path):
    path = str(tmp_path / "here.json")
    for n in (1, 2, 3):
        assert store.keep({"schema": record.SCHEMA, "n": n}, path) == path
    assert store.load(path)["n"] == 3
    assert store.load(store.before(path))["n"] == 2


def test_a_folder_that_cannot_be_written_costs_a_sentence_only(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setattr(store.tempfile, "tempdir", str(tmp_path))
    where = store.keep({"schema": record.SCHEMA, "n": 1}, str(blocked / "here.json"))
    assert where.startswith(str(tmp_path / "here-"))
    assert store.load(where)["n"] == 1


def test_a_failed_keep_leaves_the_earlier_file(tmp_path, monkeypatch):
    path = str(tmp_path / "here.json")
    store.keep({"schema": record.SCHEMA, "n": 1}, path)
    monkeypatch.setattr(store, "save", lambda *_: (_ for _ in ()).throw(RooflineError("full")))
    with pytest.raises(RooflineError):
        store.keep({"schema": record.SCHEMA, "n": 2}, path)
    assert store.load(path)["n"] == 1


@pytest.mark.parametrize("content", ["", "{", "[]", '{"schema": "other"}', "\x00"])
def test_a_damaged_earlier_file_is_no_file(tmp_path, content):
    path = tmp_path / "here.json"
    path.write_text(content)
    assert store.load(str(path)) is None


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ROOFLINE_DATA", str(tmp_path))
    return tmp_path


def test_here_before_and_after(folder):
    with pytest.raises(NotFound, match="roofline measure"):
        load("here")
    store.keep(record.machine(result()), here.path_for("cpu"))
    assert load("here").id == load("here:cpu").id == "here-cpu"
    with pytest.raises(NotFound, match="measured: cpu"):
        load("here:cuda:1")
    assert list(here.measured()) == ["cpu"]


def test_here_prefers_an_accelerator(folder):
    for device in ("cpu", "cuda:1", "cuda:0"):
        made = result(device=ProbedDevice(device, "X", "cuda", 1 << 30))
        store.keep(record.machine(made), here.path_for(device))
        store.keep(record.machine(made), here.path_for(device))  # leaves a .before file
    assert list(here.measured()) == ["cuda0", "cuda1", "cpu"]
    assert load("here").id == "here-cuda0"
    assert load("HERE:cuda").id == "here-cuda0"
    assert load("here:rocm:1").id == "here-cuda1"
    assert load("here:cpu").id == "here-cpu"


def test_hosts_that_share_a_home_are_told_apart(folder, monkeypatch):
    store.keep(record.machine(result()), here.path_for("cpu"))
    monkeypatch.setattr(here, "model_line", lambda: "another processor")
    with pytest.raises(NotFound):
        load("here")


def test_fingerprint_is_steady_and_anonymous():
    assert re.fullmatch(r"[0-9a-f]{8}", here.fingerprint())
    assert here.fingerprint() == here.fingerprint()


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"XDG_DATA_HOME": "/x"}, "/x/roofline"),
        ("linux", {}, "/home/u/.local/share/roofline"),
        ("darwin", {}, "/home/u/Library/Application Support/roofline"),
        ("win32", {"LOCALAPPDATA": "/w"}, "/w/roofline"),
        ("linux", {"ROOFLINE_DATA": "~/r"}, "/home/u/r"),
    ],
)
def test_data_folder(monkeypatch, platform, variables, expected):
    for name in ("ROOFLINE_DATA", "XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/u")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(here.sys, "platform", platform)
    assert folders.data_folder() == expected


def test_a_spoilt_here_file_is_named(folder):
    path = here.path_for("cpu")
    os.makedirs(os.path.dirname(path))
    with open(path, "w", encoding="utf-8") as file:
        file.write("{")
    with pytest.raises(InputError, match="here-"):
        load("here")


def test_difference_of_two_runs():
    a = from_data(record.machine(result()), "a")
    faster = result()
    faster.figures["bandwidth.memory"] = figure("bandwidth.memory", 4e10)
    faster.figures["bandwidth.L2"] = figure("bandwidth.L2", 2.1e11)
    del faster.figures["compute.int8"]
    b = from_data(record.machine(faster), "b")
    rows = {(r.what, r.name): r for r in diff.diff(a, b)}
    assert rows["bandwidth", "memory"].ratio == pytest.approx(4 / 3)
    assert rows["bandwidth", "memory"].differs
    assert not rows["bandwidth", "L2"].differs  # 5 % apart, the spreads are 5 % each
    assert rows["compute", "int8"].ratio is None
    assert rows["compute", "int8"].to_json()["b"] is None
    for language in ("en", "zh"):
        text = difference(a, b, Words(language))
        assert "1.333×" in text
        assert "memory" in text


GIB = 1 << 30
NAMES = [
    ("NVIDIA H100 80GB HBM3", 79.65, "h100-sxm"),
    ("NVIDIA H100 PCIe", 79.65, "h100-pcie"),
    ("NVIDIA H100 NVL", 94, "h100-nvl"),
    ("NVIDIA H200", 139.8, "h200-sxm"),
    ("NVIDIA A100-SXM4-80GB", 79.3, "a100-80gb-sxm"),
    ("NVIDIA A100-SXM4-40GB", 39.6, "a100-40gb-sxm"),
    ("NVIDIA A100 80GB PCIe", 79.3, "a100-80gb-pcie"),
    ("NVIDIA A100-PCIE-40GB", 39.6, "a100-40gb-pcie"),
    ("Tesla V100-SXM2-16GB", 15.8, "v100-sxm-16gb"),
    ("Tesla T4", 14.7, "t4"),
    ("NVIDIA L4", 22.2, "l4"),
    ("NVIDIA L40S", 44.6, "l40s"),
    ("NVIDIA GeForce RTX 4090", 23.6, "rtx-4090"),
    ("NVIDIA GeForce RTX 4070 Ti", 11.7, "rtx-4070-ti"),
    ("NVIDIA GeForce RTX 4070 Ti SUPER", 15.7, "rtx-4070-ti-super"),
    ("NVIDIA GeForce RTX 3080", 9.8, "rtx-3080-10gb"),
    ("AMD Instinct MI300X", 191.9, "mi300x"),
    ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", 9.8, None),
    ("NVIDIA H100 80GB HBM3", 40, None),
    ("NVIDIA Example 9999", 80, None),
    ("NVIDIA", 80, None),
    ("", None, None),
]


@pytest.mark.parametrize(("name", "gib", "expected"), NAMES)
def test_driver_names(name, gib, expected):
    found = match.part(name, int(gib * GIB) if gib else None, entries())
    assert (found["id"] if found else None) == expected


def test_vendors():
    assert record.vendor("AMD EPYC 7763") == "AMD"
    assert record.vendor("Intel(R) Xeon(R)") == "Intel"
    assert record.vendor("Apple M2") == "Apple"
    assert record.vendor("nobody") == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux only")
def test_a_device_is_neither_read_through_nor_replaced(capsys):
    """``--output /dev/full``: it never ends when read; a file moved over it would remove it."""
    assert store.load("/dev/full") is None
    with pytest.raises(RooflineError, match="/dev/full could not be written: No space left"):
        store.save({}, "/dev/full")
    store.save({}, "/dev/null")
    for path in ("/dev/full", "/dev/null"):
        assert not os.path.isfile(path)


def test_a_pipe_gets_the_file(tmp_path):
    path = str(tmp_path / "pipe")
    os.mkfifo(path)
    got = []

    def read():
        with open(path, encoding="utf-8") as file:
            got.append(file.read())

    reader = threading.Thread(target=read)
    reader.start()
    assert store.keep({"schema": record.SCHEMA}, path) == path
    reader.join(10)
    assert json.loads(got[0]) == {"schema": record.SCHEMA}
    assert os.listdir(tmp_path) == ["pipe"]
