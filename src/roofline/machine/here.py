"""Where this machine's own measured figures are kept, and which file ``here`` means.

Light on purpose: ``roofline explain --on here`` comes through this module, so
it imports nothing that is not loaded anyway. Writing the file is the business
of `roofline.measuring`.
"""

import os
import sys
import zlib

from ..errors import NotFound
from ..files.folders import data_folder

# An accelerator that was measured is what models run on; the CPU comes last.
_RANK = ("cuda", "xpu", "mps", "cpu")


def fingerprint() -> str:
    """Eight hex digits for this kind of host: processor, CPUs we may use, memory, system.

    Hosts that share a home folder are told apart; nothing in it names a user, a
    host or a serial number.
    """
    if hasattr(os, "sched_getaffinity"):
        cpus = len(os.sched_getaffinity(0))
    else:
        cpus = os.cpu_count() or 1
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 30
    except (AttributeError, ValueError, OSError):
        memory = 0
    system, machine = sys.platform, ""
    if hasattr(os, "uname"):
        machine = os.uname().machine
    text = "|".join((system, machine, model_line(), str(cpus), str(memory)))
    return f"{zlib.crc32(text.encode()):08x}"


def slug(device: str) -> str:
    """``cuda:0`` → ``cuda0``: a device in a file name."""
    return "".join(c for c in device.lower() if c.isalnum())


def path_for(device: str) -> str:
    """Where the figures of ``device`` ("cpu", "cuda:0", …) of this host are kept."""
    return os.path.join(data_folder(), "machines", f"here-{fingerprint()}-{slug(device)}.json")


def measured() -> dict[str, str]:
    """Device → file, for all that was measured on this host; the preferred device first."""
    folder = os.path.join(data_folder(), "machines")
    start = f"here-{fingerprint()}-"
    try:
        names = os.listdir(folder)
    except OSError:
        return {}
    devices = [n[len(start) : -5] for n in names if n.startswith(start) and n.endswith(".json")]
    devices = [d for d in devices if d.isalnum()]
    return {d: os.path.join(folder, f"{start}{d}.json") for d in sorted(devices, key=_preference)}


def path_of_here(name: str = "here") -> str:
    """The file that ``here`` or ``here:DEVICE`` means.

    Raises:
        NotFound: nothing was measured on this host, or not that device.
    """
    known = measured()
    if not known:
        raise NotFound(
            "this machine has not been measured yet; 'roofline measure' does it in a minute, "
            "'roofline measure --quick' in ten seconds"
        )
    _, _, device = name.partition(":")
    if not device:
        return next(iter(known.values()))
    wanted = slug(device.lower().replace("rocm", "cuda"))
    if wanted in ("cuda", "xpu"):
        wanted += "0"
    if wanted not in known:
        raise NotFound(
            f"{device} was not measured on this machine (measured: {', '.join(known)}); "
            f"'roofline measure --device {device}' does it"
        )
    return known[wanted]


def _preference(device: str) -> tuple[int, str]:
    for rank, kind in enumerate(_RANK):
        if device.startswith(kind):
            return rank, device
    return len(_RANK), device


def model_line() -> str:
    """The processor's name (x86) or part number (Arm) from the first CPU's entry."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            head = file.read(4096)
    except OSError:
        return ""
    for field in ("model name", "CPU part"):
        for line in head.splitlines():
            if line.startswith(field):
                return line.partition(":")[2].strip()
    return ""
