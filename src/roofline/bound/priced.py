"""What follows from the work and the seconds of a step, of many at once, or of a measured point."""

from __future__ import annotations

from ..count.number import larger

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from typing import Any


class Timed:
    """Something that computes, moves and exchanges for so long: numbers, or arrays of them."""

    compute_s: Any
    memory_s: Any
    communication_s: Any

    @property
    def memory_bound(self) -> Any:
        """Whether traffic takes longer than arithmetic: intensity below the ridge."""
        return self.memory_s > self.compute_s

    @property
    def communication_bound(self) -> Any:
        """Whether communication takes longer than traffic and than arithmetic."""
        return self.communication_s > larger(self.memory_s, self.compute_s)


class Priced(Timed):
    """A step, or arrays of them, under the roof: FLOPs, compulsory bytes by kind, seconds."""

    flops: Any
    weights: Any
    kv_read: Any
    kv_write: Any
    state: Any
    tokens: Any

    @property
    def compulsory(self) -> Any:
        """All compulsory bytes."""
        return self.weights + self.kv_read + self.kv_write + self.state

    @property
    def intensity(self) -> Any:
        """FLOP/byte of the step."""
        return self.flops / self.compulsory

    @property
    def overlapped_s(self) -> Any:
        """The overlapped bound: no schedule beats it."""
        return larger(larger(self.compute_s, self.memory_s), self.communication_s)

    @property
    def tokens_per_s(self) -> Any:
        """New tokens a second at best: over the overlapped bound."""
        return self.tokens / self.overlapped_s
