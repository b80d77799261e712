"""Nothing that a file can hold brings more than a sentence."""

from __future__ import annotations

import io
import json
import math
import os
import random
import tempfile
from pathlib import Path
from typing import Any

import pytest

from roofline import results
from roofline.errors import InputError
from roofline.results import Reading
from roofline.results.containers import json_objects

SAMPLES = Path(__file__).parent / "samples"
BAD: list[Any] = [
    *(None, True, "", "x", -1, 0, 1e308, -1e308, float("nan"), float("inf"), 10**400, 10**18),
    *([], {}, [1], {"a": 1}, "1e999", "-5", "٣", "nan", "1_000", "0x10", "±", "5 ± x", "\ud800"),
]


def disorder(text: str, other: str, rng: random.Random) -> str:
    """Lines shuffled, cut off, joined with those of another form, digits replaced."""
    how = rng.randrange(4)
    if how == 0:
        shuffled = text.split("\n")
        rng.shuffle(shuffled)
        return "\n".join(shuffled)
    at = rng.randrange(len(text) + 1)
    if how == 1:
        return text[:at]
    if how == 2:
        return text[:at] + other[rng.randrange(len(other)) :] + text[at:]
    digit = rng.choice("0123456789")
    return text.replace(digit, rng.choice(["", "9" * 20, "-1", "1e999", "nan", "٣", "."]))


def attempt(path: str) -> None:
    try:
        for item in results.read(path):
            if not isinstance(item, Reading):
                continue
            full = item.with_answers(batch=2, prompt=16, output=8)
            try:
                point = full.point()
            except InputError:
                continue
            assert math.isfinite(point.seconds.median) and point.seconds.median > 0
            assert point.tokens_per_s >= 0
            json.dumps(point.to_json(), allow_nan=False)
    except InputError as error:
        assert len(str(error)) < 1000


def mutate_value(value: Any, rng: random.Random) -> Any:
    if isinstance(value, dict) and value and rng.random() < 0.8:
        key = rng.choice(list(value))
        changed = dict(value)
        if rng.random() < 0.2:
            del changed[key]
        else:
            changed[key] = mutate_value(value[key], rng)
        return changed
    if isinstance(value, list) and value and rng.random() < 0.8:
        index = rng.randrange(len(value))
        return [*value[:index], mutate_value(value[index], rng), *value[index + 1 :]]
    return rng.choice(BAD)


def mutate_text(text: str, rng: random.Random) -> str:
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text) + 1)
        how = rng.randrange(4)
        if how == 0:
            text = text[:at] + text[at + rng.randint(1, 20) :]
        elif how == 1:
            text = text[:at] + rng.choice(["|", "\n", ",", '"', "{", "9" * 400, "\0", "é", ":"])
            text += text[at:]
        elif how == 2:
            text = text[:at]
        else:
            digits = [i for i, char in enumerate(text) if char.isdigit()]
            if digits:
                i = rng.choice(digits)
                text = text[:i] + rng.choice(["-", "e", "0", "999999999999", ".", "nan"]) + text[i:]
    return text


@pytest.mark.parametrize("name", sorted(os.listdir(SAMPLES)))
def test_mutated_samples(name: str, tmp_path: Path) -> None:
    rng = random.Random(name)
    text = (SAMPLES / name).read_text()
    path = str(tmp_path / "file")
    names = sorted(os.listdir(SAMPLES))
    for _ in range(25):
        Path(path).write_text(mutate_text(text, rng), errors="surrogatepass")
        attempt(path)
        other = (SAMPLES / rng.choice(names)).read_text()
        Path(path).write_text(disorder(text, other, rng), errors="surrogatepass")
        attempt(path)
    if name.endswith((".json", ".jsonl")):
        objects = list(json_objects(io.StringIO(text)))
        for _ in range(40):
            changed = [mutate_value(o, rng) if rng.random() < 0.7 else o for o in objects]
            Path(path).write_text(json.dumps(changed))
            attempt(path)


def test_random_bytes() -> None:
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "file")
        for _ in range(200):
            Path(path).write_bytes(rng.randbytes(rng.randint(0, 3000)))
            attempt(path)


LONG = {
    "digits": "1" * 200_000,
    "blanks": " " * 200_000 + "x",
    "pipes": "| a " * 50_000,
    "braces": "{" * 100_000,
    "one string": '{"a": "' + "x" * 200_000,
    "words of a log": "Decode batch #running-req: 1, " * 7_000,
    "an object that never ends": '{"a": 1,\n' + '"b": [1,\n' * 20_000,
    "deep blocks": "a:\n" + "\n".join(" " * i + "k:" for i in range(1, 2_000)),
    "values": "INSERT INTO t (a) VALUES " + "('1')," * 30_000,
    "a rule": "a|b\n" + "-|" * 100_000,
    "binary in a log": "Throughput: 1.0 requests/s\0\x01\ufffd" * 2_000,
}


@pytest.mark.parametrize("name", LONG)
def test_long_lines_are_no_trouble(name: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(LONG[name])
    attempt(str(path))
