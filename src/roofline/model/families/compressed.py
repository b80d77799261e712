"""DeepSeek-V4: compressed caches, hyper-connections, and experts chosen by hash or by score."""

from __future__ import annotations

from ...errors import InputError
from ..compressed import CompressedAttention
from ..config import Config
from ..hyper import head as hyper_head
from ..hyper import streams
from ..indexer import Indexer
from ..model import Model
from ..parts import LayerPart, Linear
from .decoder import Family, predicted, read
from .mixture import Mixture, counted, sparse

SLIDING, SPARSE, HEAVY = (
    "sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention",
)  # fmt: skip
_BY_RATIO = {0: SLIDING, 4: SPARSE, 128: HEAVY}


def _rate(c: Config, label: str) -> int:
    rates = c.get("compress_rates")
    if rates is None:
        return next(ratio for ratio, name in _BY_RATIO.items() if name == label)
    return c.sub("compress_rates").integer(label, most=1 << 16)


def _attention(c: Config, f: Family, label: str) -> tuple[LayerPart, ...]:
    hidden, heads = c.integer("hidden_size"), c.integer("num_attention_heads")
    width, rank = c.integer("head_dim"), c.integer("q_lora_rank")
    if c.integer("num_key_value_heads", default=1) != 1:
        raise c.refuse("more than one key-value head is not counted")
    groups = c.integer("o_groups")
    if heads % groups:
        raise c.refuse(f"{heads} heads are not {groups} equal groups")
    stride = 0 if label == SLIDING else _rate(c, label)
    core = CompressedAttention(
        hidden, heads, width, rank, groups, c.integer("o_lora_rank"),
        window=c.integer("sliding_window"), stride=stride, series=2 if label == SPARSE else 1,
        top=c.integer("index_topk") if label == SPARSE else None,
    )  # fmt: skip
    if label != SPARSE:
        return (core,)
    index, index_heads = c.integer("index_head_dim"), c.integer("index_n_heads")
    path = "self_attn.compressor.indexer"
    return (
        Indexer(
            (
                Linear(f"{path}.kv_proj", hidden, 2 * index),
                Linear(f"{path}.gate_proj", hidden, 2 * index),
                Linear(f"{path}.q_b_proj", rank, index_heads * index),
                Linear(f"{path}.scorer.weights_proj", hidden, index_heads),
            ),
            index_heads,
            index,
            stride=stride,
            extra=index + 2 * index * stride,
            buffered=2 * index,
        ),
        core,
    )


def _layers(c: Config, f: Family, depth: int) -> list[str]:
    """``compress_ratios``, one a layer and more for those that predict, or V4's own order."""
    ratios = c.integers("compress_ratios", most=1 << 16)
    if ratios is None:
        first = [HEAVY] * min(depth, 2)
        return first + [SPARSE if i % 2 else HEAVY for i in range(max(depth - 2, 0))]
    if not depth <= len(ratios) <= depth + predicted(c):
        raise InputError(f"{c.where}: compress_ratios has {len(ratios)} entries for {depth} layers")
    unknown = sorted(set(ratios) - _BY_RATIO.keys())
    if unknown:
        raise c.refuse(f"a compression of 1:{unknown[0]} is not counted")
    return [_BY_RATIO[ratio] for ratio in ratios[:depth]]


def _hashed(c: Config, f: Family, depth: int) -> list[str]:
    first = c.integer("num_hash_layers", default=3, least=0)
    return ["hash_moe" if i < first else "moe" for i in range(depth)]


def _streams(c: Config, f: Family, ffn: str) -> tuple[LayerPart, ...]:
    return streams(c.integer("hidden_size"), c.integer("hc_mult", most=64), mixed=True)


V4 = Family(
    mixers=dict.fromkeys((SLIDING, SPARSE, HEAVY), _attention), mixer_rule=_layers,
    ffns=dict.fromkeys(("hash_moe", "moe"), sparse), ffn_rule=_hashed, beside=_streams,
    mixture=Mixture(experts=("n_routed_experts",), shared=counted("n_shared_experts")),
)  # fmt: skip


def row(c: Config) -> Model:
    """DeepSeek-V4."""
    c.optional("qk_rope_head_dim")  # part of the head's width, whatever it is
    if c.flag("attention_bias") or c.flag("mlp_bias"):
        raise c.refuse("biases are not counted")
    model = read(c, V4)
    collapse, extra = hyper_head(model.hidden, c.integer("hc_mult", most=64))
    return model.altered(outer=(collapse,), vectors=model.vectors + extra)


READERS = {"deepseek_v4": row}
