"""Reading measurements from a folder of CSV files, and the rules for rows that are wrong.

A row is never dropped because it does not fit. Each rule names what is wrong with the row
itself, from what the file says; what a rule sets aside is counted and reported.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ..errors import InputError, NotFound

Row = dict[str, Any]

MACHINES = {
    "a100_sxm": "a100-80gb-sxm",
    "a100_pcie": "a100-80gb-pcie",
    "a30": "a30",
    "h100_sxm": "h100-sxm",
    "h100_pcie": "h100-pcie",
    "h200_sxm": "h200-sxm",
    "l4": "l4",
    "l40s": "l40s",
    "b200_sxm": "b200",
    "b300_sxm": "b300",
    "gb200": "gb200",
    "gb300": "gb300",
    "b60": "arc-pro-b60",
    "rtx_pro_6000_server": "rtx-pro-6000-server",
    "a40": "a40",
    "a100": "a100-80gb-sxm",
    "h100": "h100-sxm",
}
"""Names of machines in the files, as this package calls them."""

FORMATS = {
    "bfloat16": "bf16",
    "float16": "fp16",
    "fp8": "fp8",
    "fp8_block": "fp8-block128",
    "int8_wo": "w8a16",
    "int4_wo": "int4:128",
    "sq": "int8",
    "nvfp4": "nvfp4",
    "w4a16_mxfp4": "mxfp4",
}
"""Names of number formats in the files."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Why rows are set aside.

    Attributes:
        name: short, for tables.
        why: a sentence.
        wrong: whether the rule holds for a row.
    """

    name: str
    why: str
    wrong: Callable[[Row], bool]


def read(folder: str, name: str) -> list[Row]:
    """The rows of ``NAME.csv`` or ``NAME.csv.gz``, numbers as floats, empty cells ``None``.

    Raises:
        NotFound: there is no such file.
        InputError: it is not CSV with a header.
    """
    for end in (".csv", ".csv.gz"):
        path = os.path.join(folder, name + end)
        if os.path.isfile(path):
            return _read(path)
    raise NotFound(f"{folder}: no {name}.csv or {name}.csv.gz there")


def present(folder: str, name: str) -> bool:
    """Whether the folder has that file."""
    return any(os.path.isfile(os.path.join(folder, name + e)) for e in (".csv", ".csv.gz"))


def _read(path: str) -> list[Row]:
    packed = path.endswith(".gz")
    try:
        with open(path, "rb") as raw:
            data = gzip.decompress(raw.read()) if packed else raw.read()
        reader = csv.DictReader(io.StringIO(data.decode("utf-8"), newline=""))
        if not reader.fieldnames:
            raise InputError(f"{path}: empty")
        return [{k: _value(v) for k, v in row.items() if k is not None} for row in reader]
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not readable as CSV: {error}") from None


def _value(text: str | None) -> Any:
    if text is None or text == "":
        return None
    try:
        return float(text)
    except ValueError:
        return text


def sort_out(rows: Iterable[Row], rules: Iterable[Rule]) -> tuple[list[Row], dict[str, int]]:
    """The rows that no rule sets aside, and how many each rule did."""
    kept, aside = [], {rule.name: 0 for rule in rules}
    for row in rows:
        for rule in rules:
            if rule.wrong(row):
                aside[rule.name] += 1
                break
        else:
            kept.append(row)
    return kept, {name: n for name, n in aside.items() if n}


def in_known_formats(rows: Iterable[Row], name: str) -> tuple[list[Row], dict[str, int]]:
    """The rows whose number format, in that column, is known, and how many are of each other."""
    kept, aside = [], dict[str, int]()
    for row in rows:
        if row.get(name) in FORMATS:
            kept.append(row)
        else:
            rule = f"a number format that is not known: {str(row.get(name))[:40]}"
            aside[rule] = aside.get(rule, 0) + 1
    return kept, aside


def by(rows: Iterable[Row], *keys: str) -> Iterable[tuple[tuple[Any, ...], list[Row]]]:
    """Rows in groups that share the values of some columns: values, rows."""
    result: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        result.setdefault(tuple(row[k] for k in keys), []).append(row)
    return result.items()


def column(rows: Iterable[Row], name: str) -> Any:
    """A column as an array."""
    import numpy as np

    try:
        return np.array([row[name] for row in rows], float)
    except (KeyError, TypeError, ValueError):
        raise InputError(f"column {name}: missing, or not a number in every row") from None
