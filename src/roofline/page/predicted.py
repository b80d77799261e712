"""How fast it will be, for the page: a grid of predictions in a file, one answer when served.

The page computes bounds itself. A prediction is computed by :mod:`roofline.predicting` only: where
the page is served it asks (:class:`Oracle`), and a page that is a file carries predictions at
the stops of its sliders (:func:`grid`), for the models, machines and formats that it was written
for. Between stops it shows none: nothing is interpolated.

In the file, under ``predicted``::

    {"model", "machine", "devices", "weights", "kv", "compute",
     "engine": {"id", "title", "versions"}, "level", "rows",
     "batch": [stops],
     "like": [[low, high, widen, stranger…] for each stop of the batch],
     "decode", "prefill": {"tokens": [stops], "seconds": [[for each of them] for each batch]}}

``low`` and ``high`` are factors of the expected seconds; the interval ends at the bound, which the
page knows. A stranger is what the profile's fit had none of (``machine``, ``model``, …), and the
interval is ``widen`` times as wide for it.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from ..bound.case import Case
from ..count.number import LARGEST
from ..count.step import Step
from ..errors import InputError, NotFound
from ..machine.load import load as load_machine
from ..machine.machine import Machine
from ..model import Model
from ..model.load import load as load_model
from ..parallel import Parallel
from ..predicting import Predictor, Profile, predict_step
from ..predicting.profile import load as load_profile
from ..predicting.profile import names
from ..predicting.similar import Likeness, interval, likeness

BATCHES = tuple(1 << i for i in range(13))
TOKENS = tuple(1 << i for i in range(18))
"""The stops of the page's sliders."""

MOST_KEPT = 32
"""Predictors that a server keeps."""

MOST_POSTED = 32
"""Models from posted configs that it keeps."""

_NAMED = ("model", "machine", "engine")
_FORMATS = ("weights", "kv", "compute")

STRANGERS = ("machine", "generation", "model", "precision", "batch")


def strangers(like: Likeness) -> list[str]:
    """What the fit had none of."""
    return [name for name in STRANGERS if like.rows and not getattr(like, name)]


def engine_json(profile: Profile) -> dict[str, str]:
    """An engine's profile as the page names it."""
    title = profile.title or profile.id
    return {"id": profile.id, "title": title, "versions": profile.versions}


def grid(p: Predictor) -> dict[str, Any]:
    """Predictions at every stop of the sliders."""
    import numpy as np

    batches = np.array(BATCHES)
    rows = likeness(p, 1).rows
    result: dict[str, Any] = {
        "devices": p.case.parallel.tp,
        "engine": engine_json(p.profile),
        "level": interval(p, likeness(p, 1), 1.0).level,
        "rows": rows,
        "batch": list(BATCHES),
        "like": [],
    }
    for batch in BATCHES:
        like = likeness(p, batch)
        around = interval(p, like, 1.0)
        result["like"].append(
            [_short(around.low), _short(around.high), like.widen, *strangers(like)]
        )
    for phase, step in (("decode", Step.decode), ("prefill", Step.prefill)):
        # One length at a time: which kernels run depends on it.
        columns = [p.seconds(step(batches, n)).tolist() for n in TOKENS]
        result[phase] = {
            "tokens": list(TOKENS),
            "seconds": [[_short(x) for x in row] for row in zip(*columns, strict=True)],
        }
    return result


def _short(value: float) -> float:
    return float(f"{value:.5g}")


def grids(
    engine: str | Profile,
    models: Mapping[str, str | Model],
    machines: Mapping[str, str | Machine],
    formats: Mapping[str, str],
    devices: int = 1,
) -> list[dict[str, Any]]:
    """A grid for each model on each machine, by their ids on the page.

    Raises:
        RooflineError: an unknown engine, or one of them cannot be.
    """
    profile = load_profile(engine) if isinstance(engine, str) else engine
    chosen = {name: formats[name] for name in _FORMATS if name in formats}
    layout = Parallel(tp=devices) if devices > 1 else None
    result = []
    for m, model in models.items():
        for k, machine in machines.items():
            case = Case(
                load_model(model) if isinstance(model, str) else model,
                load_machine(machine) if isinstance(machine, str) else machine,
                parallel=layout,
                **chosen,  # type: ignore[arg-type]
            )
            asked = {name: chosen.get(name, "") for name in _FORMATS}
            result.append({"model": m, "machine": k, **asked, **grid(Predictor(case, profile))})
    return result


