"""Many steps of several models and devices as one array computation.

Steps whose kernels are alike in kind and precision are laid end to end: every load, and the
device's numbers too, become arrays, and :func:`roofline.predicting.steptime.step_time` prices
them all at once. Fits need this: a whole data set is priced in milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..record import replace
from .device import Device
from .kernel import ExchangeLoad, Load, Loads
from .steptime import Rates, step_time


@dataclass(frozen=True, slots=True)
class Piece:
    """Steps of one model on one device.

    Attributes:
        rows: to which rows of the data they belong.
        loads, device: what is priced, on what.
        labels: of the device, and further ones that coefficients may hold for.
    """

    rows: Any
    loads: Loads
    device: Device
    labels: tuple[str, ...] = ()


class Stack:
    """Pieces laid end to end; call it with coefficients to get seconds per row."""

    def __init__(self, pieces: list[Piece], size: int) -> None:
        """Lay out pieces for ``size`` rows; a row is in at most one of them."""
        self.size = size
        alike: dict[Any, list[Piece]] = {}
        for piece in pieces:
            kinds = tuple((k.kind, k.compute) for k in piece.loads.kernels)
            native = tuple(c in piece.device.native for _, c in kinds)
            key = (kinds, native, piece.labels, len(piece.loads.exchanges))
            alike.setdefault(key, []).append(piece)
        self._blocks = [_block(group) for group in alike.values()]

    def __call__(self, c: Mapping[str, float]) -> Any:
        """Seconds per row; a coefficient ``NAME@LABEL`` holds for pieces with that label."""
        import numpy as np

        out = np.zeros(self.size)
        for rows, loads, device, labels in self._blocks:
            out[rows] = step_time(loads, Rates(device, chosen(c, labels))).total
        return out


class Total:
    """Several steps per row, each so many times; call it like a :class:`Stack`."""

    def __init__(self, pieces: list[Piece], times: list[Any], size: int) -> None:
        """Lay out pieces; ``times[i]`` says how often the steps of ``pieces[i]`` run."""
        self._times = {id(p): t for p, t in zip(pieces, times, strict=True)}
        turns: list[tuple[list[Piece], set[int]]] = []
        for piece in pieces:
            rows = set(piece.rows.tolist())
            free = next((turn for turn in turns if not rows & turn[1]), None)
            if free is None:
                free = ([], set())
                turns.append(free)
            free[0].append(piece)
            free[1].update(rows)
        self._stacks = [(Stack(turn, size), self._often(turn, size)) for turn, _ in turns]

    def _often(self, turn: list[Piece], size: int) -> Any:
        import numpy as np

        out = np.zeros(size)
        for piece in turn:
            out[piece.rows] = self._times[id(piece)]
        return out

    def __call__(self, c: Mapping[str, float]) -> Any:
        """Seconds per row, all steps together."""
        return sum(often * stack(c) for stack, often in self._stacks)


def chosen(c: Mapping[str, float], labels: tuple[str, ...]) -> dict[str, float]:
    """The coefficients that hold for something with these labels, the first label first.

    ``NAME@LABEL`` replaces ``NAME``; ``NAME*LABEL`` multiplies it.
    """
    result = {n: v for n, v in c.items() if "@" not in n and "*" not in n}
    for label in reversed(labels):
        for mark in ("@", "*"):
            end = mark + label
            for n, v in c.items():
                if n.endswith(end):
                    bare = n[: -len(end)]
                    result[bare] = v if mark == "@" else result[bare] * v
    return result


def _block(group: list[Piece]) -> tuple[Any, Loads, Device, tuple[str, ...]]:
    import numpy as np

    def lay(get: Callable[[Piece], Any]) -> Any:
        return np.concatenate(
            [np.broadcast_to(np.asarray(get(p), float), p.rows.shape) for p in group]
        )

    def of_device(get: Callable[[Device], Any]) -> Any:
        return lay(lambda p: get(p.device))

    def of_kernel(i: int, name: str) -> Any:
        return lay(lambda p: getattr(p.loads.kernels[i], name))

    def of_exchange(i: int) -> ExchangeLoad:
        fields = ExchangeLoad._fields
        return ExchangeLoad(*(lay(lambda p, n=n: getattr(p.loads.exchanges[i], n)) for n in fields))  # type: ignore[misc]

    first = group[0]
    numbers = ("flops", "stored", "moved", "inputs", "queries")
    kernels = tuple(
        Load(k.kind, of_kernel(i, "count"), k.compute, *(of_kernel(i, n) for n in numbers))
        for i, k in enumerate(first.loads.kernels)
    )
    loads = Loads(
        kernels,
        tuple(of_exchange(i) for i in range(len(first.loads.exchanges))),
        lay(lambda p: p.loads.layers),
        lay(lambda p: p.loads.sequences),
    )
    computes = {k.compute for k in kernels}
    device = replace(
        first.device,
        bandwidth=of_device(lambda d: d.bandwidth),
        peaks={c: of_device(lambda d, c=c: d.peak(c)) for c in computes},  # type: ignore[misc]
        scale=1.0,  # fitted coefficients have their own limits
        native=frozenset(c for c in computes if c in first.device.native),
        vector=of_device(lambda d: d.vector),
    )
    return np.concatenate([p.rows for p in group]), loads, device, first.labels
