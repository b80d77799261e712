"""Feed-forward parts: an MLP, gated or not, and a mixture of experts.

A gated MLP (SwiGLU, GeGLU) has three matrices, an ungated one two. Of E experts a token
uses k; N tokens touch E·(1-(1-k/E)^N) distinct ones when they choose evenly, each of which
is read once: neither k, nor min(E, k·N), nor all E.
"""

from __future__ import annotations

from ..count.quantity import TOKENS, touched
from ..count.work import Operator
from ..record import record, replace
from .parts import LayerPricing, Linear, divide, linear, whole

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from collections.abc import Iterator


@record
class Mlp:
    """A dense feed-forward network.

    Attributes:
        hidden, width: of the residual stream and of the middle.
        gated: whether a gate matrix multiplies the middle.
        bias: whether the matrices add vectors.
        prefix: module path, for exclusion lists.
    """

    hidden: int
    width: int
    gated: bool = True
    bias: bool = False
    prefix: str = "mlp"
    names: tuple[str, str, str] = ("gate_proj", "up_proj", "down_proj")
    title: str = "mlp"

    def _in(self) -> tuple[Linear, ...]:
        gate, up, _ = self.names
        first = (gate, up) if self.gated else (up,)
        return tuple(Linear(self._path(n), self.hidden, self.width, self.bias) for n in first)

    def _out(self) -> Linear:
        return Linear(self._path(self.names[2]), self.width, self.hidden, self.bias)

    def _path(self, name: str) -> str:
        return f"{self.prefix}.{name}" if self.prefix else name

    def linears(self) -> tuple[Linear, ...]:
        """Gate, up and down."""
        return (*self._in(), self._out())

    @property
    def vectors(self) -> int:
        """None."""
        return 0

    def split(self, tp: int) -> Mlp:
        """The middle divided over ``tp`` devices.

        Raises:
            InputError: its width does not divide.
        """
        return replace(self, width=divide(self.width, tp, "columns of the MLP"))

    def operators(self, pricing: LayerPricing) -> Iterator[Operator]:
        """Into the middle, and back."""
        name = f"{self.title}.gate_up" if self.gated else f"{self.title}.up"
        yield from linear(name, self._in(), pricing)
        yield from linear(f"{self.title}.down", (self._out(),), pricing)


