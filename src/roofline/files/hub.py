"""Names on the Hugging Face hub: found in the local cache, or fetched where that is allowed.

The cache is read as its files lie (``models--org--name/refs/main`` names a commit,
``snapshots/COMMIT`` holds the files), so that no library is needed. Only descriptions are
ever fetched: ``config.json``, ``hf_quant_config.json`` and the safetensors index; that takes
the extra ``[hub]``, and ``HF_HUB_OFFLINE=1`` forbids it.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from ..errors import InputError, MissingExtra, RooflineError
from ..limits import FETCHED_BYTES
from .regular import listed, opened
from .safetensors import INDEX

FETCHED = ("config.json", "hf_quant_config.json", INDEX)
TIMEOUT = 10.0

_NAME = re.compile(r"([\w][\w.-]{0,95})/([\w][\w.-]{0,95})(?:@([\w][\w.-]{0,95}))?\Z", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{7,64}\Z")


@dataclass(frozen=True, slots=True)
class Name:
    """A repository on the hub, ``org/name`` or ``org/name@revision``."""

    org: str
    name: str
    revision: str = "main"

    @property
    def repo(self) -> str:
        """``org/name``."""
        return f"{self.org}/{self.name}"


def parse(text: str) -> Name | None:
    """The repository of that name, or ``None`` where it cannot be one."""
    match = _NAME.match(text)
    if match is None or ".." in text or "--" in text:
        return None
    return Name(match[1], match[2], match[3] or "main")


def caches() -> tuple[str, ...]:
    """The folders in which the cache may be, as the hub's own library looks for it."""
    given = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE")
    if given:
        return (os.path.expanduser(given),)
    home = os.environ.get("HF_HOME")
    if home:
        return (os.path.join(os.path.expanduser(home), "hub"),)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join("~", ".cache")
    return (os.path.join(os.path.expanduser(base), "huggingface", "hub"),)


def find(name: Name) -> str | None:
    """The folder of a repository's snapshot that has a ``config.json``, or ``None``.

    Raises:
        InputError: the cache is there and cannot be read.
    """
    for cache in caches():
        root = os.path.join(cache, f"models--{name.org}--{name.name}")
        if not os.path.isdir(root):
            continue
        snapshots = os.path.join(root, "snapshots")
        commit = _commit(root, name.revision)
        if commit and os.path.isfile(os.path.join(snapshots, commit, "config.json")):
            return os.path.join(snapshots, commit)
        if name.revision == "main" and os.path.isdir(snapshots):
            held = [os.path.join(snapshots, s) for s in listed(snapshots)]
            held = [s for s in held if os.path.isfile(os.path.join(s, "config.json"))]
            if held:
                return max(held, key=os.path.getmtime)
    return None


def _commit(root: str, revision: str) -> str | None:
    reference = os.path.join(root, "refs", revision)
    if not os.path.isfile(reference):
        return revision if _COMMIT.match(revision) else None
    with opened(reference) as (file, _):
        text = file.read(128).decode(errors="replace").strip()
    if not _COMMIT.match(text):
        raise InputError(f"{reference}: not the number of a commit")
    return text


def offline() -> bool:
    """Whether the environment forbids the network."""
    names = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
    return any(os.environ.get(n, "").strip().lower() in ("1", "on", "yes", "true") for n in names)


def fetch(name: Name) -> str:
    """The descriptions of a repository, fetched into the cache; the folder they are in.

    Raises:
        MissingExtra: huggingface_hub is not installed.
        InputError: no such repository or revision, or no leave to read it.
        RooflineError: the hub cannot be reached.
    """
    try:
        import huggingface_hub as library
        from huggingface_hub import constants
    except ImportError:
        raise MissingExtra("huggingface_hub", "hub", f"fetching {name.repo}") from None
    import logging

    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    endpoint = os.environ.get("HF_ENDPOINT", constants.ENDPOINT).rstrip("/")
    folder = None
    for file in FETCHED:
        if not _exists(library, name, file, endpoint):
            if file == "config.json":
                raise InputError(f"{name.repo} has no config.json on the hub")
            continue
        try:
            path = library.hf_hub_download(
                name.repo,
                file,
                revision=name.revision,
                endpoint=endpoint,
                cache_dir=caches()[0],
                etag_timeout=TIMEOUT,
                tqdm_class=None,
            )
        except Exception as error:
            raise RooflineError(_failed(name, error)) from None
        if file == "config.json":
            folder = os.path.dirname(path)
    assert folder is not None
    return folder


def _exists(library: object, name: Name, file: str, endpoint: str) -> bool:
    """One request without retries: whether the file is there, small, and ours to read."""
    from huggingface_hub import get_session, hf_hub_url
    from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]

    url = hf_hub_url(name.repo, file, revision=name.revision, endpoint=endpoint)
    try:
        answer = get_session().head(
            url, headers=build_hf_headers(), timeout=TIMEOUT, follow_redirects=False
        )
    except Exception as error:
        raise RooflineError(_failed(name, error)) from None
    if answer.status_code in (401, 403):
        raise InputError(
            f"{name.repo}: the hub says {answer.status_code}: no such model, or a gated one; "
            "accept its terms there and log in with 'hf auth login'"
        )
    if answer.status_code == 404:
        if answer.headers.get("x-error-code") in ("RepoNotFound", "RevisionNotFound"):
            raise InputError(f"{name.repo}: no such model or revision on the hub")
        return False
    if answer.status_code >= 400:
        raise RooflineError(f"{name.repo}: the hub answers {answer.status_code}")
    size = answer.headers.get("x-linked-size") or answer.headers.get("content-length") or "0"
    if size.isascii() and size.isdigit() and int(size) > FETCHED_BYTES:
        raise InputError(f"{name.repo}: {file} of {int(size)} bytes is not a description")
    return True


def _failed(name: Name, error: Exception) -> str:
    # The kind of error alone: its text may hold an address with a token.
    return (
        f"{name.repo}: the hub cannot be reached ({type(error).__name__}); "
        "give a local folder, or set HF_HUB_OFFLINE=1 to look in the cache only"
    )
