"""Which tensors of a GGUF file hold which matrices of a model.

llama.cpp has one vocabulary of names for all architectures (``blk.3.ffn_up``), the models
here have the names of their own checkpoints. A matrix is found by its last word; what no name
finds is found by its shape, where one tensor alone has it. Numbers must then agree: every
weight of a layer in a tensor, and every tensor's in a matrix.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

from ...errors import InputError, UnsupportedError
from ...files.gguf import TYPES, Tensor
from .. import formats
from ..formats import Format, Layout
from ..model import Model
from ..parts import Linear
from ..quant.names import canonical
from ..quant.rules import TABLE

_BLOCK = re.compile(r"blk\.(\d{1,6})\.(.+)\Z")

# Which tensors hold a matrix, by its last words: alternatives, each of one or more tensors.
_STEMS: dict[str, tuple[tuple[str, ...], ...]] = {
    "q_proj": (("attn_q",), ("attn_qkv",)),
    "k_proj": (("attn_k",), ("attn_qkv",)),
    "v_proj": (("attn_v",), ("attn_qkv",)),
    "qkv_proj": (("attn_qkv",), ("attn_q", "attn_k", "attn_v")),
    "o_proj": (("attn_output",),),
    "q_a_proj": (("attn_q_a",),),
    "q_b_proj": (("attn_q_b",),),
    "kv_a_proj_with_mqa": (("attn_kv_a_mqa",),),
    "kv_b_proj": (("attn_kv_b",), ("attn_k_b", "attn_v_b")),
    "indexer.wq_b": (("indexer.attn_q_b",),),
    "indexer.wk": (("indexer.attn_k",),),
    "indexer.weights_proj": (("indexer.proj",),),
    "mlp.gate_proj": (("ffn_gate",), ("ffn_up",)),
    "mlp.up_proj": (("ffn_up",),),
    "mlp.gate_up_proj": (("ffn_up",), ("ffn_gate", "ffn_up")),
    "mlp.down_proj": (("ffn_down",),),
    "experts.*.gate_proj": (("ffn_gate_exps",), ("ffn_gate_up_exps",)),
    "experts.*.up_proj": (("ffn_up_exps",), ("ffn_gate_up_exps",)),
    "experts.*.down_proj": (("ffn_down_exps",),),
    "shared_expert.gate_proj": (("ffn_gate_shexp",),),
    "shared_expert.up_proj": (("ffn_up_shexp",),),
    "shared_expert.down_proj": (("ffn_down_shexp",),),
    "shared_expert_gate": (("ffn_gate_inp_shexp",),),
    "mlp.gate": (("ffn_gate_inp",),),
    "router": (("ffn_gate_inp",),),
    "fc1_latent_proj": (("ffn_latent_down",),),
    "fc2_latent_proj": (("ffn_latent_up",),),
    "in_proj": (("ssm_in",), ("shortconv.in_proj",)),
    "out_proj": (("ssm_out",), ("shortconv.out_proj",), ("attn_output",)),
    "x_proj": (("ssm_x",),),
    "dt_proj": (("ssm_dt",),),
    "in_proj_qkvz": (("attn_qkv", "attn_gate"), ("ssm_in",)),
    "in_proj_qkv": (("attn_qkv",),),
    "in_proj_z": (("attn_gate",),),
    "in_proj_ba": (("ssm_ba",), ("ssm_beta", "ssm_alpha")),
    "in_proj_b": (("ssm_beta",),),
    "in_proj_a": (("ssm_alpha",),),
    "g_proj": (("attn_gate",),),
}  # fmt: skip
_OUTSIDE = {"lm_head": ("output", "token_embd"), TABLE: ("token_embd",)}


@cache
def of_type(name: str) -> Format:
    """The format of a tensor's type."""
    if name in ("f32", "f16", "bf16", "f64"):
        return formats.parse(name)
    blocks = {title: (weights, size) for title, weights, size in TYPES.values()}
    weights, size = blocks[name]
    return Format(name, size / weights, "bf16")


@dataclass(frozen=True, slots=True)
class Blend(Layout):
    """A matrix in tensors of several types: their bytes, over their weights."""

    size: int = 0
    weights: int = 1

    def stored(self, inputs: int, outputs: int) -> int:
        """Its share of these bytes."""
        return self.size * inputs * outputs // self.weights


@dataclass(frozen=True, slots=True)
class Held:
    """The storage that a file's tensors are.

    Attributes:
        name: its types, the one with the most bytes first.
        found: the format at each full path.
        usual: where none is.
    """

    name: str
    found: Mapping[str, Format]
    usual: Format
    compute_: str = "bf16"
    _none: dict[str, str] = field(default_factory=dict, compare=False, repr=False)

    def weight(self, path: str) -> Format:
        """The format of the matrix at a full module path."""
        return self.found.get(path, self.usual)

    def compute(self, path: str) -> str:
        """The precision of the products with it: fp32 weights are few (routers) and small, and
        are counted at the activations' ceiling."""
        found = self.weight(path).compute
        return self.compute_ if found in ("fp32", "fp64") else found


