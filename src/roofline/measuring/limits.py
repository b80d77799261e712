"""What this process may use of the machine: affinity, control groups, free memory.

A container that may use 2 of 64 cores has the ceilings of 2 cores. Both kinds
of Linux control groups (v1 and v2) are read from the process's own group up to
the root; the tightest limit counts.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

from .topology import Core, Topology, text

_UNLIMITED = 1 << 60  # v1 writes "no memory limit" as a number near 2^63


@dataclass(frozen=True, slots=True)
class HostLimits:
    """The share of the machine that is ours.

    ``cores`` are the physical cores we may run on, ``quota`` the CPU time per
    second the control group grants (in CPUs, None = unlimited), ``memory`` the
    bytes we may still take.
    """

    cores: tuple[Core, ...]
    quota: float | None
    memory: int | None
    memory_limit: int | None = None

    @property
    def threads(self) -> int:
        """Threads that can run at full speed all the time, at most one per physical core."""
        if self.quota is None:
            return len(self.cores)
        return max(1, min(len(self.cores), math.floor(self.quota + 0.05)))


def read(topology: Topology, root: str = "/", allowed: frozenset[int] | None = None) -> HostLimits:
    """Find the limits of this process. ``allowed`` stands in for the affinity mask in tests."""
    if allowed is None and hasattr(os, "sched_getaffinity"):
        allowed = frozenset(os.sched_getaffinity(0))
    cores = topology.cores
    if allowed is not None:
        cores = tuple(
            Core(kept, core.node, core.package, core.capacity)
            for core in topology.cores
            if (kept := tuple(t for t in core.threads if t in allowed))
        ) or tuple(Core((cpu,)) for cpu in sorted(allowed))
    quota, limit, used = _groups(root)
    free = _available(root)
    if limit is not None:
        left = max(0, limit - (used or 0))
        free = left if free is None else min(free, left)
    return HostLimits(cores=cores, quota=quota, memory=free, memory_limit=limit)


def throttled(root: str = "/") -> int | None:
    """How often the control group has stopped us for using up its quota so far."""
    for folder in _folders(root, "cpu"):
        for line in (text(folder, "cpu.stat") or "").splitlines():
            name, _, value = line.partition(" ")
            if name == "nr_throttled" and value.strip().isdigit():
                return int(value)
    return None


def swapped(root: str = "/") -> int | None:
    """Pages moved to or from swap since boot."""
    total, seen = 0, False
    for line in (text(root, "proc/vmstat") or "").splitlines():
        name, _, value = line.partition(" ")
        if name in ("pswpin", "pswpout") and value.strip().isdigit():
            total, seen = total + int(value), True
    return total if seen else None


def _available(root: str) -> int | None:
    for line in (text(root, "proc/meminfo") or "").splitlines():
        if line.startswith("MemAvailable:"):
            value = line.split()[1:2]
            if value and value[0].isdigit():
                return int(value[0]) * 1024
    return None


def _groups(root: str) -> tuple[float | None, int | None, int | None]:
    quotas: list[float] = []
    for folder in _folders(root, "cpu"):
        both = (text(folder, "cpu.max") or "").split()
        if not both:
            both = [text(folder, "cpu.cfs_quota_us") or "", text(folder, "cpu.cfs_period_us") or ""]
        if len(both) == 2 and both[0].isdigit() and both[1].isdigit() and int(both[1]):
            quotas.append(int(both[0]) / int(both[1]))
    tightest: tuple[int, int | None] | None = None
    for folder in _folders(root, "memory"):
        limit = text(folder, "memory.max") or text(folder, "memory.limit_in_bytes")
        if limit and limit.isdigit() and int(limit) < _UNLIMITED:
            used = text(folder, "memory.current") or text(folder, "memory.usage_in_bytes")
            taken = int(used) if used and used.isdigit() else None
            if tightest is None or int(limit) < tightest[0]:
                tightest = (int(limit), taken)
    limit_, used_ = tightest or (None, None)
    return (min(quotas) if quotas else None), limit_, used_


def _folders(root: str, controller: str) -> list[str]:
    """This process's control-group folders for ``controller``, from its own up to the root."""
    out: list[str] = []
    for line in (text(root, "proc/self/cgroup") or "").splitlines():
        _, _, rest = line.partition(":")
        names, _, path = rest.partition(":")
        if names == "":
            base = os.path.join(root, "sys/fs/cgroup")
        elif controller in names.split(","):
            base = os.path.join(root, "sys/fs/cgroup", controller)
        else:
            continue
        parts = [p for p in path.split("/") if p not in ("", "..", ".")]
        for depth in range(len(parts), -1, -1):
            out.append(os.path.join(base, *parts[:depth]))
    return out
