"""A step: one forward pass, as groups of sequences, which quantities price.

A group is ``batch`` sequences, each with ``new_tokens`` new tokens and ``past`` tokens
already in its cache; ``context = past + new_tokens`` is what the last new token attends to.

Batch, new tokens and past may be integers or NumPy arrays of one shape.
"""

from __future__ import annotations

from ..errors import InputError
from ..record import record
from .group import Group
from .number import LARGEST, Number, whole
from .quantity import SEQUENCES, TOKENS

CONTEXT, ENCODED = 2048, 512
"""Tokens where none are said: of a context or a prompt, and of a sequence of an encode."""

PHASES = ("decode", "prefill", "verify", "mixed", "encode")


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

    def __post_init__(self) -> None:
        """Hold the groups to what can be counted.

        Raises:
            InputError: no phase, no group, or an impossible number in one.
        """
        if not isinstance(self.phase, str) or not self.groups:
            raise InputError("a step is a phase by name, of at least one group")
        for g in self.groups:
            batch, new, past = g.batch, g.new_tokens, g.past
            if not (
                type(batch) is type(new) is type(past) is int
                and 1 <= batch <= LARGEST
                and 1 <= new <= LARGEST
                and 0 <= past <= LARGEST
            ):
                self.__dict__["groups"] = tuple(g.settled() for g in self.groups)
                return

    @staticmethod
    def decode(batch: Number = 1, context: Number = CONTEXT) -> Step:
        """One new token a sequence, attending to ``context`` tokens, itself included."""
        batch = whole("batch", batch, 1)
        context = whole("context", context, 1)
        return Step("decode", (Group(batch, 1, context - 1),))

    @staticmethod
    def prefill(batch: Number = 1, prompt: Number = CONTEXT, past: Number = 0) -> Step:
        """``prompt`` new tokens a sequence after ``past`` cached ones (a prefix or chunks)."""
        batch = whole("batch", batch, 1)
        prompt = whole("prompt", prompt, 1)
        past = whole("past", past, 0)
        return Step("prefill", (Group(batch, prompt, past),))

    @staticmethod
    def encode(batch: Number = 1, tokens: Number = ENCODED) -> Step:
        """``tokens`` of each sequence into hidden states or one vector: no cache, no logits."""
        batch = whole("batch", batch, 1)
        tokens = whole("tokens", tokens, 1)
        return Step("encode", (Group(batch, tokens, 0),))

    @staticmethod
    def verify(batch: Number = 1, drafted: Number = 4, context: Number = CONTEXT) -> Step:
        """Speculative verify: ``drafted + 1`` new tokens, logits for all.

        The first of them attends to ``context`` tokens, as a decode step's would.
        """
        batch = whole("batch", batch, 1)
        drafted = whole("drafted", drafted, 1)
        context = whole("context", context, 1)
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
        batch = whole("batch", batch, 1)
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
