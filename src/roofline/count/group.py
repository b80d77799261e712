"""Sequences that take part in a step alike."""

from __future__ import annotations

from ..record import record
from .number import Number, settled


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

    def settled(self) -> Group:
        """The group with numbers as the formulas take them.

        Raises:
            InputError: a number that no sequences can be.
        """
        return Group(
            settled("batch", self.batch, 1),
            settled("new_tokens", self.new_tokens, 1),
            settled("past", self.past, 0),
            self.all_logits,
        )

    @property
    def context(self) -> Number:
        """Tokens that the last new token attends to, itself included."""
        return self.past + self.new_tokens
