"""The answer: how long it will take, with an interval, beside the roof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import InputError
from ..step import Step
from .interval import Interval
from .kernel import loads
from .predictor import Predictor
from .request import Request, request
from .serve import Served, steady
from .similar import Likeness, interval, likeness
from .steptime import Parts

SCHEMA = "roofline.predict/1"


@dataclass(frozen=True, slots=True)
class Prediction:
    """A predicted time and what it is made of.

    Attributes:
        kind: ``step``, ``request`` or ``served``.
        predictor: model, machine, engine, split, coefficients.
        asked: what was asked: batch, prompt, output, concurrency, ….
        times: seconds with intervals: ``step``; or ``ttft``, ``tpot``, ``total``.
        tokens_per_s: new tokens a second, all sequences.
        roof_s: the bound of the step (or of the mean decode step).
        parts: seconds of that step by cause.
        like: how alike the case is to what was fitted.
        running: sequences that run at once; ``None`` for a step.
        waiting: seconds of ``ttft`` that are queueing; ``None`` for a step.
    """

    kind: str
    predictor: Predictor
    asked: dict[str, Any]
    times: dict[str, Interval]
    tokens_per_s: Interval
    roof_s: float
    parts: Parts
    like: Likeness
    running: float | None = None
    waiting: float | None = None

    def to_json(self) -> dict[str, Any]:
        """The answer as data, SI base units."""
        p = self.predictor
        return {
            "schema": SCHEMA,
            "kind": self.kind,
            "model": {"name": p.model.name, "weights": p.weights, "kv": p.kv},
            "machine": {"name": p.machine.name, "id": p.machine.id},
            "engine": {
                "profile": p.profile.id,
                "engine": p.profile.engine,
                "versions": p.profile.versions,
            },
            "devices": {
                "tp": p.split.tp,
                "dp": p.split.dp,
                "link": p.device.link_name if p.split.devices > 1 else None,
            },
            "asked": self.asked,
            "times": {name: t.to_json() for name, t in self.times.items()},
            "tokens_per_s": self.tokens_per_s.to_json(),
            "bound_s": self.roof_s,
            "of_bound": self.roof_s / self.parts.total,
            "parts_s": self.parts.to_json(),
            "likeness": self.like.to_json(),
            "running": self.running,
            "waiting_s": self.waiting,
            "coefficients": [
                {"name": n, "value": v, "from": o, "source": s} for n, v, o, s in p.origins()
            ],
            "notes": list(p.profile.notes),
        }


def roof(p: Predictor, step: Step) -> float:
    """The overlapped bound of one device's share under the datasheet's roof, seconds."""
    under = p.machine.roof("datasheet" if p.machine.datasheet.bandwidth else None)
    arithmetic = traffic = 0.0
    for k in loads(p.work, step, p.split.dp).kernels:
        arithmetic += float(k.count * k.flops / under.arithmetic(k.compute)[1].value)
        traffic += float(k.count * k.stored / under.bandwidth.value)
    return max(arithmetic, traffic)


def predict_step(p: Predictor, step: Step) -> Prediction:
    """One step of ``step.batch`` sequences (of each replica, where there are several)."""
    like = likeness(p, int(step.batch))
    parts = p.step(step)
    bound = roof(p, step)
    time = interval(p, like, float(parts.total), bound)
    tokens = float(step.tokens_out) * p.split.dp
    asked = {
        "phase": step.phase,
        "groups": [
            {"batch": g.batch, "new_tokens": g.new_tokens, "past": g.past} for g in step.groups
        ],
    }
    return Prediction("step", p, asked, {"step": time}, time.inverse(tokens), bound, parts, like)


def predict_request(p: Predictor, batch: int, prompt: int, output: int) -> Prediction:
    """A batch of requests that start together, without a queue."""
    found: Request = request(p, batch, prompt, output)
    like = likeness(p, batch)
    each = max(1, found.running // p.split.dp)
    step = Step.decode(each, prompt + output // 2)
    bound = roof(p, step)
    first = roof(p, Step.prefill(each, prompt))
    bounds = {"ttft": first, "tpot": bound, "total": first + (output - 1) * bound}
    times = {n: interval(p, like, getattr(found, n), b) for n, b in bounds.items()}
    return Prediction(
        "request",
        p,
        {"batch": batch, "prompt": prompt, "output": output},
        times,
        times["total"].inverse(float(batch * output)),
        bound,
        found.decode,
        like,
        found.running,
        None,
    )


def predict_served(
    p: Predictor, concurrency: int, prompt: int, output: int, limit: int | None = None
) -> Prediction:
    """A served workload in its steady state, at a concurrency.

    Raises:
        InputError: not even one sequence fits.
    """
    room = p.room(prompt + int(0.6 * output)).sequences
    places = [float(x) for x in (limit, room) if x is not None]
    most = min(places) if places else None
    if most is not None and most < 1:
        raise InputError(
            f"{p.model.name} with a sequence of {prompt + output} tokens does not fit on "
            f"{p.split.devices} × {p.machine.name}"
        )
    found: Served = steady(p, concurrency, prompt, output, most)
    like = likeness(p, concurrency)
    step = Step.decode(max(1, round(found.running / p.split.dp)), prompt + output // 2)
    bound = roof(p, step)
    tpot = interval(p, like, float(found.tpot), bound)
    first = interval(p, like, float(found.ttft), roof(p, Step.prefill(1, prompt)))
    # The wait for a first token varies with arrivals beside everything that a step does.
    ttft = Interval(first.value, first.low / 1.5, first.high * 1.5)
    return Prediction(
        "served",
        p,
        {"concurrency": concurrency, "prompt": prompt, "output": output},
        {"ttft": ttft, "tpot": tpot},
        tpot.inverse(float(found.running)),
        bound,
        found.decode,
        like,
        float(found.running),
        float(found.queue),
    )
