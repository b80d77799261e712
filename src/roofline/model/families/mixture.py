"""How families keep their experts: which keys, which layers, which shared ones beside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...errors import InputError
from ...record import record
from ..config import Config
from ..ffn import Experts, Mlp
from ..parts import LayerPart
from .decoder import Builder, Family, Pattern, Switch, always, dense, switch

Shared = Callable[[Config, int], int]
"""Width of the shared experts together, 0 for none; given the width of a routed one."""


@record
class Mixture:
    """A family's experts.

    Attributes:
        experts, active, width: keys of E, of k and of one expert's middle.
        shared: width of the shared experts.
        shared_gate: whether a ``hidden → 1`` matrix gates them.
        router_bias: parameters of the router an expert, beside its matrix.
        router_extra: parameters of the router a unit of width.
        gated, bias: of an expert.
        router, prefix, names, shared_path: module paths.
        shared_names: of the shared experts' gate, up and down.
    """

    experts: tuple[str, ...] = ("num_experts",)
    active: tuple[str, ...] = ("num_experts_per_tok",)
    width: tuple[str, ...] = ("moe_intermediate_size",)
    shared: Shared | None = None
    shared_gate: bool = False
    router_bias: int = 0
    router_extra: int = 0
    gated: bool = True
    bias: Switch = False
    router: str = "mlp.gate"
    prefix: str = "mlp.experts"
    names: tuple[str, str, str] = ("gate_proj", "up_proj", "down_proj")
    shared_path: str = "mlp.shared_experts"
    shared_names: tuple[str, str, str] = ("gate_proj", "up_proj", "down_proj")


def counted(*names: str, default: int = 0) -> Shared:
    """So many shared experts as wide as a routed one."""
    return lambda c, width: width * c.experts(*names, default=default, least=0)


def wide(*names: str, default: Any = 0) -> Shared:
    """Shared experts of a width of their own."""
    return lambda c, width: c.integer(*names, default=default, least=0)


def active(c: Config, experts: int, *names: str) -> int:
    """Experts a token uses: at least 1, at most all."""
    result = c.experts(*names)
    if result > experts:
        raise c.refuse(f"{result} experts a token, of {experts}")
    return result


def sparse(c: Config, f: Family, label: str) -> tuple[LayerPart, ...]:
    """A mixture of experts by a family's traits."""
    return (experts(c, f),)


def experts(c: Config, f: Family) -> Experts:
    """The experts of a family's traits."""
    m: Mixture = f.mixture
    hidden = c.integer("hidden_size")
    count = c.experts(*m.experts)
    width = c.integer(*m.width)
    together = m.shared(c, width) if m.shared else 0
    shared = None
    if together:
        shared = Mlp(hidden, together, m.gated, switch(c, m.bias), m.shared_path,
                     m.shared_names, "experts.shared")  # fmt: skip
    groups, chosen = limited(c, count)
    return Experts(
        hidden, count, active(c, count, *m.active), width, m.gated, switch(c, m.bias),
        names=m.names, shared=shared, shared_gate=m.shared_gate and together > 0,
        router_bias=m.router_bias * count + m.router_extra * hidden, router=m.router,
        prefix=m.prefix, groups=groups, chosen_groups=chosen,
    )  # fmt: skip


def limited(c: Config, experts: int) -> tuple[int, int]:
    """Groups of experts and how many of them a token chooses from; (1, 1) where it is free."""
    groups = c.integer("n_group", default=1, least=0)
    chosen = c.integer("topk_group", default=1, least=0)
    free = c.get("topk_method") == "greedy"
    if free or groups <= 1 or not 0 < chosen < groups or experts % groups:
        return 1, 1
    return groups, chosen


def leading(*names: str, default: Any = 0) -> Pattern:
    """So many dense layers, then experts."""

    def pattern(c: Config, f: Family, depth: int) -> list[str]:
        first = c.integer(*names, default=default, least=0)
        return ["dense" if i < first else "sparse" for i in range(depth)]

    return pattern


def nth(c: Config, f: Family, depth: int) -> list[str]:
    """Qwen: every ``decoder_sparse_step``-th layer, but for those in ``mlp_only_layers``."""
    step = c.integer("decoder_sparse_step", default=1)
    plain = set(c.integers("mlp_only_layers") or [])
    return ["dense" if i in plain or (i + 1) % step else "sparse" for i in range(depth)]


def flagged(key: str, rule: Pattern) -> Pattern:
    """One flag a layer, 1 for experts (MiMo, MiniMax-M3); a single 1 means all."""

    def pattern(c: Config, f: Family, depth: int) -> list[str]:
        value = c.get(key)
        if not isinstance(value, list):
            if value not in (None, 1):
                raise c.refuse(f"{key} other than 1")
            return rule(c, f, depth)
        flags = c.integers(key, most=1) or []
        if len(flags) < depth:
            raise InputError(f"{c.where}: {key} has {len(flags)} entries for {depth} layers")
        return ["sparse" if flag else "dense" for flag in flags[:depth]]

    return pattern


def ernie_layers(c: Config, f: Family, depth: int) -> list[str]:
    """ERNIE 4.5: every n-th layer from a first to a last one."""
    first = c.integer("moe_layer_start_index", default=1, least=0)
    last = c.integer("moe_layer_end_index", default=-1, least=-1)
    last = depth - 1 if last == -1 else last
    step = c.integer("moe_layer_interval", default=1)
    return [
        "sparse" if first <= i <= last and (i + 1) % step == 0 else "dense" for i in range(depth)
    ]


FFNS: Mapping[str, Builder] = {"dense": dense, "sparse": sparse}
ALL_SPARSE = always("sparse")
