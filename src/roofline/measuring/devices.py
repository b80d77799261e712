"""What can be measured here, and what would be needed for the rest."""

from __future__ import annotations

import importlib.util
import shutil
from dataclasses import dataclass
from typing import Any

from ..errors import NotFound
from . import topology
from .torch_device import TorchDevice, import_torch
from .torch_device import devices as torch_devices

# A driver's tool that is there although torch sees no device of its kind.
_TOOLS = (("nvidia-smi", "cuda"), ("rocm-smi", "rocm"), ("xpu-smi", "xpu"))


@dataclass(frozen=True, slots=True)
class ProbedDevice:
    """One row of ``measure --list``. ``key`` is what ``--device`` takes."""

    key: str
    name: str
    platform: str
    memory: int | None
    cores: int | None = None
    torch: TorchDevice | None = None


def has_torch() -> bool:
    """Whether torch is installed, without importing it."""
    return importlib.util.find_spec("torch") is not None


def has_kernels() -> bool:
    """Whether the compiled kernels can be had, without importing their compiler."""
    return importlib.util.find_spec("llvmlite") is not None


def cpu(read: topology.Topology | None = None) -> ProbedDevice:
    """The processor itself."""
    here = read or topology.read()
    return ProbedDevice("cpu", here.name, "cpu", here.memory, len(here.cores))


def found(torch: Any | None = None) -> list[ProbedDevice]:
    """The CPU and every accelerator torch can use. ``torch`` stands in for it in tests."""
    rows = [cpu()]
    if torch is None and has_torch():
        torch = import_torch("measuring an accelerator")
    if torch is not None:
        rows += [
            ProbedDevice(d.key, d.name, d.platform, d.memory, d.units, d)
            for d in torch_devices(torch)
        ]
    return rows


def unreachable(rows: list[ProbedDevice]) -> list[str]:
    """Platforms whose driver is installed although torch has no device of them."""
    seen = {row.platform for row in rows}
    return [kind for tool, kind in _TOOLS if kind not in seen and shutil.which(tool)]


def choose(key: str | None, rows: list[ProbedDevice]) -> ProbedDevice:
    """The device called ``key``; without one the first accelerator, else the CPU."""
    if key is None:
        return rows[1] if len(rows) > 1 else rows[0]
    wanted = key.lower().replace("rocm", "cuda").replace("gpu", "cuda")
    if wanted in ("cuda", "xpu"):
        wanted += ":0"
    for row in rows:
        if row.key == wanted:
            return row
    names = ", ".join(row.key for row in rows)
    raise NotFound(f"there is no device {key!r} here; known: {names}")
