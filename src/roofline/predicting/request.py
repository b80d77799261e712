"""A batch of requests that start together: time to first token, time per token, the whole.

Without a server's queue: prompts in one prefill (in turns where memory does not hold them
all), then decoding with a context that grows. Where the cache of all sequences does not fit,
an engine runs them in turns: about B / n waves, n the sequences that fit.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import InputError
from .predictor import Predictor
from .steptime import Parts


@dataclass(frozen=True, slots=True)
class Request:
    """A batch of requests, predicted. Seconds.

    Attributes:
        batch, prompt, output: what runs.
        running: sequences that run at once: the batch, or what fits.
        ttft: until the first token.
        tpot: mean time per output token after the first.
        total: until the last token of the last sequence.
        prefill, decode: the prefill and the mean decode step, by cause.
    """

    batch: int
    prompt: int
    output: int
    running: int
    ttft: float
    tpot: float
    total: float
    prefill: Parts
    decode: Parts


def request(p: Predictor, batch: int, prompt: int, output: int) -> Request:
    """A batch of equal requests.

    Raises:
        InputError: nothing to run, or not even one sequence fits.
    """
    if min(batch, prompt, output) < 1:
        raise InputError("batch, prompt and output are at least 1")
    places = p.places(prompt + output)
    running = batch if places is None else min(batch, places)
    if running < 1:
        raise p.no_room(prompt + output)
    prefill = p.prefill(running, prompt)
    decode = p.decode(running, prompt, output)
    waves = batch / running
    ttft, tpot = float(prefill.total), float(decode.total)
    return Request(
        batch,
        prompt,
        output,
        running,
        ttft,
        tpot,
        waves * (ttft + (output - 1) * tpot),
        prefill,
        decode,
    )
