"""What the picture shows, as data: roofs, ridge, prefill, the decode path and its end."""

from __future__ import annotations

from ..bound.case import Case
from ..count.step import Step
from ..record import record
from ..words import Words

TICKS = (1, 8, 64, 256)
"""Batches marked on the decode path."""


@record
class Dot:
    """A step in the plane.

    Attributes:
        intensity: FLOP/byte.
        speed: FLOP/s that the overlapped bound allows.
        label: what to call it: a batch, a prompt.
    """

    intensity: float
    speed: float
    label: str


@record
class Picture:
    """The resting picture.

    Attributes:
        bandwidth: bytes/s; peak: FLOP/s for the decode step's mix of arithmetic; ridge: FLOP/byte.
        step: the step asked about.
        prefill: a prompt's prefill; ``None`` for an encoder.
        ticks: decode (or encode) at the batches of :data:`TICKS`.
        limit: the intensity that decode never passes, or ``None``.
        full: decode at the batch that fills the memory (sequences like the first of the step,
            beside its others), or ``None``.
        measured: points that an engine reached, placed at what it reached.
        other: the roof of the other kind (datasheet's beside measured, or the reverse) as kind,
            bytes/s, FLOP/s; ``None`` where the machine has one kind only.
        devices: of how many this is one.
        fits: whether the step fits in memory, ``None`` where that is unknown.
    """

    bandwidth: float
    peak: float
    ridge: float
    step: Dot
    prefill: Dot | None
    ticks: tuple[Dot, ...]
    limit: float | None
    full: Dot | None
    measured: tuple[Dot, ...] = ()
    other: tuple[str, float, float] | None = None
    devices: int = 1
    fits: bool | None = None

    def here(self, words: Words) -> str:
        """What the step is called in small."""
        return words("chart.here" if self.fits is not False else "chart.here.unfit")

    def axis(self, words: Words) -> str:
        """What goes along the bottom."""
        if self.devices == 1:
            return words("chart.x")
        return words("chart.x.device", devices=self.devices)

    def roof(self, intensity: float) -> float:
        """Attainable FLOP/s."""
        return min(self.peak, self.bandwidth * intensity)


def path(step: Step) -> Step:
    """The step whose batch the picture lets grow, at batch 1: decode at the step's context, or
    an encode of as many tokens."""
    group = step.groups[0]
    if step.phase == "encode":
        return Step.encode(1, group.new_tokens)
    return Step.decode(1, group.context if step.phase == "prefill" else group.past + 1)


def draw(case: Case, step: Step) -> Picture:
    """The picture of a case around a step: its context, or its prompt, sets the scene."""
    group = step.groups[0]
    prompt = group.new_tokens if step.phase == "prefill" else group.past + 1
    decode = path(step)

    def point(of: Step, label: str) -> Dot:
        b = case.bound(of)
        return Dot(b.intensity, float(b.flops / b.overlapped_s), label)

    climb = case.climb(decode)
    fit = case.fit(step)
    full = fit.max_batch
    first = case.bound(decode)
    return Picture(
        bandwidth=case.bandwidth,
        peak=float(first.flops / first.compute_s),
        ridge=first.ridge,
        step=point(step, str(step.batch)),
        prefill=point(Step.prefill(1, prompt), str(prompt)) if step.phase != "encode" else None,
        ticks=tuple(point(decode.with_batch(n), str(n)) for n in TICKS),
        limit=climb.limit,
        full=point(decode.with_batch(full), str(full)) if full else None,
        other=_other(case),
        devices=case.parallel.devices,
        fits=fit.holds(step.batch),
    )


def _other(case: Case) -> tuple[str, float, float] | None:
    kind = "measured" if case.roof.kind == "datasheet" else "datasheet"
    ceilings = getattr(case.machine, kind)
    memory = ceilings.bandwidth.get("memory")
    used = dict.fromkeys(name for name, _ in case.arithmetic.values())
    peaks = [ceilings.compute[name].value for name in used if name in ceilings.compute]
    return (kind, memory.value, max(peaks)) if memory and peaks else None
