"""JSON descriptions (configs, indexes, manifests): limits on size, depth and repetition."""

from __future__ import annotations

import json

from ..errors import InputError
from ..limits import CONFIG_BYTES
from .regular import opened

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from typing import Any


def short(value: Any) -> str:
    """A value for a message, never longer than a line."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**30:
        return "a number of more than 30 digits"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def read_json(path: str, most: int = CONFIG_BYTES, *, constants: bool = False) -> Any:
    """A JSON file, with limits on its size and depth.

    Args:
        constants: whether NaN and Infinity are let through; see :func:`parse_json`.

    Raises:
        NotFound: no such file.
        InputError: unreadable, too large, too deep, or not JSON.
    """
    with opened(path) as (file, size):
        if size > most:
            raise InputError(
                f"{path}: {size / 1e6:.0f} MB is too large for a JSON description "
                f"(at most {most / 1e6:.0f} MB)"
            )
        return parse_json(file.read(most + 1), path, constants=constants)


def parse_json(text: bytes | str, where: str, *, constants: bool = False) -> Any:
    """JSON text; no duplicate keys, no bottomless nesting.

    Args:
        constants: whether NaN, Infinity and -Infinity are numbers, as Python's own ``json``
            writes them and makers publish them (``"time_step_limit": [0.0, Infinity]``).

    Raises:
        InputError: with the place of the fault.
    """
    constant = float if constants else _no_constant
    try:
        return json.loads(text, parse_constant=constant, object_pairs_hook=_unique)
    except RecursionError:
        raise InputError(f"{where}: nested too deeply to be a description") from None
    except UnicodeDecodeError:
        raise InputError(f"{where}: not text in UTF-8") from None
    except _Refused as error:
        raise InputError(f"{where}: {error}") from None
    except ValueError as error:
        line = getattr(error, "lineno", None)
        place = f" (line {line})" if line else ""
        raise InputError(f"{where}: not JSON{place}: {getattr(error, 'msg', error)}") from None


class _Refused(Exception):
    pass


def _no_constant(name: str) -> Any:
    raise _Refused(f"{name} is not a number that JSON allows")


def _unique(items: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(items)
    if len(result) != len(items):
        before: set[str] = set()
        twice = next(k for k, _ in items if k in before or before.add(k))  # type: ignore[func-returns-value]
        raise _Refused(f"the key {short(twice)} is there twice")
    return result
