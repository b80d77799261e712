"""`roofline.predict`: how fast it will really be, with an interval."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..bound.case import DEFAULT_USABLE, Case
from ..bound.explanation import usual
from ..count.step import Step
from ..errors import InputError
from ..machine.load import taken as taken_machine
from ..machine.machine import Machine
from ..model.formats import Format
from ..model.load import taken as taken_model
from ..model.model import Model
from ..parallel.layout import Parallel
from ..predicting import lengths as seen
from ..predicting.prediction import (
    Prediction,
    predict_request,
    predict_served,
    predict_simulated,
    predict_step,
)
from ..predicting.predictor import Predictor
from ..predicting.profile import load as load_profile
from ..spelled import LENGTHS, spelled

if TYPE_CHECKING:
    from os import PathLike

PROMPT, OUTPUT = 1024, 256
"""Tokens of a request where none are said."""

FASTEST = 1e6
"""No more requests a second than this are asked about."""


@spelled(
    prompt=LENGTHS,
    output=LENGTHS,
    engine=("an engine, or a profile's path", "str", "PathLike"),
)
def predict(
    model: Model | str | PathLike[str],
    machine: Machine | str | PathLike[str],
    step: Step | None = None,
    *,
    engine: str | PathLike[str] = "vllm",
    batch: int | None = None,
    context: int | None = None,
    prompt: int | tuple[int, int] | None = None,
    output: int | tuple[int, int] | None = None,
    concurrency: int | None = None,
    rate: float | None = None,
    lengths: str | PathLike[str] | Iterable[tuple[int, int]] | None = None,
    max_batch: int | None = None,
    chunk: int | None = None,
    weights: str | Format | None = None,
    kv: str | Format | None = None,
    compute: str | None = None,
    usable: float = DEFAULT_USABLE,
    parallel: Parallel | None = None,
    link: str | float | None = None,
    latency: float | None = None,
    as_type: str | None = None,
) -> Prediction:
    """How long a step, a batch of requests or a served workload takes, with a 90 % interval.

    >>> found = predict("llama-3.1-8b", "h100-sxm", engine="vllm", concurrency=64, output=256)
    >>> found.times["tpot"].low < found.times["tpot"].value < found.times["tpot"].high
    True

    Which of them is asked about follows from what is given: a step from ``step``, or ``batch`` and
    ``context``; a batch of requests that start together from ``output``; a server from
    ``concurrency`` or ``rate``.

    Args:
        model, machine, step: as for :func:`roofline.explain`.
        engine: a profile of the package (``vllm``, ``trtllm``, ``sglang``, ``llamacpp`` …), or the
            path of one that ``roofline calibrate`` wrote.
        batch: sequences of the step, or requests that start together (1).
        context: tokens that a decode step's new token attends to (2048).
        prompt, output: tokens of a request (1024, 256); of a server also ``(least, most)``, drawn
            evenly.
        concurrency: requests in flight at a server.
        rate: requests a second arriving at random, instead.
        lengths: of requests that were seen, instead of ``prompt`` and ``output``: a CSV or JSON
            Lines file, or pairs of prompt and output tokens.
        max_batch: most sequences that the server runs at once; by default what the cache holds.
        chunk: most tokens of a step, prompts in chunks (8192 where steps are simulated).
        weights, kv, compute, usable, parallel, link, latency, as_type: as for
            :func:`roofline.explain`. Ceilings are the datasheet's.

    Raises:
        RooflineError: a name, file or format that cannot be used; what does not go together; a
            workload that does not fit, or more requests a second than are served.
        TypeError: an unknown keyword, or a value of another kind.
    """
    case = Case(
        taken_model(model, as_type), taken_machine(machine), weights=weights, kv=kv,
        compute=compute, usable=usable, parallel=parallel, link=link, latency=latency,
    )  # fmt: skip
    if all(x is None for x in (concurrency, output, rate, lengths)):
        if prompt is not None:
            raise InputError("a prompt is a request's: give --output too, or step=Step.prefill(…)")
        if step is None:
            step = usual(case.model, batch, context)
        elif batch is not None or context is not None:
            raise InputError("give either a step or --batch and --context: a step has its own")
    elif step is not None or context is not None:
        raise InputError("requests have a --prompt and an --output, not a step or a --context")
    if (step or usual(case.model)).phase == "encode":
        raise InputError(NO_ENCODING.format(name=case.model.name))
    at = Predictor(case, load_profile(os.fspath(engine)))
    if step is not None:
        return of_step(at, step, max_batch=max_batch, chunk=chunk)
    return of_requests(
        at,
        batch=1 if batch is None else batch,
        prompt=None if prompt is None else _range(prompt, "--prompt"),
        output=None if output is None else _range(output, "--output"),
        concurrency=concurrency,
        rate=rate,
        lengths=lengths,
        max_batch=max_batch,
        chunk=chunk,
    )


NO_ENCODING = (
    "predictions are fitted to decoding and prefill, not to encoding: 'roofline explain' gives the "
    "bound of {name}"
)


def of_step(
    at: Predictor, step: Step, *, max_batch: int | None = None, chunk: int | None = None
) -> Prediction:
    """One step.

    Raises:
        InputError: what only a server has.
    """
    _without_server(max_batch, chunk)
    return predict_step(at, step)


def of_requests(
    at: Predictor,
    *,
    batch: int,
    prompt: tuple[int, int] | None,
    output: tuple[int, int] | None,
    concurrency: int | None,
    rate: float | None,
    lengths: str | PathLike[str] | Iterable[tuple[int, int]] | None,
    max_batch: int | None,
    chunk: int | None,
) -> Prediction:
    """Requests that start together, or a served workload.

    Raises:
        InputError: what does not go together, or is out of range.
    """
    if rate is not None and concurrency is not None:
        raise InputError("give either --concurrency or --rate")
    if lengths is not None and (prompt is not None or output is not None):
        raise InputError("give either --lengths or --prompt and --output")
    _from_one(batch=batch, concurrency=concurrency, max_batch=max_batch, chunk=chunk)
    prompt, output = prompt or (PROMPT, PROMPT), output or (OUTPUT, OUTPUT)
    vary = lengths is not None or prompt[0] != prompt[1] or output[0] != output[1]
    if rate is None and concurrency is None:
        if vary:
            raise InputError("lengths that vary need --concurrency or --rate")
        _without_server(max_batch, chunk)
        return predict_request(at, batch, prompt[0], output[0])
    if concurrency is not None and not vary and chunk is None:
        return predict_served(at, concurrency, prompt[0], output[0], max_batch)
    of = seen.between(prompt, output) if lengths is None else _seen(lengths)
    asked: dict[str, Any]
    load: dict[str, Any] = {"places": max_batch}
    if chunk is not None:
        load["budget"] = chunk
    if concurrency is not None:
        asked = {"concurrency": concurrency}
        load |= {**asked, "requests": max(256, 4 * concurrency)}
    else:
        if rate is None or not 0 < rate < FASTEST:
            raise InputError(f"--rate must be requests a second, such as 2.5, not {rate}")
        asked = {"rate": float(rate)}
        load |= asked
    asked |= {"prompt": _shown(of.prompt), "output": _shown(of.output)}
    if of.pairs:
        asked |= {"requests_seen": len(of.pairs)}
    return predict_simulated(at, of, asked, **load)


def _seen(lengths: str | PathLike[str] | Iterable[tuple[int, int]]) -> seen.Lengths:
    if isinstance(lengths, str | os.PathLike):
        return seen.read(os.fspath(lengths))
    return seen.given(lengths)


def _without_server(max_batch: int | None, chunk: int | None) -> None:
    for name, given in (("--max-batch", max_batch), ("--chunk", chunk)):
        if given is not None:
            raise InputError(f"{name} is of a server: give --concurrency or --rate")


def _from_one(**counts: int | None) -> None:
    for name, count in counts.items():
        if count is not None and count < 1:
            raise InputError(f"--{name.replace('_', '-')} must be at least 1")


def _range(given: int | tuple[int, int], what: str) -> tuple[int, int]:
    """A length as (least, most).

    Raises:
        InputError: neither a whole number from 1 nor two of them, upwards.
    """
    ends = tuple(given) if isinstance(given, Sequence) else (given, given)
    try:
        least, most = (n.__index__() for n in ends)
    except (AttributeError, TypeError, ValueError):
        least = most = 0
    if not 1 <= least <= most:
        raise InputError(
            f"{what} must be at least 1, or a range (least, most), not {str(given)[:40]}"
        )
    return least, most


def _shown(length: tuple[int, int]) -> int | str:
    least, most = length
    return least if least == most else f"{least}-{most}"
