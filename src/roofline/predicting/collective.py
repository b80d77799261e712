"""The time of an exchange that all devices of a group take part in.

    ring        t₀·log₂(n) + s / (efficiency · link)            s: bytes that a device sends
    one shot    t₁ + (n/2) · s / (½ · link)

In a ring (or a tree of halves) a device sends 2·(n-1)/n of an all-reduce's bytes, and the floor
grows with the number of hops. In one shot each device reads all of the others' data at once at
half of what the link can do: n/2 times the traffic, one floor. An engine that has both takes
the faster. No floor is below the least that a message takes over the links in question.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log2
from typing import Any

from ..count.number import Number


def exchange(
    sent: Number, group: Any, per_byte: Any, c: Mapping[str, float], per_message: Any = 0.0
) -> Number:
    """Seconds of one exchange of ``sent`` bytes a device, over ``group`` devices.

    Args:
        sent: bytes that one device sends.
        group: devices, at least 2.
        per_byte: seconds a byte takes over their links.
        c: coefficients.
        per_message: seconds that a message takes at least.
    """
    plain = isinstance(group, int)
    if plain:
        hops: Any = log2(group)
    else:
        import numpy as np

        hops = np.log2(group)

    def floor(own: Any) -> Any:
        return max(own, per_message) if plain else np.maximum(own, per_message)

    ring = floor(c["collective.floor"] * hops) + sent * per_byte / c["collective.bandwidth"]
    if not c.get("collective.once"):
        return ring
    once = floor(c["collective.once"]) + group * sent * per_byte
    if isinstance(once, float):
        return min(ring, once)
    import numpy as np

    return np.minimum(ring, once)
