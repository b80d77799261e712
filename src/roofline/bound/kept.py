"""Cases made before, for the next question about the same model and machine.

They are found by being the very objects that were asked about, which are held on to beside them.
"""

from __future__ import annotations

from collections import deque

from ..errors import RooflineError
from ..machine.machine import Machine
from ..model.model import Model
from .case import Case

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from typing import Any

MOST = 64
"""Cases, and encoders, that are kept: those asked for last."""

_CASES: deque[tuple[Case, Model, Machine, dict[str, Any]]] = deque(maxlen=MOST)
_VARIANTS: deque[tuple[Case, dict[str, Any], Case | RooflineError]] = deque(maxlen=4 * MOST)
_ENCODERS: deque[tuple[Model, Model]] = deque(maxlen=MOST)


def case(model: Model, machine: Machine, options: dict[str, Any]) -> Case:
    """The case of a model on a machine with these options, priced once."""
    for kept, of, on, said in tuple(_CASES):
        if of is model and on is machine and said == options:
            return kept
    made = Case(model, machine, **options)
    _CASES.appendleft((made, model, machine, options))
    return made


def variant(of: Case, **changes: Any) -> Case:
    """:meth:`Case.using`, priced once: levers ask about the same changes at every step.

    Raises:
        RooflineError: the case cannot be so.
    """
    for case, said, kept in tuple(_VARIANTS):
        if case is of and said == changes:
            if isinstance(kept, RooflineError):
                raise kept
            return kept
    try:
        made = of.using(**changes)
    except RooflineError as error:
        _VARIANTS.appendleft((of, changes, error.with_traceback(None)))
        raise
    _VARIANTS.appendleft((of, changes, made))
    return made


def encoder(model: Model) -> Model:
    """The model as it encodes, made once."""
    for of, kept in tuple(_ENCODERS):
        if of is model:
            return kept
    made = model.encoder()
    _ENCODERS.appendleft((model, made))
    return made
