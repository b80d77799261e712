"""What every family's reader shares: dtype, windows per layer, the frame around layers."""

from __future__ import annotations

from ...words.note import Note
from .. import formats
from ..config import Config
from ..formats import BF16, Format
from ..model import Layer, Model, Uniform
from ..parts import Linear


def dtype(c: Config) -> tuple[Format, tuple[str, ...]]:
    """The format that activations are in, and what had to be assumed.

    Engines serve a checkpoint stored in fp32 in 16 bits (vLLM, SGLang and llama.cpp all do),
    so it is counted so; ``--weights fp32`` keeps it.
    """
    name = c.get("torch_dtype") or c.get("dtype")
    if name is None:
        return BF16, (Note("dtype.unsaid"),)
    if not isinstance(name, str):
        raise c.refuse("the dtype is not a name")
    known = {"bfloat16", "float16", "float32", "float64", "bf16", "fp16", "fp32"}
    if name.removeprefix("torch.") not in known:
        raise c.refuse(f"the dtype '{name[:40]}' is not known")
    result = formats.parse(name.removeprefix("torch."))
    if result.size > 2:
        return BF16, (Note("dtype.served", format=result.name),)
    return result, ()


def head_width(c: Config, hidden: int, heads: int, name: str = "head_dim") -> int:
    """The width of a head: given, or hidden/heads."""
    given = c.optional(name)
    if given is not None:
        return given
    if hidden % heads:
        raise c.refuse(f"hidden_size {hidden} is not a multiple of {heads} heads")
    return hidden // heads


def frame(
    c: Config,
    *,
    hidden: int,
    layers: tuple[Layer, ...],
    tied: bool,
    vectors: int,
    vocab: int | None = None,
    head_bias: bool = False,
    head_inputs: int | None = None,
    positions: int = 0,
    looked_up: int | None = None,
    outer: tuple[Linear, ...] = (),
    notes: tuple[str, ...] = (),
) -> Model:
    """A model around its layers: embedding, positions, last norm, head.

    Args:
        vectors: parameters of norms outside the layers.
        head_inputs: width of the table's rows where it is not ``hidden``.
        positions: parameters of learned positions, and of other tables.
        looked_up: numbers looked up in all tables a token, where not one row.
    """
    rows = vocab if vocab is not None else c.integer("vocab_size", most=1 << 28)
    width = head_inputs or hidden
    stored, assumed = dtype(c)
    c.finish()
    return Model(
        name=c.where,
        architecture=c.kind,
        hidden=hidden,
        vocab=rows,
        layers=layers,
        head=Linear("lm_head", width, rows, head_bias),
        tied=tied,
        tables=rows * width + positions,
        looked_up=looked_up,
        dtype=stored,
        scheme=Uniform(stored),
        outer=outer,
        vectors=vectors,
        longest=c.optional("max_position_embeddings", "n_positions", "max_sequence_length"),
        notes=(*assumed, *notes),
    )
