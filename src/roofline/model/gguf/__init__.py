"""A model from a GGUF file: its metadata make the shapes, its tensors the bytes."""

from __future__ import annotations

import os

from ...errors import InputError
from ...files.gguf import Gguf
from .. import formats
from ..config import Config
from ..families import read as read_family
from ..model import Model
from . import tensors
from .config import Metadata, read


def model(file: Gguf) -> Model:
    """The model of a GGUF file, stored as its tensors are.

    Raises:
        InputError: metadata or tensors that cannot be.
        UnsupportedError: an architecture that is not counted, or tensors that it does not
            account for.
    """
    metadata = Metadata(file)
    where = file.paths[0]
    found = read_family(Config(read(metadata), where))
    counted = [t for t in file.tensors if not _beyond(t.name, metadata.depth)]
    scheme, rest = tensors.match(found, counted, where)
    tensors.check_table(found, counted, where)
    resident = sum(t.size for t in counted)
    notes = [n for n in found.notes if "dtype" not in n]
    aside = sum(t.size for t in file.tensors) - resident
    if aside:
        notes.append(f"multi-token-prediction layers of {aside / 1e9:.3g} GB set aside")
    strange = [t for t in rest if t not in tuple(tensors.vectors(rest))]
    if strange:
        raise InputError(
            f"{where}: the tensor '{strange[0].name[:60]}' is none that {metadata.architecture} has"
        )
    name = file.metadata.get("general.name")
    return found.altered(
        name=name if isinstance(name, str) and name else os.path.basename(where),
        architecture=found.architecture,
        scheme=scheme,
        kv=formats.parse("fp16"),
        file=resident,
        notes=tuple(notes),
        source=where,
    )


def _beyond(name: str, depth: int) -> bool:
    # Layers after the last: for multi-token prediction.
    parts = name.split(".", 2)
    return parts[0] == "blk" and parts[1].isdigit() and int(parts[1][:9]) >= depth
