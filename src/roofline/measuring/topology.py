"""What kind of processor this is: cores, caches, NUMA nodes, vector units.

Everything is read, nothing is changed. On Linux the source is sysfs and
`/proc/cpuinfo` (below ``root``, so a test can hand in a tree of its own); on
macOS it is ``sysctl``. What the system does not say stays unknown.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

Sysctl = Callable[[str], "str | None"]

# Part numbers of the MIDR register, as Arm and its licensees publish them.
_ARM_PARTS = {
    (0x41, 0xD0C): "Arm Neoverse-N1",
    (0x41, 0xD40): "Arm Neoverse-V1",
    (0x41, 0xD49): "Arm Neoverse-N2",
    (0x41, 0xD4F): "Arm Neoverse-V2",
    (0x41, 0xD84): "Arm Neoverse-V3",
    (0x41, 0xD8E): "Arm Neoverse-N3",
    (0x41, 0xD08): "Arm Cortex-A72",
    (0x41, 0xD0B): "Arm Cortex-A76",
    (0x46, 0x001): "Fujitsu A64FX",
    (0xC0, 0xAC3): "Ampere-1",
    (0xC0, 0xAC4): "Ampere-1a",
}


@dataclass(frozen=True, slots=True)
class Cache:
    """One cache as the system reports it: ``size`` bytes shared by ``shared`` (logical CPUs)."""

    level: int
    size: int
    shared: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Core:
    """One physical core: its logical CPUs, its node, and its speed against the fastest (0–1]."""

    threads: tuple[int, ...]
    node: int = 0
    package: int = 0
    capacity: float = 1.0


@dataclass(frozen=True, slots=True)
class Topology:
    """A processor, as far as the system tells it."""

    name: str
    arch: str
    system: str
    cores: tuple[Core, ...]
    caches: tuple[Cache, ...]
    features: frozenset[str]
    memory: int | None
    hypervisor: str | None = None
    governor: str | None = None
    huge_pages: str | None = None

    def cache(self, level: int) -> Cache | None:
        """The smallest data cache of ``level`` (cores may differ), or None."""
        result = [c for c in self.caches if c.level == level]
        return min(result, key=lambda c: c.size) if result else None

    def last_level(self) -> int | None:
        """Bytes of all last-level caches together; None when no cache is reported."""
        if not self.caches:
            return None
        top = max(c.level for c in self.caches)
        return sum(c.size for c in self.caches if c.level == top)


def read(root: str = "/", system: str | None = None, sysctl: Sysctl | None = None) -> Topology:
    """Describe the processor of this machine, or of the tree under ``root``."""
    system = system or platform.system()
    if system == "Linux":
        return _linux(root)
    if system == "Darwin":
        return _darwin(sysctl or _sysctl)
    count = os.cpu_count() or 1
    return Topology(
        name=platform.processor() or platform.machine(),
        arch=platform.machine(),
        system=system,
        cores=tuple(Core((i,)) for i in range(count)),
        caches=(),
        features=frozenset(),
        memory=None,
    )


def text(*parts: str) -> str | None:
    """The stripped content of a small file, or None if it cannot be read."""
    try:
        with open(os.path.join(*parts), encoding="utf-8", errors="replace") as file:
            return file.read(1 << 20).strip("\x00 \n\t")
    except OSError:
        return None


def cpu_list(spec: str) -> tuple[int, ...]:
    """``0-3,8`` → (0, 1, 2, 3, 8); anything else that is not a CPU list gives ()."""
    out: list[int] = []
    for part in spec.split(","):
        match = re.fullmatch(r"\s*(\d{1,6})(?:-(\d{1,6}))?\s*", part)
        if not match:
            return ()
        first, last = int(match[1]), int(match[2] or match[1])
        out.extend(range(first, last + 1))
    return tuple(out)


def size_bytes(spec: str) -> int | None:
    """``32K`` → 32768: the way sysfs writes cache sizes."""
    match = re.fullmatch(r"(\d{1,12})([KMG]?)B?", spec.strip())
    if not match:
        return None
    return int(match[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[match[2]]


def _linux(root: str) -> Topology:
    info = text(root, "proc/cpuinfo") or ""
    base = os.path.join(root, "sys/devices/system/cpu")
    online = cpu_list(text(base, "online") or "")
    if not online:
        online = tuple(range(max(1, len(re.findall(r"(?m)^processor\s*:", info)))))
    flags = re.search(r"(?m)^(?:flags|Features)\s*:\s*(.*)$", info)
    features = frozenset(flags[1].split()) if flags else frozenset()
    memory = re.search(r"(?m)^MemTotal:\s*(\d+) kB", text(root, "proc/meminfo") or "")
    pages = re.search(r"\[(\w+)\]", text(root, "sys/kernel/mm/transparent_hugepage/enabled") or "")
    hypervisor = text(root, "sys/hypervisor/type") or (
        "unnamed" if "hypervisor" in features else None
    )
    return Topology(
        name=_linux_name(root, info),
        arch=platform.machine() if root == "/" else _arch(info),
        system="Linux",
        cores=_linux_cores(root, base, online),
        caches=_linux_caches(base, online),
        features=features,
        memory=int(memory[1]) * 1024 if memory else None,
        hypervisor=hypervisor,
        governor=text(base, f"cpu{online[0]}/cpufreq/scaling_governor"),
        huge_pages=pages[1] if pages else None,
    )


def _arch(info: str) -> str:
    return "aarch64" if "CPU implementer" in info else "x86_64"


def _linux_name(root: str, info: str) -> str:
    named = re.search(r"(?m)^model name\s*:\s*(.+)$", info)
    if named:
        return " ".join(named[1].split())
    maker = re.search(r"(?m)^CPU implementer\s*:\s*(0x[0-9a-fA-F]+)", info)
    part = re.search(r"(?m)^CPU part\s*:\s*(0x[0-9a-fA-F]+)", info)
    if maker and part:
        key = (int(maker[1], 16), int(part[1], 16))
        return _ARM_PARTS.get(key, f"Arm implementer {maker[1]} part {part[1]}")
    return text(root, "sys/firmware/devicetree/base/model") or "unknown processor"


def _linux_cores(root: str, base: str, online: tuple[int, ...]) -> tuple[Core, ...]:
    nodes: dict[int, int] = {}
    for name in _listing(os.path.join(root, "sys/devices/system/node")):
        if re.fullmatch(r"node\d+", name):
            cpus = text(root, "sys/devices/system/node", name, "cpulist") or ""
            nodes.update(dict.fromkeys(cpu_list(cpus), int(name[4:])))
    speeds = {cpu: _speed(base, cpu) for cpu in online}
    fastest = max([s for s in speeds.values() if s], default=0.0)
    cores: dict[tuple[int, ...], Core] = {}
    for cpu in online:
        here = os.path.join(base, f"cpu{cpu}/topology")
        listed = text(here, "core_cpus_list") or text(here, "thread_siblings_list") or str(cpu)
        threads = tuple(t for t in cpu_list(listed) if t in speeds) or (cpu,)
        package = text(here, "physical_package_id") or "0"
        cores[threads] = Core(
            threads=threads,
            node=nodes.get(cpu, 0),
            package=int(package) if package.isdigit() else 0,
            capacity=speeds[cpu] / fastest if fastest and speeds[cpu] else 1.0,
        )
    return tuple(sorted(cores.values(), key=lambda core: core.threads))


def _speed(base: str, cpu: int) -> float:
    """A number that is larger for a faster core: Arm's capacity, or the top frequency."""
    for name in ("cpu_capacity", "cpufreq/cpuinfo_max_freq"):
        value = text(base, f"cpu{cpu}", name)
        if value and value.isdigit():
            return float(value)
    return 0.0


