"""The answer: a model, a machine and a step in, the verdict out."""

from __future__ import annotations

from ..count.number import is_array
from ..count.step import Step
from ..errors import InputError
from ..machine.load import taken as taken_machine
from ..machine.machine import Machine
from ..model.formats import Format
from ..model.load import taken as taken_model
from ..model.model import Model
from ..parallel.layout import Parallel
from ..record import record, replace
from ..rows import Rows
from ..spelled import spelled
from .case import DEFAULT_USABLE, Case
from .chain import Bound, OperatorBound
from .kept import case, encoder
from .outcomes import Climb, Fit
from .verdict import Lever, Verdict, judge, levers

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from os import PathLike
    from typing import Any

SCHEMA = "roofline.explain/1"

ROUTED = 0.995
"""The fewest experts are spoken of where a step then takes less than this part of its time."""


@record
class Explanation(Rows):
    """A step of a model on a machine, explained.

    >>> e = explain("llama-3.1-8b", "h100-sxm", Step.decode(batch=1, context=2048))
    >>> round(e.bound.intensity, 2), e.verdict.code, e.climb.crossing
    (1.05, 'memory:weights', None)

    Attributes:
        case: the model and its formats under the machine's roof.
        step: what is run.
        bound: FLOPs, bytes, times.
        climb: what a growing batch does.
        fit: what fits in memory.
        verdict: which ceiling binds.
    """

    case: Case
    step: Step
    bound: Bound
    climb: Climb
    fit: Fit
    verdict: Verdict

    @property
    def levers(self) -> tuple[Lever, ...]:
        """What would change it, most gain first."""
        return levers(self.case, self.step, self.bound, self.climb, self.fit)

    @property
    def operators(self) -> tuple[OperatorBound, ...]:
        """Each kind of operator under the roof."""
        return self.case.operators(self.step)

    @property
    def fewest(self) -> Bound | None:
        """The bound with the fewest experts read that can be, where their number decides: where
        the step then takes less time. Else ``None``, and ``bound`` is what nothing beats."""
        if self.case.routing(self.step) is None:
            return None
        least = self.case.bound(self.step, fewest=True)
        return least if least.overlapped_s < ROUTED * self.bound.overlapped_s else None

    @property
    def doubts(self) -> tuple[str, ...]:
        """What was seen while the ceilings in use were measured, if it makes them doubtful."""
        return self.case.machine.doubts if self.case.roof.kind == "measured" else ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Assumptions made on the way."""
        return (*self.case.model.notes, *self.case.notes)

    def rows(self) -> list[dict[str, Any]]:
        """A row for each kind of operator, as in :meth:`to_json`."""
        return [
            {**_operator(op), "sent": op.sent, "messages": op.messages} for op in self.operators
        ]

    def to_json(self) -> dict[str, Any]:
        """The answer as data, SI base units; ``null`` is unknown or does not exist."""
        model, machine, bound = self.case.model, self.case.machine, self.bound
        roof = self.case.roof
        from .hold import to_json

        return {
            "schema": SCHEMA,
            "model": {
                "name": model.name,
                "architecture": model.architecture,
                "parameters": model.parameters,
                "active_parameters": model.active_parameters,
                "weights": self.case.weights,
                "kv": self.case.kv,
                "source": model.source,
            },
            "machine": {
                "name": machine.name,
                "id": machine.id,
                "ceilings": self.case.kind,
                "borrowed": self.case.borrowed,
                "doubts": list(self.doubts),
                "bandwidth": roof.bandwidth.to_json(),
                "compute": {
                    asked: {"precision": used, **figure.to_json()}
                    for asked, (used, figure) in self.case.arithmetic.items()
                },
                "memory": machine.memory.to_json() if machine.memory else None,
            },
            "step": {
                "phase": self.step.phase,
                "groups": [
                    {"batch": g.batch, "new_tokens": g.new_tokens, "past": g.past}
                    for g in self.step.groups
                ],
            },
            "parallel": None if self.case.parallel.single else self._parallel(),
            "flops": bound.flops,
            "bytes": {
                "weights": bound.weights,
                "kv_read": bound.kv_read,
                "kv_write": bound.kv_write,
                "state": bound.state,
                "compulsory": bound.compulsory,
                "activations": self.case.work.total("activations", self.step),
                "sent": bound.sent,
            },
            "intensity": bound.intensity,
            "ridge": bound.ridge,
            "bound": {
                "overlapped_s": bound.overlapped_s,
                "serial_s": bound.serial_s,
                "compute_s": bound.compute_s,
                "memory_s": bound.memory_s,
                "communication_s": bound.communication_s,
                "tokens_per_s": bound.tokens_per_s,
                "fewest_experts_s": (self.fewest or bound).overlapped_s,
                **accepted(self.step, bound.overlapped_s),
            },
            "routing": self._routing(),
            "verdict": {
                "code": self.verdict.code,
                "memory_bound": self.verdict.memory_bound,
                "shares": self.verdict.shares,
                "levers": [{"code": x.code, "at_most": x.gain, **x.values} for x in self.levers],
            },
            "intensity_limit": self.climb.limit,
            "crossing_batch": self.climb.crossing,
            "crossing_reason": self.climb.reason,
            "linear_crossing_tokens": self.climb.linear_crossing,
            "kv_outweighs_weights_batch": self.climb.kv_outweighs,
            "fits": {
                "weight_bytes": self.fit.weight_bytes,
                "kv_bytes_per_sequence": self.fit.kv_bytes_per_sequence,
                "max_batch": self.fit.max_batch,
                "memory_bytes": self.fit.memory_bytes,
                "usable": self.fit.usable,
                **to_json(self.case, self.step, self.fit),
            },
            "operators": [_operator(op) for op in self.operators],
            "notes": list(self.notes),
        }

    def _routing(self) -> dict[str, Any] | None:
        result = self.case.routing(self.step)
        if result is None:
            return None
        return {
            "experts": result.experts,
            "active": result.active,
            "expected": result.expected,
            "decides": self.fewest is not None,
        }

    def _parallel(self) -> dict[str, Any]:
        # The layout; what the numbers beside it count; what joins the devices.
        layout, bound = self.case.parallel, self.bound
        device, way = self.case.device(self.step), self.case.on_the_way(self.step)
        shown = ["flops", "bytes", "intensity", "bound", "operators"]
        return {
            "tp": layout.tp,
            "pp": layout.pp,
            "ep": layout.ep,
            "dp": layout.dp,
            "devices": layout.devices,
            "redundant_experts": layout.redundant,
            "dispatch": layout.dispatch,
            "combine": layout.combine,
            "microbatches": layout.microbatches_of(self.step.batch),
            "bubble": layout.bubble(self.step.batch),
            "per_device": ["device", "fits"] if way else ["device", "fits", *shown],
            "of_the_way_through_all_stages": shown if way else [],
            "device": {
                "flops": device.flops,
                "weights": device.weights,
                "kv": device.kv_read + device.kv_write,
                "state": device.state,
                "sent": device.sent,
                "messages": device.messages,
                "overlapped_s": device.overlapped_s,
            },
            "of_all_devices": ["step", "bound.tokens_per_s", "fits.max_batch", "crossing_batch"],
            "messages": bound.messages,
            "cache_copies": self.cache_copies,
            "wires": [wire.to_json() for wire in self.case.wires],
        }

    @property
    def cache_copies(self) -> float:
        """How often the tensor-parallel devices of a replica hold a sequence's cache.

        1 where it is divided; more where there are fewer key-value heads than devices, or
        none to divide by (latent attention).
        """
        case, layout = self.case, self.case.parallel
        if layout.tp == 1:
            return 1.0
        first = replace(self.step.groups[0], batch=1)
        alone = Step(self.step.phase, (first,))
        each = Step(self.step.phase, (replace(first, batch=layout.dp * layout.waves),))
        whole = case.using(parallel=None).work.total("held", alone)
        return float(layout.tp * case.work.total("held", each) / whole) if whole else 1.0

    def __str__(self) -> str:
        from ..say.answer import text

        return text(self)

    def _repr_html_(self) -> str:
        from ..page import fragment

        return fragment(self)


def _operator(op: OperatorBound) -> dict[str, Any]:
    return {
        "name": op.name,
        "kind": op.kind,
        "count": op.count,
        "compute": op.compute,
        "flops": op.flops,
        "bytes": op.bytes,
        "intensity": op.intensity,
        "seconds": op.seconds,
        "bound": op.bound,
        **({"sent": op.sent, "messages": op.messages} if op.wire else {}),
    }


def accepted(step: Step, seconds: float) -> dict[str, Any]:
    """What a verify step's tokens per second take for granted, and those without it, as data."""
    if not step.drafts:
        return {}
    return {
        "tokens_per_s_assumes": "every drafted token is accepted",
        "tokens_per_s_none_accepted": float(step.sequences / seconds),
    }


