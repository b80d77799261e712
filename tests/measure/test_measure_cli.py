"""The verb, for real on this machine and on fakes."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from fakes.measure_fakes import figure, topology, violations
from roofline import cli
from roofline.cli import measure as verb
from roofline.machine.load import from_data, load
from roofline.measuring import devices, quiet, record, session, store
from roofline.measuring.limits import HostLimits
from roofline.measuring.quiet import Finding
from roofline.measuring.sampling import Candidate, Probe, Series, Window, sample
from roofline.measuring.session import Result
from roofline.words import Words, languages

pytestmark = pytest.mark.alone

HERE = os.path.dirname(os.path.abspath(__file__))
SRC = os.path.join(HERE, "..", "..", "src")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ROOFLINE_DATA", str(tmp_path))
    monkeypatch.setenv("LC_ALL", "C")
    return tmp_path


def spawn(folder, *arguments):
    env = {**os.environ, "PYTHONPATH": SRC, "ROOFLINE_DATA": str(folder), "LC_ALL": "C.UTF-8"}
    command = [sys.executable, "-m", "roofline", *arguments]
    return subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_a_real_quick_run(folder):
    """Ten seconds on this very machine, kept, and used by the next question."""
    process = spawn(folder, "measure", "--device", "cpu", "--quick", "--force")
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    for word in ("memory read", "fp32 matrix product", "FLOP/byte", "tokens/s"):
        assert word in out
    assert "--on here" in err
    machine = load("here")
    (name,) = os.listdir(folder / "machines")
    data = json.loads((folder / "machines" / name).read_text(encoding="utf-8"))
    assert data["measurement"]["complete"]
    memory = machine.measured.bandwidth["memory"].value
    # however busy it is: a unit mistaken by a thousand would leave these ranges
    assert 1e7 < memory < 1e14
    assert 1e7 < machine.measured.compute["fp32"].value < 1e17
    explained = subprocess.run(
        [sys.executable, "-m", "roofline", "explain", "llama-3.1-8b", "--on", "here", "--json"],
        env={**os.environ, "PYTHONPATH": SRC, "ROOFLINE_DATA": str(folder)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    answer = json.loads(explained.stdout)
    assert answer["machine"]["ceilings"] == "measured"
    assert answer["machine"]["bandwidth"]["value"] == memory


def test_interrupt_keeps_what_is_done(folder):
    process = spawn(folder, "measure", "--device", "cpu", "--seconds", "60", "--force", "--json")
    deadline = time.monotonic() + 60
    # once the device is named the run has begun; give it time for some windows
    assert "Measuring" in process.stderr.readline()
    time.sleep(4)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=max(1, deadline - time.monotonic()))
    # struck while a library was being imported, CPython may end by the signal itself: in a
    # shell that is 130, too
    assert process.returncode in (130, -signal.SIGINT), err
    assert "interrupted" in err
    if out:
        data = json.loads(out)
        assert data["measurement"]["complete"] is False
        assert data["measurement"]["missing"]
        assert "Traceback" not in err
        from_data(data, "interrupted")


def fake_result(**kwargs):
    t = topology()
    made = Result(
        device=devices.ProbedDevice("cpu", t.name, "cpu", t.memory, 2),
        topology=t,
        limits=HostLimits(t.cores, None, 32 << 30),
        mode="quick",
        kernels="test",
    )
    for f in (figure("bandwidth.memory", 3e10), figure("compute.fp32", 3e11)):
        made.figures[f.key] = f
    for name, value in kwargs.items():
        setattr(made, name, value)
    return made


def run(monkeypatch, made, *arguments):
    monkeypatch.setattr(session, "run", lambda *_: made)
    return cli.main(["measure", "--device", "cpu", *arguments])


def test_kept_and_said(folder, monkeypatch, capsys):
    assert run(monkeypatch, fake_result()) == 0
    out, err = capsys.readouterr()
    assert "30 GB/s" in out
    assert "Your ridge is 10 FLOP/byte in fp32." in out
    assert re.search(r"Llama-3.1-8B in bf16 could reach [\d.]+ tokens/s here", out)
    assert "kept in" in err
    assert run(monkeypatch, fake_result()) == 0
    assert "--diff" in capsys.readouterr().err


def test_a_busy_machine_keeps_nothing_unless_forced(folder, monkeypatch, capsys):
    busy = fake_result(findings=[Finding("disturbed", "refuse", {"cpus": 1.5, "of": 2})])
    assert run(monkeypatch, busy) == 1
    out, err = capsys.readouterr()
    assert "30 GB/s" in out  # shown all the same
    assert "too busy: while measuring, other programs kept 1.5 of 2 CPUs busy" in err
    assert "--force" in err
    assert not os.path.exists(folder / "machines")
    assert run(monkeypatch, busy, "--force") == 0
    assert os.listdir(folder / "machines")


def test_too_busy_to_begin(folder, monkeypatch, capsys):
    busy = fake_result(figures={}, findings=[Finding("busy", "refuse", {"cpus": 2.0, "of": 2})])
    assert run(monkeypatch, busy) == 1
    assert "nothing was measured" in capsys.readouterr().err


def test_a_read_only_folder_loses_nothing(folder, monkeypatch, capsys):
    (folder / "machines").write_text("in the way")
    monkeypatch.setattr(store.tempfile, "tempdir", str(folder))
    assert run(monkeypatch, fake_result()) == 1
    err = capsys.readouterr().err
    assert "could not be written; the figures are in" in err
    (aside,) = [f for f in os.listdir(folder) if f.startswith("here-")]
    assert load(str(folder / aside)).measured.bandwidth["memory"].value == 3e10


def test_no_room_anywhere_hands_the_file_over(folder, monkeypatch, capsys):
    (folder / "machines").write_text("in the way")
    monkeypatch.setattr(store.tempfile, "tempdir", str(folder / "machines"))
    assert run(monkeypatch, fake_result(), "--no-chart") == 1
    out, err = capsys.readouterr()
    assert "the machine file follows" in err
    assert json.loads(out[out.index("{") :])["measured"]["bandwidth"]["memory"]["value"] == 3e10


def test_output_to_a_file_and_to_the_pipe(folder, monkeypatch, capsys, tmp_path):
    path = str(tmp_path / "mine.json")
    assert run(monkeypatch, fake_result(), "--output", path) == 0
    assert load(path).measured.compute["fp32"].value == 3e11
    capsys.readouterr()
    assert run(monkeypatch, fake_result(), "--output", "-") == 0
    assert json.loads(capsys.readouterr().out)["id"] == "here-cpu"
    assert not os.path.exists(folder / "machines")


def test_an_interrupted_run_is_merged_over_the_earlier_one(folder, monkeypatch, capsys):
    run(monkeypatch, fake_result())
    short = fake_result(missing=("compute.fp32",))
    del short.figures["compute.fp32"]
    short.figures["bandwidth.memory"] = figure("bandwidth.memory", 2e10)
    assert run(monkeypatch, short) == 130
    assert "missing: fp32 matrix product" in capsys.readouterr().err
    machine = load("here")
    assert machine.measured.bandwidth["memory"].value == 2e10
    assert machine.measured.compute["fp32"].value == 3e11


@pytest.mark.parametrize("seconds", ["0", "nan", "-1", "1e9", "x"])
def test_bad_seconds(folder, capsys, seconds):
    assert cli.main(["measure", "--device", "cpu", "--seconds", seconds]) == 2
    assert "--seconds must be" in capsys.readouterr().err


def test_unknown_device(folder, capsys):
    assert cli.main(["measure", "--device", "tpu"]) == 2
    assert "there is no device 'tpu' here; known: cpu" in capsys.readouterr().err


def test_list(folder, capsys):
    assert cli.main(["measure", "--list"]) == 0
    assert "cpu" in capsys.readouterr().out
    assert cli.main(["measure", "--list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["key"] == "cpu"


def test_modes():
    parser = cli.parser("measure")

    def options(*arguments):
        return verb.options_of(parser.parse_args(["measure", *arguments]))

    assert options("--quick").budget == 10
    assert options().budget < 60
    assert options("--thorough").budget > 60
    assert (options("--seconds", "15").mode, options("--seconds", "15").budget) == ("quick", 15)
    assert options("--seconds", "30").mode == "standard"


ALL_FINDINGS = {
    "unsettled": {"key": "compute.fp32", "apart": 0.1},
    "busy": {"cpus": 1.0, "of": 2},
    "load": {"load": 1.0},
    "steal": {"share": 0.1},
    "virtual": {"kind": "kvm"},
    "affinity": {"cores": 1, "of": 2},
    "quota": {"cpus": 0.5, "threads": 1},
    "memory_limit": {"bytes": 1 << 30},
    "numa": {"nodes": 2},
    "governor": {"governor": "powersave"},
    "small_pages": {},
    "battery": {},
    "smt": {"cores": 4},
    "disturbed": {"cpus": 1.0, "of": 2},
    "throttled": {"times": 3},
    "swap": {"times": 3},
    "thermal": {"times": 3},
    "put_aside": {"share": 0.9},
    "clock": {"slower": 0.1},
    "drift": {"key": "compute.fp32", "down": 0.2},
    "device_used": {"bytes": 1 << 30},
    "working_set": {"bytes": 1 << 30},
    "portable": {},
    "no_torch": {},
    "cache_claim": {"level": "L3"},
    "cache_seen": {"bytes": 1 << 20, "reported": 1 << 28},
    "emulated": {"precision": "bf16", "share": 0.1},
}


@pytest.mark.parametrize("language", languages())
def test_every_finding_has_its_sentence(language):
    from roofline.say import measured as report

    words = Words(language)
    for code, values in ALL_FINDINGS.items():
        sentence = report.finding(Finding(code, "warn", values), words)
        assert "{" not in sentence and "measure." not in sentence
        _, _, said = sentence.replace("：", ": ").partition(": ")
        assert said
    folder = os.path.join(SRC, "roofline", "measuring")
    used = set()
    for name in os.listdir(folder):
        if name.endswith(".py"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                used |= set(re.findall(r'(?:Finding|_graded|_counted)\(\s*"(\w+)"', file.read()))
    assert used == set(ALL_FINDINGS)


@pytest.mark.parametrize("language", languages())
def test_every_probe_has_its_name(language):
    from roofline.say import measured as report

    words = Words(language)
    names = {
        report.name_of(key, words)
        for key in (
            "bandwidth.memory",
            "bandwidth.memory.copy",
            "bandwidth.memory.triad",
            "bandwidth.memory.core",
            "bandwidth.L2",
            "compute.bf16",
            "instruction.fp32",
            "gemm.bf16.m8",
            "ladder.65536",
            "overhead.launch",
            "overhead.sync",
            "overhead.python",
            "overhead.all_reduce",
            "link.all_reduce",
        )
    }
    assert len(names) == 14
    assert not any(re.search(r"[a-z]\.\w", name) for name in names)


def test_a_run_on_a_busy_machine_does_not_begin(monkeypatch):
    findings = [Finding("busy", "refuse", {"cpus": 2.0, "of": 2})]
    monkeypatch.setattr(quiet, "look", lambda _: (quiet.snapshot(frozenset({0})), findings))
    made = session.run(devices.cpu(), session.Options("quick"))
    assert made.figures == {}
    assert not made.keepable


def test_without_kernels_and_without_torch(monkeypatch):
    """The minimal install: NumPy alone finds memory and its own products."""
    monkeypatch.setattr(session, "has_kernels", lambda: False)
    monkeypatch.setattr(session, "has_torch", lambda: False)
    monkeypatch.setattr(session.bandwidth, "memory_bytes", lambda *_: 48 << 20)
    made = session.run(devices.cpu(), session.Options("quick", 1.0, force=True))
    assert {"bandwidth.memory", "compute.fp32", "overhead.launch"} <= set(made.figures)
    assert {"portable", "no_torch"} <= {f.code for f in made.findings}
    machine = from_data(record.machine(made), "run")
    assert machine.roof("measured").ridge("fp32") > 0


def test_a_standard_run_is_consistent(monkeypatch):
    """No decode-like product of the run lies above the ceilings it stores."""
    monkeypatch.setattr(session.bandwidth, "memory_bytes", lambda *_: 64 << 20)
    monkeypatch.setitem(session.SQUARES, "standard", (256, 512))
    monkeypatch.setattr(session, "WEIGHTS", (1024, 1024))
    made = session.run(devices.cpu(), session.Options("standard", 2.0, force=True))
    assert any(key.startswith("gemm.") for key in made.figures)
    assert violations(made.figures) == {}


def test_a_cache_that_is_not_ours_is_not_kept():
    made = fake_result()
    made.figures["bandwidth.L3"] = figure("bandwidth.L3", 3.1e10)
    made.figures["bandwidth.L2"] = figure("bandwidth.L2", 2e11)
    found = session.refuted_caches(made)
    assert [f.values for f in found] == [{"level": "L3"}]
    assert "bandwidth.L3" not in made.figures
    assert "bandwidth.L2" in made.figures


def test_a_cache_smaller_than_reported_is_noticed():
    made = fake_result()
    for size, rate in ((1 << 16, 3e11), (1 << 20, 9e10), (1 << 22, 3.2e10), (1 << 28, 3e10)):
        made.figures[f"ladder.{size}"] = figure(f"ladder.{size}", rate)
    assert session.bandwidth.cache_seen(made.figures) == 1 << 20
    (found,) = session.refuted_caches(made)
    assert (found.code, found.values) == ("cache_seen", {"bytes": 1 << 20, "reported": 32 << 20})


def test_emulated_precisions_are_no_roof():
    made = fake_result()
    made.figures["compute.bf16"] = figure("compute.bf16", 2e9)
    made.figures["compute.int8"] = figure("compute.int8", 9e11)
    (found,) = session.emulated(made)
    assert found.values["precision"] == "bf16"
    assert "compute.bf16" not in made.figures
    assert "compute.int8" in made.figures


def test_what_is_no_roof_is_given_no_more_time():
    def one(key, rate):
        series = Series(Probe(key, ()), Candidate("x", 1.0, None))
        series.rates.append(rate)
        return series

    rates = {"compute.fp32": 4.0, "compute.fp64": 2.0, "compute.bf16": 1.0, "compute.fp16": 9.0,
             "bandwidth.L1": 1.0, "overhead.launch": 1.0, "gemm.fp32.m1": 1.0}  # fmt: skip
    table = {key: [one(key, rate)] for key, rate in rates.items()}
    table["compute.int8"] = []
    assert [*session.unsettled_roofs(table)] == [
        "compute.fp32", "compute.fp64", "compute.fp16", "bandwidth.L1",
    ]  # fmt: skip


class Terminal:
    def __init__(self, tty):
        self.tty, self.text = tty, ""

    def isatty(self):
        return self.tty

    def write(self, text):
        self.text += text

    def flush(self):
        pass


@pytest.mark.parametrize("tty", [True, False])
def test_live_table(tty, monkeypatch):
    from roofline.say import measuring as live

    stream = Terminal(tty)
    monkeypatch.setattr(live, "EVERY", 0.0)
    watch = live.Live(Words("en"), stream)
    probe = Probe("bandwidth.memory", (Candidate("x", 1e6, lambda n: Window(n, n * 1e-3)),))
    ticks = iter(range(10_000))
    sample([probe], 20.0, progress=watch, clock=lambda: float(next(ticks)))
    watch.close()
    assert "1 GB/s" in stream.text
    assert "memory read" in stream.text
    assert " s left" in stream.text or "for" in stream.text
    assert ("\x1b[" in stream.text) == tty


def test_what_cannot_be_asked_is_said_before_anything_begins(folder, capsys):
    assert cli.main("measure --device cpu --seconds 0.1".split()) == 2
    assert capsys.readouterr().err == "roofline: --seconds must be from 1 to 3600, not '0.1'\n"
