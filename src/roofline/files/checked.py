"""Values that others wrote, held to what they must be: one way for every kind of file.

A wrong value is refused with the file, the key, what it must be and what it is.
"""

from __future__ import annotations

from ..errors import InputError, plain
from ..limits import NAME_CHARACTERS
from .description import short

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from typing import Any

MOST_TEXTS = 10_000


class Checked:
    """Reads values of a file.

    Args:
        where: the file, and where in it, for messages.

    Each method raises InputError where a value is not what it must be.
    """

    def __init__(self, where: str) -> None:
        self.where = where

    def wrong(self, what: str) -> InputError:
        """The error that says so."""
        return InputError(f"{self.where}: {what}")

    def table(self, value: Any, what: str) -> dict[str, Any]:
        """A table of keys and values."""
        if not isinstance(value, dict):
            raise self.wrong(f"{what[:80]} must be a table of keys and values, not {short(value)}")
        return value

    def text(self, value: Any, what: str) -> str:
        """A text, as one line."""
        if not isinstance(value, str):
            raise self.wrong(f"{what[:80]} must be text, not {short(value)}")
        return plain(value, NAME_CHARACTERS)

    def texts(self, value: Any, what: str) -> list[str]:
        """A list of texts."""
        good = isinstance(value, list) and len(value) <= MOST_TEXTS
        if not good or not all(isinstance(x, str) for x in value):
            raise self.wrong(f"{what[:80]} must be a list of texts, not {short(value)}")
        return [plain(x, NAME_CHARACTERS) for x in value]

    def number(
        self,
        value: Any,
        what: str,
        least: float,
        most: float,
        unit: str = "",
        *,
        zero: bool = False,
    ) -> float:
        """A number from ``least`` to ``most``, in ``unit``; ``zero``: or 0."""
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.wrong(f"{what[:80]} must be a number, not {short(value)}")
        if not least <= value <= most and not (zero and value == 0):  # a NaN is neither
            of = f"it is in {unit}," if unit else "it is"
            raise self.wrong(f"{what[:80]} is {short(value)}; {of} from {least:g} to {most:g}")
        return value

    def whole(self, value: Any, what: str, least: int, most: int) -> int:
        """A whole number from ``least`` to ``most``."""
        number = self.number(value, what, least, most)
        if number != int(number):
            raise self.wrong(f"{what[:80]} is {short(value)}; it is a whole number")
        return int(number)
