"""What Python and the page both go by: limits, shares and lists of names, kept once, in Python.

The page's formulas are written a second time, in ``web/``, and held to Python's by random tests;
the numbers and names in those formulas are not: they come with the page's data, under ``rules``.
"""

from __future__ import annotations

from typing import Any

from ..bound import verdict
from ..bound.case import DEFAULT_USABLE, LARGEST_BATCH
from ..bound.explanation import ROUTED
from ..chart.picture import TICKS
from ..machine.machine import WIDER
from ..model import formats
from ..model.model import WIDE
from ..placing import gap, steps
from ..say import answer, devices
from .factors import MOST_DEVICES

SHOWN_DEVICES = MOST_DEVICES // 2
"""As many devices as the page offers: the lever of twice as many needs tables of the double."""


def rules() -> dict[str, Any]:
    """All of them, as JSON."""
    return {
        "devices": SHOWN_DEVICES,
        "usable": DEFAULT_USABLE,
        "batch": LARGEST_BATCH,
        "ticks": TICKS,
        "wider": WIDER,
        "wide": WIDE,
        "precisions": formats.PRECISIONS,
        "multiplied": formats.MULTIPLIED,
        "levers": {
            "weights": verdict.WEIGHTS,
            "kv": verdict.KV,
            "compute": verdict.COMPUTE,
            "narrow": verdict.NARROW,
            "smaller": verdict.SMALLER,
            "least": verdict.LEAST,
            "drafted": verdict.DRAFTED,
        },
        "say": {
            "apart": answer.APART,
            "share": answer.SHARE,
            "waited": answer.WAITED,
            "copies": devices.COPIES,
            "routed": ROUTED,
        },
        "place": {
            "segments": steps.SEGMENTS,
            "wall": gap.WALL,
            "slack": gap.SLACK,
            "wide": gap.WIDE,
            "launch": gap.LAUNCH,
            "refuted": gap.REFUTED,
            "fixed": gap.FIXED,
            "above": gap.ABOVE,
            "apart": gap.APART,
            "scatter": gap.SCATTER,
        },
    }
