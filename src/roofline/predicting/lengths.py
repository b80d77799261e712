"""Lengths of requests: fixed, ranges, or as they were observed."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TextIO

from ..errors import InputError
from ..limits import LENGTHS


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


def between(prompt: tuple[int, int], output: tuple[int, int]) -> Lengths:
    """Evenly from least to most."""
    return Lengths(prompt, output)


def observed(pairs: Iterable[tuple[int, int]]) -> Lengths:
    """As requests that were seen, prompt and output of each together."""
    held = tuple(pairs)
    first, second = zip(*held, strict=True)
    return Lengths((min(first), max(first)), (min(second), max(second)), held)


def given(pairs: Iterable[tuple[int, int]]) -> Lengths:
    """The same, handed over as values.

    Raises:
        InputError: none, too many, or not two whole numbers from 1.
    """
    result: list[tuple[int, int]] = []
    for number, pair in enumerate(pairs, 1):
        where = f"--lengths, request {number}"
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
            raise InputError(f"{where}: not a pair of prompt and output tokens: {str(pair)[:40]}")
        result.append(_pair((str(pair[0]), str(pair[1])), where))
        if len(result) > LENGTHS:
            raise InputError(f"--lengths: more than {LENGTHS:,} requests")
    if not result:
        raise InputError("--lengths: no requests in it")
    return observed(result)


PROMPT = frozenset(
    """prompt prompttokens promptlen promptlength numprompttokens contexttokens input inputtokens
    inputlen inputlength isl requesttokens numprefilltokens prefilltokens""".split()
)
OUTPUT = frozenset(
    """output outputtokens outputlen outputlength osl generatedtokens numgeneratedtokens completion
    completiontokens responsetokens numoutputtokens numdecodetokens decodetokens""".split()
)
"""Columns of prompt and output tokens as public traces call them, without case and punctuation."""


def read(path: str) -> Lengths:
    """Lengths of requests from a file: CSV or JSON Lines, a request on each line.

    A CSV file's first line may name its columns, in any order and beside others (``prompt,output``,
    ``TIMESTAMP,ContextTokens,GeneratedTokens``); without one, the first two columns are prompt and
    output tokens. Commas, semicolons and tabs set columns apart. Each line of JSON Lines has the
    same names as keys.

    Raises:
        InputError: not readable, no such columns, or a line without two whole numbers from 1.
    """
    pairs: list[tuple[int, int]] = []
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = _json_rows(file, path) if _is_json(file) else _csv_rows(file, path)
            for where, cells in rows:
                pairs.append(_pair(cells, where))
                if len(pairs) > LENGTHS:
                    raise InputError(f"{path}: more than {LENGTHS:,} requests")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not readable as CSV: {error}") from None
    if not pairs:
        raise InputError(f"{path}: no requests in it")
    return observed(pairs)


def _is_json(file: TextIO) -> bool:
    first = file.read(1)
    while first.isspace():
        first = file.read(1)
    file.seek(0)
    return first == "{"


def _json_rows(file: TextIO, path: str) -> Iterator[tuple[str, tuple[str, str]]]:
    for number, line in enumerate(file, 1):
        where = f"{path}, line {number}"
        if not line.strip():
            continue
        try:
            data = json.loads(line)
        except (ValueError, RecursionError):
            raise InputError(f"{where}: not JSON") from None
        if not isinstance(data, dict):
            raise InputError(f"{where}: not a JSON object")
        names = list(data)
        at = _columns(names, where)
        yield where, (str(data[names[at[0]]]), str(data[names[at[1]]]))


def _csv_rows(file: TextIO, path: str) -> Iterator[tuple[str, tuple[str, str]]]:
    start = file.readline()
    file.seek(0)
    apart = max(",;\t", key=start.count)
    at = None
    for number, row in enumerate(csv.reader(file, delimiter=apart), 1):
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        where = f"{path}, line {number}"
        if at is None:
            named = not all(_whole(cell) for cell in cells[:2])
            at = _columns(cells, where) if named else (0, 1)
            if named:
                continue
        yield where, (_cell(cells, at[0]), _cell(cells, at[1]))


def _columns(names: list[str], where: str) -> tuple[int, int]:
    keys = ["".join(c for c in name.lower() if c.isalnum()) for name in names]
    result = [next((i for i, key in enumerate(keys) if key in of), None) for of in (PROMPT, OUTPUT)]
    if result[0] is None or result[1] is None:
        what = "prompt" if result[0] is None else "output"
        listed = ", ".join(names)[:80]
        raise InputError(
            f"{where}: no column of {what} tokens among '{listed}'; call them prompt and output, "
            "or give lines such as 1024,256"
        )
    return result[0], result[1]


def _cell(cells: list[str], at: int) -> str:
    return cells[at] if at < len(cells) else ""


def _whole(cell: str) -> bool:
    return cell.isascii() and cell.isdigit()


def _pair(cells: tuple[str, str], where: str) -> tuple[int, int]:
    if not all(_whole(c) and 1 <= int(c) < 10**9 for c in cells):
        raise InputError(
            f"{where}: not prompt and output tokens of a request, such as 1024,256: "
            f"'{','.join(cells)[:40]}'"
        )
    return int(cells[0]), int(cells[1])
