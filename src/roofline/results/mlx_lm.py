"""MLX-LM's output: what `mlx_lm.generate` prints, and `mlx_lm.benchmark`'s trials.

Both time prefill and generation apart. `generate` runs one sequence; `benchmark` says its prompt,
its generated tokens and its batch, and its rates are those of the whole batch. Format as in
generate.py and benchmark.py of MLX-LM.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .reading import Reading

NAME = "mlx-lm"

_LINE = re.compile(
    r"^\s*(Prompt|Generation): (?:(\d{1,12}) tokens, )?(\d+(?:\.\d+)?) tokens-per-sec"
)
_SETUP = re.compile(r"prompt_tokens=(\d{1,12}), generation_tokens=(\d{1,12}), batch_size=(\d{1,9})")
_TRIAL = re.compile(r"prompt_tps=(\d+(?:\.\d+)?), generation_tps=(\d+(?:\.\d+)?)")


class Log:
    """Lines of one or more runs."""

    def __init__(self) -> None:
        """Start before any run."""
        self._prompt: int | None = None
        self._setup: tuple[int, int, int] | None = None
        self._trials: list[tuple[float, float]] = []

    def feed(self, line: str) -> Iterator[Reading]:
        """Readings that the line completes."""
        if found := _SETUP.search(line):
            yield from self.end()
            prompt, output, batch = (int(group) for group in found.groups())
            self._setup = (prompt, output, batch)
        elif (found := _TRIAL.search(line)) and not line.lstrip().startswith("Averages"):
            if len(self._trials) < 10_000:
                self._trials.append((float(found.group(1)), float(found.group(2))))
        elif found := _LINE.match(line):
            yield from self._generate(found)

    def _generate(self, found: re.Match[str]) -> Iterator[Reading]:
        kind, tokens, rate = found.group(1), found.group(2), float(found.group(3))
        if rate <= 0:
            return
        count = int(tokens) if tokens else None
        if kind == "Prompt":
            self._prompt = count
            if count:
                yield _reading("prefill", count / rate, batch=1, prompt=count)
        elif count and count > 1:  # timed from the first token on, which the prefill yields
            yield _reading("decode", count / rate, batch=1, prompt=self._prompt, output=count - 1)
        else:
            yield _reading("token", 1 / rate, batch=1, prompt=self._prompt)

    def end(self) -> Iterator[Reading]:
        """Readings of the trials collected."""
        trials, self._trials = self._trials, []
        if not trials or self._setup is None:
            return
        prompt, output, batch = self._setup
        for kind, index, tokens in (("prefill", 0, prompt), ("decode", 1, output)):
            rates = sorted(trial[index] for trial in trials)
            middle = rates[len(rates) // 2]
            if tokens < 1 or rates[0] <= 0 or batch < 1:
                continue
            yield _reading(
                kind,
                tokens * batch / middle,
                best=tokens * batch / rates[-1],
                samples=len(rates),
                batch=batch,
                prompt=prompt,
                output=output,
            )


def _reading(
    kind: str,
    seconds: float,
    *,
    batch: float,
    prompt: float | None,
    output: float | None = None,
    best: float | None = None,
    samples: int | None = None,
) -> Reading:
    return Reading(
        format=NAME,
        kind=kind,
        seconds=seconds,
        best=best,
        samples=samples,
        batch=batch,
        prompt=prompt,
        output=output,
        engine=NAME,
    )
