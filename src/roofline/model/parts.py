"""What models are made of: matrices and the operators that read them.

A part (attention, MLP, experts, …) says three things about itself: its matrices
(:class:`Linear`), how many parameters are not in a matrix (``vectors``: norms, biases,
sinks), and its operators once formats are chosen (:class:`LayerPricing`). One that can be split
over devices has ``split(tp)`` besides: the part that one of ``tp`` devices runs, whose
output is then to be summed over them; a part that gives itself back runs whole on each.
"""

from __future__ import annotations

from ..count.quantity import TOKENS
from ..count.work import Operator, Terms
from ..errors import InputError
from ..record import record
from .formats import Format

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Protocol
else:
    Protocol = object


@record
class Linear:
    """A matrix product, ``inputs → outputs``, shapes [tokens, inputs] · [inputs, outputs].

    Attributes:
        path: module path within its layer, ``self_attn.q_proj``, for exclusion lists.
        inputs, outputs: widths.
        bias: whether a vector of ``outputs`` is added.
        copies: how many alike there are (experts).
    """

    path: str
    inputs: int
    outputs: int
    bias: bool = False
    copies: int = 1

    @property
    def size(self) -> int:
        """Weights of one copy, bias apart."""
        return self.inputs * self.outputs

    @property
    def parameters(self) -> int:
        """Parameters of all copies, biases included."""
        return self.copies * (self.size + (self.outputs if self.bias else 0))

    def stored(self, pricing: Storage) -> float:
        """Bytes of one copy's weights, bias apart, in the format at its path."""
        return pricing.weight(self.path).stored(self.inputs, self.outputs)


class Storage(Protocol):
    """The formats in which matrices are kept."""

    def weight(self, path: str) -> Format:
        """The format of the matrix at ``path``."""


class LayerPricing(Storage, Protocol):
    """The formats in which one layer's numbers are kept and multiplied."""

    @property
    def kv(self) -> Format:
        """The format of the cache."""

    @property
    def activation(self) -> Format:
        """The format of activations, hence of attention's arithmetic."""

    @property
    def attention_compute(self) -> str:
        """The precision of attention's products."""

    def compute(self, path: str) -> str:
        """The precision of the products with the matrix at ``path``."""


class LayerPart(Protocol):
    """A piece of a layer."""

    def linears(self) -> tuple[Linear, ...]:
        """Its matrices."""

    @property
    def vectors(self) -> int:
        """Parameters outside matrices, biases of the matrices apart."""

    def operators(self, pricing: LayerPricing) -> Iterator[Operator]:
        """What runs, in order, ``count`` 1 each."""


@record
class Matrices:
    """Matrices that every token passes through, outside attention and feed-forward.

    Attributes:
        name: of the operator.
        matrices: its matrices, which read one input or follow each other.
        vectors: parameters beside them.
        products: FLOPs a token of products of activations with each other.
    """

    name: str
    matrices: tuple[Linear, ...]
    vectors: int = 0
    products: int = 0

    def linears(self) -> tuple[Linear, ...]:
        """The matrices."""
        return self.matrices

    def split(self, tp: int) -> Matrices:
        """Each device has all of it."""
        return self

    def operators(self, pricing: LayerPricing) -> Iterator[Operator]:
        """One operator, and one for products of activations."""
        yield from linear(self.name, self.matrices, pricing)
        if self.products:
            yield Operator(
                name=f"{self.name}.mix",
                kind="linear",
                count=1,
                compute=pricing.attention_compute,
                flops=((TOKENS, self.products),),
            )


@record
class Unused:
    """Parameters that a checkpoint holds and that a step of text does not touch.

    Attributes:
        matrices: cross-attention to an encoder, adapters, poolers.
        vectors: parameters beside them.
    """

    matrices: tuple[Linear, ...] = ()
    vectors: int = 0

    def linears(self) -> tuple[Linear, ...]:
        """The matrices."""
        return self.matrices

    @property
    def idle(self) -> int:
        """All of it."""
        return parameters(self)

    def split(self, tp: int) -> Unused:
        """Each device has all of it."""
        return self

    def operators(self, pricing: LayerPricing) -> Iterator[Operator]:
        """Nothing runs."""
        return iter(())


def parameters(part: LayerPart) -> int:
    """All parameters of a part."""
    return part.vectors + sum(m.parameters for m in part.linears())


def linear(
    name: str,
    matrices: Iterable[Linear],
    pricing: LayerPricing,
    *,
    kind: str = "linear",
    per: Terms = ((TOKENS, 1),),
) -> Iterator[Operator]:
    """Matrices that read the same input, as one operator per precision of arithmetic.

    FLOPs 2·in·out, weight bytes in·out·w, activations in + out, per new token (or ``per``).
    """
    by_compute: dict[str, list[Linear]] = {}
    for m in matrices:
        by_compute.setdefault(pricing.compute(m.path), []).append(m)
    for i, (compute, group) in enumerate(by_compute.items()):
        a = pricing.activation.size
        moved = group[0].inputs + sum(m.outputs for m in group)
        yield Operator(
            name=name if i == 0 else f"{name}[{compute}]",
            kind=kind,
            count=1,
            compute=compute,
            flops=times(per, 2 * sum(m.size for m in group)),
            weights=once(sum(m.stored(pricing) for m in group)),
            activations=times(per, moved * a),
        )


def divide(total: int, ways: int, what: str) -> int:
    """``total / ways``.

    Raises:
        InputError: it leaves a rest.
    """
    if total % ways:
        raise InputError(f"{total} {what} do not divide by {ways}")
    return total // ways


def times(terms: Terms, factor: float) -> Terms:
    """Terms scaled; integral floats become ints, so that sums stay exact."""
    return tuple((q, whole(c * factor)) for q, c in terms)


def once(value: float) -> Terms:
    """A cost that is paid once per step."""
    from ..count.quantity import ONE

    return ((ONE, whole(value)),)


def whole(value: float) -> float:
    """The value as an int where it is one."""
    return int(value) if value == int(value) else value
