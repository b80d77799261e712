"""Which tensors of a GGUF file hold which matrices of a model.

llama.cpp has one vocabulary of names for all architectures (``blk.3.ffn_up``), the models
here have the names of their own checkpoints. A matrix is found by its last word; what no name
finds is found by its shape, where one tensor alone has it. Numbers must then agree: every
weight of a layer in a tensor, and every tensor's in a matrix.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache

from ...errors import InputError, UnsupportedError
from ...files.gguf import TYPES, GgufTensor
from ...record import record
from .. import formats
from ..formats import Format, Share
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
    "scorer.weights_proj": (("indexer.proj",),),
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
    "in_proj_b": (("ssm_beta",), ("ssm_ba",)),
    "in_proj_a": (("ssm_alpha",), ("ssm_ba",)),
    "g_proj": (("attn_gate",),),
    "f_a_proj": (("ssm_f_a",),),
    "f_b_proj": (("ssm_f_b",),),
    "g_a_proj": (("ssm_g_a",),),
    "g_b_proj": (("ssm_g_b",),),
    "b_proj": (("ssm_beta",),),
    "index_q_proj": (("indexer.q_proj",),),
    "index_k_proj": (("indexer.k_proj",),),
    "indexer.kv_proj": (("indexer_compressor_kv",),),
    "indexer.gate_proj": (("indexer_compressor_gate",),),
    "indexer.q_b_proj": (("indexer.attn_q_b",),),
    "compressor.kv_proj": (("attn_compressor_kv",),),
    "compressor.gate_proj": (("attn_compressor_gate",),),
    "self_attn.kv_proj": (("attn_kv",),),
    "self_attn.gate_proj": (("attn_gate",),),
    "o_a_proj": (("attn_output_a",),),
    "o_b_proj": (("attn_output_b",),),
    "moe.gate": (("ffn_gate_inp",),),
    "laurel.linear_left": (("laurel_l",),),
    "laurel.linear_right": (("laurel_r",),),
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


@record
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

    def weight(self, path: str) -> Format:
        """The format of the matrix at a full module path."""
        return self.found.get(path, self.usual)

    def compute(self, path: str) -> str:
        """The precision of the products with it: fp32 weights are few (routers) and small, and
        are counted at the activations' ceiling."""
        found = self.weight(path).compute
        return self.compute_ if found in ("fp32", "fp64") else found


def match(
    model: Model, tensors: Iterable[GgufTensor], where: str
) -> tuple[Held, tuple[GgufTensor, ...]]:
    """The storage of a model in a file, and the tensors that are none of its matrices.

    Raises:
        UnsupportedError: a matrix that no tensor holds, or weights that no matrix accounts for.
    """
    blocks: dict[int, dict[str, GgufTensor]] = {}
    outside: dict[str, GgufTensor] = {}
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
    for name, group in _outer(model.outer, outside.values(), used, where).items():
        found[name] = _format(group)
        used.update(t.name for t in group)
    by_type: dict[str, int] = {}
    for t in tensors:
        by_type[t.type] = by_type.get(t.type, 0) + t.size
    types = [k for k, v in sorted(by_type.items(), key=lambda e: -e[1])]
    largest = types[0] if types else "f16"
    rest = tuple(t for t in tensors if t.name not in used)
    return Held(" + ".join(types[:3]), found, of_type(largest)), rest


def _layer(
    linears: list[Linear], tensors: Mapping[str, GgufTensor], where: str
) -> dict[str, tuple[GgufTensor, ...]]:
    found: dict[str, tuple[GgufTensor, ...]] = {}
    left: list[Linear] = []
    for m in linears:
        group = _named(m, tensors)
        if group is None:
            left.append(m)
        else:
            found[m.path] = group
    used = {t.name for group in found.values() for t in group}
    for shape, alike in _by_shape(left):
        same = [t for t in tensors.values() if t.shape == shape and t.name not in used]
        if len(same) != len(alike):
            one = alike[0]
            raise UnsupportedError(
                f"{where}: no tensor holds {one.path} ({one.inputs} → {one.outputs}"
                f"{f', {one.copies} of them' if one.copies > 1 else ''})"
            )
        for one, tensor in zip(alike, same, strict=True):
            found[one.path] = (*found.get(one.path, ()), tensor)
            used.add(tensor.name)
    weights = sum(m.copies * m.size for m in linears)
    held = sum(t.elements for t in tensors.values() if t.name in used)
    if weights != held:
        raise UnsupportedError(
            f"{where}: its tensors hold {held} weights, and its metadata make {weights}"
        )
    return found


