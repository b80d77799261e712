"""The table of limits is the one in the documents, in both languages, and in the code alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from roofline import limits

ROOT = Path(__file__).parents[2]
NAMES = {name: value for name, value in vars(limits).items() if name.isupper()}


def shown(name: str, value: float) -> str:
    if name.endswith("_SECONDS"):
        return f"{value:g} s"
    if name.endswith("_BYTES"):
        whole = int(value)
        return f"{whole >> 20} MiB" if whole % (1 << 20) == 0 else f"{whole >> 10} KiB"
    return f"{value:,}"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_table_is_the_one_of_the_code(language: str) -> None:
    text = (ROOT / "docs" / language / "limits.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \|$", text, re.MULTILINE))
    assert rows == {name: shown(name, value) for name, value in NAMES.items()}


def test_each_limit_is_held_somewhere() -> None:
    source = "".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "src" / "roofline").rglob("*.py")
        if path.name != "limits.py" or path.parent.name != "roofline"
    )
    assert not [name for name in NAMES if not re.search(rf"[^\w]{name}\b(?!,? \w* import)", source)]
