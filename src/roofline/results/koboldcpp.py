"""KoboldCpp: the line it prints after each answer, and the results of its benchmark (text, CSV).

    CtxLimit:571/8192, Amt:100/100, Init:0.00s, Process:0.65s (729.23T/s), Generate:3.61s (27.70T/s)

Older versions print `ContextLimit: 614/2048, Processing:0.43s (5.5ms/T), …`. Tokens are seconds
times rate; what the context holds beyond them came from the cache. The benchmark fills the
context but for what it generates. One sequence. Format as in gpttype_adapter.cpp and koboldcpp.py
of KoboldCpp.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from . import fields
from .fields import Record, leading
from .reading import Reading

NAME = "koboldcpp"

_NUMBER = r"(\d{1,12}(?:\.\d{1,9})?)"
_PART = rf"{_NUMBER}s \((?:{_NUMBER}ms/T)?(?: = )?(?:{_NUMBER}T/s)?\)"
_LINE = re.compile(
    rf"(?:Ctx|Context)Limit:\s*(\d{{1,9}})/\d{{1,9}},.*?Process(?:ing)?:\s*{_PART},"
    rf".*?Generat(?:e|ion):\s*{_PART}"
)
_AMOUNT = re.compile(r"Amt:\s*(\d{1,9})/")
_PAIR = re.compile(
    r"^\s*(Flags|Backend|Layers|Model|MaxCtx|GenAmount|ProcessingTime|GenerationTime|Timestamp):"
    r"\s*(\S.*?)\s*$"
)
_USED = frozenset("Model Layers MaxCtx GenAmount ProcessingTime GenerationTime Output".split())


def matches(record: Record) -> bool:
    """A row of the benchmark's CSV."""
    return {"MaxCtx", "GenAmount", "ProcessingTime", "GenerationTime"} <= record.keys()


def readings(record: Record) -> Iterator[Reading]:
    """The prefill and the decode of one benchmark."""
    context, output = leading(record.get("MaxCtx")), leading(record.get("GenAmount"))
    layers = leading(record.get("Layers"))
    flags = str(record.get("Flags") or "")
    batch = re.search(r"Blas[Bb]atch[Ss]ize=(\d{1,5})", flags)
    settings: dict[str, Any] = {}
    if layers is not None and layers >= 0:
        settings["n_gpu_layers"] = int(layers)
    if threads := re.search(r"\bThreads=(\d{1,4})", flags):
        settings["threads"] = int(threads.group(1))
    if not context or not output or context <= output:
        return
    for kind, name in (("prefill", "ProcessingTime"), ("decode", "GenerationTime")):
        seconds = leading(record.get(name))
        if seconds and seconds > 0:
            yield Reading(
                format=NAME,
                kind=kind,
                seconds=seconds,
                batch=1,
                prompt=context - output,
                output=output if kind == "decode" else None,
                chunk=int(batch.group(1)) if batch else 512,
                model=fields.text(record, "Model"),
                engine=NAME,
                settings=settings,
                extra=fields.rest(record, _USED),
            )


class Log:
    """Answers, and blocks of benchmarks."""

    def __init__(self) -> None:
        """Start outside any block."""
        self._said: dict[str, str] = {}

    def feed(self, line: str) -> Iterator[Reading]:
        """Readings that the line completes."""
        if "Limit:" in line and (result := _LINE.search(line)):
            amount = _AMOUNT.search(line)
            yield from _answer(result.groups(), float(amount.group(1)) if amount else None)
        elif result := _PAIR.match(line):
            name, value = result.groups()
            self._said[name] = value
            if name == "GenerationTime":
                yield from self.end()

    def end(self) -> Iterator[Reading]:
        """The benchmark collected."""
        said, self._said = self._said, {}
        if matches(said):
            yield from readings(said)


def _answer(parts: tuple[str | None, ...], amount: float | None) -> Iterator[Reading]:
    context, *rest = (float(part) if part else None for part in parts)
    prompt, output = _tokens(*rest[:3]), amount or _tokens(*rest[3:])
    ahead, behind = rest[0], rest[3]
    before = max(0.0, (context or 0.0) - output) or prompt
    common: Mapping[str, Any] = {"format": NAME, "batch": 1, "engine": NAME}
    if prompt >= 1 and ahead:
        depth = max(0.0, before - prompt)
        yield Reading(
            kind="prefill", seconds=ahead, prompt=prompt, depth=depth, chunk=512, **common
        )
    if output >= 1 and behind:
        yield Reading(kind="decode", seconds=behind, prompt=before, output=output, **common)


def _tokens(seconds: float | None, each: float | None, rate: float | None) -> float:
    """Tokens of a part: seconds × tokens/s, or over milliseconds a token."""
    if seconds and rate:
        return float(round(seconds * rate))
    return float(round(seconds * 1e3 / each)) if seconds and each else 0.0
