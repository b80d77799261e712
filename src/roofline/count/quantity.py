"""The quantities that a step is priced by: everything that it costs is linear in them.

(B, T, P: batch, new tokens and past of a group of sequences.)

    one               1                                    once per step
    tokens            Σ B·T                                new tokens, N
    sequences         Σ B                                  S
    rows              Σ B, or Σ B·T where all are needed   rows of logits, R
    pairs(W)          Σ B·Σ_{i=1..T} min(P+i, W)           query-key pairs, causal, window W
    entries(W)        Σ B·min(P+T, W+T-1)                  cache entries read
    held(W)           Σ B·min(P+T, W)                      cache entries kept for the next step
    touched(E, k)     E·(1-(1-k/E)^N)                      distinct experts hit by N tokens, as
                                                           expected where each chooses k evenly
    all_pairs(W)      Σ B·T·(P+T), within W both ways      pairs of bidirectional attention
    chunk_…(W)        as pairs and entries                 attention within chunks of W tokens
    block_…(W, m)     as pairs and entries                 W keys in chosen blocks of m tokens
    latent(…)         Σ min(absorbed, expanded)            FLOPs of latent attention, cheaper form
    passes(m)         min(m, largest B)                    microbatches that a step is run in

Where the sequences are divided over replicas or microbatches (``over`` of them), every
quantity is that of the busiest, which has ⌈B/over⌉ of a group's sequences.

Batch, new tokens and past may be integers or NumPy arrays of one shape: the formulas are
the same text for both. The page evaluates the same table (``page/web/work.js``).
"""

from __future__ import annotations

import math

from ..errors import InputError
from ..record import record, replace
from .number import Number, larger, smaller

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from typing import Any

    from .group import Group


def causal_pairs(past: Number, new: Number, window: int | None, stride: int = 1) -> Number:
    """Σ_{i=1..T} min(⌊(P+i)/stride⌋, W): keys seen by T causal queries after P tokens."""
    if window is None and stride == 1:
        return new * past + new * (new + 1) // 2
    return _seen(past + new, window, stride) - _seen(past, window, stride)


def _seen(n: Number, window: int | None, stride: int) -> Number:
    # Σ_{p=1..n} min(⌊p/m⌋, W): full steps of the staircase, then the flat part at W.
    rising = n if window is None else smaller(n, window * stride)
    steps, rest = rising // stride, rising % stride
    total = stride * (steps * (steps - 1)) // 2 + steps * (rest + 1)
    return total if window is None else total + (n - rising) * window


def all_pairs_of(past: Number, new: Number, window: int | None) -> Number:
    """Keys seen by T queries after P tokens when each sees W tokens both ways, itself included.

    Those up to itself, and those after it: Σ_{d=0..T-1} min(d, W-1).
    """
    return causal_pairs(past, new, window) + causal_pairs(0, new, window) - new


