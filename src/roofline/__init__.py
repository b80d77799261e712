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

TYPE_CHECKING = False  # typing.TYPE_CHECKING without importing typing, which takes 5 ms
if TYPE_CHECKING:
    from typing import Any

    from .bound.case import Bound, Case, Climb, Fit, OperatorBound
    from .bound.explanation import Explanation, explain
    from .bound.verdict import Lever, Verdict
    from .count.step import Group, Step
    from .count.work import Operator, Work
    from .errors import InputError, MissingExtra, NotFound, RooflineError, UnsupportedError
    from .machine.given import given
    from .machine.load import load as load_machine
    from .machine.machine import Figure, Machine, Roof
    from .model.load import load as load_model
    from .model.model import Model
    from .parallel.layout import Parallel
    from .say.figure import plot

_HOMES = {
    "Bound": "bound.case",
    "Case": "bound.case",
    "Climb": "bound.case",
    "Explanation": "bound.explanation",
    "Figure": "machine.machine",
    "Fit": "bound.case",
    "Group": "count.step",
    "InputError": "errors",
    "Lever": "bound.verdict",
    "Machine": "machine.machine",
    "MissingExtra": "errors",
    "Model": "model.model",
    "NotFound": "errors",
    "Operator": "count.work",
    "OperatorBound": "bound.case",
    "Parallel": "parallel.layout",
    "Roof": "machine.machine",
    "RooflineError": "errors",
    "Step": "count.step",
    "UnsupportedError": "errors",
    "Verdict": "bound.verdict",
    "Work": "count.work",
    "explain": "bound.explanation",
    "given": "machine.given",
    "load_machine": "machine.load",
    "load_model": "model.load",
    "plot": "say.figure",
}
_RENAMED = {"load_machine": "load", "load_model": "load"}

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
    "MissingExtra",
    "Model",
    "NotFound",
    "Operator",
    "OperatorBound",
    "Parallel",
    "Roof",
    "RooflineError",
    "Step",
    "UnsupportedError",
    "Verdict",
    "Work",
    "explain",
    "given",
    "load_machine",
    "load_model",
    "plot",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'roofline' has no attribute '{name}'")
    from importlib import import_module

    home = import_module(f".{_HOMES[name]}", __name__)
    value = getattr(home, _RENAMED.get(name, name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
