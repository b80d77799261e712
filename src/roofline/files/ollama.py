"""Names in Ollama's local store: a manifest for each name, and the GGUF file it points to.

``manifests/HOST/NAMESPACE/MODEL/TAG`` is JSON; its layer of the media type
``application/vnd.ollama.image.model`` has a digest, and ``blobs/sha256-DIGEST`` is the file.
"""

from __future__ import annotations

import os
import re

from ..errors import InputError, NotFound, UnsupportedError
from .description import read_json

HOST = "registry.ollama.ai"
_MODEL = "application/vnd.ollama.image.model"
_PART = re.compile(r"[A-Za-z0-9_][\w.-]{0,127}\Z", re.ASCII)
_DIGEST = re.compile(r"sha256[:-]([0-9a-f]{64})\Z")


def stores() -> tuple[str, ...]:
    """The folders in which the store may be: the user's, or the service's."""
    given = os.environ.get("OLLAMA_MODELS")
    if given:
        return (os.path.expanduser(given),)
    return (
        os.path.join(os.path.expanduser("~"), ".ollama", "models"),
        "/usr/share/ollama/.ollama/models",
        "/var/lib/ollama/.ollama/models",
    )


def parse(text: str) -> tuple[str, ...] | None:
    """Host, namespace, model and tag of a name, or ``None`` where it cannot be one.

    >>> parse("llama3.1:8b")
    ('registry.ollama.ai', 'library', 'llama3.1', '8b')
    >>> parse("hf.co/bartowski/Llama-3.2-1B-Instruct-GGUF:Q4_K_M")[:2]
    ('hf.co', 'bartowski')
    """
    body, colon, tag = text.removeprefix("ollama:").partition(":")
    parts = body.split("/")
    if len(parts) > 3:
        return None
    whole = (*(HOST, "library")[: 3 - len(parts)], *parts, tag if colon else "latest")
    return whole if all(_PART.match(p) and ".." not in p for p in whole) else None


def find(text: str) -> str | None:
    """The GGUF file of a name in the store, or ``None`` where there is no such name.

    Raises:
        InputError: a manifest that cannot be.
        NotFound: a manifest whose file is missing.
        UnsupportedError: a model that is not stored as GGUF.
    """
    name = parse(text)
    if name is None:
        return None
    for store in stores():
        path = os.path.join(store, "manifests", *name)
        if os.path.isfile(path):
            return _blob(store, path)
    return None


def _blob(store: str, path: str) -> str:
    manifest = read_json(path, 1 << 20)
    layers = manifest.get("layers") if isinstance(manifest, dict) else None
    if not isinstance(layers, list) or not all(isinstance(x, dict) for x in layers):
        raise InputError(f"{path}: a manifest has a list of layers")
    digests = [x.get("digest") for x in layers if x.get("mediaType") == _MODEL]
    if not digests:
        raise UnsupportedError(f"{path}: no layer is a GGUF model")
    match = _DIGEST.match(digests[0]) if isinstance(digests[0], str) else None
    if match is None:
        raise InputError(f"{path}: the digest of its model is not one")
    for name in (f"sha256-{match[1]}", f"sha256:{match[1]}"):
        blob = os.path.join(store, "blobs", name)
        if os.path.isfile(blob):
            return blob
    raise NotFound(f"{path}: its file sha256-{match[1][:12]}… is not in the store")
