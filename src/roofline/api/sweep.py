"""`roofline.sweep`: many steps side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from operator import index
from typing import TYPE_CHECKING, Any

from ..bound import sweep as sweeping
from ..bound.case import DEFAULT_USABLE, Case
from ..bound.sweep import Curve, IntRange
from ..count.number import LARGEST
from ..count.step import CONTEXT, ENCODED
from ..errors import InputError
from ..limits import SWEPT_CONTEXTS, SWEPT_STEPS
from ..machine.load import taken as taken_machine
from ..machine.machine import Machine
from ..model.formats import Format
from ..model.load import taken as taken_model
from ..model.model import Model
from ..parallel.layout import Parallel
from ..record import record
from ..rows import Rows
from ..spelled import COUNTS, FORMATS, LAYOUTS, spelled

if TYPE_CHECKING:
    from os import PathLike

DOUBLING = tuple(1 << n for n in range(11))
"""Batches where none are said: 1, 2, 4 … 1024."""


@record
class Sweep(Rows):
    """Steps side by side: a curve over batch for each model, machine, format and layout.

    Attributes:
        curves: the curves, models outermost.
        left_out: why a model, format or layout among them cannot be counted, a sentence each.
    """

    curves: tuple[Curve, ...]
    left_out: tuple[str, ...] = ()

    def rows(self) -> list[dict[str, Any]]:
        """A row a step, as the command's CSV has them: :data:`roofline.bound.sweep.FIELDS`."""
        return [row for curve in self.curves for row in sweeping.rows(curve)]

    def __str__(self) -> str:
        from ..say.swept import text
        from ..words import choose

        return "\n".join(text(self.curves, choose(None)))


@spelled(batch=COUNTS, context=COUNTS, weights=FORMATS, kv=FORMATS, parallel=LAYOUTS)
def sweep(
    models: Model | str | PathLike[str] | Iterable[Model | str | PathLike[str]],
    machines: Machine | str | PathLike[str] | Iterable[Machine | str | PathLike[str]],
    *,
    batch: int | Iterable[int] = DOUBLING,
    context: int | Iterable[int] | None = None,
    phase: str | None = None,
    drafted: int = 4,
    weights: str | Format | Iterable[str | Format | None] | None = None,
    kv: str | Format | Iterable[str | Format | None] | None = None,
    compute: str | None = None,
    ceilings: str | None = None,
    usable: float = DEFAULT_USABLE,
    parallel: Parallel | Iterable[Parallel | None] | None = None,
    link: str | float | None = None,
    latency: float | None = None,
    as_type: str | None = None,
) -> Sweep:
    """Many steps side by side: every model on every machine in every format and layout.

    >>> found = sweep("llama-3.1-8b", ["h100-sxm", "rtx-4090"], batch=[1, 64], kv=["bf16", "fp8"])
    >>> len(found.curves), len(found.rows())
    (4, 8)

    Args:
        models, machines: one or several, each as for :func:`roofline.explain`.
        batch: sequences; a ``range`` of any length is taken in blocks. By default 1 to 1024,
            doubling.
        context: tokens that each new one attends to; a prompt's length for ``prefill``, a
            sequence's for ``encode``. By default 2048, for ``encode`` 512.
        phase: ``decode``, ``prefill``, ``verify`` or ``encode``; by default each model's own.
        drafted: for ``verify``.
        weights, kv: formats, one or several; ``None`` is the checkpoint's own.
        parallel: layouts over devices, one or several; ``None`` is one device.
        compute, ceilings, usable, link, latency, as_type: as for :func:`roofline.explain`.

    Raises:
        RooflineError: a name or file that cannot be used, or nothing of it can be counted.
        TypeError: an unknown keyword, or a value of another kind.
    """
    joined = {"link": link, "latency": latency}
    return swept(
        [taken_model(model, as_type) for model in several(models)],
        [taken_machine(machine) for machine in several(machines)],
        batches=counts(batch, "--batch"),
        contexts=None if context is None else counts(context, "--context"),
        phase=phase,
        drafted=drafted,
        weights=several(weights),
        caches=several(kv),
        layouts=[_given({"parallel": layout, **joined}) for layout in several(parallel)],
        compute=compute,
        ceilings=ceilings,
        usable=usable,
    )


def swept(
    models: Sequence[Model],
    machines: Sequence[Machine],
    *,
    batches: IntRange,
    contexts: IntRange | None,
    phase: str | None,
    drafted: int,
    weights: Sequence[str | Format | None],
    caches: Sequence[str | Format | None],
    layouts: Sequence[Callable[[], dict[str, Any]]],
    **options: Any,
) -> Sweep:
    """The same with all that is named loaded; a layout is made when it is called, as keywords of a
    case, since one of several may not divide.

    Raises:
        InputError: too many steps, or none of the cases can be counted; the first reason.
    """
    cases = len(models) * len(machines) * len(weights) * len(caches) * len(layouts)
    lengths = 1 if contexts is None else len(contexts)
    size = cases * lengths * len(batches)
    if size > SWEPT_STEPS or lengths > SWEPT_CONTEXTS:
        raise InputError(f"{size:,} steps are too many for one sweep")
    result: list[Curve] = []
    refused: list[InputError] = []
    for model, machine, w, kv, layout in product(models, machines, weights, caches, layouts):
        try:
            case = Case(model, machine, weights=w, kv=kv, **options, **layout())
            runs = phase or model.phase
            case = case.for_step(Curve(case, runs, 1, batches).step(1))
        except InputError as error:  # this model, format or layout cannot be; others may
            refused.append(error)
            continue
        usual = (ENCODED if runs == "encode" else CONTEXT,)
        result += [
            Curve(case, runs, length, batches, drafted)
            for length in (usual if contexts is None else contexts.values)
        ]
    if not result and refused:
        raise refused[0]
    return Sweep(tuple(result), tuple(str(reason) for reason in refused))


def several(given: Any) -> list[Any]:
    """What was given as one or several, as a list.

    Raises:
        InputError: none at all.
    """
    single = given is None or isinstance(given, str | Model | Machine | Format | Parallel)
    result = [given] if single or not hasattr(given, "__iter__") else list(given)
    if not result:
        raise InputError("an empty list leaves nothing to sweep")
    return result


def counts(given: int | Iterable[int], what: str) -> IntRange:
    """One whole number or several, from 1, each once.

    Raises:
        InputError: none, or others.
    """
    if isinstance(given, range) and len(given) and min(given[0], given[-1]) >= 1:
        return IntRange(given if given.step > 0 else given[::-1])
    result = [_whole(n, what) for n in several(given)]
    return IntRange(tuple(dict.fromkeys(result)))


def _whole(given: Any, what: str) -> int:
    try:
        result = -1 if isinstance(given, bool) else index(given)
    except TypeError:
        result = -1
    if not 1 <= result <= LARGEST:
        raise InputError(f"{what} must be whole numbers from 1, not {str(given)[:40]!r}")
    return result


def _given(layout: dict[str, Any]) -> Callable[[], dict[str, Any]]:
    return lambda: layout
