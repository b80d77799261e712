"""The first generations: GPT, GPT-2, GPT-J, GPT-Neo, OPT, BLOOM, Falcon, MPT and their like.

Learned positions, norms and projections with biases, ungated MLPs of four times the width,
and keys by other names.
"""

from __future__ import annotations

from collections.abc import Callable

from ...record import replace
from ..config import Config
from ..model import Model
from ..parts import Linear
from .common import frame
from .decoder import Family, Heads, read, stack

BIASED = Heads(qkv_bias=True, out_bias=True)
BARE = Heads(qkv_bias=False, out_bias=False)

_GPT = {
    "hidden_size": ("n_embd",),
    "num_attention_heads": ("n_head",),
    "num_hidden_layers": ("n_layer",),
    "intermediate_size": ("n_inner",),
    "max_position_embeddings": ("n_positions", "n_ctx"),
}


def positions(offset: int = 0) -> Callable[[Config, int], int]:
    """Learned positions: rows of ``hidden``, some offset by padding."""

    def parameters(c: Config, hidden: int) -> int:
        return hidden * (c.integer("max_position_embeddings") + offset)

    return parameters


GPT2 = Family(
    heads=Heads(qkv_bias=True, out_bias=True, names=("attn.c_attn",) * 3 + ("attn.c_proj",)),
    mlp_times=4, mlp_bias=True, gated=False, mlp=("", "c_fc", "c_proj"), norm_parameters=2,
    tied=True, aliases=_GPT, tables=positions(), prefix="transformer.h",
)  # fmt: skip


def _mpt(c: Config, f: Family) -> Family:
    f = replace(f, mlp_times=c.integer("expansion_ratio", default=4))
    if not c.flag("no_bias", default=True):
        raise c.refuse("no_bias false is not counted")
    inner = c.get("attn_config")
    if inner is None:
        return f
    attn = c.sub("attn_config")
    if attn.flag("qk_ln"):
        raise c.refuse("attn_config.qk_ln is not counted")
    kind = attn.word("attn_type", default="multihead_attention")
    if kind != "multihead_attention":
        raise c.refuse(f"attn_config.attn_type '{kind[:40]}' is not counted")
    return f


def _bigcode(c: Config, f: Family) -> Family:
    # One key-value head, unless the switch is off: then as many as there are heads.
    if c.flag("multi_query", default=True):
        return f
    if c.integer("num_key_value_heads", default=1) == 1:
        c.data = {k: v for k, v in c.data.items() if k != "num_key_value_heads"}
    return replace(f, defaults={})


def _japanese(c: Config, f: Family) -> Family:
    return replace(f, mlp_times=c.integer("intermediate_multiple_size", default=4))


def _last_bias(c: Config, model: Model) -> Model:
    # Only the last layer's output projection has a bias.
    return model.altered(vectors=model.vectors + model.hidden)


ROWS: dict[str, Family] = {
    "gpt2": GPT2,
    "gpt-sw3": GPT2,
    "openai-gpt": replace(GPT2, last_norm=0),
    "gptj": Family(
        heads=BARE, mlp_times=4, mlp_bias=True, gated=False, mlp=("", "fc_in", "fc_out"),
        norms=1, norm_parameters=2, head_bias=True, aliases=_GPT, prefix="transformer.h",
    ),
    "bloom": Family(
        heads=BIASED, mlp_times=4, mlp_bias=True, gated=False,
        mlp=("", "dense_h_to_4h", "dense_4h_to_h"), norm_parameters=2, last_norm=2, tied=True,
        aliases={
            "hidden_size": ("n_embed",), "num_attention_heads": ("n_head",),
            "num_hidden_layers": ("n_layer",),
        },
        prefix="transformer.h",
    ),
    "biogpt": Family(
        heads=BIASED, mlp_bias=True, gated=False, mlp=("", "fc1", "fc2"), mlp_path="",
        norm_parameters=2, tied=True, tables=positions(2), prefix="biogpt.layers",
    ),
    "ctrl": Family(
        heads=BIASED, mlp_width="dff", mlp_bias=True, gated=False, mlp=("", "0", "2"),
        mlp_path="ffn", norm_parameters=2, tied=True, head_bias=True, aliases=_GPT,
        prefix="transformer.h",
    ),
    "gpt_bigcode": replace(GPT2, defaults={"num_key_value_heads": 1}, adapt=_bigcode),
    "gpt_neo": Family(
        heads=Heads(qkv_bias=False, out_bias=True, window="window_size", default_window=256),
        mlp_times=4, mlp_bias=True, gated=False, mlp=("", "c_fc", "c_proj"), norm_parameters=2,
        tied=True, tables=positions(),
        mixer_rule=lambda c, f, n: _neo(c, n),
        aliases={"num_attention_heads": ("num_heads",), "num_hidden_layers": ("num_layers",)},
        prefix="transformer.h",
    ),
    "mpt": Family(
        heads=BARE, mlp_times=4, gated=False, mlp=("", "up_proj", "down_proj"), mlp_path="ffn",
        tied=True,
        aliases={
            "hidden_size": ("d_model",), "num_attention_heads": ("n_heads",),
            "num_hidden_layers": ("n_layers",), "max_position_embeddings": ("max_seq_len",),
        },
        prefix="transformer.blocks", adapt=_mpt,
    ),
    "xglm": Family(
        heads=BIASED, mlp_width="ffn_dim", mlp_bias=True, gated=False, mlp=("", "fc1", "fc2"),
        mlp_path="", norm_parameters=2, tied=True,
        aliases={
            "hidden_size": ("d_model",), "num_attention_heads": ("attention_heads",),
            "num_hidden_layers": ("num_layers",),
        },
    ),
}  # fmt: skip
ROWS["codegen"] = ROWS["gptj"]
ROWS["gpt_neox_japanese"] = Family(
    heads=BARE, mlp_times=4, gated=False, mlp=("", "dense_h_to_4h", "dense_4h_to_h"),
    norm_parameters=2, tied=True, prefix="gpt_neox_japanese.layers", adapt=_japanese,
    finish=_last_bias,
)  # fmt: skip


