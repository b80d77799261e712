"""A served workload in its steady state: continuous batching at a concurrency.

With C requests in flight the running batch is B = min(C, what the cache holds); every request
brings one prefill of its prompt for every ``output`` tokens that it decodes. While one decodes,
the prefills of the B-1 others interleave with its steps (whole, or in chunks: a chunk rides
on a decode step and shares its weights, so what it adds is t(mixed) - t(decode) either way):

    TPOT = t_decode(B) + (B-1)/output · interleave · (t_mixed - t_decode)
    TTFT = front end + t_mixed + half a step + burst · (B-1) · (t_mixed - t_decode)
         + queueing for a place, (C-B)/B of a request's time
    throughput = B / TPOT

A request alone (B = 1) meets no step of others: its TTFT is the front end and its own prefill.

``interleave`` is the share of a prefill which running sequences really wait for. Requests of
like lengths end, and so start, in bursts: ``burst`` is the share of the others whose prompts are
ahead of a new one, from 0 where they are spread evenly to ½ where all start at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..count.number import smaller, where
from ..count.step import Step
from .predictor import Predictor
from .steptime import Parts


@dataclass(frozen=True, slots=True)
class SteadyState:
    """A steady state. Seconds, or arrays of them.

    Attributes:
        running: sequences that run at once, of all replicas.
        tpot, ttft: per output token; until the first.
        decode: the mean decode step, by cause.
        prefills: of ``tpot``, what the prefills of others add.
        queue: of ``ttft``, waiting for a place in the cache.
    """

    running: Any
    tpot: Any
    ttft: Any
    decode: Parts
    prefills: Any
    queue: Any

    @property
    def tokens_per_s(self) -> Any:
        """Output tokens a second, all requests."""
        return self.running / self.tpot


def steady(
    p: Predictor, concurrency: Any, prompt: Any, output: Any, limit: Any = None
) -> SteadyState:
    """The steady state of ``concurrency`` requests of ``prompt`` and ``output`` tokens each.

    Args:
        limit: the most sequences that run at once, of all replicas; by default all.
    """
    batch = concurrency if limit is None else smaller(concurrency, limit)
    decode_step = Step.decode(batch, prompt + output // 2)
    decode = p.step(decode_step)
    # one prompt in each replica: their prefills fall into the same steps
    replicas = smaller(batch, p.case.parallel.dp)
    mixed = p.step(Step.mixed(decode_step, Step.prefill(replicas, prompt)))
    extra = mixed.total - decode.total
    share = p.resolved.values["interleave"]
    others = (batch - replicas) / replicas
    prefills = others / output * share * extra
    tpot = decode.total + prefills
    queue = (concurrency - batch) / batch * (output * tpot + mixed.total)
    c = p.resolved.values
    ahead = c["burst"] * (batch - replicas) / replicas * extra
    alone = p.step(Step.prefill(replicas, prompt)).total
    met = where(batch > replicas, mixed.total + 0.5 * decode.total, alone)
    ttft = c["request.floor"] + met + ahead + queue
    return SteadyState(batch, tpot, ttft, decode, prefills, queue)
