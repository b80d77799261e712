"""Dense decoders whose code came with their checkpoint, before transformers had their class.

ChatGLM, InternLM, Qwen, Baichuan, Aquila, XVERSE, Orion, MiniCPM, CodeShell, TeleChat, Skywork,
Jais, PLaMo, OpenELM, Molmo, and Falcon, Phi and StableLM under their first names. The published
code and parameter counts are their oracle (``tests/model/test_remote.py`` cites them).
"""

from __future__ import annotations

from ...errors import InputError
from ...record import replace
from ...words.note import Note
from ..config import Config, short
from ..ffn import Mlp
from ..model import Model, gather
from ..parts import LayerPart, Matrices
from .classic import falcon
from .common import frame
from .decoder import GROUPED, Family, Heads, build, read
from .dense import LLAMA, PLAIN
from .dense import ROWS as DENSE
from .mixture import ALL_SPARSE, FFNS, Mixture

_GPT = {
    "hidden_size": ("n_embd",), "num_attention_heads": ("n_head",),
    "num_hidden_layers": ("n_layer", "num_layers"), "intermediate_size": ("n_inner",),
    "num_key_value_heads": ("n_head_kv",), "max_position_embeddings": ("n_positions",),
}  # fmt: skip
PACKED = replace(PLAIN, names=("self_attn.W_pack",) * 3 + ("self_attn.o_proj",))


def _bias(c: Config, f: Family, ffn: str) -> tuple[LayerPart, ...]:
    # TeleChat: of the MLP only the way back has a bias.
    return (Matrices("mlp.down_proj.bias", (), c.integer("hidden_size")),)


ROWS: dict[str, Family] = {
    "aquila": Family(heads=PLAIN),
    "xverse": Family(heads=PLAIN),
    "skywork": Family(heads=PLAIN),
    "baichuan": Family(heads=PACKED),
    "orion": Family(heads=PLAIN, norm_parameters=2),
    "teleflm": Family(heads=PLAIN),
    "PanguEmbedded": Family(
        heads=Heads(qkv_bias="bias", out_bias="bias"), defaults={"bias": True}
    ),
    "internlm": Family(heads=Heads(qkv_bias="bias", out_bias="bias"), defaults={"bias": True}),
    "internlm2": Family(
        heads=Heads(qkv_bias="bias", out_bias="bias",
                    names=("attention.wqkv",) * 3 + ("attention.wo",)),
        mlp=("w1", "w3", "w2"), mlp_path="feed_forward", defaults={"bias": True},
    ),
    "qwen": Family(
        heads=Heads(qkv_bias=True, out_bias=False, names=("attn.c_attn",) * 3 + ("attn.c_proj",)),
        mlp=("w2", "w1", "c_proj"), aliases={"head_dim": ("kv_channels",)},
        prefix="transformer.h",
    ),
    "chatglm": Family(
        heads=Heads(names=("self_attention.query_key_value",) * 3 + ("self_attention.dense",)),
        mlp=("dense_h_to_4h", "dense_h_to_4h", "dense_4h_to_h"), mlp_bias="add_bias_linear",
        aliases={
            "num_hidden_layers": ("num_layers",), "intermediate_size": ("ffn_hidden_size",),
            "head_dim": ("kv_channels",), "max_position_embeddings": ("seq_length",),
        },
        prefix="transformer.encoder.layers",
    ),
    "phi-msft": replace(
        DENSE["phi"], aliases=_GPT, mlp_times=4, prefix="transformer.h",
        heads=replace(
            DENSE["phi"].heads, names=("mixer.Wqkv",) * 3 + ("mixer.out_proj",)
        ),
    ),
    "stablelm_epoch": DENSE["stablelm"],
    "minicpm": Family(heads=PLAIN, tied=True),
    "codeshell": Family(
        heads=Heads(qkv_bias=True, out_bias=True, names=("attn.c_attn",) * 3 + ("attn.c_proj",)),
        mlp_times=4, mlp_bias=True, gated=False, mlp=("", "c_fc", "c_proj"), norm_parameters=2,
        aliases={**_GPT, "num_key_value_heads": ("num_query_groups",)}, prefix="transformer.h",
    ),
    "telechat": Family(
        heads=Heads(qkv_bias=False, out_bias=True, names=(
            "self_attention.query", "self_attention.key_value", "self_attention.key_value",
            "self_attention.dense",
        )),
        aliases={**_GPT, "intermediate_size": ("ffn_hidden_size",)}, beside=_bias,
        prefix="transformer.h",
    ),
    "jais": Family(
        heads=Heads(qkv_bias=True, out_bias=True, names=("attn.c_attn",) * 3 + ("attn.c_proj",)),
        mlp_times=4, mlp_bias=True, mlp=("c_fc2", "c_fc", "c_proj"), norm_parameters=2, tied=True,
        aliases=_GPT, prefix="transformer.h",
    ),
    "plamo": Family(heads=PLAIN, norms=1),
}  # fmt: skip
ROWS["mixformer-sequential"] = ROWS["phi-msft"]


