"""What may explain a point above its roof, in the order in which to look.

A roof cannot be beaten, so one of the assumptions behind it is wrong. Each hypothesis is put to
the test: the question is asked again with the assumption changed, and only those that bring the
point under its roof are kept, with the share that it then has.

    routing     fewer experts a layer than even routing touches
    communication   exchange that was hidden, sent in fewer bits or over more than was counted
    capacity    a batch that does not fit in memory, so something else was run
    machine     another variant of the card (40 or 80 GB, PCIe or SXM)
    layout      the same devices, attention data-parallel: key-value heads are not kept twice
    precision   weights in fewer bits, or a lower-precision arithmetic
    devices     more devices than said
    sparsity    a sparse peak, or 2:4 sparse weights
    cache       what is read fits in the last-level cache
    batch       tokens of several sequences counted as one's
    tokens      prompt tokens counted as output, or tokens counted twice
    speculation several tokens a step
    window      attention that reads less than the whole context
    prefix      a prompt that was cached
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from ..bound.case import Case
from ..count.step import Step
from ..errors import RooflineError
from ..machine.links import divisors
from ..parallel.layout import Parallel
from ..points.point import UNSAID
from ..record import replace
from .cause import Cause
from .placed import Placed, place

ENOUGH = 1.02
"""A share up to here counts as under the roof."""

GIB = 2**30 / 1e9

MOST_TIMES = 16
"""Times as many devices as were said, at most, that may have been forgotten."""

PLAUSIBLE = 20
"""An explanation that leaves less than one in so many of the roof explains too much."""

NARROWER = ("fp8", "q6_k", "int4:128")


def causes(placed: Placed) -> tuple[Cause, ...]:
    """Hypotheses that bring the point under its roof; ``units`` if there is none."""
    result = list(_with_model(placed, placed.case) if placed.case else _without_model(placed))
    return tuple(result) or (Cause("units", {"factor": placed.share}),)


def _with_model(placed: Placed, case: Case) -> Iterator[Cause]:
    point, over = placed.point, placed.share
    yield from _routing(placed)
    yield from _communication(placed)
    yield from _capacity(placed, case)
    yield from _variants(placed, case)
    yield from _layouts(placed)
    yield from _precisions(placed, case)
    if over > 1.05:
        yield from _devices(placed, case)
    if not placed.memory_bound and over <= 2 * ENOUGH:
        yield Cause("sparsity", {"share": over / 2})
    cache = case.machine.cache
    steps = sum(part.count for part in point.parts)
    if cache and placed.memory_bound and placed.bytes / steps < 2 * cache.value:
        yield Cause("cache", {"bytes": placed.bytes / steps, "cache": cache.value})
    if point.phase == "decode":
        yield from _tokens(placed, case)
    elif over > 1.05 and point.phase != "encode":
        yield Cause("prefix", {"tokens": 1 - 1 / over})


def _routing(placed: Placed) -> Iterator[Cause]:
    """Turned round: the most that can have been read, as experts a layer. First, since the roof
    of such a step is an expectation."""
    routing, most = placed.routing, placed.touched_most
    if routing is None or most is None or most < routing.active * 0.98 or not placed.memory_bound:
        return
    yield Cause(
        "routing",
        {
            "most": placed.readable / sum(part.count for part in placed.point.parts),
            "read": most,
            "touched": routing.touched,
            "experts": routing.experts,
            "active": routing.active,
        },
    )


def _communication(placed: Placed) -> Iterator[Cause]:
    """A roof made of communication: what is left where that costs nothing."""
    if not placed.communication_bound:
        return
    rest = max(placed.compute_s, placed.memory_s) / placed.seconds
    steps = sum(part.count for part in placed.point.parts)
    values = {
        "share": rest,
        "sent": placed.sent / steps,
        "messages": placed.messages / steps,
        "exchange_s": placed.communication_s / steps,
    }
    if rest <= ENOUGH:
        yield Cause("communication", values)


def _capacity(placed: Placed, case: Case) -> Iterator[Cause]:
    """A batch that the memory does not hold was not run so, whatever its rate."""
    part = max(placed.point.parts, key=lambda part: part.count)
    fits = case.fit(Step(placed.point.phase, part.groups)).max_batch
    if fits is not None and fits < placed.point.batch and UNSAID not in placed.point.notes:
        yield Cause("capacity", {"batch": round(placed.point.batch), "fits": fits})


def _layouts(placed: Placed) -> Iterator[Cause]:
    """As many devices, but attention data-parallel, which keeps each cache on fewer of them."""
    devices = placed.point.devices
    shares = []
    for tp in divisors(devices):
        over = Parallel(tp=tp, dp=devices // tp, ep=1)
        if over.dp == 1:
            continue
        try:
            other = place(replace(placed.point, layout=over), _on_one(placed))
        except RooflineError:
            continue
        if other.share <= ENOUGH:
            shares.append((other.share, over.name))
    if shares:
        share, name = max(shares)
        yield Cause("layout", {"layout": name, "share": share})


@lru_cache(512)
def _alone(case: Case) -> Case:
    return case.using(parallel=None)


def _on_one(placed: Placed) -> Case:
    """The case on one device, from which `place` lays it over others."""
    assert placed.case is not None
    return _alone(placed.case)


def _variants(placed: Placed, case: Case) -> Iterator[Cause]:
    """Machines whose names start alike and whose roof is high enough, the nearest first."""
    if case.roof.kind != "datasheet":
        return
    shares = []
    for name in _family(case.machine.id):
        other = _using(case, (("machine", name),))
        if other is not None and (share := place(placed.point, other).share) <= ENOUGH:
            shares.append((share, other.machine.name))
    if shares:
        share, name = max(shares)
        yield Cause("machine", {"machine": name, "share": share})


@lru_cache(64)
def _family(name: str) -> tuple[str, ...]:
    """The machines of the catalogue whose names start like this one's."""
    from ..machine.load import entries

    family = name.split("-", maxsplit=1)[0]
    names = (str(entry["id"]) for entry in entries())
    return tuple(other for other in names if other != name and other.split("-")[0] == family)


