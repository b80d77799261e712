"""A served workload shared among replicas that run apart, each with steps of its own.

At a rate they are alike: arrivals that are divided at random are still Poisson's, each replica's at
rate / n. A router that watches their queues does a little better. Of so many clients some
replicas have one more than others, where the number does not divide.
"""

from __future__ import annotations

from typing import Any

from ..record import replace
from .lengths import Lengths
from .predictor import Predictor
from .simulate import Simulated, simulate

PARTS = 16
"""Parts in which requests of replicas with more and with fewer clients are counted together."""


def shared(
    p: Predictor,
    apart: int,
    lengths: Lengths,
    *,
    concurrency: int | None = None,
    requests: int = 256,
    **load: Any,
) -> Simulated:
    """What ``apart`` replicas come to together.

    Args:
        p: one of them.
        apart: how many there are.
        lengths: of the requests.
        concurrency, requests, load: as for :func:`simulate`; a rate is that of one replica.

    Raises:
        InputError: as :func:`simulate`.
    """
    if concurrency is None:
        return _times(simulate(p, lengths, requests=requests, **load), apart)
    few, more = divmod(concurrency, apart)
    parts = [
        (
            n,
            clients,
            simulate(p, lengths, concurrency=clients, requests=-(-requests // apart), **load),
        )
        for n, clients in ((more, few + 1), (apart - more, few))
        if n and clients
    ]
    if len(parts) == 1:
        ((n, _, result),) = parts
        return _times(result, n)
    (n, clients, first), (others, least, second) = parts
    weight = round(PARTS * n * clients / (n * clients + others * least))
    weight = min(max(weight, 1), PARTS - 1)
    one, other = _times(first, n), _times(second, others)
    return Simulated(
        first.ttft * weight + second.ttft * (PARTS - weight),
        first.tpot * weight + second.tpot * (PARTS - weight),
        one.requests_per_s + other.requests_per_s,
        one.tokens_per_s + other.tokens_per_s,
        one.running + other.running,
        one.waiting + other.waiting,
        one.preempted + other.preempted,
    )


def _times(one: Simulated, n: int) -> Simulated:
    return replace(
        one,
        requests_per_s=n * one.requests_per_s,
        tokens_per_s=n * one.tokens_per_s,
        running=n * one.running,
        waiting=n * one.waiting,
        preempted=n * one.preempted,
    )
