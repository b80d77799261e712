"""A file is written whole or not at all; a device or a pipe is written into as it is."""

from __future__ import annotations

import os


def special(path: str) -> bool:
    """Whether ``path`` is there and no regular file: not to be read through, nor replaced."""
    return os.path.exists(path) and not os.path.isfile(path)


def first(path: str) -> str:
    """Where to write first: a part beside it, to be moved over it; or what is special, itself."""
    return path if special(path) else f"{path}.part"


def last(part: str, path: str) -> None:
    """Move the part over the file, once it is whole. Raises OSError."""
    if part != path:
        os.replace(part, path)


def clear(part: str, path: str) -> None:
    """Remove what is left of a part."""
    if part != path and os.path.exists(part):
        os.remove(part)
