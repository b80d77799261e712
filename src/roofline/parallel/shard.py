"""What one device holds of a model: a smaller model, priced like any other.

Tensor parallelism (Megatron-LM, arXiv 1909.08053) divides the first matrices of a part by
columns and its last by rows, so a device's share of attention is attention with fewer heads,
of an MLP one with a narrower middle; norms, routers and matrices without heads are on every
device. The embedding table and the head are divided by rows of the vocabulary, the last
device's share padded. Pipeline stages take layers in order, as evenly as they go; what is
left over goes to the stages before the last one, which has the head.
"""

from __future__ import annotations

from ..errors import InputError, UnsupportedError
from ..limits import DEVICES
from ..machine.links import divisors
from ..model.ffn import Experts
from ..model.model import Layer, Model
from ..model.parts import LayerPart
from ..record import replace
from .layout import Parallel

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from typing import Any

LARGEST_TRIED = 1024
"""Divisors up to this are looked for when a split is impossible."""


def stages(model: Model, layout: Parallel) -> tuple[tuple[range, Model], ...]:
    """Each pipeline stage's layers, and its share of the model as one of its devices holds it.

    Raises:
        InputError: it cannot be divided so; the message says what would work.
        UnsupportedError: a part of which it is not known how to divide it.
    """
    if layout.ep > 1 and not _experts(model):
        raise InputError(f"{model.name} has no experts: leave --ep out")
    if layout.pp > model.depth:
        raise InputError(
            f"{model.name} has {model.depth} layers: --pp {layout.pp} leaves stages empty, "
            f"--pp may be 1 to {model.depth}"
        )
    if layout.pp > 1 and any(layer.runs > 1 for layer in model.layers):
        raise UnsupportedError(
            f"{model.name}: how blocks that several layers share divide into stages is not "
            "counted; --tp and --dp leave them whole"
        )
    layers = _divided(model, layout)
    first = 0
    result = []
    for i, size in enumerate(stage_sizes(model.depth, layout.pp)):
        here = range(first, first + size)
        first += size
        result.append((here, _stage(model, layers, layout, i, here)))
    return tuple(result)


def stage_sizes(depth: int, pp: int) -> list[int]:
    """Layers of each stage, first to last.

    >>> stage_sizes(61, 4)
    [15, 15, 16, 15]
    """
    size, rest = divmod(depth, pp)
    result = [size] * pp
    for i in range(rest):
        result[-2 - i] += 1
    return result


def _stage(model: Model, layers: tuple[Layer, ...], layout: Parallel, i: int, here: range) -> Model:
    begins, ends = i == 0, i == layout.pp - 1
    kept = tuple(
        replace(layer, indices=indices)
        for layer in layers
        if (indices := tuple(n for n in layer.indices if n in here))
    )
    rows = -(-model.vocab // layout.tp)
    alone = layout.pp == 1
    return model.altered(
        layers=kept,
        head=replace(model.head, outputs=rows if ends else 0) if model.head else None,
        pooled=model.pooled if ends else (),
        tied=model.tied and alone,
        tables=_tables(model, rows) if begins else 0,
        outer=model.outer if begins else (),
        vectors=model.vectors if ends else 0,
        file=None,
    )


def _tables(model: Model, rows: int) -> int:
    # Tables with a row per word are divided by rows; what is left (positions) is on each.
    words, rest = divmod(model.tables, model.vocab)
    if rest == 0:
        return rows * words
    width = model.head.inputs if model.head else model.looked_up or model.hidden
    return rows * width + model.tables - model.vocab * width


def _experts(model: Model) -> bool:
    return any(isinstance(part, Experts) for layer in model.layers for part in layer.parts)


def _divided(model: Model, layout: Parallel) -> tuple[Layer, ...]:
    if layout.width == 1:
        return model.layers
    try:
        return tuple(
            replace(layer, parts=tuple(divided(part, layout) for part in layer.parts))
            for layer in model.layers
        )
    except UnsupportedError as error:
        raise UnsupportedError(f"{model.name}: {error}") from None
    except InputError as error:
        would = _would(model, layout)
        raise InputError(f"{model.name}: {error} ({_asked(layout)}): {would}") from None


def divided(part: LayerPart, layout: Parallel) -> LayerPart:
    """What one device runs of a part."""
    return _cut(part, layout.tp, layout.ep, layout.width, layout.redundant)


def _cut(part: LayerPart, tp: int, ep: int, width: int, redundant: int) -> LayerPart:
    if isinstance(part, Experts):
        return part.split(tp, ep, width, redundant)
    if tp == 1:
        return part
    split: Any = getattr(part, "split", None)
    if split is None:
        raise UnsupportedError(
            f"how {type(part).__name__} divides over devices is not counted yet; --dp and --pp "
            "leave it whole"
        )
    result: LayerPart = split(tp)
    return result


def _asked(layout: Parallel) -> str:
    asked = {n: getattr(layout, n) for n in ("tp", "dp", "ep")}
    return " ".join(f"--{n} {value}" for n, value in asked.items() if value != 1)


def _would(model: Model, layout: Parallel) -> str:
    parts = {part for layer in model.layers for part in layer.parts}

    def works(tp: int, ep: int) -> bool:
        width = tp * layout.dp
        if width % ep or width * layout.pp > DEVICES:
            return False
        try:
            for part in parts:
                _cut(part, tp, ep, width, layout.redundant)
        except InputError:
            return False
        return True

    copies = _copies(model, layout)
    more = f"; or --redundant-experts {copies}, copies that make them divide" if copies else ""
    shares = [n for n in divisors(layout.width) if works(layout.tp, n)]
    if shares:  # as many devices, the experts divided otherwise
        return f"--ep may be {_listed(shares)}{more}"
    most = max(LARGEST_TRIED, 2 * layout.width)
    groups = [n for n in range(1, most + 1) if works(n, _common(layout, n))]
    if groups:
        return f"--tp may be {_listed(groups)}{more}"
    return more.removeprefix("; or ") or "it cannot be divided over them"


def _copies(model: Model, layout: Parallel) -> int:
    # Copies with which every layer's experts divide, about as many as were asked for, where a few
    # do and that is all that is wrong.
    counts = {p.experts for layer in model.layers for p in layer.parts if isinstance(p, Experts)}
    wanted = {-n % layout.ep for n in counts}
    copies = wanted.pop() if len(wanted) == 1 else 0
    if layout.redundant:
        copies += max(0, round((layout.redundant - copies) / layout.ep)) * layout.ep
        copies = copies or layout.ep
    if layout.ep == 1 or not 0 < copies < max(min(counts), layout.redundant):
        return 0
    try:
        for part in {part for layer in model.layers for part in layer.parts}:
            _cut(part, layout.tp, layout.ep, layout.width, copies)
    except (InputError, UnsupportedError):
        return 0
    return copies


def _common(layout: Parallel, tp: int) -> int:
    # The ep asked for where it still divides the devices, else spread over all of them.
    width = tp * layout.dp
    return layout.ep if width % layout.ep == 0 else width


def _listed(numbers: list[int]) -> str:
    shown = [str(n) for n in numbers[:12]]
    if len(numbers) > len(shown):
        shown.append("…")
    return " or ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]
