"""What is known of a step beside its bound: how batches climb, what fits, which experts."""

from __future__ import annotations

from ..record import record


@record
class Climb:
    """What a growing batch does to a step.

    Attributes:
        limit: the intensity that it approaches and never passes; ``None`` if it has none.
        crossing: the first batch at the ridge, or ``None``.
        reason: why there is none: ``kv`` or ``state``, whichever is more of a sequence's own
            traffic, which keeps the intensity below the ridge.
        ridge: the ridge as the batch grows without end.
        linear_crossing: new tokens at which the weight matrices alone reach the ridge.
        kv_outweighs: the first batch whose cache and state traffic exceeds the weights'.
    """

    limit: float | None
    crossing: int | None
    reason: str | None
    ridge: float
    linear_crossing: float | None
    kv_outweighs: int | None


@record
class Fit:
    """What fits in memory, on several devices in that of the fullest. Bytes.

    Attributes:
        weight_bytes: all resident weights, tables and untouched experts included.
        kv_bytes_per_sequence: cache and state that one sequence holds after the step.
        workspace_per_sequence: activations of the largest operator.
        memory_bytes: what programs can have, or ``None`` where unknown.
        usable: the fraction of it given to weights and cache.
        max_batch: the batch that fits; 0 if the weights alone do not; ``None`` if unknown.
    """

    weight_bytes: float
    kv_bytes_per_sequence: float
    workspace_per_sequence: float
    memory_bytes: float | None
    usable: float
    max_batch: int | None

    @property
    def room(self) -> float | None:
        """Bytes for weights and cache, ``None`` where the memory is unknown."""
        return None if self.memory_bytes is None else self.memory_bytes * self.usable

    def holds(self, batch: int) -> bool | None:
        """Whether so many sequences fit, ``None`` where that is unknown."""
        return None if self.max_batch is None else batch <= self.max_batch


@record
class Routing:
    """Experts of a layer that the tokens of a step are expected to choose.

    Attributes:
        experts, active: E, and k of them a token.
        expected: distinct ones, E·(1-(1-k/E)^N) for N tokens that each choose evenly and by
            themselves: an expectation. Real routing is less even, and reads fewer.
    """

    experts: int
    active: int
    expected: float