def row(c: Config) -> Model:
    """A model by its family's row."""
    f = ROWS[c.kind]
    prepare = _PREPARE.get(c.kind)
    model = read(c, prepare(c, f) if prepare else f)
    if c.has("visual") or c.has("vision_config"):
        aside = Note("aside.one", side=Note("side.vision"))
        return model.altered(notes=(*model.notes, aside))
    return model


def _qwen(c: Config, f: Family) -> Family:
    # The published width is that of both halves; queries, keys and values always have biases.
    if not c.flag("no_bias", default=True):
        raise c.refuse("no_bias false is not counted")
    width = c.integer("intermediate_size")
    if width % 2:
        raise c.refuse(f"intermediate_size {width} is not two halves")
    return replace(f, mlp_width="", mlp_fixed=width // 2)


def _chatglm(c: Config, f: Family) -> Family:
    # ChatGLM2 and 3, GLM-4. The first ChatGLM reads a prompt both ways.
    for key in ("position_encoding_2d", "inner_hidden_size", "use_cache_prefix"):
        if c.get(key):
            raise c.refuse(
                f"{key}: the first ChatGLM attends to its prompt both ways, which is not counted"
            )
    if c.has("padded_vocab_size"):
        c.data = {**c.data, "vocab_size": c.integer("padded_vocab_size", most=1 << 28)}
    groups = c.integer("num_attention_heads")
    if c.flag("multi_query_attention"):
        groups = c.integer("multi_query_group_num")
    c.get("multi_query_group_num")
    if c.get("pre_seq_len"):
        raise c.refuse("pre_seq_len: a tuned prefix is not counted")
    bias = c.flag("add_bias_linear")
    heads = replace(f.heads, qkv_bias=bias or c.flag("add_qkv_bias"), out_bias=bias)
    return replace(
        f, heads=heads, defaults={"num_key_value_heads": groups},
        norm_parameters=1 if c.flag("rmsnorm", default=True) else 2,
        last_norm=1 if c.flag("post_layer_norm", default=True) else 0,
    )  # fmt: skip


def _minicpm(c: Config, f: Family) -> Family:
    # MiniCPM-MoE has Mixtral's experts.
    if not c.experts("num_experts", default=0, least=0):
        return f
    mixture = Mixture(width=("intermediate_size",), names=("w1", "w3", "w2"))
    return replace(f, ffns=FFNS, ffn_rule=ALL_SPARSE, mixture=mixture)


def _codeshell(c: Config, f: Family) -> Family:
    if not c.flag("group_query_attention", default=True):
        raise c.refuse("group_query_attention false is not counted")
    place = c.word("position_embedding_type", default="rope")
    if place != "rope":
        raise c.refuse(f"position_embedding_type {short(place)} is not counted")
    return f


def _jais(c: Config, f: Family) -> Family:
    place = c.word("position_embedding_type", default="learned")
    if place not in ("alibi", "rope", "learned"):
        raise c.refuse(f"position_embedding_type {short(place)} is not counted")
    learned = place == "learned"
    gated = c.word("activation_function", default="gelu") == "swiglu"
    tables = (lambda c, h: h * c.integer("max_position_embeddings")) if learned else None
    return replace(f, gated=gated, tables=tables)


def _telechat(c: Config, f: Family) -> Family:
    if c.flag("embed_layernorm") or c.flag("apply_residual_connection_post_layernorm"):
        raise c.refuse("embed_layernorm and other orders of norms are not counted")
    return f


def _plamo(c: Config, f: Family) -> Family:
    # So many heads share keys and values, whatever the key of the others says.
    heads, shared = c.integer("num_attention_heads"), c.integer("n_shared_head", default=1)
    c.data = {**c.data, "num_key_value_heads": -(-heads // shared)}
    return f


_PREPARE = {
    "qwen": _qwen, "chatglm": _chatglm, "minicpm": _minicpm, "codeshell": _codeshell,
    "jais": _jais, "telechat": _telechat, "plamo": _plamo,
}  # fmt: skip


def refined_web(c: Config) -> Model:
    """Falcon under its first names: RefinedWeb (40B, grouped) and RefinedWebModel (7B)."""
    grouped = c.has("n_head_kv") or c.has("num_kv_heads")
    c.data = {"new_decoder_architecture": grouped, **c.data}
    return falcon(c)


def openelm(c: Config) -> Model:
    """OpenELM: heads and widths that grow from layer to layer (arXiv 2404.14619)."""
    hidden, depth = c.integer("model_dim"), c.layers("num_transformer_layers")
    queries = c.integers("num_query_heads", depth, least=1)
    groups = c.integers("num_kv_heads", depth, least=1)
    widths = c.get("ffn_multipliers")
    if queries is None or groups is None or not isinstance(widths, list) or len(widths) != depth:
        raise InputError(
            f"{c.where}: num_query_heads, num_kv_heads and ffn_multipliers must have an entry "
            f"for each of {depth} layers"
        )
    gated, step = c.flag("ffn_with_glu", default=True), c.integer("ffn_dim_divisor", default=256)
    norm = "head" if c.flag("normalize_qk_projections", default=True) else ""
    heads = Heads(qkv_bias=False, out_bias=False, qk_norm=norm, names=(
        *("attn.qkv_proj",) * 3, "attn.out_proj",
    ))  # fmt: skip
    f = Family(heads=heads)

    def make(i: int) -> tuple[tuple[LayerPart, ...], int]:
        times = widths[i]
        if isinstance(times, bool) or not isinstance(times, (int, float)) or not 0 < times < 1000:
            raise InputError(f"{c.where}: ffn_multipliers has {short(times)}")
        view = c.layer(
            {"hidden_size": hidden, "num_attention_heads": queries[i],
             "num_key_value_heads": groups[i]}
        )  # fmt: skip
        names = ("proj_1", "proj_1", "proj_2")
        mlp = Mlp(hidden, _rounded(times * hidden, step), gated, False, "ffn", names)
        return (*build(view, f, GROUPED, "full_attention"), mlp), 2 * hidden

    return frame(
        c,
        hidden=hidden,
        layers=gather(depth, make, "transformer.layers"),
        tied=c.flag("share_input_output_layers", default=True),
        vectors=hidden,
    )


def _rounded(value: float, step: int) -> int:
    # To the nearest multiple, but never more than a tenth below.
    result = max(step, int(value + step / 2) // step * step)
    return result + step if result < 0.9 * value else result


def molmo(c: Config) -> Model:
    """Molmo (arXiv 2409.17146): the published width is that of gate and up together."""
    bias = c.flag("qkv_bias")
    norm = "full" if c.flag("attention_layer_norm") else ""
    width = c.integer("intermediate_size")
    if width % 2 or c.word("layer_norm_type", default="rms") != "rms":
        raise c.refuse("an odd width, or norms other than rms, are not counted")
    f = replace(
        LLAMA, heads=Heads(qkv_bias=bias, out_bias=False, qk_norm=norm, names=(
            *("att_proj",) * 3, "attn_out",
        )),
        mlp_width="", mlp_fixed=width // 2, mlp=("ff_proj", "ff_proj", "ff_out"), mlp_path="",
        prefix="model.transformer.blocks", aliases={"tie_word_embeddings": ("weight_tying",)},
    )  # fmt: skip
    rows = c.integer("additional_vocab_size", default=128, least=0)
    model = read(c, f)
    c.get("embedding_size")
    extra = (c.integer("embedding_size", default=model.vocab) - model.vocab + rows) * model.hidden
    aside = Note("aside.one", side=Note("side.vision"))
    return model.altered(tables=model.tables + max(extra, 0), notes=(*model.notes, aside))


READERS = {
    **dict.fromkeys(ROWS, row), "RefinedWeb": refined_web, "RefinedWebModel": refined_web,
    "openelm": openelm, "molmo": molmo,
}  # fmt: skip
