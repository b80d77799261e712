"""Arrays of steps at once: an operator table is a matrix, a step a vector of quantities.

``seconds of arithmetic = A · q`` and ``seconds of traffic = T · q``, one row per operator, so
a chunk of steps is two small matrix products; chunks fit in cache. Same table, same bounds as
:meth:`roofline.bound.Case.bound`, which a property test holds it to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..count.group import Group
from ..count.number import length
from ..count.quantity import Quantity
from ..count.step import Step
from ..count.work import TRAFFIC
from ..record import record
from .case import Case
from .chain import Chain
from .priced import Priced

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

CHUNK = 8192
"""Steps evaluated at once: quantities and operators of a chunk stay in a core's L2 cache."""


ROWS = ("flops", *TRAFFIC, "compute_s", "memory_s", "serial_s", "tokens")
FLOPS, WEIGHTS, _, _, _, COMPUTE, MEMORY, SERIAL, TOKENS = range(len(ROWS))
"""Rows of what is priced, in the order of :class:`Bounds`; traffic is by kind."""


@record
class Bounds(Priced):
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
    communication_s: Floats

    def bound(self, i: int) -> str:
        """What takes longest in one of the steps: ``memory``, ``compute``, ``communication``."""
        if self.communication_bound[i]:
            return "communication"
        return "memory" if self.memory_bound[i] else "compute"


class Table:
    """A case as matrices, for arrays of steps.

    >>> table = Table(case)
    >>> table.bounds(Step.decode(batch=numpy.arange(1, 1001), context=2048)).tokens_per_s
    """

    def __init__(self, case: Case) -> None:
        self._chains = tuple(_Matrices(chain) for chain in case.chains)

    def bounds(self, step: Step) -> Bounds:
        """Bounds of every step; the step's numbers are arrays of one length, or numbers.

        Raises:
            InputError: arrays of several lengths.
        """
        import numpy as np

        size = length(*(x for g in step.groups for x in (g.batch, g.new_tokens, g.past)))
        out = np.empty((len(ROWS), size))
        communication = np.zeros(size)
        chains = [matrices.over(step) for matrices in self._chains]
        for start in range(0, size, CHUNK):
            end = min(start + CHUNK, size)
            part = _slice(step, start, end, size)
            first, *others = chains
            first.price(part, out[:, start:end], communication[start:end])
            for chain in others:  # a step takes as long as the longest of its chains
                _take_longer(chain, part, out[:, start:end], communication[start:end])
            out[TOKENS, start:end] = part.tokens_out
        columns: list[Floats] = [*out, communication]
        return Bounds(*columns)


def _take_longer(chain: _Priced, part: Step, out: Floats, communication: Floats) -> None:
    import numpy as np

    other, said = np.empty_like(out), np.zeros_like(communication)
    chain.price(part, other, said)
    now = np.maximum(other[[COMPUTE, MEMORY]].max(axis=0), said)
    then = np.maximum(out[[COMPUTE, MEMORY]].max(axis=0), communication)
    longer = now > then
    out[:, longer] = other[:, longer]
    communication[longer] = said[longer]


class _Matrices:
    def __init__(self, chain: Chain) -> None:
        import numpy as np

        self.quantities = chain.quantities
        n = len(self.quantities)
        exchanging = {exchange.row for exchange in chain.exchanges}
        rows = [row for i, row in enumerate(chain.rows) if i not in exchanging]
        count = len(rows)
        self.arithmetic, self.traffic = np.zeros((count, n)), np.zeros((count, n))
        self.totals, self.communication = (
            np.zeros((SERIAL, n)),
            np.zeros((1 if chain.exchanges else 0, n)),
        )
        for i, (row, peak) in enumerate(rows):
            _, flops, *kinds = row
            for q, c in flops:
                self.arithmetic[i, q] += c / peak
                self.totals[FLOPS, q] += c
            for k, terms in enumerate(kinds, WEIGHTS):
                for q, c in terms:
                    self.traffic[i, q] += c / chain.bandwidth
                    self.totals[k, q] += c
        self.totals[COMPUTE] = self.arithmetic.sum(axis=0)
        self.totals[MEMORY] = self.traffic.sum(axis=0)
        for exchange in chain.exchanges:
            for q, c in exchange.sent:
                self.communication[0, q] += c * exchange.per_byte
            for q, c in exchange.messages:
                self.communication[0, q] += c * exchange.per_message

    def over(self, step: Step) -> _Priced:
        """What is left to do for each of a step's arrays."""
        return _Priced(self, step)


