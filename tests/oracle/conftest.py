"""The coverage of the oracle, printed at the end of its tests."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

TALLY: dict[str, dict[str, str]] = defaultdict(dict)


@pytest.fixture
def tally() -> dict[str, dict[str, str]]:
    """Outcome (equal, refused, wrong, unbuildable) → model type → why."""
    return TALLY


@pytest.fixture(scope="session", autouse=True)
def libraries() -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if not TALLY:
        return
    terminalreporter.section("oracle: our counts against real classes")
    for outcome in ("equal", "equal but for FLOPs, which the class cannot run", "refused",
                    "unbuildable", "wrong"):  # fmt: skip
        found = TALLY.get(outcome, {})
        terminalreporter.write_line(f"{outcome}: {len(found)}")
        if outcome.startswith("equal"):
            continue
        for kind, why in sorted(found.items()):
            terminalreporter.write_line(f"    {kind}: {why[:140]}")
