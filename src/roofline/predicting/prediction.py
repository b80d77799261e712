"""The answer: how long it will take, with an interval, beside the roof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..bound import hold
from ..bound.explanation import accepted
from ..count.step import Step
from ..errors import InputError
from ..rows import Rows
from .interval import Interval
from .lengths import Lengths
from .predictor import Predictor
from .replicas import shared
from .request import Request, request
from .serve import SteadyState, steady
from .similar import Likeness, interval, likeness
from .simulate import Simulated, most, too_many
from .steptime import Parts

SCHEMA = "roofline.predict/1"


@dataclass(frozen=True, slots=True)
class Prediction(Rows):
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
        most: requests a second that are served at most, where they arrive at a rate.
        apart: replicas that run apart, each with its share of the requests.
        share: ``roof_s`` over the expected time, where that is not the total of ``parts``.
        step: that was asked about; it may not fit in memory, where other kinds are refused.
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
    most: float | None = None
    apart: int = 1
    share: float | None = None
    step: Step | None = None

    @property
    def of_bound(self) -> float:
        """Share of the roof that is reached."""
        return self.roof_s / float(self.parts.total) if self.share is None else self.share

    def rows(self) -> list[dict[str, Any]]:
        """One row: each time with its interval in seconds, tokens a second, the bound."""
        case = self.predictor.case
        result: dict[str, Any] = {
            "model": case.model.name, "machine": case.machine.id, "weights": case.weights,
            "kv": case.kv, "devices": case.parallel.devices, "engine": self.predictor.profile.id,
            "kind": self.kind,
        }  # fmt: skip
        result |= {name: value for name, value in self.asked.items() if name != "groups"}
        spans = {f"{name}_s": time for name, time in self.times.items()}
        for name, span in {**spans, "tokens_per_s": self.tokens_per_s}.items():
            result |= {name: span.value, f"{name}_low": span.low, f"{name}_high": span.high}
        return [result | {"bound_s": self.roof_s, "of_bound": self.of_bound}]

    def __str__(self) -> str:
        from ..say.predicted import text
        from ..words import choose

        return text(self, choose(None))

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
            "times": {name: _finite(t.to_json()) for name, t in self.times.items()},
            "tokens_per_s": self.tokens_per_s.to_json(),
            "bound_s": self.roof_s,
            "of_bound": self.of_bound,
            "parts_s": self.parts.to_json(),
            "likeness": self.like.to_json(),
            "running": self.running,
            "waiting_s": self.waiting,
            "most_requests_per_s": self.most,
            "replicas_apart": self.apart,
            **self._step(),
            "coefficients": [
                {"name": n, "value": v, "from": o, "source": s} for n, v, o, s in p.origins()
            ],
            "notes": list(p.notes),
        }

    def _step(self) -> dict[str, Any]:
        # Whether the step fits, and what would hold it; times beside are as if it did.
        if self.step is None:
            return {}
        case, step = self.predictor.case, self.step
        fits = hold.to_json(case, step, case.fit(step))
        return {"fits": fits, **accepted(step, self.times["step"].value)}


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
    speed = time.inverse(tokens)
    return Prediction("step", p, asked, {"step": time}, speed, bound, parts, like, step=step)


def predict_request(p: Predictor, batch: int, prompt: int, output: int) -> Prediction:
    """A batch of requests that start together, without a queue."""
    result: Request = request(p, batch, prompt, output)
    like = likeness(p, batch)
    bound = p.roof_decode(result.running, prompt, output)
    first = p.roof(Step.prefill(result.running, prompt))
    whole = batch / result.running * (first + (output - 1) * bound)
    bounds = {"ttft": first, "tpot": bound, "total": whole}
    times = {n: interval(p, like, getattr(result, n), b) for n, b in bounds.items()}
    return Prediction(
        "request",
        p,
        {"batch": batch, "prompt": prompt, "output": output},
        times,
        times["total"].inverse(float(batch * output)),
        bound,
        result.decode,
        like,
        result.running,
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
        raise p.no_room(prompt + output)
    result: SteadyState = steady(p, concurrency, prompt, output, most)
    like = likeness(p, concurrency)
    step = Step.decode(result.running, prompt + output // 2)
    bound = p.roof(step)
    tpot = interval(p, like, float(result.tpot), bound)
    least = p.roof(Step.prefill(1, prompt))
    ttft = interval(p, like, float(result.ttft), least, first=True)
    return Prediction(
        "served",
        p,
        {"concurrency": concurrency, "prompt": prompt, "output": output},
        {"ttft": ttft, "tpot": tpot},
        tpot.inverse(float(result.running)),
        bound,
        result.decode,
        like,
        float(result.running),
        float(result.queue),
    )


def predict_simulated(
    p: Predictor, lengths: Lengths, asked: dict[str, Any], **load: Any
) -> Prediction:
    """A served workload, simulated step by step: requests at a rate, or lengths that vary.

    Replicas that tell each other nothing (of models without experts) run apart: one of them is
    simulated with its share of the requests. Where experts are spread over replicas these step
    together, and all of them are one engine.

    At a rate a slower engine runs more sequences at once, which slows it further, and its queue
    grows faster than its steps: the interval comes from simulating the engine as slow, and as
    fast, as the interval of a step allows. An end beyond which there is no steady state is
    infinite. The bound is the same load on an engine whose every step takes its bound.

    Args:
        lengths: of the requests.
        asked: what was asked, for the answer.
        load: ``concurrency`` or ``rate``, ``requests``, ``budget``, ``places``, ``seed``.

    Raises:
        InputError: a request that does not fit, or more requests a second than are served.
    """
    apart = p.apart
    one = p.replica if apart > 1 else p
    if apart > 1 and load.get("places"):
        load["places"] = max(1, load["places"] // apart)
    limit = None
    if "rate" in load:
        same = {n: v for n, v in load.items() if n in ("budget", "places", "seed")}
        limit = most(one, lengths, **same)
        if load["rate"] >= apart * limit:
            raise InputError(too_many(load["rate"], apart * limit))
        load = {**load, "rate": load["rate"] / apart, "limit": limit}

    def at(pace: float) -> Simulated:
        return shared(one, apart, lengths, pace=pace, **load)

    result, ideal = at(1.0), at(0.0)
    running = max(1, round(result.running / apart))
    like = likeness(p, running)
    mean_prompt, mean_output = (int(x) for x in lengths.mean)
    front = p.resolved.values["request.floor"]
    times, bounds = {}, {}
    for name in ("ttft", "tpot"):
        for tail, of in (("", _mean), ("_p90", _high)):
            first = name == "ttft"
            value, least = (of(getattr(x, name)) for x in (result, ideal))
            least = bounds[name + tail] = min(value, least - front if first else least)
            times[name + tail] = interval(one, like, value, least, first=first)
    tpot = times["tpot"]
    speed = tpot.inverse(result.tokens_per_s * tpot.value)
    if limit is not None:  # arrivals set the speed, not the engine
        arriving = apart * load["rate"] * lengths.mean[1]
        speed = Interval(arriving, arriving, arriving)
        ends = [x / tpot.value for x in (tpot.low, tpot.high)]
        paced = [at(x) if load["rate"] * x < limit else None for x in ends]
        times = _stretched(times, paced, bounds)
    return Prediction(
        "served",
        p,
        asked,
        times,
        speed,
        bounds["tpot"],
        one.step(Step.decode(running, mean_prompt + mean_output // 2)),
        like,
        result.running,
        max(0.0, _mean(result.ttft) - float(one.prefill(1, mean_prompt).total)),
        limit and apart * limit,
        apart=apart,
        share=bounds["tpot"] / tpot.value,
    )


def _stretched(
    times: dict[str, Interval], ends: list[Simulated | None], bounds: dict[str, float]
) -> dict[str, Interval]:
    """Intervals that reach what the fast and the slow engine came to, none below its bound."""
    result = {}
    for name, t in times.items():
        kind, of = name.removesuffix("_p90"), _high if name.endswith("_p90") else _mean
        low, high = (float("inf") if end is None else of(getattr(end, kind)) for end in ends)
        low = max(min(t.low, low), bounds[name])
        result[name] = Interval(t.value, low, max(t.high, high), t.level)
    return result


def _finite(entry: dict[str, float]) -> dict[str, float | None]:
    return {n: None if v == float("inf") else v for n, v in entry.items()}


def _mean(values: tuple[float, ...]) -> float:
    return sum(values) / len(values) if values else 0.0


def _high(values: tuple[float, ...]) -> float:
    return sorted(values)[min(len(values) - 1, int(0.9 * len(values)))] if values else 0.0
