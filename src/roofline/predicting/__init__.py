"""Prediction: how fast it will really be, with an interval.

>>> from roofline.predicting import predict
>>> predict("llama-3.1-8b", "h100-sxm", engine="vllm", batch=16, prompt=1024, output=256)

The model of time is physics with a handful of fitted coefficients (``steptime.py``); the
coefficients are data with their sources (``profiles/``); the interval comes from measurements
that were left out of the fit (``interval.py``).
"""

from __future__ import annotations

from typing import Any

from ..bound.case import Case
from ..count.step import Step
from ..machine.load import load as load_machine
from ..model.load import load as load_model
from ..parallel import Parallel
from .interval import Interval
from .prediction import (
    Prediction,
    predict_request,
    predict_served,
    predict_simulated,
    predict_step,
)
from .predictor import Predictor
from .profile import Profile
from .profile import load as load_profile
from .steptime import Parts


def predict(
    model: str,
    machine: str,
    *,
    engine: str = "vllm",
    step: Step | None = None,
    batch: int = 1,
    prompt: int | None = None,
    output: int | None = None,
    concurrency: int | None = None,
    parallel: Parallel | None = None,
    as_type: str | None = None,
    **formats: Any,
) -> Prediction:
    """How long a step, a batch of requests or a served workload takes.

    Args:
        model, machine: names or files.
        engine: a profile of the package, or a file that ``roofline calibrate`` wrote.
        step: one step; by default decode of ``batch`` sequences at a context of 2048.
        batch, prompt, output: a batch of requests that start together.
        concurrency: instead of a batch: requests in flight at a server.
        parallel: the layout over several devices.
        as_type: the architecture to count the model as; see :func:`roofline.load_model`.
        formats: ``weights``, ``kv``, ``compute``, ``usable``, as for a case.
    """
    case = Case(load_model(model, as_type), load_machine(machine), parallel=parallel, **formats)
    p = Predictor(case, load_profile(engine))
    if concurrency is not None:
        return predict_served(p, concurrency, prompt or 1024, output or 256)
    if output is not None:
        return predict_request(p, batch, prompt or 1024, output)
    return predict_step(p, step or Step.decode(batch, 2048))


__all__ = [
    "Interval",
    "Parts",
    "Prediction",
    "Predictor",
    "Profile",
    "load_profile",
    "predict",
    "predict_request",
    "predict_served",
    "predict_simulated",
    "predict_step",
]
