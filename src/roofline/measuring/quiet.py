"""Is this machine quiet enough to be measured, and did it stay so?

Two snapshots and the difference between them: what others ran on our CPUs,
what the hypervisor took, whether the control group stopped us, whether pages
were swapped, whether the clock fell. Nothing is changed; a clock, a power
limit or a governor least of all.

Findings are codes with numbers; their sentences live with the words, as
``measure.finding.<code>``. A finding is a ``note`` (worth knowing), a ``warn``
(the figures may be low) or a ``refuse`` (they are not worth keeping).
"""

from __future__ import annotations

import glob
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from . import limits as limits_module
from .limits import HostLimits
from .sampling import Estimate
from .topology import Topology, text

BUSY_WARN, BUSY_REFUSE = 0.15, 0.5  # CPUs that others keep busy
STEAL_WARN, STEAL_REFUSE = 0.02, 0.15  # share of our CPU time the hypervisor took
DRIFT_WARN = 0.07
CLOCK_WARN = 0.05
REPEAT_WARN = 0.05
SHARE_WARN, SHARE_REFUSE = 0.97, 0.75

Values = dict[str, float | int | str]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was seen: its ``code``, its ``level``, its numbers."""

    code: str
    level: str
    values: Values = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Counters at one moment; a None is a counter this system does not have."""

    time: float
    own: float
    busy: float | None
    steal: float | None
    throttled: int | None
    swapped: int | None
    thermal: int | None
    load: float | None


def snapshot(cpus: frozenset[int], root: str = "/") -> Snapshot:
    """Read all counters now. ``busy`` and ``steal`` are CPU seconds on ``cpus`` since boot."""
    busy, steal = _ticks(cpus, root)
    try:
        load: float | None = os.getloadavg()[0]
    except (OSError, AttributeError):
        load = None
    return Snapshot(
        time=time.monotonic(),
        own=time.process_time(),
        busy=busy,
        steal=steal,
        throttled=limits_module.throttled(root),
        swapped=limits_module.swapped(root),
        thermal=_thermal(root),
        load=load,
    )


def others(before: Snapshot, after: Snapshot) -> float | None:
    """CPUs' worth of work that others did on our CPUs between two snapshots."""
    gone = after.time - before.time
    if before.busy is None or after.busy is None or gone <= 0:
        return None
    return max(0.0, (after.busy - before.busy) - (after.own - before.own)) / gone


def stolen(before: Snapshot, after: Snapshot, cpus: int) -> float | None:
    """Share of ``cpus``' time that the hypervisor gave to someone else."""
    gone = (after.time - before.time) * cpus
    if before.steal is None or after.steal is None or gone <= 0:
        return None
    return max(0.0, after.steal - before.steal) / gone


