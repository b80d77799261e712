"""Regular expressions that are compiled when they are first used.

Compiling those of all modules took a fifth of the time of a cold ``roofline explain``, which
uses few of them.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from re import compile as pattern
    from typing import Any
else:

    class pattern:  # noqa: N801
        """As :func:`re.compile`, but compiled when a method or an attribute is first asked for."""

        def __init__(self, text: str, flags: int = 0) -> None:
            self._asked = text, flags

        def __getattr__(self, name: str) -> Any:
            result = getattr(re.compile(*self._asked), name)
            setattr(self, name, result)  # asked for again, it is found at once
            return result


__all__ = ["pattern"]
