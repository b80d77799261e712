"""Engines by name, and which of them runs on which machine: data, in ``known.json``.

Only vendors that stand in the file are judged: of a machine of another one, or of none, nothing
is known, and nothing is refused.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from .. import catalogue
from ..errors import UnsupportedError
from ..machine.machine import Machine

_YEAR = re.compile(r"(.*?)[ _-]?(20\d\d)\Z")


@lru_cache(maxsize=1)
def engines() -> dict[str, dict[str, Any]]:
    """What is known of each engine, by id."""
    result: dict[str, dict[str, Any]] = catalogue.read("engines/known.json")["engines"]
    return result


@lru_cache(maxsize=1)
def _ids() -> dict[str, str]:
    return {
        _key(name): engine
        for engine, entry in engines().items()
        for name in (engine, entry["name"], *entry["aliases"])
    }


def _key(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())


def canonical(name: str) -> str:
    """An engine's id from any of its names (``TensorRT-LLM`` → ``trtllm``), a year after it
    kept; a name that is none is handed back as it is."""
    year = _YEAR.match(name.strip())
    engine = _ids().get(_key(year[1] if year else name))
    if engine is None:
        return name
    return f"{engine}-{year[2]}" if year else engine


def why_not(engine: str, machine: Machine) -> str | None:
    """Why an engine cannot run on a machine; ``None`` where it can, or nothing is known of it.

    Args:
        engine: an id as in ``known.json``.
        machine: of any vendor.
    """
    entry = engines().get(engine)
    vendors = {_key(row["vendor"]) for e in engines().values() for row in e["runs_on"]}
    if entry is None or _key(machine.vendor) not in vendors:
        return None
    for row in entry["runs_on"]:
        if _key(row["vendor"]) == _key(machine.vendor) and machine.kind in row["kinds"]:
            reasons = row.get("but", {}).items()
            return next((why for pattern, why in reasons if fnmatchcase(machine.id, pattern)), None)
    kinds = {"gpu": "GPUs", "cpu": "CPUs", "soc": "chips", "accelerator": "accelerators"}
    return f"it is not made for {machine.vendor} {kinds.get(machine.kind, machine.kind)}"


def check(engine: str, machine: Machine) -> None:
    """Refuse an engine on a machine that it does not run on, and name those that do.

    Raises:
        UnsupportedError: it does not run there.
    """
    reason = why_not(engine, machine)
    if reason is None:
        return
    others = [e for e in engines() if why_not(e, machine) is None]
    name = engines()[engine]["name"]
    hint = f"; choose --engine {' or '.join(others)}" if others else ""
    raise UnsupportedError(f"{name} does not run on {machine.name}: {reason}{hint}")
