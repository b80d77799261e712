"""The public package that holds most of the measurements: downloaded once, kept in the cache.

pip downloads it, so its index, mirrors, proxies and credentials are the user's own. The file is
checked against a known SHA-256, only the tables that are evaluated are kept (``unpack.py``), and
the folder appears in the cache when it is whole, or not at all.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable

from ..errors import InputError, MissingExtra, RooflineError
from ..files.folders import cache_folder

NAME, VERSION = "aiconfigurator-core", "0.12.0"
SHA256 = "aadc4aad0a00bf8a61c477c62bef43de479849c3aa0b1c3078068e08309eccc4"
MEGABYTES = 82
BUILD = {
    "platform": "manylinux_2_28_x86_64",
    "python-version": "3.11",
    "implementation": "cp",
    "abi": "abi3",
}
"""The one file whose hash is known; its tables are the same on every system."""

FORM = 1
"""Of the tables in the cache: another number where ``unpack.py`` makes others."""

Tell = Callable[[str], None]


def folder() -> str:
    """Where the tables are, or will be."""
    return os.path.join(cache_folder(), "validation", f"{NAME}-{VERSION}-{FORM}")


def fetch(tell: Tell = lambda what: None, *, wheel: str | None = None) -> str:
    """The folder with the tables, from the cache; at first from pip, or from a ``wheel`` given.

    Args:
        tell: is told what goes on (``download``, ``unpack``).
        wheel: the package's file, where somebody has it already.

    Raises:
        MissingExtra: no pyarrow to read the tables with.
        RooflineError: no network, no pip, no room.
        InputError: another file than the one that is known.
    """
    kept = folder()
    if os.path.isdir(kept):
        return kept
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingExtra("pyarrow", "validate", f"reading {NAME}") from None
    from .unpack import unpack

    try:
        os.makedirs(os.path.dirname(kept), exist_ok=True)
        with tempfile.TemporaryDirectory(dir=os.path.dirname(kept), prefix=".part-") as part:
            if wheel is None:
                tell("download")
                wheel = download(part)
            _check(wheel)
            tell("unpack")
            made = os.path.join(part, "tables")
            os.mkdir(made)
            unpack(wheel, made)
            if not os.path.isdir(kept):  # another process may have been faster
                os.rename(made, kept)
    except OSError as error:
        why = error.strerror or error
        raise RooflineError(f"{error.filename or kept}: cannot be written: {why}") from None
    return kept


def download(into: str) -> str:
    """Bring the wheel into a folder with pip; its path."""
    command = [sys.executable, "-m", "pip", "download", f"{NAME}=={VERSION}", "--dest", into]
    command += ["--no-deps", "--only-binary", ":all:", "--disable-pip-version-check"]
    command += [part for option, value in BUILD.items() for part in (f"--{option}", value)]
    shown = sys.stderr if sys.stderr.isatty() else subprocess.DEVNULL
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=shown, stderr=subprocess.PIPE, text=True,
        errors="replace", check=False,
    )  # fmt: skip
    result = [n for n in os.listdir(into) if n.endswith(".whl")]
    if done.returncode or not result:
        platform = BUILD["platform"]
        raise RooflineError(
            f"{NAME} {VERSION} could not be downloaded: {_why(done.stderr)}; where there is a "
            f"connection, 'pip download {NAME}=={VERSION} --no-deps --only-binary :all: "
            f"--platform {platform}' gets the file, and 'roofline validate FILE.whl' takes it"
        )
    return os.path.join(into, result[0])


def _why(told: str) -> str:
    lines = [line.strip() for line in told.splitlines() if line.strip()]
    if any("No module named pip" in line for line in lines):
        return f"{sys.executable} has no pip"
    if any("connection" in line.lower() for line in lines):
        return "pip's index cannot be reached"
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return (errors or lines or ["pip gave no reason"])[-1].rstrip(".")[:200]


def _check(path: str) -> None:
    try:
        with open(path, "rb") as file:
            result = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    if result != SHA256:
        raise InputError(
            f"{os.path.basename(path)}: not the {NAME} {VERSION} that is known: its SHA-256 is "
            f"{result[:12]}…, not {SHA256[:12]}…"
        )
