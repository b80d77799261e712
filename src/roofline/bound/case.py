"""Bounds: a model's work held against a machine's roof.

    ridge              peak / bandwidth, FLOP/byte, peaks dense
    intensity          Σ FLOPs / Σ compulsory bytes of the step
    overlapped bound   max(Σ FLOPs/peak, Σ bytes/bandwidth): no schedule beats it
    serial bound       Σ over operators of max(FLOPs/peak, bytes/bandwidth): kernels one after
                       another; its shares are the detailed verdict
    intensity limit    where the step's intensity goes as the batch grows without end
    crossing batch     the first batch at which arithmetic takes as long as traffic. With W
                       weight bytes, and F FLOPs and K cache bytes a sequence,
                       B* = W·peak/(F·bandwidth - K·peak), finite only where F/K > ridge

Where operators run in several precisions, the ridge of a step is the one at which its own
mix of arithmetic takes as long as its traffic: FLOPs / (Σ FLOPs/peak · bandwidth).
"""

from __future__ import annotations

import math

from ..count.group import Group
from ..count.quantity import Quantity
from ..count.step import Step
from ..count.work import Terms, Work, merge
from ..errors import InputError
from ..machine.links import Interconnect, Wire
from ..machine.machine import Figure, Machine, Roof
from ..model.formats import Format
from ..model.model import Model
from ..parallel.layout import Parallel
from ..words.note import Note
from .chain import Bound, Chain, OperatorBound
from .outcomes import Climb, Fit, Routing

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

LARGEST_BATCH = 1 << 40

ALONE = Parallel()

DEFAULT_USABLE = 0.9
"""Fraction of memory given to weights and cache where none is said; engines' usual default."""