class _Priced:
    """Matrices shortened for arrays of one shape; equal to 1e-12, and a few times faster.

    Where one group's batch alone varies, all that is so much a sequence is one column. Operators
    whose times are in proportion (matrices of one format) are one row; those whose one ceiling
    takes longer whatever the quantities, which are never negative, need no comparison.
    """

    def __init__(self, of: _Matrices, step: Step) -> None:
        import numpy as np

        self.columns, spread = _columns(of.quantities, step)
        arithmetic, traffic = of.arithmetic @ spread, of.traffic @ spread
        longer: Any = (arithmetic >= traffic).all(axis=1)
        settled: Any = longer | (traffic >= arithmetic).all(axis=1)
        sure = np.where(longer[:, None], arithmetic, traffic)[settled].sum(axis=0, keepdims=True)
        open_rows = _in_proportion(np.hstack([arithmetic, traffic])[~settled])
        a, t = np.hsplit(open_rows, 2)
        parts = (of.totals @ spread, sure, of.communication @ spread, a, t)
        ends = np.cumsum([len(part) for part in parts])
        rows = [slice(end - len(part), end) for part, end in zip(parts, ends, strict=True)]
        self.exchanged, self.arithmetic, self.traffic = rows[2:]
        self.stacked = np.vstack(parts)

    def price(self, part: Step, out: Floats, communication: Floats) -> None:
        """Fill all rows but the tokens, and the seconds of communication."""
        import numpy as np

        q = np.empty((len(self.columns), out.shape[1]))
        for i, quantity in enumerate(self.columns):
            q[i] = part.groups[0].batch if quantity is None else quantity.value(part.groups)
        priced = self.stacked @ q
        out[: SERIAL + 1] = priced[: SERIAL + 1]
        for seconds in priced[self.exchanged]:
            communication[:] = seconds
            out[SERIAL] += communication
        for a, t in zip(priced[self.arithmetic], priced[self.traffic], strict=True):
            out[SERIAL] += np.maximum(a, t, out=a)


def _columns(quantities: tuple[Quantity, ...], step: Step) -> tuple[list[Quantity | None], Floats]:
    # The quantities to evaluate (``None``: the batch), and each quantity as a sum of these.
    import numpy as np

    first = step.groups[0]
    alone = len(step.groups) == 1 and np.ndim(first.new_tokens) == np.ndim(first.past) == 0
    one = (
        (Group(1.0, float(first.new_tokens), float(first.past), first.all_logits),) if alone else ()
    )
    columns: list[Quantity | None] = []
    result = []
    for q in quantities:
        linear = alone and q.a_sequence
        column = None if linear else q
        if column not in columns:
            columns.append(column)
        result.append((columns.index(column), float(q.value(one)) if linear else 1.0))
    spread = np.zeros((len(quantities), len(columns)))
    for i, (column_of, factor) in enumerate(result):
        spread[i, column_of] = factor
    return columns, spread


def _in_proportion(rows: Floats) -> Floats:
    # Rows that are multiples of one another, added up.
    import numpy as np

    kept: list[Floats] = []
    for row in rows:
        for i, other in enumerate(kept):
            at = int(np.argmax(other))
            if np.allclose(row * other[at], other * row[at], rtol=1e-15, atol=0.0):
                kept[i] = other + row
                break
        else:
            kept.append(row)
    return np.array(kept).reshape(len(kept), rows.shape[1])


def _slice(step: Step, start: int, end: int, length: int) -> Step:
    import numpy as np

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
