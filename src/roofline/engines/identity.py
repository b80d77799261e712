"""Which model ran: a digest of its file, folder or config, by which a run is resumed."""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

from ..errors import InputError
from ..files.regular import listed, opened, reason

BEGIN, END = 4 << 20, 1 << 20
"""Bytes of a file that go into its digest besides its size: a header, and the last weights."""


def of_weights(path: str) -> str:
    """Of a file or a folder with weights: sizes, and how each file begins and ends.

    Raises:
        InputError: it cannot be read.
    """
    found = hashlib.sha256()
    if os.path.isdir(path):
        names = [n for n in listed(path) if n.endswith((".safetensors", ".json", ".gguf"))]
        paths = [os.path.join(path, name) for name in names]
    else:
        names, paths = [""], [path]
    for name, file in zip(names, paths, strict=True):
        found.update(name.encode(errors="surrogateescape") + b"\0")
        _file(found, file)
    return found.hexdigest()[:16]


def _file(found: Any, path: str) -> None:
    try:
        with opened(path) as (file, size):
            found.update(size.to_bytes(8, "little"))
            found.update(file.read(BEGIN))
            if size > BEGIN:
                file.seek(max(BEGIN, size - END))
                found.update(file.read(END))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {reason(error)}") from None


def of_config(config: dict[str, Any]) -> str:
    """Of a parsed config."""
    return of_text(json.dumps(config, sort_keys=True, default=str))


def of_text(text: str) -> str:
    """Of a text, such as a server's address: told from others, and not given away."""
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:16]
