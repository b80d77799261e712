"""The time of a message that all devices of a group take part in.

    ring        t₀·log₂(n) + 2·(n-1)/n · S / (efficiency · link)
    one shot    t₁ + (n-1) · S / (½ · link)

In a ring each device sends and receives every byte of S twice but its own share; the floor
grows with the number of hops. In one shot each device reads all of the others' data at once,
half of what the link can do: more traffic, one floor. An engine that has both takes the faster.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log2
from typing import Any

from ..errors import UnsupportedError
from ..step import Number


def all_reduce(size: Number, devices: Any, link: Any, c: Mapping[str, float]) -> Number:
    """Seconds to add ``size`` bytes up over ``devices``, each with ``link`` bytes/s one way.

    Raises:
        UnsupportedError: several devices, and no link between them is known.
    """
    if isinstance(devices, int):
        if devices == 1:
            return 0.0
        if not link:
            raise UnsupportedError("no link between these devices is known: give one in the file")
        hops: Any = log2(devices)
    else:
        import numpy as np

        hops = np.log2(devices)
    share = 2 * (devices - 1) / devices
    ring = c["collective.floor"] * hops + share * size / (c["collective.bandwidth"] * link)
    if not c.get("collective.once"):
        return ring
    once = c["collective.once"] + (devices - 1) * size / (0.5 * link)
    if isinstance(once, float):
        return min(ring, once)
    import numpy as np

    return np.minimum(ring, once)
