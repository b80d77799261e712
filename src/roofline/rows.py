"""Results as rows: flat dictionaries in SI base units, and a data frame of them in one call."""

from __future__ import annotations

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from typing import Any

    from pandas import DataFrame


class Rows:
    """A result that has rows."""

    def rows(self) -> list[dict[str, Any]]:
        """One flat dictionary a row, SI base units; ``None`` is unknown or does not exist."""
        raise NotImplementedError

    def to_pandas(self) -> DataFrame:
        """The rows as a data frame.

        Raises:
            MissingExtra: pandas is not installed.
        """
        try:
            from pandas import DataFrame
        except ImportError:
            from .errors import MissingExtra

            raise MissingExtra("pandas", "pandas", "a data frame") from None
        return DataFrame(self.rows())
