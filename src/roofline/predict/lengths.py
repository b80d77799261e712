"""Lengths of requests: fixed, ranges, or as they were observed."""

from __future__ import annotations

import csv
import random
from collections.abc import Iterable
from dataclasses import dataclass

from ..errors import InputError

MOST_LINES = 1_000_000


@dataclass(frozen=True, slots=True)
class Lengths:
    """Prompt and output tokens of requests: pairs, each as likely, or ranges, drawn evenly.

    Attributes:
        prompt, output: least and most of each.
        pairs: observed; none where each length is drawn from its range by itself.
    """

    prompt: tuple[int, int]
    output: tuple[int, int]
    pairs: tuple[tuple[int, int], ...] = ()

    def draw(self, rng: random.Random) -> tuple[int, int]:
        """The next request's."""
        if self.pairs:
            return rng.choice(self.pairs)
        prompt, output = (a if a == b else rng.randint(a, b) for a, b in (self.prompt, self.output))
        return prompt, output

    @property
    def mean(self) -> tuple[float, float]:
        """Prompt and output tokens on average."""
        if self.pairs:
            n = len(self.pairs)
            return sum(a for a, _ in self.pairs) / n, sum(b for _, b in self.pairs) / n
        return sum(self.prompt) / 2, sum(self.output) / 2

    @property
    def most(self) -> int:
        """Tokens of the longest request."""
        return max((a + b for a, b in self.pairs), default=self.prompt[1] + self.output[1])


def fixed(prompt: int, output: int) -> Lengths:
    """Always so many tokens."""
    return Lengths((prompt, prompt), (output, output))


def between(prompt: tuple[int, int], output: tuple[int, int]) -> Lengths:
    """Evenly from least to most."""
    return Lengths(prompt, output)


def observed(pairs: Iterable[tuple[int, int]]) -> Lengths:
    """As requests that were seen, prompt and output of each together."""
    held = tuple(pairs)
    first, second = zip(*held, strict=True)
    return Lengths((min(first), max(first)), (min(second), max(second)), held)


def read(path: str) -> Lengths:
    """Lengths from a CSV file: prompt and output tokens of a request on each line.

    A first line of names may say which columns they are (``prompt`` and ``output``).

    Raises:
        InputError: not readable, or a line without two whole numbers of at least 1.
    """
    pairs = []
    at = (0, 1)
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            for number, row in enumerate(csv.reader(file), 1):
                names = [cell.strip().lower() for cell in row]
                if number == 1 and {"prompt", "output"} <= set(names):
                    at = names.index("prompt"), names.index("output")
                elif names:
                    pairs.append(_pair(names, at, f"{path}, line {number}"))
                if len(pairs) > MOST_LINES:
                    raise InputError(f"{path}: more than {MOST_LINES:,} requests")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not readable as CSV: {error}") from None
    if not pairs:
        raise InputError(f"{path}: no requests in it")
    return observed(pairs)


def _pair(cells: list[str], at: tuple[int, int], where: str) -> tuple[int, int]:
    found = [cells[i] if i < len(cells) else "" for i in at]
    if not all(c.isascii() and c.isdigit() and 1 <= int(c) < 10**9 for c in found):
        raise InputError(
            f"{where}: not prompt and output tokens of a request, such as 1024,256: "
            f"'{','.join(cells)[:40]}'"
        )
    return int(found[0]), int(found[1])
