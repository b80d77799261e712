"""A step: one forward pass, as groups of sequences, and the quantities that price it.

A group is ``batch`` sequences, each with ``new_tokens`` new tokens and ``past`` tokens
already in its cache; ``context = past + new_tokens`` is what the last new token attends to.
Everything a step costs is linear in the quantities below (B, T, P: batch, new tokens, past):

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
from operator import index

from ..errors import InputError
from ..record import record, replace

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from typing import Any

    Number = Any
else:
    Number = object
"""An int, a float, or a NumPy array of them."""

LARGEST = 1 << 40
"""No batch, prompt or context beyond this: products stay exact and finite."""


@record
class Group:
    """Sequences that take part in a step alike.

    Attributes:
        batch: sequences, at least 1.
        new_tokens: new tokens of each sequence, at least 1.
        past: tokens already in each sequence's cache, at least 0.
        all_logits: whether logits are needed for every new token (verify), not just the last.
    """

    batch: Number
    new_tokens: Number = 1
    past: Number = 0
    all_logits: bool = False

    @property
    def context(self) -> Number:
        """Tokens that the last new token attends to, itself included."""
        return self.past + self.new_tokens


@record
class Step:
    """One forward pass.

    >>> Step.decode(batch=8, context=2048).groups
    (Group(batch=8, new_tokens=1, past=2047, all_logits=False),)
    >>> Step.prefill(batch=1, prompt=2048)             # P = 0
    >>> Step.prefill(batch=1, prompt=512, past=4096)   # cached prefix, or a chunk
    >>> Step.verify(batch=1, drafted=4, context=2048)  # T = drafted + 1, logits for all
    >>> Step.encode(batch=32, tokens=512)              # encoders, embedders, rerankers
    >>> Step.mixed(Step.decode(8, 2048), Step.prefill(1, 512))  # weights read once for both
    """

    phase: str
    groups: tuple[Group, ...]

    @staticmethod
    def decode(batch: Number = 1, context: Number = 2048) -> Step:
        """One new token a sequence, attending to ``context`` tokens, itself included."""
        batch = _whole("batch", batch, 1)
        context = _whole("context", context, 1)
        return Step("decode", (Group(batch, 1, context - 1),))

    @staticmethod
    def prefill(batch: Number = 1, prompt: Number = 2048, past: Number = 0) -> Step:
        """``prompt`` new tokens a sequence after ``past`` cached ones (a prefix or chunks)."""
        batch = _whole("batch", batch, 1)
        prompt = _whole("prompt", prompt, 1)
        past = _whole("past", past, 0)
        return Step("prefill", (Group(batch, prompt, past),))

    @staticmethod
    def encode(batch: Number = 1, tokens: Number = 512) -> Step:
        """``tokens`` of each sequence into hidden states or one vector: no cache, no logits."""
        batch = _whole("batch", batch, 1)
        tokens = _whole("tokens", tokens, 1)
        return Step("encode", (Group(batch, tokens, 0),))

    @staticmethod
    def verify(batch: Number = 1, drafted: Number = 4, context: Number = 2048) -> Step:
        """Speculative verify: ``drafted + 1`` new tokens, logits for all.

        The first of them attends to ``context`` tokens, as a decode step's would.
        """
        batch = _whole("batch", batch, 1)
        drafted = _whole("drafted", drafted, 1)
        context = _whole("context", context, 1)
        return Step("verify", (Group(batch, drafted + 1, context - 1, all_logits=True),))

    @staticmethod
    def mixed(*steps: Step) -> Step:
        """Several steps run as one forward pass: their groups, the weights read once."""
        if not steps:
            raise InputError("a mixed step needs at least one part")
        return Step("mixed", tuple(g for s in steps for g in s.groups))

    def with_batch(self, batch: Number) -> Step:
        """The same step with ``batch`` sequences in its first group."""
        first, *rest = self.groups
        batch = _whole("batch", batch, 1)
        return Step(
            self.phase,
            (Group(batch, first.new_tokens, first.past, first.all_logits), *rest),
        )

    @property
    def batch(self) -> Number:
        """Sequences of the first group: the batch that a sweep varies."""
        return self.groups[0].batch

    @property
    def tokens_out(self) -> Number:
        """Tokens that count as speed: new tokens, all of them (in verify: every draft accepted)."""
        return TOKENS.value(self.groups)

    @property
    def drafts(self) -> Number:
        """Drafted tokens that :attr:`tokens_out` takes to be accepted; 0 but in verify."""
        return self.tokens_out - self.sequences if self.phase == "verify" else 0

    @property
    def sequences(self) -> Number:
        """Sequences of all groups: a step of decode or verify gives each one token at least."""
        return SEQUENCES.value(self.groups)


def _whole(name: str, value: Number, least: int) -> Number:
    """A count as the formulas take it: an int, or an array of float64.

    NumPy's own integers have a width, and what is multiplied beyond it comes out wrong without a
    word: they become Python's. Whole arrays become float64, exact up to 2^53.
    """
    if type(value) is not int:
        if isinstance(value, bool | float | str) or value is None:
            raise InputError(f"{name} must be a whole number, not {value!r}")
        try:
            value = index(value)
        except TypeError:
            return _array(name, value, least)
    if not least <= value <= LARGEST:
        shown = value if abs(value) < 10**30 else "a number of more than 30 digits"
        raise InputError(f"{name} must be from {least} to 2^40, not {shown}")
    return value


def _array(name: str, value: Number, least: int) -> Number:
    import numpy as np

    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if not isinstance(value, np.ndarray) or kind not in "iuf" or value.ndim != 1 or not value.size:
        raise InputError(
            f"{name} must be a whole number, or a NumPy array of them in one dimension"
        )
    result = value.astype(np.float64)
    if not (np.isfinite(result).all() and result.min() >= least and result.max() <= LARGEST):
        raise InputError(f"{name} must be from {least} to 2^40, everywhere in the array")
    return result


def _least(a: Number, b: Number) -> Number:
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return min(a, b)
    import numpy as np

    return np.minimum(a, b)


def _most(a: Number, b: Number) -> Number:
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return max(a, b)
    import numpy as np

    return np.maximum(a, b)


def causal_pairs(past: Number, new: Number, window: int | None, stride: int = 1) -> Number:
    """Σ_{i=1..T} min(⌊(P+i)/stride⌋, W): keys seen by T causal queries after P tokens."""
    if window is None and stride == 1:
        return new * past + new * (new + 1) // 2
    return _seen(past + new, window, stride) - _seen(past, window, stride)


def _seen(n: Number, window: int | None, stride: int) -> Number:
    # Σ_{p=1..n} min(⌊p/m⌋, W): full steps of the staircase, then the flat part at W.
    rising = n if window is None else _least(n, window * stride)
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
            longest = _most(longest, -(-group.batch // self.over))
        return _least(longest, self.most)

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
    return entries if q.window is None else _least(entries, q.window + g.new_tokens - 1)


def _held(q: Quantity, g: Group) -> Number:
    entries = g.context // q.stride if q.stride > 1 else g.context
    return entries if q.window is None else _least(entries, q.window)


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
        rising = _least(n, most)
        beyond = (n - rising) * (most - size) + _in_own_chunk(n, size)
        return rising * (rising + 1) // 2 + beyond - _in_own_chunk(rising, size)

    return seen(g.context) - seen(g.past)


def _block_entries(q: Quantity, g: Group) -> Number:
    own = (g.context - 1) % q.stride + 1
    return _least(g.context, (q.window or 0) - q.stride + own + g.new_tokens - 1)


def _latent(q: Quantity, g: Group) -> Number:
    # DeepSeek-V2 (arXiv 2405.04434): the up-projections can be absorbed into the queries and
    # the output (attend over the latent) or applied to the cache (attend over the heads).
    # An engine takes the cheaper: absorbed in decode, expanded in prefill.
    pair_absorbed, token_absorbed, pair_expanded, entry_expanded = q.costs
    pairs = causal_pairs(g.past, g.new_tokens, q.window)
    return _least(
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