class Case:
    """A model in given formats under one machine's roof, ready to be asked about steps.

    Attributes:
        model, machine, roof, work: what is held against what; the work is one device's.
        parallel: the layout over devices of this machine's kind.
        formats: what it runs in.
        weights, kv: their names.
        chains: what a step is held against; on several, the one that takes longest.
        borrowed: what is used of another kind than the roof's, and that kind: ``memory`` or a
            precision → ``datasheet``, ``measured`` or ``given``.
        notes: assumptions made on the way, one sentence each.
    """

    def __init__(
        self,
        model: Model,
        machine: Machine,
        *,
        weights: str | Format | None = None,
        kv: str | Format | None = None,
        compute: str | None = None,
        ceilings: str | None = None,
        usable: float = DEFAULT_USABLE,
        parallel: Parallel | None = None,
        link: str | float | None = None,
        latency: float | None = None,
    ) -> None:
        """Put a model under a roof.

        Args:
            model: what is run.
            machine: what it is run on; one device of it.
            weights, kv, compute: formats, as for :meth:`Model.work`.
            ceilings: ``datasheet`` or ``measured``, as for :meth:`Machine.roof`.
            usable: fraction of the memory for weights and cache, over 0 and up to 1.
            parallel: how the model is laid over several such devices.
            link: what joins them: one of the machine's links by name, or bytes/s of one device
                in one direction; by default the fastest that joins enough of them.
            latency: seconds a message between them; by default the link's.

        Raises:
            UnsupportedError: an unknown format, or a precision without a known ceiling.
            InputError: ``usable`` out of range, a layout that does not divide the model, or no
                known link that joins the devices.
        """
        if not 0 < usable <= 1:
            raise InputError(f"usable must be over 0 and up to 1, not {usable}")
        self.model = model = model if model.causal else model.encoder()
        self.machine = machine
        self.parallel = parallel or ALONE
        self.roof: Roof = machine.roof(ceilings)
        self.interconnect = Interconnect(machine, link, latency)
        self.formats = model.formats(weights, kv, compute)
        self.weights = self.formats.scheme.name
        self.kv = self.formats.cache.name
        self.usable = usable
        self.options: dict[str, Any] = {
            "weights": self.formats.weights, "kv": kv and self.formats.cache,
            "compute": self.formats.compute, "ceilings": ceilings,
            "parallel": parallel, "link": link, "latency": latency,
        }  # fmt: skip
        self.bandwidth = self.roof.bandwidth.value
        if self.parallel.single:
            self.work: Work = model.work_in(self.formats)
            rounds: tuple[Work, ...] = (self.work,)
        else:
            from ..parallel.split import split

            divided = split(model, self.parallel, self.formats)
            self.work, rounds = divided.path, divided.rounds
        self._encoder: Case | None = None
        # kind of arithmetic asked for → what it runs in here
        self.arithmetic: dict[str, tuple[str, Figure]] = {}
        for op in self.work.operators:
            if op.flops and op.compute not in self.arithmetic:
                asked = compute is not None and op.kind in ("linear", "head", "experts")
                result = (
                    (op.compute, self.roof.peak(op.compute))
                    if asked
                    else self.roof.arithmetic(op.compute)
                )
                self.arithmetic[op.compute] = result
        self.borrowed = self._borrowed()
        self.notes = (
            *machine.assumed,
            *(
                Note("ceiling.unknown", machine=machine.name, wanted=wanted, used=used)
                for wanted, (used, _) in self.arithmetic.items()
                if used != wanted
            ),
        )
        works = rounds if rounds[0] is self.work else (self.work, *rounds)
        self.chains = tuple(
            Chain(work, self.bandwidth, self.arithmetic, self.interconnect) for work in works
        )
        self._main = self.chains[0] if len(self.chains) == 1 else None
        self._sums = self.chains[0].sums()
        crossing = self.chains[0].where_matrices_cross()
        self._linear_crossing = crossing * self._unit if crossing is not None else None
        stores = [(_held(work), work.resident) for work in rounds]
        spaces = {op.activations for op in self.work.operators if op.activations}
        # What fit() asks of one sequence, each quantity once, and terms by its number.
        alone = dict.fromkeys(q for terms in (*spaces, *(t for t, _ in stores)) for q, _ in terms)
        self._alone = tuple(alone)
        number = {q: i for i, q in enumerate(alone)}
        self._stores = tuple(
            (tuple((number[q], c) for q, c in terms), resident) for terms, resident in stores
        )
        self._spaces = tuple(tuple((number[q], c) for q, c in terms) for terms in spaces)

    @property
    def _unit(self) -> int:
        # Sequences of the whole for one more sequence on each device in each microbatch.
        return self.parallel.dp * self.parallel.waves

    def _borrowed(self) -> dict[str, str]:
        figures = {"memory": self.roof.bandwidth, **dict(self.arithmetic.values())}
        return {n: f.kind for n, f in figures.items() if f.kind != self.roof.kind}

    @property
    def kind(self) -> str:
        """The ceilings' kind: ``given`` where all in use were, else the roof's."""
        figures = [self.roof.bandwidth, *(f for _, f in self.arithmetic.values())]
        kinds = {figure.kind for figure in figures}
        return kinds.pop() if len(kinds) == 1 else self.roof.kind

    @property
    def rows(self) -> Any:
        """Each operator with its numbered terms, and its compute ceiling in FLOP/s."""
        return self.chains[0].rows

    @property
    def wires(self) -> tuple[Wire, ...]:
        """What communication goes over, each kind of exchange once."""
        return tuple(dict.fromkeys(exchange.wire for exchange in self.chains[0].exchanges))

    def using(self, **changes: Any) -> Case:
        """The same case with other formats, ceilings, usable fraction, model, machine or layout."""
        options: dict[str, Any] = {
            "model": self.model, "machine": self.machine, "usable": self.usable, **self.options,
        }  # fmt: skip
        options.update(changes)
        return Case(options.pop("model"), options.pop("machine"), **options)

    def for_step(self, step: Step) -> Case:
        """The case that answers for a step: of the model as it encodes for an encode.

        Raises:
            InputError: a step with a cache, of a model that attends in both directions.
            UnsupportedError: an encode of a model whose cache cannot be left out.
        """
        if step.phase == "encode":
            if self.model.encodes:
                return self
            if self._encoder is None:
                self._encoder = self.using(model=self.model.encoder())
            return self._encoder
        if self.model.encodes:
            raise InputError(
                f"{self.model.name} is an encoder: each token attends to those after it as well, "
                f"so there is no cache and no {step.phase}; '--phase encode' (in Python "
                "Step.encode) counts what it does"
            )
        return self

    def bound(self, step: Step, *, fewest: bool = False) -> Bound:
        """The step under the roof.

        Args:
            step: what is run.
            fewest: with the fewest experts that can be read, those of one token for all of
                them, in place of as many as even routing is expected to touch: what no routing
                beats.

        Raises:
            InputError: a step with a cache, of an encoder.
        """
        if self.model.encodes != (step.phase == "encode"):
            return self.for_step(step).bound(step, fewest=fewest)
        if self._main is not None:
            return self._main.bound(step, fewest=fewest)
        bounds = (c.bound(step, fewest=fewest) for c in self.chains)
        return max(bounds, key=lambda b: b.overlapped_s)

    def device(self, step: Step) -> Bound:
        """One device: through several stages the busiest's, over all microbatches. What is not
        that is the way of one microbatch through all stages."""
        return max(self.devices(step), key=lambda b: b.overlapped_s)

    def devices(self, step: Step) -> tuple[Bound, ...]:
        """One device of each stage over all microbatches, stages that are alike once."""
        rounds = self.chains[1:] if self.parallel.pp > 1 else self.chains[:1]
        return tuple(c.bound(step) for c in rounds)

    def on_the_way(self, step: Step) -> bool:
        """Whether :meth:`bound` is that of the way through all stages: it takes longer than any
        stage with all microbatches."""
        return self.parallel.pp > 1 and (
            self.chains[0].bound(step).overlapped_s >= self.device(step).overlapped_s
        )

    def routing(self, step: Step) -> Routing | None:
        """The experts that are expected to be read, of the layers that read most of them.

        ``None`` without experts, and where every choice reads as many.
        """
        kinds = {q for op in self.work.operators for q, _ in op.weights if q.q == "touched"}
        result = [Routing(q.experts, q.active, float(q.value(step.groups))) for q in kinds]
        loose = [r for r in result if r.expected > r.active]
        return max(loose, key=lambda r: (r.expected, r.experts), default=None)

    def operators(self, step: Step) -> tuple[OperatorBound, ...]:
        """Each kind of operator under the roof, in the order in which they run."""
        chain = max(self.chains, key=lambda c: c.bound(step).overlapped_s)
        return chain.operators(step)

    def climb(self, step: Step) -> Climb:
        """What a growing batch does to the step; to its decode part alone, where it is mixed
        (prefill beside it lifts the intensity, so there the batch pulls it down again)."""
        first = step.groups[0]
        # On several devices, a batch is so many sequences on each, the same in each microbatch.
        unit, tokens_each = self._unit, self.parallel.dp * first.new_tokens
        one = (Group(unit, first.new_tokens, first.past, first.all_logits),)
        bandwidth = self.bandwidth
        # One sequence's own FLOPs, seconds and bytes; what is paid whatever the batch; experts.
        flops = arithmetic = traffic = state = fixed = 0.0
        experts: list[tuple[float, Quantity]] = []
        for q, f, t, moved, kept in self._sums:
            if q.q == "touched":
                experts.append((moved, q))
            elif q.q == "one":
                fixed += moved
            else:
                own = q.value(one)
                flops += f * own
                arithmetic += t * own
                traffic += moved * own
                state += kept * own

        def read(batch: float) -> float:  # bytes of weights
            tokens = batch * tokens_each
            return fixed + sum(c * _touched(q, tokens) for c, q in experts)

        def net(batch: float) -> float:  # seconds of arithmetic beyond traffic
            return batch * slope - read(batch) / bandwidth

        slope = arithmetic - traffic / bandwidth
        # Once all experts are read, both are straight lines: the end of the search.
        most = fixed + sum(c * q.experts for c, q in experts)
        crossing = _times(_first(net, slope, most / bandwidth), unit)
        outweighs = _first(lambda batch: batch * traffic - read(batch), traffic, most)
        reason = None
        if crossing is None:
            reason = "state" if state > traffic - state else "kv"
        return Climb(
            limit=flops / traffic if traffic else None,
            crossing=crossing,
            reason=reason,
            ridge=flops / (arithmetic * bandwidth),
            linear_crossing=self._linear_crossing,
            kv_outweighs=_times(outweighs, unit),
        )

    def fit(self, step: Step) -> Fit:
        """What fits in memory beside the weights, sequences like the first group's."""
        first = step.groups[0]
        one = (Group(1, first.new_tokens, first.past, first.all_logits),)
        v = [q.value(one) for q in self._alone]
        workspace = 0.0
        for terms in self._spaces:
            space = 0
            for i, c in terms:
                space += c * v[i]
            workspace = max(workspace, space)
        memory = self.machine.memory
        layout = self.parallel
        each_space = workspace / layout.waves if layout.waves > 1 else workspace
        fullest: list[tuple[int, float, float]] = []  # batch, less its weights, a sequence's cache
        for terms, resident in self._stores:
            held = 0.0
            for i, c in terms:
                held += c * v[i]
            most = LARGEST_BATCH
            if memory is not None:
                room = memory.value * self.usable - resident
                for group in step.groups[1:]:
                    room -= sum(c * self._alone[i].value((group,)) for i, c in terms)
                if each := held + each_space:
                    most = max(0, math.floor(room / each)) * layout.dp
                elif room < 0:
                    most = 0
            fullest.append((most, -resident, held))
        most, spare, held = min(fullest)
        return Fit(
            weight_bytes=-spare,
            kv_bytes_per_sequence=held,
            workspace_per_sequence=workspace,
            memory_bytes=memory.value if memory else None,
            usable=self.usable,
            max_batch=most if memory is not None else None,
        )


def _held(work: Work) -> Terms:
    return merge(*(tuple((q, c * op.count) for q, c in op.held) for op in work.operators))


def _times(batch: int | None, unit: int) -> int | None:
    return None if batch is None else batch * unit


def _touched(q: Quantity, tokens: float) -> float:
    if q.experts == q.active:
        return q.experts
    return q.experts * float(1.0 - (1.0 - q.active / q.experts) ** tokens)


def _first(net: Callable[[float], float], slope: float, most: float) -> int | None:
    """The first whole batch from 1 at which ``net`` is not negative, ``None`` if never.

    ``net`` is ``slope`` times the batch, less something that grows to ``most`` at the most; it
    is negative at 0 and crosses zero at most once, at ``most / slope`` at the latest.
    """
    if net(1) >= 0:
        return 1
    if slope <= 0 or most / slope > LARGEST_BATCH:
        return None
    high = math.ceil(most / slope)
    if net(high - 1) < 0:  # the usual case: nothing saturates, or it has
        return high if net(high) >= 0 else high + 1
    low, high = 1, high - 1
    while high - low > 1:
        middle = (low + high) // 2
        if net(middle) < 0:
            low = middle
        else:
            high = middle
    return high
