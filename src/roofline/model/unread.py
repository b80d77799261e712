"""How a checkpoint is stored that nobody here can read: its shapes are known, its bytes not."""

from __future__ import annotations

from ..errors import UnsupportedError
from ..record import record
from .formats import Format


@record
class Unread:
    """A scheme that says why it has no formats; with one of its own a model needs none.

    Attributes:
        reason: the sentence that refuses it.
    """

    reason: str

    @property
    def name(self) -> str:
        """For people."""
        return "not read"

    def weight(self, path: str) -> Format:
        """Never.

        Raises:
            UnsupportedError: always, with the reason.
        """
        raise UnsupportedError(self.reason)

    def compute(self, path: str) -> str:
        """Never.

        Raises:
            UnsupportedError: always, with the reason.
        """
        raise UnsupportedError(self.reason)
