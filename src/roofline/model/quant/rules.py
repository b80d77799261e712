"""A checkpoint's storage as a scheme: for each module path, the format that it is in."""

from __future__ import annotations

from collections.abc import Callable

from ...record import field, record
from ..formats import Format
from .names import canonical

ROUTERS = frozenset(("gate", "router", "shared_expert_gate", "shared_experts_gate", "gate_weight"))
"""Last words of matrices that choose experts: engines keep them in 16 bits whatever the
checkpoint's method (vLLM and SGLang build them without a quantisation config)."""

SMALL = frozenset(("weights_proj", "conv1d", "conv", "x_proj", "dt_proj", "eh_proj"))
"""Last words of other matrices that no method quantises: the indexer's head weights,
short convolutions, the time steps of state-space layers, and what joins the two inputs of
multi-token prediction (bf16 in DeepSeek-V3's own checkpoint)."""

TABLE = "model.embed_tokens"
"""The path at which the input embedding's format is asked for."""


@record
class Rules:
    """The storage of a quantised checkpoint.

    Attributes:
        name: for people: ``fp8 (128×128 blocks)``.
        plain: the format of what is not quantised.
        choose: the format of a module that is, ``None`` for the others.
        table: whether the embedding table is quantised too.
        head: whether the output head is, unless the lists exclude it.
        routers: whether routers are.
    """

    name: str
    plain: Format
    choose: Callable[[str], Format | None]
    table: bool = False
    head: bool = False
    routers: bool = False
    _memo: dict[str, Format] = field(default_factory=dict, compare=False)

    def weight(self, path: str) -> Format:
        """The format of the matrix at a full module path."""
        found = self._memo.get(path)
        if found is None:
            found = self._memo[path] = self._find(path)
        return found

    def compute(self, path: str) -> str:
        """The precision of the products with it."""
        return self.weight(path).compute

    def _find(self, path: str) -> Format:
        leaf = path.rpartition(".")[2]
        if path == TABLE and not self.table:
            return self.plain
        if canonical(path) == "lm_head" and not self.head:
            return self.plain
        if leaf in SMALL or (leaf in ROUTERS and not self.routers):
            return self.plain
        return self.choose(path) or self.plain


@record
class Beyond:
    """The storage of multi-token-prediction layers, under either of their names.

    Some checkpoints number them after the model's own (``model.layers.61``), others call them
    ``mtp.layers.0``; what a list excludes under one name is excluded.

    Attributes:
        rules: of the checkpoint.
        depth: layers of the model proper.
    """

    rules: Rules
    depth: int

    @property
    def name(self) -> str:
        """The checkpoint's."""
        return self.rules.name

    def weight(self, path: str) -> Format:
        """The format of the matrix at a full module path."""
        parts = canonical(path).split(".", 3)
        if len(parts) == 4 and parts[1] == "layers" and parts[2].isdigit():
            own = f"mtp.layers.{int(parts[2]) - self.depth}.{parts[3]}"
            if self.rules.weight(own) == self.rules.plain:
                return self.rules.plain
        return self.rules.weight(path)

    def compute(self, path: str) -> str:
        """The precision of the products with it."""
        return self.weight(path).compute


@record
class Quantised:
    """What a quantisation config says.

    Attributes:
        method: its ``quant_method``.
        scheme: the storage of the matrices.
        kv: the format of the cache that it asks for, or ``None``.
        notes: assumptions, one sentence each.
        experts: for each module pattern that names single experts, how many it names.
    """

    method: str
    scheme: Rules
    kv: Format | None = None
    notes: tuple[str, ...] = ()
    experts: tuple[tuple[str, int], ...] = ()