def _named(m: Linear, tensors: Mapping[str, GgufTensor]) -> tuple[GgufTensor, ...] | None:
    # The tensors that a matrix's last words name; the longer words first.
    path = "." + canonical(m.path)
    for words in sorted((w for w in _STEMS if path.endswith("." + w)), key=len, reverse=True):
        for stems in _STEMS[words]:
            if all(s in tensors for s in stems):
                group = tuple(tensors[s] for s in stems)
                if sum(t.elements for t in group) >= m.copies * m.size:
                    return group
    return None


def _by_shape(linears: list[Linear]) -> list[tuple[tuple[int, ...], list[Linear]]]:
    # Matrices that no name found, those of one shape together.
    groups: dict[tuple[int, ...], list[Linear]] = {}
    for m in linears:
        shape: tuple[int, ...] = (m.inputs, m.outputs)
        groups.setdefault((*shape, m.copies) if m.copies > 1 else shape, []).append(m)
    return list(groups.items())


def _outer(
    linears: Iterable[Linear], tensors: Iterable[GgufTensor], used: set[str], where: str
) -> dict[str, tuple[GgufTensor, ...]]:
    # Matrices outside the layers: alone, or several of one shape in one tensor.
    found: dict[str, tuple[GgufTensor, ...]] = {}
    free = [t for t in tensors if t.name not in used]
    for shape, alike in _by_shape(list(linears)):
        same = [t for t in free if t.shape == shape]
        deep = [t for t in free if t.shape[:2] == shape and len(t.shape) == 3]
        if len(same) != len(alike) and sum(t.shape[2] for t in deep) == len(alike):
            same = [t for t in deep for _ in range(t.shape[2])]
        if len(same) != len(alike):
            raise UnsupportedError(f"{where}: no tensor holds {alike[0].path}")
        found.update((m.path, (t,)) for m, t in zip(alike, same, strict=True))
    return found


def _format(group: tuple[GgufTensor, ...]) -> Format:
    types = {t.type for t in group}
    if len(types) == 1:
        return of_type(group[0].type)
    size, weights = sum(t.size for t in group), sum(t.elements for t in group)
    name = "+".join(sorted(types))
    return Format(
        name, size / weights, "bf16", "", Share(8 * size / weights, size=size, weights=weights)
    )


_BESIDE = re.compile(
    r"(?:blk\.\d+\.)?(?:ssm_(?:conv1d(?:_[qkv])?|a|d|norm|dt)|shortconv\.conv|attn_rot_embd"
    r"|(?:attn|indexer)_compressor_ape|ffn_gate_tid2eid|ffn_gate_inp\.scale|position_embd"
    r"|per_layer_token_embd|token_types|rope_f\w+|altup_correct_coef|[\w.]*_norm\w*|\w+\.bias)"
    r"(?:\.weight|\.bias)?\Z"
)
_CONSTANTS = re.compile(r"(?:blk\.\d+\.)?rope_f\w+(?:\.weight)?\Z")


def beside(tensor: GgufTensor) -> bool:
    """Whether a tensor is no matrix: norms, biases, convolutions, decays, lookup tables."""
    return sum(n > 1 for n in tensor.shape) <= 1 or _BESIDE.match(tensor.name) is not None


def constant(tensor: GgufTensor) -> bool:
    """Whether its numbers are no parameters: frequencies of rotary positions."""
    return _CONSTANTS.match(tensor.name) is not None


def check_table(model: Model, tensors: Iterable[GgufTensor], where: str) -> None:
    """That the embedding has the model's rows.

    Raises:
        InputError: it has not.
    """
    for t in tensors:
        if t.name == "token_embd.weight" and t.shape[:1] != (model.hidden,):
            raise InputError(f"{where}: token_embd has rows of {t.shape[0]}, not {model.hidden}")
