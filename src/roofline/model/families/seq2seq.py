"""Encoder–decoders: BART, Marian, Pegasus, … and Whisper's text side.

A decode is of the decoder used alone: its cross-attention to an encoder is held, but a text without
one never runs it. An encode is of the encoder, where that reads text: every token attends to every
other.
"""

from __future__ import annotations

from ...record import record, replace
from ..config import Config
from ..model import Layer, Model, encoding, gather
from ..parts import Linear, Unused
from .common import frame
from .decoder import Family, Heads, build, dense, grouped


@record
class Decoder:
    """How a type differs from BART.

    Attributes:
        offset: rows of the positions' table before the first position; ``None`` for no table.
        places: key of the number of positions.
        norms: norms with bias after the table and after the layers.
        bias: whether projections have biases, or a key.
        key_bias: whether the key projection has one (Whisper's has not).
        tied: whether the class can tie the head to the table at all.
    """

    offset: int | None = 2
    places: str = "max_position_embeddings"
    norms: int = 1
    bias: str | bool = True
    key_bias: bool = True
    tied: bool = True


ROWS: dict[str, Decoder] = {
    "bart": Decoder(),
    "bigbird_pegasus": Decoder(offset=0, bias="use_bias", tied=False),
    "blenderbot": Decoder(offset=0),
    "blenderbot-small": Decoder(offset=0),
    "marian": Decoder(offset=0, norms=0),
    "mbart": Decoder(norms=2),
    "mvp": Decoder(),
    "pegasus": Decoder(offset=0),
    "plbart": Decoder(),
    "trocr": Decoder(),
    "whisper": Decoder(offset=0, places="max_target_positions", key_bias=False),
}


def decoder(c: Config) -> Model:
    """A model by its type's row."""
    d = ROWS[c.kind]
    c.assume(
        {"hidden_size": ("d_model",), "num_attention_heads": ("decoder_attention_heads",),
         "num_hidden_layers": ("decoder_layers",)}, {"use_bias": False},
    )  # fmt: skip
    if c.kind == "marian" and c.has("decoder_vocab_size"):
        c.data = {**c.data, "vocab_size": c.get("decoder_vocab_size")}
    # Encoder and decoder have keys of their own; the common ones are those of either.
    c.data = {
        k: v for k, v in c.data.items() if k not in ("num_hidden_layers", "num_attention_heads")
    }
    hidden = c.integer("hidden_size")
    bias = c.flag(d.bias) if isinstance(d.bias, str) else d.bias
    f = Family(
        heads=Heads(qkv_bias=bias, out_bias=bias, names=(
            "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.out_proj",
        )),
        mlp_width="decoder_ffn_dim", mlp_bias=True, gated=False, mlp=("", "fc1", "fc2"),
        mlp_path="", aliases=c.aliases,
    )  # fmt: skip
    if c.kind == "trocr":
        scale = c.flag("use_learned_position_embeddings", default=True)
        if not scale or not c.flag("layernorm_embedding", default=True):
            raise c.refuse("other positions or norms than learned are not counted")
    (core,) = build(c, f, {"": grouped}, "")
    across = tuple(
        Linear(f"encoder_attn.{name}_proj", hidden, hidden, bias and (d.key_bias or name != "k"))
        for name in ("q", "k", "v", "out")
    )
    # Of the layer's own projections Whisper's keys have no bias either.
    missing = 0 if d.key_bias else -hidden
    unused = Unused(across, 2 * hidden)
    parts = (core, unused, *build(c, f, {"": dense}, ""))
    table = 0
    if d.offset is not None:
        table = hidden * (c.integer(d.places) + d.offset)
    model = frame(
        c,
        hidden=hidden,
        layers=gather(c.layers(), lambda i: (parts, 4 * hidden + missing), "model.decoder.layers"),
        tied=d.tied and c.flag("tie_word_embeddings", default=True),
        vectors=2 * d.norms * hidden,
        positions=table,
    )
    if c.kind not in _TEXTLESS and c.has("encoder_layers") and c.flag("is_encoder_decoder"):
        return model.altered(side=_encoder(c, model, f, table=table, vectors=2 * d.norms * hidden))
    return model


_TEXTLESS = ("bigbird_pegasus", "trocr", "whisper")
"""Encoders of sparse attention, of pictures, of sound."""


def _encoder(c: Config, model: Model, f: Family, *, table: int, vectors: int) -> Model:
    hidden = model.hidden
    heads = c.integer("encoder_attention_heads")
    view = c.layer({"num_attention_heads": heads, "decoder_attention_heads": heads})
    (core,) = build(view, f, {"": grouped}, "")
    wide = replace(f, mlp_width="encoder_ffn_dim")
    layer = Layer((core, *build(c, wide, {"": dense}, "")), (0,))
    parts = encoding(layer, c.where, both=True).parts
    depth = c.layers("encoder_layers")
    return model.altered(
        layers=gather(depth, lambda i: (parts, 4 * hidden), "model.encoder.layers"),
        head=None,
        tables=model.vocab * hidden + table,
        vectors=vectors,
        causal=False,
        encodes=True,
    )


READERS = dict.fromkeys(ROWS, decoder)
