"""The verdict: which ceiling a step hits, and what would change it, as codes and numbers.

Codes: ``memory:weights``, ``memory:kv``, ``memory:state``, ``compute``, ``communication``,
``capacity`` (does not fit) for a bound; ``overhead``, ``kernel``, ``routing`` and ``suspect``
besides for a measured point. Words for them live in ``words/``, one file per language.

A lever's gain is found by asking the model again with the change made: the time of the same
step by the overlapped bound, before over after, so it is the most that the change can give.
"""

from __future__ import annotations

import math

from ..count.step import Step
from ..errors import RooflineError
from ..record import field, record, replace
from .case import Case
from .chain import Bound
from .kept import variant
from .outcomes import Climb, Fit

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from typing import Any

BOUND_CODES = ("memory:weights", "memory:kv", "memory:state", "compute", "communication")
CODES = (*BOUND_CODES, "capacity", "overhead", "kernel", "routing", "suspect")

WEIGHTS = ("fp8", "int4:128")
KV = ("fp8", "int4:64")
COMPUTE = "fp8"
"""The formats that levers try: of weights, of the cache, of the arithmetic."""

NARROW = ("fp8", "fp4")
"""Where products run in one of these there is no narrower arithmetic to try."""

SMALLER = 0.05
"""Bytes an element by which a format must be smaller to be tried."""

LEAST = 1.01
"""The gain from which a change is worth making."""

DRAFTED = 4
"""Tokens that the lever of speculation drafts."""


@record
class Lever:
    """A change, and the most that it can give.

    Attributes:
        code: ``weights``, ``kv``, ``compute``, ``batch``, ``devices``, ``speculate``,
            ``context``.
        gain: at most so many times the tokens per second.
        values: what it is changed to: ``{"to": "int4:128"}``, ``{"batch": 226}``; of a change
            that makes a step fit also ``tokens_per_s`` at best; of more devices ``serial_gain``,
            by the serial bound, where exchanges are waited for.
    """

    code: str
    gain: float
    values: dict[str, Any] = field(default_factory=dict)


@record
class Verdict:
    """What holds a step back.

    Attributes:
        code: one of :data:`CODES`.
        memory_bound: whether intensity is below the ridge, whatever the code.
        shares: of the serial bound's time: weights, kv, state, compute, communication.
    """

    code: str
    memory_bound: bool
    shares: dict[str, float]


def judge(bound: Bound, fit: Fit, batch: int) -> Verdict:
    """The verdict on a step: the larger part of the ceiling that binds, or no room."""
    if fit.holds(batch) is False:
        code = "capacity"
    elif bound.communication_bound:
        code = "communication"
    elif bound.memory_bound:
        parts = {
            "memory:weights": bound.weights,
            "memory:kv": bound.kv_read + bound.kv_write,
            "memory:state": bound.state,
        }
        code = max(parts, key=lambda name: parts[name])
    else:
        code = "compute"
    return Verdict(code, bound.memory_bound, bound.shares)


