"""What a profile says besides coefficients, held to what it must be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..files.checked import Checked

KINDS = ("seen", "machine", "model", "both")
WIDEST = 50.0
"""The most that the logarithm of measured over predicted can be."""

MOST_ROWS = 1_000_000_000


class ProfileChecked(Checked):
    """Reads tables of a profile."""

    def sources(self, value: Any) -> dict[str, Any]:
        """Where numbers come from: a table of texts for each."""
        for key, entry in self.table(value, "sources").items():
            for name, text in self.table(entry, f"sources.{key}").items():
                self.text(text, f"sources.{key[:40]}.{name[:40]}")
        return dict(value)

    def fitted(self, value: Any, what: str = "fitted") -> dict[str, Any]:
        """What was fitted on: names, rows, and the batches from least to most."""
        for name, entry in self.table(value, what).items():
            if name == "rows":
                self.number(entry, f"{what}.rows", 0, MOST_ROWS)
            elif name == "batch":
                if not isinstance(entry, list) or len(entry) != 2:
                    raise self.wrong(f"{what[:80]}.batch must be two numbers")
                for end in entry:
                    self.number(end, f"{what}.batch", 0, MOST_ROWS)
            else:
                self.texts(entry, f"{what}.{name}")
        return dict(value)

    def residuals(self, value: Any, what: str = "residuals") -> dict[str, Any]:
        """How far measurements lay from predictions: low and high of each likeness."""
        for kind, entry in self.table(value, what).items():
            where = f"{what}.{kind}"
            if kind.rpartition(":")[2] not in KINDS:
                raise self.wrong(f"{where[:80]}: not one of {', '.join(KINDS)}")
            held = self.table(entry, where)
            self.number(held.get("low"), f"{where}.low", -WIDEST, WIDEST)
            self.number(held.get("high"), f"{where}.high", -WIDEST, WIDEST)
            for name in held.keys() & {"rows", "groups", "median_error"}:
                self.number(held[name], f"{where}.{name}", 0, MOST_ROWS)
        return dict(value)

    def families(self, value: Any) -> dict[str, Any]:
        """The same of machines with a label."""
        for label, entry in self.table(value, "families").items():
            held = self.table(entry, f"families.{label}")
            for name, check in self._parts().items():
                check(held.get(name, [] if name == "notes" else {}), f"families.{label}.{name}")
        return dict(value)

    def _parts(self) -> dict[str, Callable[[Any, str], Any]]:
        return {"fitted": self.fitted, "residuals": self.residuals, "notes": self.texts}