def look(
    limits: HostLimits,
    seconds: float = 0.4,
    root: str = "/",
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[Snapshot, list[Finding]]:
    """Watch for ``seconds`` before measuring: who else is at work here?"""
    cpus = frozenset(t for core in limits.cores for t in core.threads)
    before = snapshot(cpus, root)
    sleep(seconds)
    after = snapshot(cpus, root)
    out: list[Finding] = []
    busy = others(before, after)
    if busy is not None:
        out += _graded("busy", busy, BUSY_WARN, BUSY_REFUSE, {"cpus": busy, "of": len(cpus)})
    elif after.load is not None:
        # The load average lags by a minute: it can warn, not refuse.
        out += _graded("load", after.load, 0.5, float("inf"), {"load": after.load})
    took = stolen(before, after, len(cpus))
    if took is not None:
        out += _graded("steal", took, STEAL_WARN, STEAL_REFUSE, {"share": took})
    return after, out


def setting(topology: Topology, limits: HostLimits, battery: bool | None = None) -> list[Finding]:
    """What about this machine bends every figure, however quiet it is."""
    out: list[Finding] = []
    if topology.hypervisor:
        out.append(Finding("virtual", "note", {"kind": topology.hypervisor}))
    if len(limits.cores) < len(topology.cores):
        out.append(
            Finding("affinity", "note", {"cores": len(limits.cores), "of": len(topology.cores)})
        )
    if limits.quota is not None and limits.quota < len(limits.cores):
        out.append(Finding("quota", "warn", {"cpus": limits.quota, "threads": limits.threads}))
    if limits.memory_limit is not None:
        out.append(Finding("memory_limit", "note", {"bytes": limits.memory_limit}))
    nodes = sorted({core.node for core in limits.cores})
    if len(nodes) > 1:
        out.append(Finding("numa", "note", {"nodes": len(nodes)}))
    if topology.governor == "powersave" and "hwp" not in topology.features:
        out.append(Finding("governor", "warn", {"governor": topology.governor}))
    if topology.huge_pages == "never":
        out.append(Finding("small_pages", "warn"))
    if battery if battery is not None else on_battery():
        out.append(Finding("battery", "warn"))
    if any(len(core.threads) > 1 for core in limits.cores):
        out.append(Finding("smt", "note", {"cores": len(limits.cores)}))
    return out


def review(
    before: Snapshot,
    after: Snapshot,
    limits: HostLimits,
    figures: list[Estimate],
    clocks: list[float],
) -> list[Finding]:
    """What happened while measuring: who disturbed us, and do the figures show it?"""
    cpus = sum(len(core.threads) for core in limits.cores)
    out: list[Finding] = []
    busy = others(before, after)
    if busy is not None:
        out += _graded("disturbed", busy, BUSY_WARN, BUSY_REFUSE, {"cpus": busy, "of": cpus})
    took = stolen(before, after, cpus)
    if took is not None:
        out += _graded("steal", took, STEAL_WARN, STEAL_REFUSE, {"share": took})
    out += _counted("throttled", before.throttled, after.throttled)
    out += _counted("swap", before.swapped, after.swapped)
    out += _counted("thermal", before.thermal, after.thermal)
    shares = [f.share for f in figures if f.share is not None]
    if shares:
        share = statistics.median(shares)
        out += _graded("put_aside", 1 - share, 1 - SHARE_WARN, 1 - SHARE_REFUSE, {"share": share})
    if len(clocks) >= 4:
        fastest, usual = max(clocks), statistics.median(clocks)
        slower = 1 - usual / fastest
        out += _graded("clock", slower, CLOCK_WARN, float("inf"), {"slower": slower})
    falling = [f for f in figures if f.drift is not None and f.drift > DRIFT_WARN]
    falling = [f for f in falling if f.key.startswith("compute.")]
    for f in falling:
        out.append(Finding("drift", "warn", {"key": f.key, "down": f.drift or 0.0}))
    roofs = (f for f in figures if f.key.startswith(("compute.", "bandwidth.")))
    apart, key = max(((f.repeat or 0.0, f.key) for f in roofs), default=(0.0, ""))
    if apart > REPEAT_WARN:
        out.append(Finding("unsettled", "warn", {"key": key, "apart": apart}))
    return out


def on_battery(root: str = "/") -> bool:
    """Whether a laptop says that its mains supply is off."""
    states = [
        text(os.path.dirname(kind), "online")
        for kind in glob.glob(os.path.join(root, "sys/class/power_supply/*/type"))
        if text(kind) == "Mains"
    ]
    return bool(states) and all(state == "0" for state in states)


def refused(findings: list[Finding]) -> list[Finding]:
    """Those that forbid keeping the figures."""
    return [f for f in findings if f.level == "refuse"]


def _graded(code: str, value: float, warn: float, refuse: float, values: Values) -> list[Finding]:
    if value >= refuse:
        return [Finding(code, "refuse", values)]
    return [Finding(code, "warn", values)] if value >= warn else []


def _counted(code: str, before: int | None, after: int | None) -> list[Finding]:
    if before is None or after is None or after <= before:
        return []
    return [Finding(code, "warn", {"times": after - before})]


def _ticks(cpus: frozenset[int], root: str) -> tuple[float | None, float | None]:
    """CPU seconds spent in user and system mode, and stolen, on ``cpus`` since boot."""
    per_second = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
    busy = steal = 0.0
    seen = False
    for line in (text(root, "proc/stat") or "").splitlines():
        name, *fields = line.split()
        if not (name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in cpus):
            continue
        counts = [int(f) for f in fields if f.isdigit()]
        if len(counts) < 7:
            continue
        # user nice system idle iowait irq softirq steal; guest time is inside user
        busy += counts[0] + counts[1] + counts[2] + counts[5] + counts[6]
        steal += counts[7] if len(counts) > 7 else 0
        seen = True
    return (busy / per_second, steal / per_second) if seen else (None, None)


def _thermal(root: str) -> int | None:
    pattern = os.path.join(root, "sys/devices/system/cpu/cpu*/thermal_throttle/*_throttle_count")
    counts = [text(path) for path in glob.glob(pattern)]
    known = [int(c) for c in counts if c and c.isdigit()]
    return sum(known) if known else None