@spelled()
def explain(
    model: Model | str | PathLike[str],
    machine: Machine | str | PathLike[str],
    step: Step | None = None,
    *,
    batch: int | None = None,
    context: int | None = None,
    weights: str | Format | None = None,
    kv: str | Format | None = None,
    compute: str | None = None,
    ceilings: str | None = None,
    usable: float = DEFAULT_USABLE,
    parallel: Parallel | None = None,
    link: str | float | None = None,
    latency: float | None = None,
    as_type: str | None = None,
) -> Explanation:
    """Which ceiling the step hits, by how much, and what would change it.

    >>> explain("llama-3.1-8b", "h100-sxm", batch=32, context=8192).verdict.code
    'memory:kv'

    Args:
        model: a model, a catalogue name, or a path to a config.
        machine: a machine, a catalogue name, or a path to a machine file.
        step: what is run; by default a token of decode, or for an encoder an encode.
        batch, context: of that default step: sequences (1), and tokens that the new one attends
            to (2048), of an encoder tokens of a sequence (512).
        weights, kv, compute: formats of the weights and the cache, and the arithmetic of matrix
            products, by name; by default as the checkpoint stores them, and what that runs in.
        ceilings: ``datasheet`` or ``measured``; by default the machine's own.
        usable: fraction of the memory for weights and cache, over 0 and up to 1.
        parallel: how the model is laid over several such devices.
        link: what joins them: a link of the machine by name, or bytes/s of one device in one
            direction; by default the fastest that joins enough of them.
        latency: seconds a message between them; by default the link's.
        as_type: the architecture to count a named model as; see :func:`roofline.load_model`.

    Raises:
        RooflineError: a name, file, format or precision that cannot be used.
        TypeError: an unknown keyword, or a value of another kind.
    """
    model = taken_model(model, as_type)
    machine = taken_machine(machine)
    if step is None:
        step = usual(model, batch, context)
    elif batch is not None or context is not None:
        raise InputError("give either a step or batch and context: a step has its own")
    if step.phase == "encode":
        model = encoder(model)
    options = {
        "weights": weights, "kv": kv, "compute": compute, "ceilings": ceilings, "usable": usable,
        "parallel": parallel, "link": link, "latency": latency,
    }  # fmt: skip
    return explain_case(case(model, machine, options), step)


def usual(model: Model, batch: int | None = None, context: int | None = None) -> Step:
    """The step that a model is asked about where none is named: decode, or an encoder's encode."""
    asked = {} if batch is None else {"batch": batch}
    if model.phase == "encode":
        return Step.encode(**asked, **({} if context is None else {"tokens": context}))
    return Step.decode(**asked, **({} if context is None else {"context": context}))


def explain_case(case: Case, step: Step) -> Explanation:
    """The same for a case made before: the fast way to ask about many steps one by one.

    Raises:
        InputError: a step with a cache, of an encoder; a step of arrays.
    """
    if any(is_array(n) for g in step.groups for n in (g.batch, g.new_tokens, g.past)):
        raise InputError(
            "one step is explained; arrays of them go to roofline.sweep, "
            "or roofline.bound.arrays.Table"
        )
    case = case.for_step(step)
    bound = case.bound(step)
    fit = case.fit(step)
    return Explanation(case, step, bound, case.climb(step), fit, judge(bound, fit, step.batch))
