"""A speed that somebody measured, as a fraction of the roof."""

from __future__ import annotations

import re
from typing import Any

from ..errors import InputError
from ..record import record
from ..units import TOKEN_RATE, WHOLE, decimal_hint, plain
from .chain import Bound

_NUMBER = re.compile(rf"({WHOLE}(?:\.\d+)?)\s*([^\d\s,._].*?)\s*\Z")
_PREFIX = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_RATE = re.compile(r"([kMGTP]?)(B|FLOP|FLOPS?)(?:/s|ps)?\Z", re.IGNORECASE)
_WHOLE = re.compile(
    r"(?:sequences?|seqs?|requests?|reqs?|prompts?|texts?|docs?)/s\Z", re.IGNORECASE
)
_TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6}

ALLOWANCE = 1.02
"""Up to this times the roof is put down to rounding; beyond it the point is suspect."""


@record
class Achieved:
    """A measured step beside its bound.

    Attributes:
        seconds: time of the step.
        tokens_per_s, bytes_per_s, flops_per_s: what that makes, with the step's own counts.
        of_roof: fraction of the speed that the overlapped bound allows.
    """

    seconds: float
    tokens_per_s: float
    bytes_per_s: float
    flops_per_s: float
    of_roof: float

    @property
    def suspect(self) -> bool:
        """Whether it lies above its roof: an error to explain, never a score."""
        return self.of_roof > ALLOWANCE

    def to_json(self) -> dict[str, Any]:
        """As data."""
        return {
            "seconds": self.seconds,
            "tokens_per_s": self.tokens_per_s,
            "bytes_per_s": self.bytes_per_s,
            "flops_per_s": self.flops_per_s,
            "of_roof": self.of_roof,
            "suspect": self.suspect,
        }


def achieved(text: str, bound: Bound, sequences: float | None = None) -> Achieved:
    """``65 tok/s``, ``15.4 ms``, ``700 GB/s``, ``120 TFLOP/s`` of a step.

    Args:
        sequences: those that the step finishes, for ``200 sequences/s`` of an encode or prefill.

    Raises:
        InputError: not one of these.
    """
    match = _NUMBER.match(text.strip())
    seconds = None
    if match:
        value, unit = float(plain(match[1])), match[2]
        if value > 0:
            seconds = _seconds(value, unit, bound, sequences)
    if seconds is None:
        whole = " (of an encode or prefill '200 sequences/s' too)" if sequences is not None else ""
        raise InputError(
            f"--achieved is a speed or a time of the step, such as '65 tok/s', '15.4 ms', "
            f"'700 GB/s' or '120 TFLOP/s'{whole}, not '{text[:40]}'{decimal_hint(text)}"
        )
    return Achieved(
        seconds,
        bound.tokens / seconds,
        bound.compulsory / seconds,
        bound.flops / seconds,
        bound.overlapped_s / seconds,
    )


def _seconds(value: float, unit: str, bound: Bound, sequences: float | None) -> float | None:
    name = unit.replace(" ", "")
    if sequences is not None and _WHOLE.match(name):
        return sequences / value
    if TOKEN_RATE.match(name):
        return float(bound.tokens / value)
    if name.lower() in _TIMES:
        return value * _TIMES[name.lower()]
    if rate := _RATE.match(name):
        prefix = rate[1] if rate[1] == "k" else rate[1].upper()
        amount = bound.compulsory if rate[2].upper() == "B" else bound.flops
        return float(amount / (value * _PREFIX[prefix]))
    return None
