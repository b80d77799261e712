"""A model by name or by path."""

from __future__ import annotations

import os
from typing import Any

from .. import catalogue
from ..errors import InputError, NotFound, UnsupportedError
from . import quant
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
    model = from_config(entry["config"], entry["name"], entry.get("quant_config"))
    source = entry["source"]
    return model.altered(source=f"{source['title']}, {source['date']}")


def entries() -> list[dict[str, Any]]:
    """The catalogue's entries."""
    found: list[dict[str, Any]] = catalogue.read("model/catalogue.json")["models"]
    return found


def from_file(path: str) -> Model:
    """The model of a ``config.json``."""
    data = read_json(path)
    beside = os.path.join(os.path.dirname(path), "hf_quant_config.json")
    sidecar = read_json(beside) if os.path.isfile(beside) else None
    folder = os.path.basename(os.path.dirname(os.path.abspath(path)))
    base = os.path.basename(path)
    name = folder if base == "config.json" and folder else base
    return from_config(data, path, sidecar).altered(name=name, source=path)


def from_config(data: Any, where: str = "config", sidecar: Any = None) -> Model:
    """The model of a parsed config, stored as its quantisation config says.

    Args:
        data: the parsed ``config.json``.
        where: how to call it in messages.
        sidecar: the parsed ``hf_quant_config.json`` beside it, if there is one.

    Raises:
        InputError: not an object, or a value is missing or impossible.
        UnsupportedError: an architecture or a quantisation that is not counted, named.
    """
    if not isinstance(data, dict):
        raise InputError(f"{where}: a config is a JSON object, this is a {type(data).__name__}")
    if "model_type" not in data:
        raise InputError(f"{where}: model_type is missing, so this is not a model's config.json")
    model = read_family(Config(data, where))
    found = quant.read(data, model.dtype, where, sidecar)
    return model if found is None else quantised(model, found)


def quantised(model: Model, found: quant.Quantised) -> Model:
    """The model stored as a quantisation config says.

    Raises:
        UnsupportedError: its lists name some experts of a layer and not the others.
    """
    if found.experts:
        copies = {
            quant.canonical(f"model.layers.{i}.{m.path}"): m.copies
            for layer in model.layers
            for i in layer.indices
            for part in layer.parts
            for m in part.linears()
            if m.copies > 1
        }
        for pattern, named in found.experts:
            all_of_them = copies.get(pattern, named)
            if named < all_of_them:
                raise UnsupportedError(
                    f"{model.name}: {pattern}: {named} of {all_of_them} experts are stored "
                    "differently; experts of one layer are counted in one format"
                )
    return model.altered(
        scheme=found.scheme,
        kv=found.kv or model.kv,
        notes=(*model.notes, *found.notes),
    )
