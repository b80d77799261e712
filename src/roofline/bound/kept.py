"""Cases made before, for the next question about the same model and machine.

They are found by being the very objects that were asked about, which are held on to beside them.
"""

from __future__ import annotations

from collections import deque

from ..machine.machine import Machine
from ..model.model import Model
from .case import Case

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from typing import Any

MOST = 64
"""Cases, and encoders, that are kept: those asked for last."""

_CASES: deque[tuple[Case, Model, Machine, dict[str, Any]]] = deque(maxlen=MOST)
_ENCODERS: deque[tuple[Model, Model]] = deque(maxlen=MOST)


def case(model: Model, machine: Machine, options: dict[str, Any]) -> Case:
    """The case of a model on a machine with these options, priced once."""
    for kept, of, on, said in tuple(_CASES):
        if of is model and on is machine and said == options:
            return kept
    made = Case(model, machine, **options)
    _CASES.appendleft((made, model, machine, options))
    return made


def encoder(model: Model) -> Model:
    """The model as it encodes, made once."""
    for of, kept in tuple(_ENCODERS):
        if of is model:
            return kept
    made = model.encoder()
    _ENCODERS.appendleft((model, made))
    return made
