"""A machine by its figures alone: bandwidth, peaks and memory, as given in a call or typed.

They stand for a machine that no catalogue has, or in place of a known machine's own.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import InputError
from ..model.formats import PRECISIONS
from ..record import replace
from ..spelled import spelled
from ..units import memory as memory_size
from ..units import si
from .load import RANGES
from .machine import Ceilings, Figure, Machine

GIVEN = "given"
"""The kind of a figure that came with the question."""

BARE = ("bf16", "fp16", "fp32")
"""What a peak holds for whose precision is not said; narrower formats are widened to it."""


@spelled(
    machine=("a Machine", "Machine"),
    bandwidth=("bytes/s, a number", "int", "float"),
    peak=("FLOP/s: a number, or numbers by precision", "int", "float", "Mapping", "dict"),
    memory=("bytes, a number", "int", "float"),
)
def given(
    machine: Machine | None = None,
    *,
    bandwidth: float | None = None,
    peak: float | Mapping[str, float] | None = None,
    memory: float | None = None,
) -> Machine:
    """A machine with these figures, in place of its own where one is named.

    Args:
        machine: whose other figures stay; none for a machine that is only these.
        bandwidth: of its memory, bytes/s.
        peak: dense FLOP/s: one number for bf16, fp16 and fp32, or numbers by precision.
        memory: bytes that programs can have; unknown where it is not said.

    Raises:
        InputError: an impossible figure, an unknown precision, or too few to be a machine.
    """
    peaks = dict(peak) if isinstance(peak, Mapping) else dict.fromkeys(BARE, peak or 0.0)
    if peak is None:
        peaks = {}
    if machine is None and (bandwidth is None or not peaks):
        raise InputError(
            "a machine by its figures needs a bandwidth and a peak: --bandwidth 400GB/s "
            "--peak 28TFLOP/s, and --memory 64GB to know what fits; or name one with --on"
        )
    for name in peaks:
        if name not in PRECISIONS:
            known = ", ".join(PRECISIONS)
            raise InputError(f"--peak {name[:20]}=…: no such precision (known: {known})")
    for what, unit, values in (
        ("bandwidth", "bandwidth", (bandwidth,)), ("peak", "compute", peaks.values()),
        ("memory", "capacity", (memory,)),
    ):  # fmt: skip
        least, most, meaning = RANGES[unit]
        for value in values:
            if value is not None and not least <= value <= most:
                raise InputError(
                    f"--{what} is {value:g}; it is in {meaning}, from {least:g} to {most:g}"
                )
    said = _said(bandwidth, peaks, memory, bare=not isinstance(peak, Mapping))
    if machine is None:
        machine = Machine(id="given", name=", ".join(said))
    else:
        machine = replace(machine, name=f"{machine.name} ({', '.join(said)})")
    sheet, seen = (_replaced(of, bandwidth, peaks) for of in (machine.datasheet, machine.measured))
    changes = {} if memory is None else {"capacity": _figure(memory), "usable": None}
    return replace(machine, datasheet=sheet, measured=seen, **changes)


def _figure(value: float) -> Figure:
    return Figure(value, GIVEN, "given with the question")


def _replaced(of: Ceilings, bandwidth: float | None, peaks: Mapping[str, float]) -> Ceilings:
    levels = dict(of.bandwidth)
    if bandwidth is not None:
        levels["memory"] = _figure(bandwidth)
    compute = {**of.compute, **{name: _figure(value) for name, value in peaks.items()}}
    return Ceilings(levels, compute, of.overhead)


def _said(
    bandwidth: float | None, peaks: Mapping[str, float], memory: float | None, *, bare: bool
) -> list[str]:
    result = [] if bandwidth is None else [si(bandwidth, "B/s")]
    if peaks and bare:
        result.append(si(next(iter(peaks.values())), "FLOP/s"))
    elif peaks:
        result += [f"{name} {si(value, 'FLOP/s')}" for name, value in peaks.items()]
    return result if memory is None else [*result, memory_size(memory)]
