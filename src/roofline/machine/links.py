"""How long devices take to tell each other something: seconds a byte and a message.

A group of n devices uses the fastest link that joins any of them, then the next one that
joins more, and so on. With domains of 1 = d₀ < d₁ < … = n devices (each the largest divisor of n
that the link's domain holds), link l carries of the bytes that a device sends

    sums and gathers   (1/dₗ₋₁ - 1/dₗ) / (1 - 1/n)     in steps within domains, then between them
    to experts         (rows(dₗ₋₁) - rows(dₗ)) / rows(1)    a row crosses into a domain once
    all-to-all         (dₗ - dₗ₋₁) / (n - 1)           as many of the peers are that far away
    send               all of them over the last, where a stage's neighbour is furthest away

and links work at the same time. What leaves a domain of dₗ₋₁ devices goes over link l or a slower
one, whichever way a schedule takes, so a group takes at least as long as the longest of

    Σ bytes carried by links l, l+1, …  /  Σ bandwidths of links l, l+1, …

Where every pair of devices has wires of its own (``mesh``), d of D devices use (d-1)/(D-1) of the
bandwidth. A message waits for the latency of the slowest link that the group needs.
"""

from __future__ import annotations

from functools import lru_cache

from .. import catalogue
from ..errors import InputError
from ..record import record
from .machine import Figure, Link, Machine

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..count.reach import Reach


GIVEN = "given"
"""Source of a bandwidth or latency that was not read from the machine's file."""


@record
class LinkShare:
    """One link's part in a collective.

    Attributes:
        link: the link.
        inner, domain: devices of the group that faster ones join, and that it and they do.
        carries: the fraction of the bytes that goes over it.
        bandwidth: bytes/s that a device has of it in one direction, in a group of this size.
    """

    link: Link
    inner: int
    domain: int
    carries: float
    bandwidth: float


@record
class LinkLevel:
    """What leaves the domains of so many devices, over the links that can take it.

    Attributes:
        inner: devices of such a domain, 1 for a device alone.
        shares: those that go further than it, fastest first.
    """

    inner: int
    shares: tuple[LinkShare, ...]

    @property
    def crosses(self) -> float:
        """The fraction of the bytes sent that leaves such a domain."""
        return sum(share.carries for share in self.shares)

    @property
    def bandwidth(self) -> float:
        """Bytes/s of a device in one direction, all its links that lead out together."""
        return sum(share.bandwidth for share in self.shares)

    @property
    def second_per_byte(self) -> float:
        """Of all bytes that a device sends."""
        return self.crosses / self.bandwidth


@record
class Wire:
    """What a collective over a group costs.

    Attributes:
        collective, group: what, and over how many devices.
        shares: the links it uses, fastest first.
        latency: seconds a message, or ``None`` where unknown (counted as nothing).
        reach: of rows to experts and back, how far they go.
    """

    collective: str
    group: int
    shares: tuple[LinkShare, ...]
    latency: Figure | None
    reach: Reach | None = None

    @property
    def levels(self) -> tuple[LinkLevel, ...]:
        """What leaves a device, a domain of the fastest link, and so on."""
        shares = self.shares
        return tuple(LinkLevel(share.inner, shares[i:]) for i, share in enumerate(shares))

    @property
    def slowest(self) -> LinkShare:
        """The first share of the level that takes longest."""
        return max(self.levels, key=lambda level: level.second_per_byte).shares[0]

    @property
    def second_per_byte(self) -> float:
        """Seconds per byte that a device sends."""
        return max(level.second_per_byte for level in self.levels)

    @property
    def second_per_message(self) -> float:
        """Seconds that a message takes at least."""
        return self.latency.value if self.latency else 0.0

    def to_json(self) -> dict[str, Any]:
        """As data: each link's part, and what leaves each level's domains."""
        reach = self.reach
        return {
            "collective": self.collective,
            "devices": self.group,
            "links": [
                {
                    "name": share.link.name,
                    "carries": share.carries,
                    "bandwidth_in_group": share.bandwidth,
                    "bandwidth": share.link.bandwidth.to_json(),
                }
                for share in self.shares
            ],
            "levels": [
                {
                    "leaves_domains_of": level.inner,
                    "over": [share.link.name for share in level.shares],
                    "crosses": level.crosses,
                    "bandwidth": level.bandwidth,
                    "seconds_per_byte": level.second_per_byte,
                    "rows_per_token": reach.rows(level.inner) if reach else None,
                }
                for level in self.levels
            ],
            "reach": reach.to_json() if reach else None,
            "seconds_per_byte": self.second_per_byte,
            "latency": self.latency.to_json() if self.latency else None,
        }