def match(model: Model, tensors: Iterable[Tensor], where: str) -> tuple[Held, tuple[Tensor, ...]]:
    """The storage of a model in a file, and the tensors that are none of its matrices.

    Raises:
        UnsupportedError: a matrix that no tensor holds, or weights that no matrix accounts for.
    """
    blocks: dict[int, dict[str, Tensor]] = {}
    outside: dict[str, Tensor] = {}
    for t in tensors:
        if block := _BLOCK.match(t.name):
            blocks.setdefault(int(block[1]), {})[block[2].removesuffix(".weight")] = t
        else:
            outside[t.name.removesuffix(".weight")] = t
    found: dict[str, Format] = {}
    used: set[str] = set()
    for layer in model.layers:
        linears = [m for part in layer.parts for m in part.linears()]
        for i in layer.indices:
            one = _layer(linears, blocks.get(i, {}), f"{where}: layer {i}")
            for path, group in one.items():
                found[f"{layer.prefix}.{i}.{path}"] = _format(group)
                used.update(t.name for t in group)
    for path, names in _OUTSIDE.items():
        held = next((outside[n] for n in names if n in outside), None)
        if held is None:
            raise UnsupportedError(f"{where}: no tensor {' or '.join(names)}")
        found[path] = of_type(held.type)
        used.add(held.name)
    for m in model.outer:
        alone = _alone(m, outside.values(), used)
        if alone is None:
            raise UnsupportedError(f"{where}: no tensor holds {m.path}")
        found[m.path] = of_type(alone.type)
        used.add(alone.name)
    by_type: dict[str, int] = {}
    for t in tensors:
        by_type[t.type] = by_type.get(t.type, 0) + t.size
    types = [k for k, v in sorted(by_type.items(), key=lambda e: -e[1])]
    largest = types[0] if types else "f16"
    rest = tuple(t for t in tensors if t.name not in used)
    return Held(" + ".join(types[:3]), found, of_type(largest)), rest


def _layer(
    linears: list[Linear], tensors: Mapping[str, Tensor], where: str
) -> dict[str, tuple[Tensor, ...]]:
    found: dict[str, tuple[Tensor, ...]] = {}
    left: list[Linear] = []
    for m in linears:
        group = _named(m, tensors)
        if group is None:
            left.append(m)
        else:
            found[m.path] = group
    used = {t.name for group in found.values() for t in group}
    for m in left:
        one = _alone(m, tensors.values(), used)
        if one is None:
            raise UnsupportedError(
                f"{where}: no tensor holds {m.path} ({m.inputs} → {m.outputs}"
                f"{f', {m.copies} of them' if m.copies > 1 else ''})"
            )
        found[m.path] = (one,)
        used.add(one.name)
    weights = sum(m.copies * m.size for m in linears)
    held = sum(t.elements for t in tensors.values() if t.name in used)
    if weights != held:
        raise UnsupportedError(
            f"{where}: its tensors hold {held} weights, and its metadata make {weights}"
        )
    return found


def _named(m: Linear, tensors: Mapping[str, Tensor]) -> tuple[Tensor, ...] | None:
    # The tensors that a matrix's last words name; the longer words first.
    path = "." + canonical(m.path)
    for words in sorted((w for w in _STEMS if path.endswith("." + w)), key=len, reverse=True):
        for stems in _STEMS[words]:
            if all(s in tensors for s in stems):
                group = tuple(tensors[s] for s in stems)
                if sum(t.elements for t in group) >= m.copies * m.size:
                    return group
    return None


def _alone(m: Linear, tensors: Iterable[Tensor], used: set[str]) -> Tensor | None:
    # The one tensor of a matrix's shape that is not taken.
    shape: tuple[int, ...] = (m.inputs, m.outputs)
    if m.copies > 1:
        shape = (*shape, m.copies)
    same = [t for t in tensors if t.shape == shape and t.name not in used]
    return same[0] if len(same) == 1 else None


def _format(group: tuple[Tensor, ...]) -> Format:
    types = {t.type for t in group}
    if len(types) == 1:
        return of_type(group[0].type)
    size, weights = sum(t.size for t in group), sum(t.elements for t in group)
    name = "+".join(sorted(types))
    return Format(
        name, size / weights, "bf16", "", Blend(8 * size / weights, size=size, weights=weights)
    )


def vectors(tensors: Iterable[Tensor]) -> Iterator[Tensor]:
    """Norms, biases, sinks: what has one dimension of more than one."""
    return (t for t in tensors if sum(n > 1 for n in t.shape) <= 1)


def check_table(model: Model, tensors: Iterable[Tensor], where: str) -> None:
    """That the embedding has the model's rows.

    Raises:
        InputError: it has not.
    """
    for t in tensors:
        if t.name == "token_embd.weight" and t.shape[:1] != (model.hidden,):
            raise InputError(f"{where}: token_embd has rows of {t.shape[0]}, not {model.hidden}")
