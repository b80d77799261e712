"""A model by name or by path."""

from __future__ import annotations

import os
from typing import Any

from .. import catalogue
from ..errors import InputError, NotFound
from .config import Config, read_json
from .families import read as read_family
from .model import Model


def load(name: str) -> Model:
    """The model of that name in the catalogue, or of a ``config.json`` or its folder.

    >>> load("llama-3.1-8b").parameters
    8030261248

    Raises:
        NotFound: no such name or file; near misses are in the message.
        InputError: the file is not a config, or has impossible values.
        UnsupportedError: an architecture that is not counted, named.
    """
    if os.path.isdir(name):
        return from_file(os.path.join(name, "config.json"))
    if os.path.isfile(name) or name.endswith((".json", ".gguf")) or name.startswith((".", "/")):
        return from_file(name)
    try:
        entry = catalogue.find(name, entries(), "model")
    except NotFound as error:
        if os.sep in name:
            raise NotFound(f"{error} (and there is no file or folder of that path)") from None
        raise
    return from_entry(entry)


def from_entry(entry: dict[str, Any]) -> Model:
    """The model of a catalogue entry."""
    model = from_config(entry["config"], entry["name"])
    source = entry["source"]
    return model.altered(source=f"{source['title']}, {source['date']}")


def entries() -> list[dict[str, Any]]:
    """The catalogue's entries."""
    found: list[dict[str, Any]] = catalogue.read("model/catalogue.json")["models"]
    return found


def from_file(path: str) -> Model:
    """The model of a ``config.json``."""
    data = read_json(path)
    folder = os.path.basename(os.path.dirname(os.path.abspath(path)))
    base = os.path.basename(path)
    name = folder if base == "config.json" and folder else base
    return from_config(data, path).altered(name=name, source=path)


def from_config(data: Any, where: str = "config") -> Model:
    """The model of a parsed config.

    Raises:
        InputError: not an object, or a value is missing or impossible.
        UnsupportedError: an architecture that is not counted, named.
    """
    if not isinstance(data, dict):
        raise InputError(f"{where}: a config is a JSON object, this is a {type(data).__name__}")
    if "model_type" not in data:
        raise InputError(f"{where}: model_type is missing, so this is not a model's config.json")
    return read_family(Config(data, where))
