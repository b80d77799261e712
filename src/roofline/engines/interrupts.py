"""Ctrl-C that is not lost: what falls into a library's callback is raised again after it.

Python cannot pass an exception through a C library that called back into it (llama.cpp logs that
way, a hundred lines for a context), nor out of a destructor: it prints it and goes on. Here it is
remembered, and raised at the next step.
"""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any


class Interrupts:
    """Remembers a Ctrl-C that went nowhere, while it is entered."""

    def __init__(self) -> None:
        self.seen = False
        self._before: Any = None

    def check(self) -> None:
        """Raise what was seen and went nowhere.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed.
        """
        if self.seen:
            self.seen = False
            raise KeyboardInterrupt

    def _lost(self, unraisable: Any) -> None:
        if isinstance(unraisable.exc_value, KeyboardInterrupt):
            self.seen = True
        else:
            self._before(unraisable)

    def __enter__(self) -> Interrupts:
        """Begin to look."""
        self._before, sys.unraisablehook = sys.unraisablehook, self._lost
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Put back what looked before."""
        sys.unraisablehook = self._before
