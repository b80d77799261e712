"""A model from a GGUF file: its metadata make the shapes, its tensors the bytes."""

from __future__ import annotations

import os

from ...errors import UnsupportedError
from ...files.gguf import Gguf
from ...words.note import Note
from .. import formats
from ..config import Config
from ..families import read as read_family
from ..model import Model
from . import tensors
from .architectures import ALIKE
from .config import read
from .metadata import Metadata


def model(file: Gguf, as_type: str | None = None) -> Model:
    """The model of a GGUF file, stored as its tensors are.

    Args:
        as_type: the architecture, by llama.cpp's name, to read it as, where its own is another's
            under another name; a tensor that this one does not have is refused.

    Raises:
        InputError: metadata or tensors that cannot be.
        UnsupportedError: an architecture that is not counted, or tensors that it does not
            account for.
    """
    metadata = Metadata(file)
    where = file.paths[0]
    result = read_family(Config(read(metadata, as_type), where))
    counted = [t for t in file.tensors if not _beyond(t.name, metadata.depth)]
    scheme, rest = tensors.match(result, counted, where)
    tensors.check_table(result, counted, where)
    resident = sum(t.size for t in counted)
    notes = [n for n in result.notes if getattr(n, "code", "") != "dtype.unsaid"]
    aside = sum(t.size for t in file.tensors) - resident
    if aside:
        notes.append(Note("mtp.bytes", size=f"{aside / 1e9:.3g}"))
    cached = metadata.depth - metadata.integer("attention.shared_kv_layers", 0)
    strange = [t for t in rest if not tensors.beside(t) and not _unread(t.name, cached)]
    if strange:
        raise UnsupportedError(
            f"{where}: the tensor '{strange[0].name[:60]}' is none that "
            f"{metadata.architecture} is known to have"
        )
    held = sum(t.elements for t in counted if not tensors.constant(t))
    name, own = file.metadata.get("general.name"), metadata.architecture
    return result.altered(
        name=name if isinstance(name, str) and name else os.path.basename(where),
        architecture=own if own in ALIKE else result.architecture,
        scheme=scheme,
        vectors=result.vectors + held - result.parameters,
        kv=formats.parse("fp16"),
        file=resident,
        notes=(*notes, *((Note("as", type=as_type),) if as_type else ())),
        source=where,
    )


def _beyond(name: str, depth: int) -> bool:
    # Layers after the last: for multi-token prediction.
    parts = name.split(".", 2)
    return parts[0] == "blk" and parts[1].isdigit() and int(parts[1][:9]) >= depth


def _unread(name: str, cached: int) -> bool:
    # Keys and values of layers that read an earlier layer's cache (Gemma 3n): there, not used.
    parts = name.split(".")
    return parts[0] == "blk" and int(parts[1]) >= cached and parts[2] in ("attn_k", "attn_v")