def _linux_caches(base: str, online: tuple[int, ...]) -> tuple[Cache, ...]:
    caches: dict[tuple[int, tuple[int, ...]], Cache] = {}
    for cpu in online:
        here = os.path.join(base, f"cpu{cpu}/cache")
        for name in _listing(here):
            if not re.fullmatch(r"index\d+", name):
                continue
            level, size = text(here, name, "level"), size_bytes(text(here, name, "size") or "")
            if text(here, name, "type") == "Instruction" or not size or not level:
                continue
            if level.isdigit():
                shared = cpu_list(text(here, name, "shared_cpu_list") or "") or (cpu,)
                caches[int(level), shared] = Cache(int(level), size, shared)
    return tuple(sorted(caches.values(), key=lambda c: (c.level, c.shared)))


def _listing(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _darwin(sysctl: Sysctl) -> Topology:
    def number(key: str) -> int | None:
        value = sysctl(key)
        return int(value) if value and value.strip().isdigit() else None

    cores: list[Core] = []
    caches: list[Cache] = []
    levels = number("hw.nperflevels") or 0
    for level in range(levels):
        prefix = f"hw.perflevel{level}."
        count = number(prefix + "physicalcpu") or 0
        first = len(cores)
        # Apple publishes no capacity; a level below the first is an efficiency cluster.
        cores += [Core((first + i,), capacity=1.0 if level == 0 else 0.5) for i in range(count)]
        here = tuple(range(first, first + count))
        if size := number(prefix + "l1dcachesize"):
            caches += [Cache(1, size, (cpu,)) for cpu in here]
        if (size := number(prefix + "l2cachesize")) and count:
            per = number(prefix + "cpusperl2") or count
            caches += [Cache(2, size, here[i : i + per]) for i in range(0, count, per)]
    if not cores:
        physical = number("hw.physicalcpu") or 1
        logical = max(physical, number("hw.logicalcpu") or physical)
        each = logical // physical
        cores = [Core(tuple(range(i * each, (i + 1) * each))) for i in range(physical)]
        everyone = tuple(range(logical))
        for key, level, shared in (
            ("hw.l1dcachesize", 1, (0,)),
            ("hw.l2cachesize", 2, (0,)),
            ("hw.l3cachesize", 3, everyone),
        ):
            if size := number(key):
                caches.append(Cache(level, size, shared))
    arch = "arm64" if number("hw.optional.arm64") else "x86_64"
    return Topology(
        name=(sysctl("machdep.cpu.brand_string") or "unknown processor").strip(),
        arch=arch,
        system="Darwin",
        cores=tuple(cores),
        caches=tuple(sorted(caches, key=lambda c: (c.level, c.shared))),
        features=frozenset(),
        memory=number("hw.memsize"),
        hypervisor="unnamed" if number("kern.hv_vmm_present") else None,
    )


def _sysctl(key: str) -> str | None:
    try:
        done = subprocess.run(
            ["/usr/sbin/sysctl", "-n", key], capture_output=True, text=True, timeout=5, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout
