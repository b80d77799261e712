"""`roofline.bench`: a real engine at batch 1…N, each point under the roof of its own minutes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..engines import session
from ..engines.choose import choose
from ..engines.chosen import ANSWER, SECONDS, BenchRequest, of_a_run
from ..engines.known import canonical
from ..errors import RooflineError
from ..placing.judgement import judged
from ..placing.placed import Placed, place
from ..placing.resolve import Resolver
from ..points import Point
from ..spelled import COUNTS, spelled
from .place import Placements
from .sweep import counts

if TYPE_CHECKING:
    from os import PathLike


@spelled(
    model=("a model's name or a path", "str", "PathLike"),
    machine=("a machine's name, a path or 'here'", "str", "PathLike"),
    weights=("a format by name, such as 'int8'", "str"),
    kv=("a format by name, such as 'fp8'", "str"),
    batch=COUNTS,
    context=COUNTS,
    prompt=COUNTS,
)
def bench(
    model: str | PathLike[str] | None = None,
    *,
    engine: str | None = None,
    batch: int | Iterable[int] | None = None,
    context: int | Iterable[int] | None = None,
    prompt: int | Iterable[int] | None = None,
    output: int = ANSWER,
    seconds: float = SECONDS,
    weights: str | None = None,
    kv: str | None = None,
    layers: int | None = None,
    device: str | None = None,
    threads: int | None = None,
    gguf: str | PathLike[str] | None = None,
    library: str | PathLike[str] | None = None,
    url: str | None = None,
    served_model: str | None = None,
    plain_key: bool = False,
    machine: str | PathLike[str] | None = None,
    out: str | PathLike[str] | None = None,
    resume: bool = False,
    no_roof: bool = False,
    tell: session.Tell | None = None,
    as_type: str | None = None,
) -> Placements:
    """Run a real engine and place what it reaches under the roof measured in the same minutes.

    Every point is on disk as soon as it is measured; Ctrl-C is let through after that.

    Args:
        model: what is run, by name or path; by default one that fits. With ``gguf`` or ``url``,
            what the model is.
        engine: ``torch``, ``llamacpp`` or ``endpoint``; by default one that is installed.
        batch: sequences, one number or several (1, 2, 4, 8, 16).
        context: contexts of decode (32); of a server the length of its prompt (128).
        prompt: prompts of prefill (512); 0 for none.
        output: tokens of a server's answer.
        seconds: time of a point.
        weights: format: torch ``bf16``, ``fp16``, ``fp32``, ``int8``; llama.cpp ``fp16``,
            ``q8_0``, ``q4_k`` …
        kv: format of a server's cache.
        layers: run only the first of them, which the points say.
        device, threads: torch's device (``cpu``, ``cuda:1`` …); CPU threads (all).
        gguf, library: a file to run instead of random weights; your own libllama.
        url, served_model, plain_key: a server's address, what it calls the model, and whether a
            key may go to another machine without TLS.
        machine: where a server runs; ``here`` measures this machine's ceilings meanwhile.
        out: the points file; by default named by what runs, in the current folder.
        resume: leave out what the file already has.
        no_roof: do not measure this machine's ceilings.
        tell: hears each event and notice of the run.
        as_type: as for :func:`roofline.load_model`.

    Raises:
        MissingExtra: no engine is installed, or not that one.
        RooflineError: what does not go together or does not fit; the engine failed.
        TypeError: an unknown keyword, or a value of another kind.
    """
    chosen = choose(
        BenchRequest(
            model=_path(model),
            as_type=as_type,
            engine=None if engine is None else canonical(engine),
            weights=weights,
            kv=kv,
            layers=layers,
            device=device,
            threads=threads,
            gguf=_path(gguf),
            library=_path(library),
            url=url,
            served_model=served_model,
            plain_key=plain_key,
            machine=_path(machine),
            output_tokens=output,
            batches=_counts(batch, "--batch"),
            contexts=_counts(context, "--context"),
            prompts=() if prompt == 0 else _counts(prompt, "--prompt"),
            seconds=float(seconds),
        )
    )
    path = os.fspath(out) if out is not None else chosen.points_file
    ended = session.run(
        chosen, path, resume=resume, roof=not no_roof, tell=tell or (lambda said: None)
    )
    if ended.stopped is not None:
        raise ended.stopped
    result, refused = under_roof(ended.points, chosen.request)
    return Placements(tuple(judged(result)), () if refused is None else (str(refused),))


def under_roof(
    points: Sequence[Point], request: BenchRequest
) -> tuple[list[Placed], RooflineError | None]:
    """A run's points under their roof, up to the first that cannot be placed, and why not."""
    resolver = Resolver(
        model=request.model,
        as_type=request.as_type,
        weights=request.weights,
        kv=request.kv,
        machine=request.machine,
    )
    placed: list[Placed] = []
    for point in points:
        try:
            placed.append(place(*resolver.case(point)))
        except RooflineError as error:
            return placed, error
    return placed, None


def _counts(given: int | Iterable[int] | None, what: str) -> tuple[int, ...] | None:
    return None if given is None else of_a_run(counts(given, what), what)


def _path(given: str | PathLike[str] | None) -> str | None:
    return None if given is None else os.fspath(given)
