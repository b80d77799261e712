"""A result typed in: a rate or a time, with a model and a machine, or with bytes and ceilings."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..bound.case import ALONE, Case
from ..count.group import Group
from ..count.step import Step
from ..errors import InputError
from ..machine.load import entries
from ..machine.load import taken as taken_machine
from ..machine.machine import Figure, Machine
from ..model.load import taken as taken_model
from ..model.model import Model
from ..parallel.layout import Parallel
from ..points import Part, Point, Seconds
from ..record import replace
from .counted import place_bytes
from .placed import Placed, place

if TYPE_CHECKING:
    from os import PathLike


@dataclass(frozen=True, slots=True)
class Typed:
    """What was typed. SI units; `None` was not.

    Attributes:
        tokens_per_s: of all sequences together; seconds: of one step.
        bytes_, flops: read and done in a step, a kernel's own; achieved: bytes/s reached;
            working_set: bytes read again and again.
        gpu_layers: layers on the device, where the others stayed on the host.
        bandwidth, peak: ceilings, in place of the machine's or with no machine at all.
        roof: tokens/s that somebody's roof allows.
        context: tokens that each new one attends to (decode), default 1: next to no cache; of a
            sequence (encode).
        layout, link, latency: how the model lay over several devices, and what joins them.
    """

    tokens_per_s: float | None = None
    seconds: float | None = None
    bytes_: float | None = None
    flops: float | None = None
    gpu_layers: int | None = None
    achieved: float | None = None
    working_set: float | None = None
    bandwidth: float | None = None
    peak: float | None = None
    roof: float | None = None
    phase: str = "decode"
    batch: int = 1
    context: int | None = None
    prompt: int | None = None
    layout: Parallel = ALONE
    link: str | float | None = None
    latency: float | None = None
    model: Model | str | PathLike[str] | None = None
    as_type: str | None = None
    machine: Machine | str | PathLike[str] | None = None
    weights: str | None = None
    kv: str | None = None
    compute: str | None = None
    ceilings: str | None = None


_MEASURED = (
    "tokens_per_s", "seconds", "bytes_", "flops", "achieved", "working_set", "bandwidth", "peak",
    "roof", "batch",
)  # fmt: skip
LARGEST = 1e30


def placed(typed: Typed) -> Placed:
    """The result under its roof.

    Raises:
        InputError: something is missing (the options are named) or contradicts itself.
    """
    for name in _MEASURED:
        value = getattr(typed, name)
        if value is not None and not 0 < value < LARGEST:  # a NaN is not
            option = name.rstrip("_").replace("_", "-")
            raise InputError(f"--{option} must be a number above 0, not {value}")
    if typed.achieved is not None:
        return _bandwidth(typed)
    if typed.roof is not None:
        return _ratio(typed)
    if typed.bytes_ is not None:
        return _bytes(typed)
    if typed.flops is not None:
        raise InputError("--flops are a kernel's own, beside the --bytes that it moves")
    return _steps(typed)


def _name(of: Model | Machine | str | PathLike[str] | None) -> str | None:
    # As a point says it.
    if of is None or isinstance(of, str):
        return of
    if isinstance(of, Machine):
        return of.id
    return of.name if isinstance(of, Model) else os.fspath(of)


def _seconds(typed: Typed, tokens: float) -> float:
    """Seconds of one step."""
    if (typed.seconds is None) == (typed.tokens_per_s is None):
        raise InputError("give --tokens-per-s or --seconds (of one step), one of them")
    if typed.seconds is not None:
        return typed.seconds
    assert typed.tokens_per_s is not None
    return tokens / typed.tokens_per_s


def _steps(typed: Typed) -> Placed:
    missing = [
        option
        for option, value in (
            ("--model", typed.model),
            ("--weights", typed.weights),
            ("--on", typed.machine or (typed.bandwidth and typed.peak) or None),
        )
        if value is None
    ]
    if typed.phase == "prefill" and typed.prompt is None:
        missing.append("--prompt")
    if typed.phase == "encode" and typed.prompt is None and typed.context is None:
        missing.append("--context (tokens of a sequence)")
    if missing:
        raise InputError(f"to place this result, give also {' '.join(missing)}")
    group = _group(typed)
    case = Case(
        taken_model(typed.model or "", typed.as_type),
        _machine(typed),
        weights=typed.weights,
        kv=typed.kv,
        compute=typed.compute,
        ceilings=typed.ceilings,
        parallel=None if typed.layout.single else typed.layout,
        link=typed.link,
        latency=typed.latency,
    ).for_step(Step(typed.phase, (group,)))
    tokens = group.batch * group.new_tokens
    point = Point(
        parts=(Part((group,)),),
        seconds=Seconds(_seconds(typed, tokens)),
        phase=typed.phase,
        model=_name(typed.model),
        weights=typed.weights,
        kv=typed.kv,
        machine=_name(typed.machine),
        devices=typed.layout.devices,
        layout=None if typed.layout.single else typed.layout,
        tokens=tokens,
        settings={} if typed.gpu_layers is None else {"n_gpu_layers": typed.gpu_layers},
    )
    return place(point, case)


def _group(typed: Typed) -> Group:
    if typed.phase == "prefill":
        return Group(typed.batch, typed.prompt or 1, 0)
    if typed.phase == "decode":
        return Group(typed.batch, 1, (typed.context or 1) - 1)
    if typed.prompt is not None and typed.context is not None:
        raise InputError("give either --prompt or --context: an encode has one length")
    return Group(typed.batch, typed.prompt or typed.context or 1, 0)


def _machine(typed: Typed) -> Machine:
    """The machine, with the ceilings that were typed in place of its own."""
    if typed.machine is None:
        machine = Machine(id="typed", name="the machine as given", kind="cpu")
    else:
        machine = taken_machine(typed.machine)
    if typed.bandwidth is None and typed.peak is None:
        return machine
    sheet = machine.datasheet
    bandwidth, compute = dict(sheet.bandwidth), dict(sheet.compute)
    if typed.bandwidth is not None:
        bandwidth["memory"] = Figure(typed.bandwidth, source="given on the command line")
    if typed.peak is not None:
        given = Figure(typed.peak, source="given on the command line")
        compute = dict.fromkeys(("bf16", "fp16", "fp32", "fp8", "int8"), given)
    return replace(machine, datasheet=replace(sheet, bandwidth=bandwidth, compute=compute))


def _ceiling(typed: Typed) -> tuple[str, str, float, float, Machine | None]:
    """Name, kind, bytes/s, spread, and the machine where one was named."""
    machine = taken_machine(typed.machine) if typed.machine else None
    if typed.bandwidth is not None:
        name = machine.name if machine else "the memory as given"
        return name, "measured", typed.bandwidth, 0.01, machine
    if machine is None:
        raise InputError("give the memory's ceiling: --on MACHINE or --bandwidth BYTES/S")
    memory = {"datasheet": machine.datasheet, "measured": machine.measured}
    first = machine.default_ceilings
    other = "measured" if first == "datasheet" else "datasheet"
    kinds = [typed.ceilings] if typed.ceilings else [first, other]
    for kind in kinds:
        figure = memory[kind].bandwidth.get("memory")
        if figure is not None:
            return machine.name, figure.kind, figure.value, figure.spread or 0.0, machine
    raise InputError(f"{machine.name}: no {kinds[0]} memory bandwidth is known; give --bandwidth")


def _bandwidth(typed: Typed) -> Placed:
    """A bandwidth that somebody measured, as a second of reading."""
    if typed.bytes_ is not None or typed.tokens_per_s is not None or typed.seconds is not None:
        raise InputError("--achieved says it all: leave out --bytes, --seconds and --tokens-per-s")
    assert typed.achieved is not None
    return _counted(typed, typed.achieved, 1.0, counted="achieved")


def _bytes(typed: Typed) -> Placed:
    assert typed.bytes_ is not None
    return _counted(typed, typed.bytes_, _seconds(typed, typed.batch), counted="bytes")


def _counted(typed: Typed, bytes_: float, seconds: float, *, counted: str) -> Placed:
    name, kind, bandwidth, spread, machine = _ceiling(typed)
    extra: dict[str, Any] = {"counted": counted, "working_set": typed.working_set}
    if machine is not None:
        extra["cache_bytes"] = machine.cache.value if machine.cache else None
        extra["variants"] = _variants(machine)
    point = Point(
        parts=(Part((Group(typed.batch, 1, 0),)),),
        seconds=Seconds(seconds),
        model=_name(typed.model),
        weights=typed.weights,
        machine=_name(typed.machine),
        devices=typed.layout.devices,
        extra=extra,
    )
    return place_bytes(
        point,
        machine=name,
        kind=kind,
        bandwidth=bandwidth,
        bytes_=bytes_,
        flops=typed.flops or 0.0,
        peak=_peak(typed, machine) if typed.flops else None,
        spread=spread,
    )


def _peak(typed: Typed, machine: Machine | None) -> float:
    """The compute ceiling that a kernel's own FLOPs are held against."""
    if typed.peak is not None:
        return typed.peak
    if machine is None:
        raise InputError("give the compute ceiling for --flops: --on MACHINE or --peak FLOP/S")
    return machine.roof(typed.ceilings).arithmetic(typed.compute or "bf16")[1].value


def _variants(machine: Machine) -> dict[str, float]:
    """Bandwidths of the cards whose names start alike."""
    family = machine.id.split("-")[0]
    result: dict[str, float] = {}
    for entry in entries():
        if entry["id"] == machine.id or entry["id"].split("-")[0] != family:
            continue
        figure = entry.get("datasheet", {}).get("bandwidth", {}).get("memory")
        value = figure.get("value") if isinstance(figure, dict) else figure
        if isinstance(value, int | float):
            result[entry["name"]] = value
    return result


def _ratio(typed: Typed) -> Placed:
    """A rate against somebody's roof: a ratio, and no more is known."""
    if typed.tokens_per_s is None:
        raise InputError("--roof is held against a rate: give --tokens-per-s")
    assert typed.roof is not None
    point = Point(
        parts=(Part((Group(1, 1, 0),)),),
        seconds=Seconds(1 / typed.tokens_per_s),
        model=_name(typed.model),
        machine=_name(typed.machine),
        extra={"counted": "ratio", "roof": typed.roof},
    )
    return place_bytes(
        point, machine="the roof as given", kind="datasheet", bandwidth=typed.roof, bytes_=1.0
    )