@record
class Experts:
    """A mixture of experts.

    Attributes:
        hidden: width of the residual stream.
        experts, active: E, and k of them a token.
        width: middle of one expert.
        gated, bias: as in :class:`Mlp`.
        shared: an MLP that every token passes through, or ``None``.
        shared_gate: whether the shared MLP's output is gated by a ``hidden → 1`` matrix.
        router_bias: parameters of the router beside its matrix (bias or correction).
        latent: width of the tokens as experts see them, projected there and back (Nemotron 3).
        routers: the router's matrices where they are more than ``hidden → experts``.
        groups, chosen_groups: groups of experts, and how many of them a token may choose from
            (group-limited routing); 1 and 1 for none.
        spread: devices that each hold their own share of the experts; all of them share E.
        redundant: copies of experts beside the E, held by these devices too.
    """

    hidden: int
    experts: int
    active: int
    width: int
    gated: bool = True
    bias: bool = False
    names: tuple[str, str, str] = ("gate_proj", "up_proj", "down_proj")
    shared: Mlp | None = None
    shared_gate: bool = False
    shared_gate_name: str = "mlp.shared_expert_gate"
    router_bias: int = 0
    router: str = "mlp.gate"
    prefix: str = "mlp.experts"
    latent: int | None = None
    latent_names: tuple[str, str] = ("mlp.fc1_latent_proj", "mlp.fc2_latent_proj")
    routers: tuple[Linear, ...] = ()
    groups: int = 1
    chosen_groups: int = 1
    spread: int = 1
    redundant: int = 0

    def expert(self) -> tuple[Linear, ...]:
        """The matrices of the experts, all copies that are held here."""
        inner = self.latent or self.hidden
        n, b = (self.experts + self.redundant) // self.spread, self.bias
        gate, up, down = self.names
        first = (gate, up) if self.gated else (up,)
        return (
            *(Linear(f"{self.prefix}.*.{f}", inner, self.width, b, n) for f in first),
            Linear(f"{self.prefix}.*.{down}", self.width, inner, b, n),
        )

    def _router(self) -> tuple[Linear, ...]:
        return self.routers or (Linear(self.router, self.hidden, self.experts),)

    def _latent(self) -> tuple[Linear, ...]:
        if self.latent is None:
            return ()
        there, back = self.latent_names
        return (
            Linear(there, self.hidden, self.latent, self.bias),
            Linear(back, self.latent, self.hidden, self.bias),
        )

    def _shared_gate(self) -> tuple[Linear, ...]:
        return (Linear(self.shared_gate_name, self.hidden, 1),) if self.shared_gate else ()

    def linears(self) -> tuple[Linear, ...]:
        """Router, experts, shared experts."""
        shared = self.shared.linears() if self.shared else ()
        own = (*self._router(), *self._latent(), *self.expert())
        return (*own, *shared, *self._shared_gate())

    @property
    def vectors(self) -> int:
        """The router's bias."""
        return self.router_bias

    @property
    def token_width(self) -> int:
        """Width of a token as the routed experts see it."""
        return self.latent or self.hidden

    @property
    def idle(self) -> int:
        """Parameters of the experts that one token does not use."""
        return (self.experts - self.active) * sum(m.parameters // m.copies for m in self.expert())

    def split(
        self, tp: int, ep: int = 1, devices: int | None = None, redundant: int = 0
    ) -> Experts:
        """What one device holds and runs.

        Args:
            tp: devices that the shared experts are divided over; the router is on each.
            ep: shares that the routed experts are divided into.
            devices: devices that these shares are on, by default ``tp``; where they are more
                than ``ep``, each expert's middle is divided, too.
            redundant: copies of experts beside them, each in a place of its own.

        Raises:
            InputError: experts or widths do not divide.
        """
        divide(self.experts + redundant, ep, "experts" if not redundant else "experts and copies")
        return replace(
            self,
            spread=ep,
            redundant=redundant,
            width=divide(self.width, (devices or tp) // ep, "columns of an expert"),
            shared=self.shared.split(tp) if self.shared else None,
        )

    def operators(self, pricing: LayerPricing) -> Iterator[Operator]:
        """Router, routed experts, shared experts."""
        yield from linear("router", self._router(), pricing)
        latent = self._latent()
        yield from linear("experts.down", latent[:1], pricing)
        yield self.routed(pricing)
        yield from linear("experts.up", latent[1:], pricing)
        if self.shared:
            yield from self.shared.operators(pricing)
        if gate := self._shared_gate():
            yield from linear("experts.shared_gate", gate, pricing)

    def _places(self) -> tuple[tuple[int, float], ...]:
        # Places that hold experts, as if every expert had as many copies, and the share of the
        # experts that have: of E with r copies beside them, E-r have one place and r have two.
        more, rest = divmod(self.redundant, self.experts)
        first, second = (1 + more) * self.experts, (2 + more) * self.experts
        if not rest:
            return ((first, 1.0),)
        return ((first, 1 - rest / self.experts), (second, rest / self.experts))

    def routed(self, pricing: LayerPricing) -> Operator:
        """The routed experts: k of E a token computed, the touched ones read."""
        matrices = self.expert()
        size = sum(m.size for m in matrices)
        stored = sum(m.stored(pricing) for m in matrices)
        active = self.active / self.spread
        moved = active * (2 * (self.latent or self.hidden) + 3 * self.width)
        return Operator(
            name="experts",
            kind="experts",
            count=1,
            compute=pricing.compute(matrices[-1].path),
            flops=((TOKENS, whole(2 * active * size)),),
            weights=tuple(
                (touched(places, self.active), whole(share * stored / self.spread))
                for places, share in self._places()
            ),
            activations=((TOKENS, whole(moved * pricing.activation.size)),),
        )
