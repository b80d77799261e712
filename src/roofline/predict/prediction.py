"""The answer: how long it will take, with an interval, beside the roof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import InputError
from ..step import Step
from .interval import Interval
from .predictor import Predictor
from .request import Request, request
from .serve import Served, steady
from .similar import Likeness, interval, likeness
from .simulate import Length, Simulated, simulate
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
        p, case = self.predictor, self.predictor.case
        return {
            "schema": SCHEMA,
            "kind": self.kind,
            "model": {"name": case.model.name, "weights": case.weights, "kv": case.kv},
            "machine": {"name": case.machine.name, "id": case.machine.id},
            "engine": {
                "profile": p.profile.id,
                "engine": p.profile.engine,
                "versions": p.profile.versions,
            },
            "layout": {n: getattr(case.parallel, n) for n in ("tp", "pp", "ep", "dp")},
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
            "notes": [*case.model.notes, *case.notes, *p.profile.notes],
        }


def predict_step(p: Predictor, step: Step) -> Prediction:
    """One step."""
    like = likeness(p, int(step.batch))
    parts = p.step(step)
    bound = p.roof(step)
    time = interval(p, like, float(parts.total), bound)
    tokens = float(step.tokens_out)
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
    step = Step.decode(found.running, prompt + output // 2)
    bound = p.roof(step)
    first = p.roof(Step.prefill(found.running, prompt))
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
    places = [x for x in (limit, p.places(prompt + int(0.6 * output))) if x is not None]
    most = min(places) if places else None
    if most is not None and most < 1:
        raise InputError(
            f"{p.case.model.name} with a sequence of {prompt + output} tokens does not fit on "
            f"{p.case.parallel.devices} × {p.case.machine.name}"
        )
    found: Served = steady(p, concurrency, prompt, output, most)
    like = likeness(p, concurrency)
    step = Step.decode(found.running, prompt + output // 2)
    bound = p.roof(step)
    tpot = interval(p, like, float(found.tpot), bound)
    least = p.roof(Step.prefill(1, prompt))
    ttft = interval(p, like, float(found.ttft), least, first=True)
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


def predict_simulated(
    p: Predictor,
    prompt: Length,
    output: Length,
    asked: dict[str, Any],
    **load: Any,
) -> Prediction:
    """A served workload, simulated step by step: requests at a rate, or lengths that vary.

    Args:
        prompt, output: lengths of a request.
        asked: what was asked, for the answer.
        load: ``concurrency`` or ``rate``, ``requests``, ``budget``, ``seed``.
    """
    found: Simulated = simulate(p, prompt, output, **load)
    running = max(1, round(found.running))
    like = likeness(p, running)
    mean_prompt, mean_output = asked["prompt"], asked["output"]
    step = Step.decode(running, mean_prompt + mean_output // 2)
    bound, least = p.roof(step), p.roof(Step.prefill(1, mean_prompt))
    tpot = interval(p, like, _mean(found.tpot), bound)
    times = {
        "ttft": interval(p, like, _mean(found.ttft), least, first=True),
        "ttft_p90": interval(p, like, _high(found.ttft), least, first=True),
        "tpot": tpot,
        "tpot_p90": interval(p, like, _high(found.tpot), bound),
    }
    speed = tpot.inverse(found.tokens_per_s * tpot.value)
    if "rate" in asked:  # arrivals set the speed, not the engine
        speed = Interval(speed.value, speed.value, speed.value)
    return Prediction(
        "served",
        p,
        asked,
        times,
        speed,
        bound,
        p.step(step),
        like,
        found.running,
        max(0.0, _mean(found.ttft) - float(p.prefill(1, mean_prompt).total)),
    )


def _mean(values: tuple[float, ...]) -> float:
    return sum(values) / len(values) if values else 0.0


def _high(values: tuple[float, ...]) -> float:
    return sorted(values)[min(len(values) - 1, int(0.9 * len(values)))] if values else 0.0
