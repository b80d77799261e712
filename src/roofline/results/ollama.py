"""Ollama: what `ollama run --verbose` prints, as KTransformers does, and the JSON of its API.

`eval_count` tokens took `eval_duration`, `prompt_eval_count` before them `prompt_eval_duration`,
in nanoseconds in the API's JSON, in words (`2m7.682s`) in the printed form. A streamed answer
says so in its last piece only. One sequence. Fields as in Ollama's API.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from . import fields
from .fields import Record
from .reading import Reading

NAME = "ollama"

_PRINTED = re.compile(
    r"^\s*(prompt eval|eval) (count|rate|duration):\s*((?:\d{1,12}(?:\.\d{1,12})?\s*[a-zµμ]*)+)"
)
_SPAN = re.compile(r"(\d{1,12}(?:\.\d{1,12})?)(h|ms|m|s|µs|μs|us|ns)")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_KTRANSFORMERS = re.compile(
    r"Performance\(T/s\): prefill (\d[\d.]{0,30}), decode (\d[\d.]{0,30})\. "
    r"Time\(s\): tokenize [\d.]{1,30}, prefill (\d[\d.]{0,30}), decode (\d[\d.]{0,30})"
)


def matches(record: Record) -> bool:
    """An answer of /api/generate or /api/chat, or a piece of one."""
    if "eval_duration" in record and "eval_count" in record:
        return True
    return "model" in record and "created_at" in record and "done" in record


def readings(record: Record) -> Iterator[Reading]:
    """Prefill and decode of one answer; nothing of a piece."""
    model = fields.text(record, "model")
    prompt = fields.count(record, "prompt_eval_count") or 0
    for kind, name in (("prefill", "prompt_eval"), ("decode", "eval")):
        tokens = fields.count(record, f"{name}_count") or 0
        nanoseconds = fields.number(record, f"{name}_duration") or 0
        if tokens and nanoseconds > 0:
            seconds = nanoseconds / 1e9
            yield reading(kind, seconds, tokens, prompt, model=model, engine="ollama")


def reading(
    kind: str,
    seconds: float,
    tokens: float,
    prompt: float | None,
    *,
    model: str | None,
    engine: str,
) -> Reading:
    """The prefill of `tokens`, or their decode after `prompt`."""
    ahead = kind == "prefill"
    return Reading(
        format=NAME,
        kind=kind,
        seconds=seconds,
        batch=1,
        prompt=tokens if ahead else prompt,
        output=None if ahead else tokens,
        chunk=512 if ahead else None,
        model=model,
        engine=engine,
    )


class Log:
    """Lines of one or more chats, printed."""

    def __init__(self) -> None:
        """Start before any chat."""
        self._said: dict[str, float] = {}
        self._prompt: float | None = None
        self._engine = "ollama"

    def feed(self, line: str) -> Iterator[Reading]:
        """Readings that the line completes."""
        if "ktransformers" in line.lower():
            self._engine = "ktransformers"
        if result := _PRINTED.match(line):
            yield from self._line(*result.groups())
        elif result := _KTRANSFORMERS.search(line):
            self._engine = "ktransformers"
            yield from self._rates(*map(_float, result.groups()))

    def _line(self, kind: str, what: str, value: str) -> Iterator[Reading]:
        number = _duration(value) if what == "duration" else _float(value.split(maxsplit=1)[0])
        if kind == "prompt eval" and what == "count":
            yield from self.end()
        self._said[f"{kind} {what}"] = number
        tokens = self._said.get(f"{kind} count", 0.0)
        if what == "rate" and number > 0 and tokens > 0:
            seconds = self._said.get(f"{kind} duration") or tokens / number
            yield from self._done(kind, seconds, tokens)

    def _rates(self, ahead: float, rate: float, prefill: float, decode: float) -> Iterator[Reading]:
        for kind, speed, seconds in (("prompt eval", ahead, prefill), ("eval", rate, decode)):
            if (tokens := round(speed * seconds)) > 0:
                yield from self._done(kind, seconds, tokens)

    def _done(self, kind: str, seconds: float, tokens: float) -> Iterator[Reading]:
        if seconds <= 0:
            return
        name = "prefill" if kind == "prompt eval" else "decode"
        yield reading(name, seconds, tokens, self._prompt, model=None, engine=self._engine)
        self._prompt = tokens if name == "prefill" else None
        for what in ("count", "duration", "rate"):
            self._said.pop(f"{kind} {what}", None)

    def end(self) -> Iterator[Reading]:
        """Where a rate was not printed, counts and durations do."""
        for kind in ("prompt eval", "eval"):
            tokens, seconds = self._said.get(f"{kind} count"), self._said.get(f"{kind} duration")
            if tokens and seconds:
                yield from self._done(kind, seconds, tokens)
        self._said = {}


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _duration(text: str) -> float:
    """Seconds of `2m7.682s`, `325.953ms`."""
    return sum(
        _float(number) * _SECONDS.get(unit.replace("µ", "u").replace("μ", "u"), 0.0)
        for number, unit in _SPAN.findall(text)
    )
