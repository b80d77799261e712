"""One device's share of a model split over several.

Tensor parallelism divides heads, widths of MLPs and the vocabulary by ``tp``; key-value
heads are replicated where there are fewer of them than devices. Experts are divided over
``experts`` devices, by width or by number: either way a device computes and reads the same
share of what the tokens touch, on average.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from ..errors import InputError, UnsupportedError
from ..model.attention import Attention
from ..model.ffn import Experts, Mlp
from ..model.latent import LatentAttention
from ..model.model import Model
from ..model.parts import Part


def shard(model: Model, tp: int = 1, experts: int | None = None) -> Model:
    """The part of ``model`` that one of ``tp`` devices computes.

    Args:
        tp: devices that share every layer.
        experts: devices over which the routed experts are divided; by default ``tp``.

    Raises:
        InputError: ``tp`` does not divide the heads.
        UnsupportedError: a part that this does not know how to split.
    """
    experts = tp if experts is None else experts
    if tp < 1 or experts < 1:
        raise InputError("a model is split over at least 1 device")
    if tp == 1 and experts == 1:
        return model
    return _shard(_Identity(model), tp, experts)


class _Identity:
    # Models compare by value; identity is enough here and costs nothing to hash.
    __slots__ = ("model",)

    def __init__(self, model: Model) -> None:
        self.model = model

    def __hash__(self) -> int:
        return id(self.model)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and other.model is self.model


@lru_cache(maxsize=64)
def _shard(key: _Identity, tp: int, experts: int) -> Model:
    model = key.model
    layers = tuple(
        replace(layer, parts=tuple(_part(p, tp, experts) for p in layer.parts))
        for layer in model.layers
    )
    head = replace(model.head, outputs=-(-model.head.outputs // tp))
    return replace(model, layers=layers, head=head, _work={})


def _part(part: Part, tp: int, experts: int) -> Part:
    if isinstance(part, (Attention, LatentAttention)) and part.heads % tp:
        raise InputError(
            f"{part.heads} attention heads do not split over {tp} devices: "
            f"{', '.join(str(n) for n in range(2, 65) if part.heads % n == 0)} would"
        )
    if isinstance(part, Attention):
        kv = max(1, part.kv_heads // tp)
        return replace(part, heads=part.heads // tp, kv_heads=kv)
    if isinstance(part, LatentAttention):
        return replace(part, heads=part.heads // tp)
    if isinstance(part, Mlp):
        return replace(part, width=-(-part.width // tp))
    if isinstance(part, Experts):
        shared = replace(part.shared, width=-(-part.shared.width // tp)) if part.shared else None
        return replace(part, width=-(-part.width // experts), shared=shared)
    raise UnsupportedError(f"splitting {type(part).__name__} over devices is not counted yet")


def sums(model: Model) -> int:
    """Sums over devices that tensor parallelism needs in one step: after each mixer and MLP."""
    return sum(len(layer.indices) * len(layer.parts) for layer in model.layers)