def levers(case: Case, step: Step, bound: Bound, climb: Climb, fit: Fit) -> tuple[Lever, ...]:
    """Changes worth making, most gain first; those that give under 1 % are left out.

    Of a step that does not fit only those formats that make it fit (what else would hold it:
    :func:`roofline.bound.hold.held_by`); of one that does, none after which it would not.
    """
    result: list[Lever] = []
    lacking = fit.holds(step.batch) is False

    def ask(code: str, values: dict[str, Any], **changes: Any) -> None:
        try:
            other = variant(case, **changes)
            gain = _gain(case, other, step, bound)
        except RooflineError:
            return  # a format this machine has no ceiling for is no lever here
        if gain is None:
            return
        if lacking:
            if not other.fit(step).holds(step.batch):
                return
            values = {**values, "tokens_per_s": other.bound(step).tokens_per_s}
        result.append(Lever(code, gain, values))

    cache = case.formats.cache
    matrix = case.formats.scheme.weight(case.model.typical)
    for name in WEIGHTS:
        if (bound.memory_bound or lacking) and _size(name) < matrix.size - SMALLER:
            ask("weights", {"to": name}, weights=name, kv=cache)
    for name in KV:
        if _size(name) < cache.size - SMALLER:
            ask("kv", {"to": name}, kv=name)
    if (
        not (bound.memory_bound or lacking)
        and COMPUTE in case.roof.compute
        and case.formats.compute is None
    ):
        used = {precision for precision, _ in case.arithmetic.values()}
        if not used & set(NARROW):
            ask("compute", {"to": COMPUTE}, weights=COMPUTE, kv=cache)
    if not lacking:
        result += _more_batch(case, step, bound, fit)
        result += _speculate(case, step, bound)
        result += _more_devices(case, step, bound)
    kept = [lever for lever in result if lacking or lever.gain >= LEAST]
    return tuple(sorted(kept, key=lambda lever: -lever.gain))


def _gain(before: Case, after: Case, step: Step, bound: Bound) -> float | None:
    # Like with like: where only one of the two has to borrow a ceiling of the other kind, both
    # are held against that kind throughout.
    if before.borrowed == after.borrowed:
        return float(bound.overlapped_s / after.bound(step).overlapped_s)
    kind = "measured" if before.roof.kind == "datasheet" else "datasheet"
    before, after = (variant(case, ceilings=kind) for case in (before, after))
    if before.borrowed or after.borrowed:
        return None
    return float(before.bound(step).overlapped_s / after.bound(step).overlapped_s)


def _size(name: str) -> float:
    from ..model.formats import parse

    return parse(name).size


def _more_batch(case: Case, step: Step, bound: Bound, fit: Fit) -> list[Lever]:
    # The largest batch that fits; throughput, not latency.
    batch = step.batch
    if step.phase == "mixed" or not fit.max_batch or fit.max_batch <= batch:
        return []
    after = case.bound(step.with_batch(fit.max_batch))
    gain = after.tokens_per_s / bound.tokens_per_s
    return [Lever("batch", gain, {"batch": fit.max_batch, "step_s": after.overlapped_s})]


def _more_devices(case: Case, step: Step, bound: Bound) -> list[Lever]:
    # Twice as many, by tensor parallelism, or by more replicas where there are several.
    now = case.parallel
    spread = now.ep == now.width
    layouts = [{"tp": 2 * now.tp}, *([{"dp": 2 * now.dp}] if now.dp > 1 else [])]
    joined = any(link.scope != "host" for link in case.machine.links)
    result = []
    for change in layouts:
        ep = 2 * now.ep if spread and now.ep > 1 else now.ep
        changes: dict[str, Any] = {"parallel": replace(now, **change, ep=ep)}
        if not joined and case.options["link"] is None:
            changes["link"] = math.inf  # nothing known of a link: at most what a perfect one gives
        try:
            after = variant(case, **changes).bound(step)
        except RooflineError:
            continue  # it does not divide so, or no link joins so many
        serial = bound.serial_s / after.serial_s
        values = {"devices": 2 * now.devices, **change, "serial_gain": serial}
        result.append(Lever("devices", bound.overlapped_s / after.overlapped_s, values))
    return [max(result, key=lambda lever: lever.gain)] if result else []


def _speculate(case: Case, step: Step, bound: Bound) -> list[Lever]:
    # The drafted tokens all accepted, the draft itself free: the most it can give.
    if step.phase != "decode":
        return []
    verify = Step(
        "verify",
        tuple(replace(g, new_tokens=DRAFTED + 1, all_logits=True) for g in step.groups),
    )
    if case.fit(verify).holds(step.batch) is False:
        return []
    after = case.bound(verify)
    gain = (DRAFTED + 1) * bound.overlapped_s / after.overlapped_s
    return [Lever("speculate", gain, {"drafted": DRAFTED})]
