"""How far a token's rows travel to its experts, and their results back.

The experts of a layer lie on the n devices of a stage in ep shares, one after another. A token
chooses k of E; a domain of d devices that holds m of them (a device, a node, a rack) is needed
with probability

    even choices         P(d) = 1 - C(E-m, k) / C(E, k)
    in chosen groups     of G = E/groups experts, ``chosen`` of the groups a token, each of which
                         has one of its experts (group-limited routing, DeepSeek-V3, arXiv
                         2412.19437: groups are chosen by their best experts)
        m ≥ G            P(d) = 1 - C(groups-m/G, chosen) / C(groups, chosen)
        m < G            P(d) = chosen/groups · (1 - C(chosen·G-m, k) / C(chosen·G, k))

A row crosses into a domain once, however many of its devices need it, and is spread inside; a
domain adds its partial results up and sends one row back. So of a token that ``owners`` devices
have already,

    rows(d) = (n - max(d, owners)) / d · P(d)

rows leave its own domain of d devices: rows(1) in all, rows(8) between nodes of 8, and what the
link inside such a node carries is the rest. Where m is no whole number (copies of experts),
C(a, k)/C(b, k) is read as the product of (a-i)/(b-i) over i < k.
"""

from __future__ import annotations

from ..record import record

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from typing import Any


@record
class Reach:
    """Experts on devices, and who has a token before it is sent.

    Attributes:
        experts, active: E, and k of them a token.
        shares: ep, over which they are divided.
        devices: n, of the stage.
        owners: devices that have a token already (dispatch), or are to have it (combine: 1).
        groups, chosen: groups of experts, and how many of them a token may choose from; 1 and 1
            for none.
        row: bytes of a token on the way.
    """

    experts: int
    active: int
    shares: int
    devices: int
    owners: int = 1
    groups: int = 1
    chosen: int = 1
    row: float = 0.0

    def hit(self, domain: int) -> float:
        """Probability that a domain of so many devices holds one of a token's experts."""
        held = max(1.0, domain * self.shares / self.devices) * self.experts / self.shares
        if self.groups == self.chosen:
            return 1 - _ratio(self.experts - held, self.experts, self.active)
        size = self.experts / self.groups
        if held >= size:
            return 1 - _ratio(self.groups - held / size, self.groups, self.chosen)
        among = self.chosen / self.groups
        pool = among * self.experts
        return among * (1 - _ratio(pool - held, pool, self.active))

    def rows(self, domain: int) -> float:
        """Rows of a token that leave its domain of so many devices."""
        if domain >= self.devices:
            return 0.0
        away = (self.devices - max(domain, self.owners)) / domain
        return away * self.hit(domain)

    def to_json(self) -> dict[str, Any]:
        """As data, in the work table."""
        return {name: getattr(self, name) for name in type(self).__match_args__}


def _ratio(part: float, of: float, chosen: int) -> float:
    # C(part, chosen) / C(of, chosen)
    result = 1.0
    for i in range(chosen):
        result *= max(0.0, part - i) / (of - i)
    return result