@lru_cache(512)
def _using(case: Case, changes: tuple[tuple[str, str], ...]) -> Case | None:
    """The case with a format or the machine changed, made once; ``None`` where it cannot be."""
    from ..machine.load import load as load_machine

    given: dict[str, Any] = dict(changes)
    try:
        if "machine" in given:
            given["machine"] = load_machine(given["machine"])
        return case.using(**given)
    except RooflineError:
        return None


def _precisions(placed: Placed, case: Case) -> Iterator[Cause]:
    """The widest weight format that explains the point, else the widest cache format."""
    now = case.work.resident
    changes: list[dict[str, Any]] = [
        {"weights": name, "kv": case.formats.cache} for name in NARROWER
    ]
    changes += [{"kv": "fp8"}, {"kv": "int4:64"}]
    seen: set[str] = set()
    for change in changes:
        what = "weights" if "weights" in change else "kv"
        if what in seen:
            continue
        other = _using(case, tuple(change.items()))
        if other is None or (what == "weights" and other.work.resident > 0.97 * now):
            continue
        share = place(placed.point, other).share
        if share <= ENOUGH and share < placed.share:
            seen.add(what)
            name = change[what].split(":")[0]
            yield Cause("precision", {"what": what, "to": name, "share": share})


def _devices(placed: Placed, case: Case) -> Iterator[Cause]:
    """The fewest devices, tensor-parallel, that explain the point; where it is not known how the
    model divides over them or what joins them, as many as share it evenly."""
    now = placed.point.devices
    for times in range(2, MOST_TIMES + 1):
        if placed.share > times * ENOUGH:  # not even if nothing had to be sent
            continue
        more = replace(placed.point, devices=now * times, layout=None)
        try:
            share = place(more, _on_one(placed)).share
        except RooflineError:
            continue
        if share <= ENOUGH:
            yield Cause("devices", {"devices": now * times, "share": share})
            return
    times = math.ceil(placed.share / ENOUGH)
    if times <= MOST_TIMES:
        yield Cause("devices", {"devices": now * times, "share": placed.share / times})


def _tokens(placed: Placed, case: Case) -> Iterator[Cause]:
    """Counts of tokens and sequences that would make the rate possible."""
    point, over = placed.point, placed.share
    prompt = point.parts[0].groups[0].past
    output = point.parts[0].count
    together = (prompt + output) / output if output else 0.0
    if point.basis != "steps" and over <= together <= over * PLAUSIBLE:
        yield Cause("tokens", {"factor": together})
    elif over <= 2 * ENOUGH:
        yield Cause("tokens", {"factor": 2.0})
    if over <= 8:
        yield Cause("speculation", {"tokens": over})
    if point.batch == 1 and over > 1.05:
        batch = _batch_that_fits(placed, case)
        if batch:
            yield Cause("batch", {"batch": batch})
    if placed.kv > 0 and (placed.bytes - placed.kv) / placed.bandwidth <= placed.seconds * ENOUGH:
        yield Cause("window", {"kv": placed.kv / placed.bytes})


def _batch_that_fits(placed: Placed, case: Case) -> int | None:
    """The smallest batch whose roof allows the rate said to be one sequence's."""
    context = max(1, round(placed.point.context))
    rate = placed.point.tokens_per_s
    for power in range(1, 13):
        if case.bound(Step.decode(1 << power, context)).tokens_per_s * ENOUGH >= rate:
            return 1 << power
    return None


def _without_model(placed: Placed) -> Iterator[Cause]:
    """For a bandwidth or bytes given as numbers: the cache first, then how bytes were counted."""
    cache = placed.point.extra.get("cache_bytes")
    working = placed.point.extra.get("working_set")
    if cache and (working is None or working < 2 * cache):
        yield Cause("probe", {"cache": cache, "working_set": working})
    if placed.point.extra.get("counted") == "bytes":
        yield Cause("bytes", {"bytes": placed.bytes, "most": placed.bandwidth * placed.seconds})
    if 1.02 < placed.share <= GIB * ENOUGH:
        yield Cause("gib", {"factor": GIB})
    if placed.share <= 2 * ENOUGH:
        yield Cause("both", {"factor": 2.0})
    variants = placed.point.extra.get("variants")
    if isinstance(variants, dict):
        near = [(b, name) for name, b in variants.items() if b * ENOUGH >= placed.traffic]
        if near:
            bandwidth, name = min(near)
            yield Cause("machine", {"machine": name, "share": placed.traffic / bandwidth})
