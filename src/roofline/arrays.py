"""Arrays of steps at once: an operator table is a matrix, a step a vector of quantities.

``seconds of arithmetic = A · q`` and ``seconds of traffic = T · q``, one row per operator, so
a chunk of steps is two small matrix products; chunks fit in cache. Same table, same bounds as
:meth:`roofline.bound.Case.bound`, which a property test holds it to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .bound import Case
from .step import Step

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

CHUNK = 8192
"""Steps evaluated at once: quantities and operators of a chunk stay in a core's L2 cache."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Many steps under the roof: arrays of one length, SI base units.

    The attributes mean what those of :class:`roofline.bound.Bound` mean.
    """

    flops: Floats
    weights: Floats
    kv_read: Floats
    kv_write: Floats
    state: Floats
    compute_s: Floats
    memory_s: Floats
    serial_s: Floats
    tokens: Floats

    @property
    def compulsory(self) -> Floats:
        """All compulsory bytes."""
        return self.weights + self.kv_read + self.kv_write + self.state

    @property
    def intensity(self) -> Floats:
        """FLOP/byte."""
        return self.flops / self.compulsory

    @property
    def overlapped_s(self) -> Floats:
        """The overlapped bound."""
        import numpy as np

        return np.maximum(self.compute_s, self.memory_s)

    @property
    def memory_bound(self) -> Any:
        """Whether traffic takes longer than arithmetic."""
        return self.memory_s > self.compute_s

    @property
    def tokens_per_s(self) -> Floats:
        """New tokens a second at best."""
        return self.tokens / self.overlapped_s


class Table:
    """A case as matrices, for arrays of steps.

    >>> table = Table(case)
    >>> table.bounds(Step.decode(batch=numpy.arange(1, 1001), context=2048)).tokens_per_s
    """

    def __init__(self, case: Case) -> None:
        import numpy as np

        quantities, rows = case.work.plan()
        self.quantities = quantities
        n = len(quantities)
        count = len(rows)
        self.arithmetic = np.zeros((count, n))
        self.traffic = np.zeros((count, n))
        self.totals = np.zeros((7, n))
        for i, (row, peak) in enumerate(case.rows):
            _, flops, *kinds = row
            for q, c in flops:
                self.arithmetic[i, q] += c / peak
                self.totals[0, q] += c
            for k, terms in enumerate(kinds, 1):
                for q, c in terms:
                    self.traffic[i, q] += c / case.bandwidth
                    self.totals[k, q] += c
        self.totals[5] = self.arithmetic.sum(axis=0)
        self.totals[6] = self.traffic.sum(axis=0)
        self._stacked = np.concatenate([self.arithmetic, self.traffic, self.totals])
        self._count = count

    def bounds(self, step: Step) -> Bounds:
        """Bounds of every step; the step's numbers are arrays of one length, or numbers."""
        import numpy as np

        numbers = [x for g in step.groups for x in (g.batch, g.new_tokens, g.past)]
        length = max(np.size(x) for x in numbers)
        out = np.empty((9, length))
        n = self._count
        for start in range(0, length, CHUNK):
            end = min(start + CHUNK, length)
            part = _slice(step, start, end, length)
            q = np.empty((len(self.quantities), end - start))
            for i, quantity in enumerate(self.quantities):
                q[i] = quantity.value(part.groups)
            priced = self._stacked @ q
            out[:7, start:end] = priced[2 * n :]
            np.maximum(priced[:n], priced[n : 2 * n], out=priced[:n])
            np.sum(priced[:n], axis=0, out=out[7, start:end])
            out[8, start:end] = part.tokens_out
        return Bounds(
            flops=out[0],
            weights=out[1],
            kv_read=out[2],
            kv_write=out[3],
            state=out[4],
            compute_s=out[5],
            memory_s=out[6],
            serial_s=out[7],
            tokens=out[8],
        )


def _slice(step: Step, start: int, end: int, length: int) -> Step:
    import numpy as np

    from .step import Group

    def cut(x: Any) -> Any:
        if np.ndim(x) == 0:
            return float(x)
        return np.asarray(x[start:end], dtype=np.float64) if np.size(x) == length else float(x[0])

    return Step(
        step.phase,
        tuple(
            Group(cut(g.batch), cut(g.new_tokens), cut(g.past), g.all_logits) for g in step.groups
        ),
    )