@record
class Interconnect:
    """A machine's links, or what was given instead.

    Attributes:
        machine: whose.
        link: one of its links by name, or bytes/s a device and direction; ``None``: as needed.
        latency: seconds a message, ``None``: the link's own.
    """

    machine: Machine
    link: str | float | None = None
    latency: float | None = None

    def wire(self, collective: str, group: int, reach: Reach | None = None) -> Wire:
        """What ``collective`` over ``group`` devices uses; ``reach``: of rows to experts.

        Raises:
            InputError: no known link joins so many devices.
        """
        shares = []
        before = 1
        for link, domain in self._levels(group):
            carries = _carried(collective, before, domain, group, reach)
            if carries:
                bandwidth = _bandwidth(link, domain, collective)
                shares.append(LinkShare(link, before, domain, carries, bandwidth))
            before = domain
        latencies = [self._latency(share.link) for share in shares]
        known = [figure for figure in latencies if figure is not None]
        longest = max(known, key=lambda f: f.value) if len(known) == len(latencies) else None
        return Wire(collective, group, tuple(shares), longest, reach)

    def _levels(self, group: int) -> list[tuple[Link, int]]:
        if self.link is not None:
            return [(self._given(), group)]
        result = []
        reached, joined = 1, 1
        for link in sorted(self.machine.links, key=lambda x: -x.bandwidth.value):
            if link.scope == "host" or link.devices <= joined:
                continue
            joined = link.devices
            domain = max(d for d in divisors(group) if d <= joined and d % reached == 0)
            if domain > reached:
                result.append((link, domain))
                reached = domain
            if reached == group:
                return result
        raise InputError(self._unjoined(group))

    def _given(self) -> Link:
        if not isinstance(self.link, str):
            return Link(
                "link", Figure(float(self.link or 0), source=GIVEN), None, 1 << 20, "cluster"
            )
        wanted = self.link.lower()
        links = self.machine.links
        named = [x for x in links if x.name.lower() == wanted]
        named = named or [x for x in links if wanted in x.name.lower()]
        if len(named) == 1:
            return named[0]
        known = ", ".join(f"'{x.name}'" for x in links) or "none"
        raise InputError(
            f"{self.machine.name}: no one link '{self.link[:40]}' (known: {known}); a bandwidth "
            "such as 25GB/s can be given instead"
        )

    def _latency(self, link: Link) -> Figure | None:
        if self.latency is not None:
            return Figure(self.latency, source=GIVEN)
        return link.latency or floor(link)

    def _unjoined(self, group: int) -> str:
        name = self.machine.name
        links = [x for x in self.machine.links if x.scope != "host"]
        if not links:
            return (
                f"{name}: no link to other devices is known; give its bandwidth, a device and "
                "direction, with --link 25GB/s, or (for a page) a machine file that has links"
            )
        joins = ", ".join(f"{x.name} joins {x.devices}" for x in links)
        return (
            f"{name}: no known link joins {group} devices ({joins}); give the bandwidth of one "
            "that does, a device and direction, with --link 25GB/s, or (for a page) a machine file "
            "that has it"
        )


@lru_cache(maxsize=1)
def floors() -> Mapping[str, Figure]:
    """The shortest message that was measured, in seconds, by a word in the name of the link
    (``latencies.json``): what one takes at least where the machine's file does not say."""
    data = catalogue.read("machine/latencies.json")
    sources = data["sources"]
    result = {}
    for word, least in data["latencies"].items():
        source = sources[least["source"]]
        result[word] = Figure(
            least["value"],
            "measured",
            source["title"],
            source["url"],
            source["date"],
            note=least["note"],
        )
    return result


def floor(link: Link) -> Figure | None:
    """The shortest message measured on links of this kind, ``None`` where none is known."""
    name = link.name.lower()
    return next((figure for word, figure in floors().items() if word in name), None)


def _carried(collective: str, inner: int, outer: int, group: int, reach: Reach | None) -> float:
    if reach is not None:
        return (reach.rows(inner) - reach.rows(outer)) / reach.rows(1)
    if collective == "send":
        return 1.0 if outer == group else 0.0
    if collective == "all_to_all":
        return (outer - inner) / (group - 1)
    return (1 / inner - 1 / outer) / (1 - 1 / group)


def _bandwidth(link: Link, domain: int, collective: str) -> float:
    if link.topology != "mesh":
        return link.bandwidth.value
    peers = 1 if collective == "send" else domain - 1
    return link.bandwidth.value * min(1.0, peers / (link.devices - 1))


def divisors(n: int) -> list[int]:
    """The divisors of n, ascending: the sizes of domains that part n devices evenly."""
    small = [d for d in range(1, int(n**0.5) + 1) if n % d == 0]
    return [*small, *(n // d for d in reversed(small) if d * d != n)]
