"""A checkpoint's storage as a scheme: for each module path, the format that it is in."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...record import field, record
from ..formats import Format
from .names import InOrder, Names, canonical, spellings

ROUTERS = frozenset(("gate", "router", "shared_expert_gate", "shared_experts_gate", "gate_weight"))
"""Last words of matrices that choose experts: engines keep them in 16 bits whatever the
checkpoint's method (vLLM and SGLang build them without a quantisation config)."""

SMALL = frozenset(("weights_proj", "conv1d", "conv", "x_proj", "dt_proj", "eh_proj"))
"""Last words of other matrices that no method quantises: the indexer's head weights,
short convolutions, the time steps of state-space layers, and what joins the two inputs of
multi-token prediction (bf16 in DeepSeek-V3's own checkpoint)."""

TABLE = "model.embed_tokens"
"""The path at which the input embedding's format is asked for."""


Choose = Callable[[str], Format | None]
"""The format of a quantised module by its path, ``None`` for one that is not quantised. A record or
a partial function, not a closure: answers are pickled, on their way to another process."""


@record
class AllBut:
    """One format, or what a rule says, for all modules but those that a list excludes."""

    kept: Names
    stored: Format | Choose

    def __call__(self, path: str) -> Format | None:
        """The format of the module of that path."""
        if self.kept.matches(path):
            return None
        return self.stored if isinstance(self.stored, Format) else self.stored(path)


@record
class First:
    """The format of the first list that names the module, else the usual one."""

    rules: InOrder[Format | None]
    usual: Format | Choose | None

    def __call__(self, path: str) -> Format | None:
        """The format of the module of that path."""
        if found := self.rules.of(path):
            return found[0]
        usual = self.usual
        return usual(path) if callable(usual) else usual


@record
class ByModule:
    """A format for each module that is quantised, by its canonical path."""

    found: Mapping[str, Format]

    def __call__(self, path: str) -> Format | None:
        """The format of the module of that path."""
        return next((self.found[s] for s in spellings(path) if s in self.found), None)


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
    choose: Choose
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
