"""`roofline.measure`: this machine's own ceilings."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..errors import InputError, RooflineError
from ..machine import here
from ..machine.load import entries, from_data
from ..machine.machine import Machine
from ..measuring import devices, record, session, store
from ..measuring.match import part
from ..measuring.quiet import Finding
from ..measuring.session import Options, Result
from ..record import record as frozen
from ..rows import Rows
from ..spelled import spelled

if TYPE_CHECKING:
    from os import PathLike

MODES = ("quick", "standard", "thorough")
SHORT = 20.0
"""Seconds up to which a run takes the quick one's probes."""


@frozen
class Measured(Rows):
    """What was measured.

    Attributes:
        machine: this machine with its measured ceilings, as ``here`` will name it.
        findings: what was seen meanwhile that the figures should be read with: codes, levels and
            values.
        missing: probes without a figure, where Ctrl-C ended the run early.
        path: the machine file, ``None`` where it was not kept.
    """

    machine: Machine
    findings: tuple[Finding, ...] = ()
    missing: tuple[str, ...] = ()
    path: str | None = None

    def rows(self) -> list[dict[str, Any]]:
        """A row for each measured ceiling; see :meth:`roofline.Machine.rows`."""
        return [row for row in self.machine.rows() if row["kind"] == "measured"]


@spelled()
def measure(
    device: str | None = None,
    *,
    mode: str = "standard",
    seconds: float | None = None,
    force: bool = False,
    keep: bool = True,
    out: str | PathLike[str] | None = None,
    progress: Callable[..., None] | None = None,
) -> Measured:
    """Measure this machine's own ceilings, and keep them for ``here``.

    Args:
        device: ``cpu``, ``cuda:0``, ``rocm:0``, ``xpu:0``, ``mps``; by default the first
            accelerator, else the CPU.
        mode: ``quick`` (about 10 s), ``standard`` (about 40 s) or ``thorough`` (about 3 minutes).
        seconds: so many instead, 1 to 3600.
        force: measure, and keep the figures, on a busy machine too.
        keep: write the machine file.
        out: where to, instead of ``here``'s own place.
        progress: hears what is measured now.

    Raises:
        NotFound: no such device.
        MissingExtra: a library that measuring it needs is missing.
        RooflineError: the machine is too busy, or a kernel computes wrong values.
        TypeError: an unknown keyword, or a value of another kind.
    """
    options = asked(mode, seconds, force)
    rows = [devices.cpu()] if device == "cpu" else devices.found()
    result = session.run(devices.choose(device, rows), options, progress)
    if not result.figures:
        raise RooflineError("the machine is too busy to measure: force=True measures anyway")
    data = described(result)
    path = None
    if keep and (result.keepable or force):
        data, wanted, _ = to_keep(data, result, None if out is None else os.fspath(out))
        path = store.keep(data, wanted)
    machine = from_data(data, data["id"], data["sources"])
    return Measured(machine, tuple(result.findings), result.missing, path)


def asked(mode: str, seconds: float | None, force: bool) -> Options:
    """What to spend.

    Raises:
        InputError: no such mode, or seconds out of range.
    """
    if mode not in MODES:
        raise InputError(f"mode is {', '.join(MODES)}, not '{mode[:20]}'")
    if seconds is None:
        return Options(mode, None, force)
    if not 1 <= seconds <= 3600:
        raise InputError(f"--seconds must be from 1 to 3600, not '{seconds}'")
    return Options("quick" if seconds <= SHORT else "standard", float(seconds), force)


def described(result: Result) -> dict[str, Any]:
    """A run as a machine file, with the catalogue's sheet beside it where its name means one."""
    return record.machine(result, _part(result))


def _part(result: Result) -> dict[str, Any] | None:
    limited = len(result.limits.cores) < len(result.topology.cores)
    if result.device.key == "cpu" and (result.topology.hypervisor or limited):
        return None  # a slice of a processor is not the processor of the sheet
    return part(result.device.name, result.device.memory, entries())


def to_keep(
    data: dict[str, Any], result: Result, out: str | None
) -> tuple[dict[str, Any], str, dict[str, Any] | None]:
    """What goes into the machine file, which file that is, and what ``here``'s had before: its
    figures stay for those that a run that ended early has not."""
    path = out or here.path_for(result.device.key)
    earlier = None if out else store.load(path)
    if earlier and not result.complete:
        data = record.merge(data, earlier)
    return data, path, earlier
