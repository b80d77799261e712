"""The oracle needs the real classes; without them its tests are skipped."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import pytest


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Iterator[dict[str, dict[str, str]]]:
    """Outcome (equal, refused, wrong, unbuildable) → model type → why; handed on with the test's
    report, so that it arrives from another process too. ``tests/conftest.py`` prints them all."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    yield found
    for outcome, kinds in found.items():
        for kind, why in kinds.items():
            request.node.user_properties.append(("oracle", (outcome, kind, why)))


@pytest.fixture(scope="session", autouse=True)
def libraries() -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
