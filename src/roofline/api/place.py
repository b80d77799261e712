"""`roofline.place`: results of a benchmark, or one typed in, under the roof."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from .. import results as foreign
from ..bound.case import ALONE
from ..errors import InputError
from ..machine.machine import Machine
from ..model.formats import Format
from ..model.model import Model
from ..parallel.layout import Parallel
from ..placing import typed
from ..placing.gap import Gap
from ..placing.judgement import judged
from ..placing.placed import Placed
from ..placing.placed import place as place_point
from ..placing.resolve import OtherModel, Resolver
from ..points import Point
from ..record import record
from ..rows import Rows
from ..spelled import spelled

if TYPE_CHECKING:
    from os import PathLike

TYPED = ("tokens_per_s", "seconds", "achieved", "bytes", "roof", "working_set")
"""What makes a result typed in."""


@record
class Placements(Rows):
    """Points under their roof, each with its verdict, in order.

    Attributes:
        judged: a pair for each: what was placed, and what is missing to its roof and why.
        left_out: rows of a file that are of another model than the one asked about, a sentence
            each.
    """

    judged: tuple[tuple[Placed, Gap], ...]
    left_out: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.judged)

    def __iter__(self) -> Iterator[tuple[Placed, Gap]]:
        return iter(self.judged)

    def __getitem__(self, index: int) -> tuple[Placed, Gap]:
        return self.judged[index]

    def to_json(self) -> list[dict[str, Any]]:
        """A line for each, as the command's ``--json`` prints them."""
        return [line(*pair) for pair in self.judged]

    def rows(self) -> list[dict[str, Any]]:
        """A row for each: what was measured, its bound, the share reached, the verdict's code."""
        return [_row(item, gap) for item, gap in self.judged]

    def __str__(self) -> str:
        from ..say.summary import text
        from ..words import choose

        return text([item for item, _ in self.judged], choose(None))


@spelled()
def place(
    results: str | PathLike[str] | Point | Iterable[str | PathLike[str] | Point] | None = None,
    *,
    model: Model | str | PathLike[str] | None = None,
    machine: Machine | str | PathLike[str] | None = None,
    weights: str | Format | None = None,
    kv: str | Format | None = None,
    compute: str | None = None,
    ceilings: str | None = None,
    parallel: Parallel | None = None,
    link: str | float | None = None,
    latency: float | None = None,
    as_type: str | None = None,
    batch: int | None = None,
    prompt: int | None = None,
    output: int | None = None,
    context: int | None = None,
    phase: str = "decode",
    tokens_per_s: float | None = None,
    seconds: float | None = None,
    bytes: float | None = None,
    flops: float | None = None,
    gpu_layers: int | None = None,
    achieved: float | None = None,
    working_set: float | None = None,
    roof: float | None = None,
    bandwidth: float | None = None,
    peak: float | None = None,
) -> Placements:
    """How far below its roof each result lies, and why.

    >>> found = place(model="llama-2-7b", weights="bf16", machine="rtx-4090", tokens_per_s=65)
    >>> placed, gap = found[0]
    >>> round(placed.share, 2), gap.code
    (0.85, 'memory:weights')

    Args:
        results: files or logs of benchmarks, whose format is found out, or points; left out, the
            result is the one typed in below.
        model, machine, weights, kv, compute: what the files do not say; of a result typed in,
            what ran.
        ceilings, parallel, link, latency, as_type: as for :func:`roofline.explain`.
        batch, prompt, output, context: the shape of a run, as far as it is not said.
        phase: of a result typed in: ``decode``, ``prefill`` or ``encode``.
        tokens_per_s: typed in: of all sequences together.
        seconds: typed in: of one step.
        bytes, flops: typed in: read and done in a step, a kernel's own, without a model.
        gpu_layers: typed in: layers on the device, where the others stayed on the host.
        achieved, working_set: typed in: a bandwidth that somebody measured, bytes/s, and the bytes
            that it read again and again.
        roof: typed in: tokens/s that somebody's roof allows.
        bandwidth, peak: ceilings in place of the machine's, bytes/s and FLOP/s.

    Raises:
        RooflineError: a file that cannot be read; something is missing (it is named) or
            contradicts itself.
        TypeError: an unknown keyword, or a value of another kind.
    """
    shape = {"batch": batch, "prompt": prompt, "output": output, "context": context}
    given = (tokens_per_s, seconds, achieved, bytes, roof, working_set)
    said = next((n for n, v in zip(TYPED, given, strict=True) if v is not None), None)
    check(results is not None, said, phase)
    if results is None:
        asked = typed.Typed(
            tokens_per_s=tokens_per_s,
            seconds=seconds,
            bytes_=bytes,
            flops=flops,
            gpu_layers=gpu_layers,
            achieved=achieved,
            working_set=working_set,
            bandwidth=bandwidth,
            peak=peak,
            roof=roof,
            phase=phase,
            batch=batch or 1,
            context=context,
            prompt=prompt,
            layout=parallel or ALONE,
            link=link,
            latency=latency,
            model=model,
            as_type=as_type,
            machine=machine,
            weights=_name(weights),
            kv=_name(kv),
            compute=compute,
            ceilings=ceilings,
        )
        return Placements(tuple(judged([typed.placed(asked)])))
    if bandwidth is not None or peak is not None:
        from ..machine.given import given as given_machine
        from ..machine.load import taken

        base = None if machine is None else taken(machine)
        machine = given_machine(base, bandwidth=bandwidth, peak=peak)
    if isinstance(machine, os.PathLike):
        machine = os.fspath(machine)
    if isinstance(model, os.PathLike):
        model = os.fspath(model)
    resolver = Resolver(
        model=model, as_type=as_type, weights=_name(weights), kv=_name(kv), compute=compute,
        machine=machine, ceilings=ceilings, layout=parallel, link=link, latency=latency,
    )  # fmt: skip
    aside: list[str] = []
    found = list(placings(points(results, shape), resolver, aside))
    return Placements(tuple(judged(found)), tuple(aside))