def _neo(c: Config, depth: int) -> list[str]:
    # [[["global", "local"], 12]]: a pattern and how often it repeats; or one name a layer.
    names = {"global": "full_attention", "local": "sliding_attention"}
    result = c.words("attention_layers")
    if result is None:
        value = c.get("attention_types")
        result = []
        for item in value if isinstance(value, list) else []:
            if not (isinstance(item, list) and len(item) == 2 and isinstance(item[0], list)):
                raise c.refuse("attention_types is not a list of patterns and counts")
            pattern, times = item
            if type(times) is not int or not 0 < times <= depth or len(pattern) > depth:
                raise c.refuse("attention_types repeats a pattern an impossible number of times")
            result += [str(p) for p in pattern] * times
    if len(result) != depth or not names.keys() >= set(result):
        raise c.refuse(f"attention_types does not say global or local for each of {depth} layers")
    return [names[name] for name in result]


def row(c: Config) -> Model:
    """A model by its family's row."""
    return read(c, ROWS[c.kind])


def opt(c: Config) -> Model:
    """OPT: learned positions (offset by two), norms with bias; 350M projects its table."""
    bias = c.flag("enable_bias", default=True)
    affine = c.flag("layer_norm_elementwise_affine", default=True)
    f = Family(
        heads=Heads(qkv_bias=bias, out_bias=bias), mlp_width="ffn_dim", mlp_bias=bias,
        gated=False, mlp=("", "fc1", "fc2"), mlp_path="", norm_parameters=2 if affine else 0,
        prefix="model.decoder.layers",
    )  # fmt: skip
    hidden = c.integer("hidden_size")
    width = c.optional("word_embed_proj_dim") or hidden
    last = c.flag("do_layer_norm_before", default=True) and not c.flag("_remove_final_layer_norm")
    outer: tuple[Linear, ...] = ()
    if width != hidden:
        outer = (Linear("project_in", width, hidden), Linear("project_out", hidden, width))
    return frame(
        c,
        hidden=hidden,
        layers=stack(c, f, c.layers()),
        tied=c.flag("tie_word_embeddings", default=True),
        vectors=2 * hidden if last and affine else 0,
        positions=hidden * (c.integer("max_position_embeddings") + 2),
        head_inputs=width,
        outer=outer,
    )


def falcon(c: Config) -> Model:
    """Falcon: multi-query (7B) or grouped (40B, 180B), parallel attention."""
    c.assume(
        {"num_attention_heads": ("n_head",), "num_hidden_layers": ("n_layer",),
         "num_kv_heads": ("n_head_kv",)}, {},
    )  # fmt: skip
    heads = c.integer("num_attention_heads")
    new = c.flag("new_decoder_architecture")
    parallel = c.flag("parallel_attn", default=True)
    if new:
        kv_heads = c.integer("num_kv_heads", default=heads)
    else:
        kv_heads = 1 if c.flag("multi_query", default=True) else heads
    norms = c.optional("num_ln_in_parallel_attn", most=2) or (2 if new else 1)
    if not (new or parallel):
        norms = 2
    f = Family(
        heads=Heads(qkv_bias="bias", out_bias="bias", names=(
            *("self_attention.query_key_value",) * 3, "self_attention.dense",
        )),
        mlp_width="ffn_hidden_size", mlp_times=4, mlp_bias="bias", gated=False,
        mlp=("", "dense_h_to_4h", "dense_4h_to_h"), norms=norms, norm_parameters=2, tied=True,
        aliases=c.aliases, defaults={"num_key_value_heads": kv_heads}, prefix="transformer.h",
    )  # fmt: skip
    return read(c, f)


READERS = {**dict.fromkeys(ROWS, row), "opt": opt, "falcon": falcon}
