"""A file is written whole or not at all; a device or a pipe is written into as it is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO


def special(path: str) -> bool:
    """Whether ``path`` is there and no regular file: not to be read through, nor replaced."""
    return os.path.exists(path) and not os.path.isfile(path)


@contextmanager
def writing(path: str, newline: str | None = None) -> Iterator[TextIO]:
    """A text file that is at ``path`` once the block has ended; a failure leaves nothing of it.

    Raises OSError.
    """
    part = path if special(path) else f"{path}.part"
    try:
        with open(part, "w", encoding="utf-8", newline=newline) as file:
            yield file
        if part != path:
            os.replace(part, path)
    finally:
        if part != path and os.path.exists(part):
            os.remove(part)
