"""A busy machine is noticed; so are steal, quotas, swap, heat and a falling clock."""

import os
import subprocess
import sys
import time

import pytest

from fakes.measure_fakes import figure, topology, tree
from roofline.measuring import limits as limits_module
from roofline.measuring import quiet
from roofline.measuring import topology as topology_module
from roofline.measuring.limits import HostLimits
from roofline.measuring.quiet import Snapshot
from roofline.measuring.topology import Core

pytestmark = pytest.mark.alone

BASE = {
    "time": 0.0,
    "own": 0.0,
    "busy": 0.0,
    "steal": 0.0,
    "throttled": 0,
    "swapped": 0,
    "thermal": 0,
    "load": 0.0,
}


def snap(**kwargs):
    return Snapshot(**{**BASE, **kwargs})


def two_cores():
    t = topology()
    return HostLimits(t.cores, None, None)


def codes(findings):
    return {f.code: f.level for f in findings}


def review(after, figures=(), clocks=()):
    return quiet.review(snap(), after, two_cores(), list(figures), list(clocks))


def test_quiet():
    assert review(snap(time=10.0, own=18.0, busy=18.5)) == []


@pytest.mark.parametrize(("busy", "level"), [(18.5, None), (20.5, "warn"), (26.0, "refuse")])
def test_others_at_work(busy, level):
    found = codes(review(snap(time=10.0, own=18.0, busy=busy)))
    assert found.get("disturbed") == level


@pytest.mark.parametrize(("steal", "level"), [(0.1, None), (1.0, "warn"), (5.0, "refuse")])
def test_steal(steal, level):
    assert codes(review(snap(time=10.0, steal=steal))).get("steal") == level


@pytest.mark.parametrize(
    ("field", "code"), [("throttled", "throttled"), ("swapped", "swap"), ("thermal", "thermal")]
)
def test_counters(field, code):
    assert codes(review(snap(time=1.0, **{field: 3}))) == {code: "warn"}
    assert codes(review(snap(time=1.0, **{field: None}))) == {}


def test_threads_put_aside():
    assert codes(review(snap(time=1.0), [figure("x", share=0.9)])) == {"put_aside": "warn"}
    assert codes(review(snap(time=1.0), [figure("x", share=0.5)])) == {"put_aside": "refuse"}
    assert codes(review(snap(time=1.0), [figure("x", share=0.99)])) == {}


def test_clock_and_drift():
    assert codes(review(snap(time=1.0), clocks=[3.0, 2.5, 2.5, 2.5])) == {"clock": "warn"}
    assert codes(review(snap(time=1.0), clocks=[3.0, 2.98, 2.99, 2.97])) == {}
    falling = [figure("compute.fp32", drift=0.2), figure("bandwidth.memory", drift=0.3)]
    found = review(snap(time=1.0), falling)
    assert [f.values["key"] for f in found if f.code == "drift"] == ["compute.fp32"]


def test_what_does_not_repeat_is_said_of_the_worst_roof():
    apart = [
        figure("bandwidth.memory", repeat=0.08),
        figure("compute.fp32", repeat=0.2),
        figure("overhead.launch", repeat=0.9),
    ]
    found = [f for f in review(snap(time=1.0), apart) if f.code == "unsettled"]
    assert [f.values for f in found] == [{"key": "compute.fp32", "apart": 0.2}]
    assert codes(review(snap(time=1.0), [figure("compute.fp32", repeat=0.04)])) == {}


def test_setting():
    t = topology(hypervisor="kvm", governor="powersave", huge_pages="never")
    limits = HostLimits(t.cores[:1], 0.5, None, 1 << 30)
    found = codes(quiet.setting(t, limits, battery=True))
    assert found == {
        "virtual": "note",
        "affinity": "note",
        "quota": "warn",
        "memory_limit": "note",
        "governor": "warn",
        "small_pages": "warn",
        "battery": "warn",
    }


def test_setting_of_a_server():
    cores = (Core((0, 4), 0), Core((1, 5), 1))
    t = topology(cores=2, governor="powersave", features=frozenset({"hwp"}))
    limits = HostLimits(cores, None, None)
    assert codes(quiet.setting(t, limits, battery=False)) == {"numa": "note", "smt": "note"}


def test_battery(tmp_path):
    files = {
        "sys/class/power_supply/AC/type": "Mains",
        "sys/class/power_supply/AC/online": "0",
        "sys/class/power_supply/BAT0/type": "Battery",
    }
    assert quiet.on_battery(tree(tmp_path, files))
    assert not quiet.on_battery(tree(tmp_path, {"sys/class/power_supply/AC/online": "1"}))
    assert not quiet.on_battery(str(tmp_path / "none"))


def test_ticks_of_our_cpus_only(tmp_path):
    stat = (
        "cpu  999 9 9 9 9 9 9 9 0 0\ncpu0 100 0 50 900 0 0 0 10 0 0\n"
        "cpu1 500 0 0 500 0 0 0 0 0 0\nintr 1"
    )
    found = quiet.snapshot(frozenset({0}), tree(tmp_path, {"proc/stat": stat}))
    tick = os.sysconf("SC_CLK_TCK")
    assert (found.busy, found.steal) == (150 / tick, 10 / tick)


def test_thermal_counts(tmp_path):
    base = "sys/devices/system/cpu/cpu0/thermal_throttle/"
    files = {base + "core_throttle_count": "3", base + "package_throttle_count": "4"}
    assert quiet.snapshot(frozenset({0}), tree(tmp_path, files)).thermal == 7


def test_no_counters_no_findings(tmp_path):
    found = quiet.snapshot(frozenset({0}), str(tmp_path))
    assert (found.busy, found.steal, found.throttled, found.swapped) == (None, None, None, None)
    assert quiet.others(found, found) is None
    assert quiet.stolen(found, found, 1) is None


@pytest.mark.skipif(not os.path.exists("/proc/stat"), reason="needs Linux's counters")
def test_a_hog_of_our_own_is_noticed():
    limits = limits_module.read(topology_module.read())
    cpus = sum(len(c.threads) for c in limits.cores)
    hogs = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(min(cpus, 4))
    ]
    try:
        time.sleep(0.3)
        _, found = quiet.look(limits, seconds=1.0)
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()
    assert codes(found).get("busy") == "refuse", found
