"""The command that brings a library which is missing, for the Python that runs this.

``pip`` alone is right inside a virtual environment. The Python of an operating system refuses
to install into itself (PEP 668), and a checkout that was never installed has no name that an
installer could look up: both get a command that works there.
"""

from __future__ import annotations

import os
import sys


def checkout() -> str | None:
    """The folder of the checkout that this runs from without being installed, or ``None``."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        distribution("roofline")
        return None
    except PackageNotFoundError:
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        return root if os.path.isfile(os.path.join(root, "pyproject.toml")) else None


def managed() -> bool:
    """Whether the operating system keeps this Python, and lets no installer write to it."""
    import sysconfig

    if sys.prefix != sys.base_prefix:
        return False
    return os.path.isfile(os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED"))


def command(extra: str = "") -> str:
    """What to type: ``pip install 'roofline[plot]'``.

    Args:
        extra: name of the extra; without one, what roofline itself depends on.
    """
    root = checkout()
    what = f"{root or 'roofline'}{f'[{extra}]' if extra else ''}"
    if not managed():
        return f"{_pip()} install '{what}'"
    venv = os.path.join(root, ".venv") if root else "~/roofline"
    return f"python3 -m venv {venv} && {venv}/bin/pip install '{what}', then {venv}/bin/roofline"


def _pip() -> str:
    # The pip of this Python by its short name, where that is the one a shell would find.
    from shutil import which

    result = which("pip")
    beside = os.path.dirname(os.path.abspath(sys.executable))
    if result is not None and os.path.dirname(os.path.abspath(result)) == beside:
        return "pip"
    return f"{sys.executable} -m pip"
