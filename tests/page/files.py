from __future__ import annotations

import os

HERE = os.path.dirname(__file__)


def read(name: str) -> str:
    """A file beside the tests."""
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return file.read()
