"""What monitors' percentages say of a step, and what they do not.

"GPU utilisation" (nvidia-smi, NVML; DCGM's field 203) is the share of samples in which at least
one kernel was running, however little of the chip it used; "memory utilisation" the share in which
memory was read or written at all. What says how busy the units are is DCGM's profiling: SM active
(1002), tensor active (1004), DRAM active (1005). A profiler's share of communication is of a step's
time, and can be held against what the links need.
"""

from __future__ import annotations

import re
from typing import Any

from ..errors import InputError
from ..record import record
from .chain import Bound

_SHARE = re.compile(r"(?<![\d.])(\d{1,3}(?:\.\d+)?)\s*(?:%|％|per\s?cent\b)", re.IGNORECASE)
_BARE = re.compile(
    r"[^\d/]*(?:util\w*|利用率)\s*(?:is|of|为)?\s*[:=：]?\s*(\d{1,3}(?:\.\d+)?)\s*\Z", re.IGNORECASE
)
"""A utilisation whose sign was left out; of at most 1 it could as well be a fraction."""
_EXCHANGE = re.compile(
    r"all[-_ ]?(?:reduce|gather|to[-_ ]?all)|reduce[-_ ]?scatter|nccl|rccl|comm|exchange|通信",
    re.IGNORECASE,
)
_MEMORY = re.compile(r"mem(?:ory)?\b|显存", re.IGNORECASE)
_BUSY = re.compile(r"util|busy|利用率|占用", re.IGNORECASE)


@record
class Counter:
    """A percentage that somebody read off.

    Attributes:
        kind: ``utilisation``, ``memory`` (its utilisation) or ``communication``.
        share: from 0 to 1.
    """

    kind: str
    share: float

    def held(self, bound: Bound) -> dict[str, Any]:
        """The counter beside a step's bound, as data.

        For communication: seconds of exchange that the share makes of a step whose other work
        takes no longer than it must, and how often that is what the links need.

        Raises:
            InputError: a share of communication of a step that exchanges nothing.
        """
        result: dict[str, Any] = {
            "kind": self.kind,
            "share": self.share,
            "peak_at_best": bound.peak_fraction,
            "bandwidth_at_best": bound.memory_s / bound.overlapped_s,
        }
        if self.kind != "communication":
            return result
        if not bound.messages:
            raise InputError(
                "a share of communication is of several devices: say how many with --tp, --ep, --pp"
            )
        rest = max(bound.compute_s, bound.memory_s)
        exchange = rest * self.share / (1 - self.share)
        return result | {
            "rest_s": rest,
            "exchange_s": exchange,
            "needed_s": bound.communication_s,
            "messages": float(bound.messages),
        }


def counter(text: str) -> Counter | None:
    """``98 % utilisation``, ``GPU-Util 98``, ``all-reduce is 71 % of the step``; ``None`` for
    anything that is not such a percentage.

    Raises:
        InputError: over 100 %, or all of a step.
    """
    share = _SHARE.search(text) or _BARE.match(text)
    if share is None or (share.re is _BARE and float(share[1]) <= 1):
        return None
    value = float(share[1]) / 100
    if _EXCHANGE.search(text):
        kind = "communication"
    elif _BUSY.search(text):
        kind = "memory" if _MEMORY.search(text) else "utilisation"
    else:
        return None
    if value > 1 or (kind == "communication" and value >= 1):
        raise InputError(f"'{text.strip()[:40]}': a share of at most 100 % was expected")
    return Counter(kind, value)
