"""The machine file on disk: whole or not at all, and never instead of an earlier one."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from typing import Any

from ..errors import RooflineError
from ..files.whole import special, writing
from .record import SCHEMA

Json = dict[str, Any]


def save(data: Json, path: str) -> None:
    """Write ``data`` to ``path``, complete or not at all; into a device or a pipe as it is.

    Raises:
        RooflineError: the folder cannot be written or the disk is full.
    """
    try:
        if not special(path):
            os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        with writing(path) as file:
            file.write(text(data))
    except OSError as error:
        raise RooflineError(f"{path} could not be written: {error.strerror or error}") from None


def keep(data: Json, path: str) -> str:
    """Save, and set an earlier file aside as ``….before.json``. Returns where it really went.

    When ``path`` cannot be written the results go to the system's temporary
    folder instead, and the caller says so.

    Raises:
        RooflineError: even that fails.
    """
    earlier = load(path)
    if earlier is not None:
        with contextlib.suppress(OSError):
            os.replace(path, before(path))
    try:
        save(data, path)
    except RooflineError:
        if earlier is not None:
            with contextlib.suppress(OSError):
                os.replace(before(path), path)
        return _aside(data, os.path.basename(path))
    return path


def _aside(data: Json, name: str) -> str:
    """Save under a new name in the temporary folder, where a link of a known one may wait."""
    stem, end = os.path.splitext(name)
    try:
        handle, path = tempfile.mkstemp(prefix=f"{stem}-", suffix=end)
        os.close(handle)
    except OSError as error:
        raise RooflineError(f"{name} could not be written: {error.strerror or error}") from None
    try:
        save(data, path)
    except RooflineError:
        with contextlib.suppress(OSError):
            os.unlink(path)
        raise
    return path


def before(path: str) -> str:
    """Where the run before the last one is kept."""
    return os.path.splitext(path)[0] + ".before.json"


def load(path: str) -> Json | None:
    """An earlier file as it is, or None when there is none that can be read."""
    if special(path):  # a device may never end
        return None
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    except (OSError, ValueError):
        return None
    return data if isinstance(data, dict) and data.get("schema") == SCHEMA else None


def text(data: Json) -> str:
    """The file's text."""
    return json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