def check(files: bool, said: str | None, phase: str) -> None:
    """Whether files, or a result typed in, are given: one of them.

    Args:
        files: whether there are files.
        said: what was typed in, one of :data:`TYPED`.
        phase: of the result.

    Raises:
        InputError: neither, both, or an encode in a file.
    """
    if files and said:
        option = said.replace("_", "-")
        raise InputError(f"give files, or a result typed in (--{option}), not both")
    if files and phase == "encode":
        raise InputError(
            "--phase encode is for a result typed in: leave out the file, and give what it "
            "says, --batch N --context TOKENS and --seconds of a batch or --tokens-per-s"
        )
    if not files and not said:
        raise InputError(
            "give a result file, or type a result in: "
            "'roofline place --model llama-2-7b --weights bf16 --on rtx-4090 --tokens-per-s 65'"
        )


def points(results: Any, shape: Mapping[str, int | None]) -> Iterator[Point]:
    """The points of files, and points themselves, in order.

    Raises:
        InputError: as :func:`roofline.results.points`; or neither a path nor a point.
    """
    single = isinstance(results, str | os.PathLike | Point)
    for one in [results] if single else results:
        if isinstance(one, Point):
            yield one
        elif isinstance(one, str | os.PathLike):
            yield from foreign.points([os.fspath(one)], shape)
        else:
            raise InputError(f"results are paths or Points, not {str(one)[:40]!r}")


def placings(found: Iterable[Point], resolver: Resolver, aside: list[str]) -> Iterator[Placed]:
    """Each point under its roof, as they are read.

    Args:
        found: the points.
        resolver: what they do not say.
        aside: gets a sentence for each row of another model.

    Raises:
        InputError: something is missing; or all rows are of another model.
    """

    def each() -> Iterator[Placed]:
        for point in found:
            try:
                yield place_point(*resolver.case(point))
            except OtherModel as other:  # the file's other rows may be of the model asked about
                aside.append(str(other))

    placed = each()
    first = next(placed, None)
    if first is None and aside:
        raise InputError(aside[0])
    return chain([] if first is None else [first], placed)


def line(item: Placed, gap: Gap) -> dict[str, Any]:
    """A point and its verdict as data."""
    return item.to_json() | {"verdict": gap.to_json()}


def _row(item: Placed, gap: Gap) -> dict[str, Any]:
    point, case = item.point, item.case
    achieved = item.counted == "achieved"
    return {
        "model": case.model.name if case else point.model,
        "machine": item.machine,
        "engine": point.engine,
        "weights": case.weights if case else point.weights,
        "kv": case.kv if case else point.kv,
        "devices": point.devices,
        "phase": point.phase,
        "batch": item.to_json()["batch"],
        "context": None if item.counted else point.context,
        "seconds": None if achieved else item.seconds,
        "tokens_per_s": None if achieved else point.tokens_per_s,
        "flops": None if achieved else item.flops,
        "bytes": None if achieved else item.bytes,
        "intensity": None if item.counted else item.intensity,
        "bound_s": None if achieved else item.overlapped_s,
        "share": item.share,
        "exact": item.exact,
        "binding": item.binding,
        "verdict": gap.code,
    }


def _name(given: str | Format | None) -> str | None:
    return given.name if isinstance(given, Format) else given