@record
class Quantity:
    """One number that a step is priced by; see the module's table.

    Attributes:
        q: its name.
        window: attention window in tokens (``None``: the whole context).
        stride: tokens per cache entry (compressed caches), 1 for ordinary attention.
        experts, active: for ``touched``.
        costs: for ``latent``: FLOPs per pair and per token absorbed, per pair and per
            cache entry expanded.
        over: replicas or microbatches that a group's sequences are divided over.
        most: for ``passes``, and for ``touched`` summed over passes: the most microbatches.
    """

    q: str
    window: int | None = None
    stride: int = 1
    experts: int = 0
    active: int = 0
    costs: tuple[int, ...] = ()
    over: int = 1
    most: int = 1

    def value(self, groups: tuple[Group, ...]) -> Number:
        """The quantity on these groups: an exact int where the step is of ints (a float for
        ``touched``), an array where it is of arrays."""
        one = _PER_GROUP.get(self.q)
        if one is None:
            return self._of_the_step(groups)
        total: Number = 0
        if self.over != 1:
            for group in groups:
                total = total + -(-group.batch // self.over) * one(self, group)
            return total
        for group in groups:
            total = total + group.batch * one(self, group)
        return total

    @property
    def a_sequence(self) -> bool:
        """Whether a group's value is so much a sequence, times its batch."""
        return self.q in _PER_GROUP and self.over == 1

    def fewest(self, groups: tuple[Group, ...]) -> Number:
        """The least that the quantity can be, whatever experts the tokens choose: as
        :meth:`value`, but for ``touched`` the ``active`` of one token, for all of a pass."""
        if self.q != "touched":
            return self.value(groups)
        return self.active * (self._passes(groups) if self.most > 1 else 1)

    def _of_the_step(self, groups: tuple[Group, ...]) -> Number:
        if self.q == "one":
            return 1
        if self.q == "touched":
            return self._touched(groups)
        if self.q == "passes":
            return self._passes(groups)
        raise InputError(f"no quantity '{self.q}' is known")

    def _touched(self, groups: tuple[Group, ...]) -> Number:
        passes: Number = 1
        if self.most > 1:  # the step's tokens in so many passes, each touching its own
            passes = self._passes(groups)
            n = TOKENS.value(groups) / passes
        else:
            n = (TOKENS if self.over == 1 else replace(TOKENS, over=self.over)).value(groups)
        if self.experts == self.active:
            return passes * (self.experts + 0 * n)
        missed = 1.0 - self.active / self.experts
        if isinstance(n, (int, float)):
            return passes * (self.experts * (1.0 - missed**n))
        import numpy as np

        return passes * (self.experts * (1.0 - np.exp(math.log(missed) * n)))  # a power, faster

    def _passes(self, groups: tuple[Group, ...]) -> Number:
        longest = -(-groups[0].batch // self.over)
        for group in groups[1:]:
            longest = larger(longest, -(-group.batch // self.over))
        return smaller(longest, self.most)

    def to_json(self) -> dict[str, Any]:
        """The quantity as JSON, for the page and for files."""
        data: dict[str, Any] = {"q": self.q}
        for name in QUANTITIES[self.q]:
            value = getattr(self, name)
            data[name] = list(value) if isinstance(value, tuple) else value
        if self.over != 1:
            data["over"] = self.over
        if self.most != 1:
            data["most"] = self.most
        return data

    @staticmethod
    def from_json(data: dict[str, Any]) -> Quantity:
        """The inverse of :meth:`to_json`."""
        return Quantity(
            data["q"],
            data.get("window"),
            data.get("stride", 1),
            data.get("experts", 0),
            data.get("active", 0),
            tuple(data.get("costs", ())),
            data.get("over", 1),
            data.get("most", 1),
        )


def _entries(q: Quantity, g: Group) -> Number:
    entries = g.context // q.stride if q.stride > 1 else g.context
    return entries if q.window is None else smaller(entries, q.window + g.new_tokens - 1)


def _held(q: Quantity, g: Group) -> Number:
    entries = g.context // q.stride if q.stride > 1 else g.context
    return entries if q.window is None else smaller(entries, q.window)


def _chunk_pairs(q: Quantity, g: Group) -> Number:
    # Query p (from 0) sees the keys of its own chunk up to itself: p mod C + 1 of them.
    size = q.window or 1
    return _in_own_chunk(g.context, size) - _in_own_chunk(g.past, size)


def _chunk_entries(q: Quantity, g: Group) -> Number:
    return g.context - (g.past // (q.window or 1)) * (q.window or 1)


def _in_own_chunk(n: Number, size: int) -> Number:
    # Σ_{p=1..n} ((p-1) mod size) + 1
    return (n // size) * (size * (size + 1) // 2) + (n % size) * (n % size + 1) // 2


def _block_pairs(q: Quantity, g: Group) -> Number:
    # Query p sees its own block up to itself and the best of the blocks before, so many keys
    # at most that the whole choice is `window` keys in blocks of `stride`.
    size, most = q.stride, q.window or 0

    def seen(n: Number) -> Number:
        rising = smaller(n, most)
        beyond = (n - rising) * (most - size) + _in_own_chunk(n, size)
        return rising * (rising + 1) // 2 + beyond - _in_own_chunk(rising, size)

    return seen(g.context) - seen(g.past)


def _block_entries(q: Quantity, g: Group) -> Number:
    own = (g.context - 1) % q.stride + 1
    return smaller(g.context, (q.window or 0) - q.stride + own + g.new_tokens - 1)


def _latent(q: Quantity, g: Group) -> Number:
    # DeepSeek-V2 (arXiv 2405.04434): the up-projections can be absorbed into the queries and
    # the output (attend over the latent) or applied to the cache (attend over the heads).
    # An engine takes the cheaper: absorbed in decode, expanded in prefill.
    pair_absorbed, token_absorbed, pair_expanded, entry_expanded = q.costs
    pairs = causal_pairs(g.past, g.new_tokens, q.window)
    return smaller(
        pair_absorbed * pairs + token_absorbed * g.new_tokens,
        pair_expanded * pairs + entry_expanded * _entries(q, g),
    )


_PER_GROUP = {
    "tokens": lambda q, g: g.new_tokens,
    "sequences": lambda q, g: 1,
    "rows": lambda q, g: g.new_tokens if g.all_logits else 1,
    "pairs": lambda q, g: causal_pairs(g.past, g.new_tokens, q.window, q.stride),
    "all_pairs": lambda q, g: all_pairs_of(g.past, g.new_tokens, q.window),
    "entries": _entries,
    "held": _held,
    "chunk_pairs": _chunk_pairs,
    "chunk_entries": _chunk_entries,
    "block_pairs": _block_pairs,
    "block_entries": _block_entries,
    "latent": _latent,
}

_WINDOW, _STRIDED = ("window",), ("window", "stride")

QUANTITIES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("one", "tokens", "sequences", "rows", "passes"), ()),
    **dict.fromkeys(("pairs", "entries", "held", "block_pairs", "block_entries"), _STRIDED),
    **dict.fromkeys(("chunk_pairs", "chunk_entries", "all_pairs"), _WINDOW),
    "touched": ("experts", "active"),
    "latent": ("window", "costs"),
}
"""Every quantity, with the fields that tell it from others of its name: what its JSON says."""

ONE = Quantity("one")
TOKENS = Quantity("tokens")
SEQUENCES = Quantity("sequences")
ROWS = Quantity("rows")


def pairs(window: int | None = None, stride: int = 1) -> Quantity:
    """Query-key pairs under a causal mask."""
    return Quantity("pairs", window, stride)


def all_pairs(window: int | None = None) -> Quantity:
    """Query-key pairs where attention goes both ways."""
    return Quantity("all_pairs", window)


def entries(window: int | None = None, stride: int = 1) -> Quantity:
    """Cache entries read."""
    return Quantity("entries", window, stride)


def held(window: int | None = None, stride: int = 1) -> Quantity:
    """Cache entries kept for the next step."""
    return Quantity("held", window, stride)


def touched(experts: int, active: int) -> Quantity:
    """Distinct experts hit, each token choosing ``active`` of ``experts`` evenly."""
    return Quantity("touched", experts=experts, active=active)