class Oracle:
    """Answers a served page: one prediction at a time, of things that it was served with.

    A question names models, machines and engines by their ids here, never a file.
    """

    def __init__(
        self,
        models: Mapping[str, str | Model],
        machines: Mapping[str, str | Machine],
        engine: str | None = None,
    ) -> None:
        """What may be asked about, by id; the engine, or profile of one, that is shown first."""
        self.models = dict(models)
        self.machines = dict(machines)
        self.engines = {name: load_profile(name) for name in names()}
        self.first = ""
        if engine:
            profile = load_profile(engine)
            self.first = profile.id
            self.engines = {profile.id: profile, **self.engines}
        self._kept: dict[tuple[Any, ...], Predictor] = {}
        self._posted: list[str] = []
        self._turn = threading.Lock()

    def to_json(self) -> list[dict[str, str]]:
        """The engines."""
        return [engine_json(p) for p in self.engines.values()]

    def add(self, id: str, model: Model) -> None:
        """A model whose config was posted: it may be asked about, too."""
        with self._turn:
            while len(self._posted) >= MOST_POSTED:
                self.models.pop(self._posted.pop(0), None)
            if id not in self.models:
                self._posted.append(id)
            if id in self._posted:
                self.models[id] = model
                self._kept = {key: p for key, p in self._kept.items() if key[0] != id}

    def answer(self, asked: Any) -> dict[str, Any]:
        """The prediction for a question of the page's.

        Args:
            asked: ``model``, ``machine``, ``engine``, ``weights``, ``kv``, ``compute``,
                ``devices``, ``phase``, and ``batch``, ``context``, ``prompt``, ``drafted``.

        Raises:
            RooflineError: what is asked cannot be, or is not known here.
        """
        if not isinstance(asked, dict):
            raise InputError("a question is a JSON object")
        texts = {name: _text(asked, name) for name in (*_NAMED, *_FORMATS)}
        devices = _whole(asked, "devices", 1 << 10)
        step = _step(asked)
        key = (*texts.values(), devices)
        with self._turn:
            predictor = self._kept.get(key)
            if predictor is None:
                if len(self._kept) >= MOST_KEPT:
                    self._kept.clear()
                predictor = self._kept[key] = self._made(texts, devices)
            result = predict_step(predictor, step)
        return {
            "seconds": result.times["step"].to_json(),
            "engine": engine_json(predictor.profile),
            "rows": result.like.rows,
            "strangers": strangers(result.like),
            "widen": result.like.widen,
        }

    def _made(self, asked: Mapping[str, str], devices: int) -> Predictor:
        held: dict[str, Mapping[str, Any]] = {
            "model": self.models,
            "machine": self.machines,
            "engine": self.engines,
        }
        for what, known in held.items():
            if asked[what] not in known:
                raise NotFound(f"no {what} '{asked[what][:60]}' is known to this server")
        model, machine = self.models[asked["model"]], self.machines[asked["machine"]]
        case = Case(
            load_model(model) if isinstance(model, str) else model,
            load_machine(machine) if isinstance(machine, str) else machine,
            parallel=Parallel(tp=devices) if devices > 1 else None,
            **{name: asked[name] or None for name in _FORMATS},  # type: ignore[arg-type]
        )
        return Predictor(case, self.engines[asked["engine"]])


def _text(asked: Mapping[str, Any], name: str) -> str:
    value = asked.get(name, "")
    if not isinstance(value, str) or len(value) > 200:
        raise InputError(f"{name} must be a short text")
    return value


def _whole(asked: Mapping[str, Any], name: str, most: int = LARGEST) -> int:
    value = asked.get(name, 1)
    if type(value) is not int or not 1 <= value <= most:
        raise InputError(f"{name} must be a whole number from 1 to {most}")
    return value


def _step(asked: Mapping[str, Any]) -> Step:
    # The step that the page's controls describe, as groupsOf in state.js.
    phase = asked.get("phase")
    batch, context = _whole(asked, "batch"), _whole(asked, "context")
    if phase == "decode":
        return Step.decode(batch, context)
    prompt = _whole(asked, "prompt")
    if phase == "prefill":
        return Step.prefill(batch, prompt)
    if phase == "verify":
        return Step.verify(batch, _whole(asked, "drafted", 1 << 10), context)
    if phase == "mixed":
        return Step.mixed(Step.decode(batch, context), Step.prefill(1, prompt))
    raise InputError("phase must be decode, prefill, verify or mixed")
