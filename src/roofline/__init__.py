"""roofline: which ceiling an LLM hits, by how much, and what would change it.

    import roofline

    answer = roofline.explain("llama-3.1-8b", "h100-sxm")
    print(answer)                                   # words and picture
    answer.bound.intensity, answer.climb.limit      # 1.05, 59.9 FLOP/byte
    answer.verdict.code, answer.climb.crossing      # 'memory:weights', None

    model = roofline.load_model("path/to/config.json")
    machine = roofline.load_machine("rtx-4090")
    step = roofline.Step.decode(batch=8, context=8192)
    for operator in roofline.explain(model, machine, step, weights="int4").operators:
        print(operator.name, operator.intensity, operator.bound)

Names are imported when they are first used, so that importing the package costs little.
"""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from typing import Any

    from .api.bench import bench
    from .api.measure import Measured, measure
    from .api.place import Placements, place
    from .api.predict import predict
    from .api.sweep import Sweep, sweep
    from .bound.case import Case
    from .bound.chain import Bound, OperatorBound
    from .bound.explanation import Explanation, explain
    from .bound.outcomes import Climb, Fit
    from .bound.verdict import Lever, Verdict
    from .count.group import Group
    from .count.step import Step
    from .count.work import Operator, Work
    from .errors import InputError, MissingExtra, NotFound, RooflineError, UnsupportedError
    from .machine.given import given
    from .machine.load import load_machine
    from .machine.machine import Figure, Machine, Roof
    from .model.load import load_model
    from .model.model import Model
    from .parallel.layout import Parallel
    from .points.point import Point
    from .predicting.prediction import Prediction
    from .say.figure import plot

_HOMES = {
    "Bound": "bound.chain",
    "Case": "bound.case",
    "Climb": "bound.outcomes",
    "Explanation": "bound.explanation",
    "Figure": "machine.machine",
    "Fit": "bound.outcomes",
    "Group": "count.group",
    "InputError": "errors",
    "Lever": "bound.verdict",
    "Machine": "machine.machine",
    "Measured": "api.measure",
    "MissingExtra": "errors",
    "Model": "model.model",
    "NotFound": "errors",
    "Operator": "count.work",
    "OperatorBound": "bound.chain",
    "Parallel": "parallel.layout",
    "Placements": "api.place",
    "Point": "points.point",
    "Prediction": "predicting.prediction",
    "Roof": "machine.machine",
    "RooflineError": "errors",
    "Step": "count.step",
    "Sweep": "api.sweep",
    "UnsupportedError": "errors",
    "Verdict": "bound.verdict",
    "Work": "count.work",
    "bench": "api.bench",
    "explain": "bound.explanation",
    "given": "machine.given",
    "load_machine": "machine.load",
    "load_model": "model.load",
    "measure": "api.measure",
    "place": "api.place",
    "plot": "say.figure",
    "predict": "api.predict",
    "sweep": "api.sweep",
}

__all__ = [
    "Bound",
    "Case",
    "Climb",
    "Explanation",
    "Figure",
    "Fit",
    "Group",
    "InputError",
    "Lever",
    "Machine",
    "Measured",
    "MissingExtra",
    "Model",
    "NotFound",
    "Operator",
    "OperatorBound",
    "Parallel",
    "Placements",
    "Point",
    "Prediction",
    "Roof",
    "RooflineError",
    "Step",
    "Sweep",
    "UnsupportedError",
    "Verdict",
    "Work",
    "bench",
    "explain",
    "given",
    "load_machine",
    "load_model",
    "measure",
    "place",
    "plot",
    "predict",
    "sweep",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'roofline' has no attribute '{name}'")
    from importlib import import_module

    home = import_module(f".{_HOMES[name]}", __name__)
    value = getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
