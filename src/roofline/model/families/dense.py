"""Dense decoders: Llama, and what differs from it in norms, biases, gates, windows and names."""

from __future__ import annotations

from collections.abc import Callable

from ...record import replace
from ...words.note import Note
from ..attention import ALL, Span
from ..config import Config
from ..model import Model
from ..parts import LayerPart, Linear, Matrices
from .decoder import Family, Heads, after_first, attention, every, read, windowed

PLAIN = Heads(qkv_bias=False, out_bias=False)
QWEN = Heads(qkv_bias=True, out_bias=False)
NORMED = Heads(qk_norm="head")
MISTRAL = Heads(qkv_bias=False, out_bias=False, default_window=4096)
GEMMA = Heads(width=256, default_window=4096)

LLAMA = Family(mlp_bias="mlp_bias")


def _exaone(c: Config, f: Family, depth: int) -> list[str]:
    # EXAONE 4: where it slides, all but each n-th layer; the pattern may be a word ("LLLG").
    if not c.has("sliding_window") and "sliding_window" in c.data:
        return ["full_attention"] * depth
    pattern = c.get("sliding_window_pattern")
    if isinstance(pattern, str) and pattern and set(pattern) <= {"L", "G"}:
        names = {"L": "sliding_attention", "G": "full_attention"}
        result = [names[pattern[i % len(pattern)]] for i in range(depth)]
        result[-1] = "full_attention"
        return result
    return every("sliding_window_pattern", 4)(c, f, depth)


def _differential(c: Config, f: Family, label: str) -> tuple[LayerPart, ...]:
    # Differential attention (arXiv 2410.05258): two maps of half the heads each weigh the
    # values of both halves, so that every head's values are twice as wide.
    core = attention(c, f, ALL)
    if core.kv_heads % 2:
        raise c.refuse("differential attention needs an even number of key-value heads")
    return (replace(core, extra_vectors=4 * core.key_width, twice=True),)


def _dynamic(c: Config, f: Family, label: str) -> tuple[LayerPart, ...]:
    # Doge: values choose which keys are kept.
    core = attention(c, f, Span(top=c.integer("keep_window_size", default=2048)))
    heads = core.kv_heads
    bias = c.flag("attention_bias")
    chooser = Linear("self_attn.dt_proj", heads * core.value_width, heads, bias)
    return (
        replace(core, extra_vectors=core.extra_vectors + heads),
        Matrices("attention.choose", (chooser,)),
    )


def _normed(key: str) -> Callable[[Config, Family], Family]:
    """Where a switch is on: one norm a head, each with its own weights (and no bias)."""

    def adapt(c: Config, f: Family) -> Family:
        return replace(f, heads=replace(f.heads, qk_norm="full")) if c.flag(key) else f

    return adapt


def _stablelm(c: Config, f: Family) -> Family:
    f = _normed("qk_layernorm")(c, f)
    return replace(f, norms=1) if c.flag("use_parallel_residual") else f


def _phi(c: Config, f: Family) -> Family:
    if not c.flag("qk_layernorm"):
        return f
    return replace(f, heads=replace(f.heads, qk_norm="head", qk_norm_bias=True))


def _hyperclovax(c: Config, f: Family) -> Family:
    return replace(f, norms=4) if c.flag("use_post_norm", default=True) else f


def _bitnet(c: Config, f: Family) -> Family:
    # Norms before the output projection and in the middle of the MLP.
    inner = c.integer("hidden_size") + c.integer("intermediate_size")
    return replace(f, heads=replace(f.heads, extra=inner))


def _doge(c: Config, f: Family) -> Family:
    if c.flag("is_moe"):
        raise c.refuse("is_moe is not counted")
    for key in ("num_experts", "num_experts_per_tok"):
        c.get(key)
    return f


def _apertus(c: Config, f: Family) -> Family:
    if c.has("output_vocab_size"):
        raise c.refuse("output_vocab_size is not counted")
    return f


def _aside(*sides: str) -> Callable[[Config, Model], Model]:
    """What of a model is not counted, said in a note."""

    def finish(c: Config, model: Model) -> Model:
        note = Note("aside.more", sides=tuple(Note(side) for side in sides))
        return model.altered(notes=(*model.notes, note))

    return finish


def _moshi(c: Config, f: Family) -> Family:
    # The text side: gate and up are one matrix of ffn_dim.
    return replace(f, mlp_width="", mlp_fixed=c.integer("ffn_dim") // 2)


def _moshi_text(c: Config, model: Model) -> Model:
    # One row more than words.
    model = model.altered(tables=model.tables + model.hidden)
    return _aside("side.codec", "side.depth")(c, model)


def _molmo(c: Config, f: Family) -> Family:
    # Molmo 2: Qwen3's norms of heads or OLMo's.
    kind = c.word("qk_norm_type", default="qwen3")
    if kind not in ("qwen3", "olmo"):
        raise c.refuse(f"qk_norm_type '{kind[:40]}' is not counted")
    if kind == "olmo" and c.flag("use_qk_norm"):
        f = replace(f, heads=replace(f.heads, qk_norm="full"))
    return f


def _molmo_rows(c: Config, model: Model) -> Model:
    # Rows for image tokens beside the table.
    rows = c.integer("additional_vocab_size", default=128, least=0)
    return model.altered(tables=model.tables + rows * model.hidden)


def _modern(c: Config, f: Family) -> Family:
    # ModernBERT as a decoder: half the local window each way.
    if "sliding_window" not in c.data:
        c.data = {**c.data, "sliding_window": c.integer("local_attention", default=128) // 2}
    if c.flag("norm_bias"):
        raise c.refuse("norm_bias is not counted")
    return f


def _modern_head(c: Config, model: Model) -> Model:
    # A transform before the head. One norm after the table and one before the head, but none
    # before the first layer's attention.
    h = model.hidden
    transform = Linear("lm_head.dense", h, h, c.flag("classifier_bias"))
    return model.altered(outer=(transform,), vectors=model.vectors + 2 * h - h)


ROWS: dict[str, Family] = {
    "llama": LLAMA,
    "exaone": replace(LLAMA, aliases={"num_hidden_layers": ("num_layers",)}),
    "internlm3": LLAMA,
    "iquestcoder": LLAMA,
    "granite": LLAMA,
    "helium": Family(heads=Heads(width=128, out_bias=False), mlp_bias="mlp_bias"),
    "cwm": Family(
        heads=replace(PLAIN, width=128, default_window=8192), mlp_bias="mlp_bias",
        mixer_rule=lambda c, f, n: [
            "sliding_attention" if i % 4 else "full_attention" for i in range(n)
        ],
    ),
    "hyperclovax": Family(mlp_bias="mlp_bias", adapt=_hyperclovax),
    "seed_oss": Family(
        heads=Heads(out_bias="attention_out_bias"), mlp_bias="mlp_bias",
        defaults={"attention_bias": True},
    ),
    "ernie4_5": Family(
        heads=Heads(width=128, qkv_bias="use_bias", out_bias="use_bias"), mlp_bias="use_bias",
        tied=True,
    ),
    "mistral": Family(heads=MISTRAL, mixer_rule=windowed),
    "ministral": Family(heads=PLAIN, mixer_rule=windowed),
    "ministral3": Family(heads=PLAIN, mixer_rule=windowed),
    "qwen2": Family(heads=QWEN, mixer_rule=after_first),
    "mimo": Family(heads=QWEN, mixer_rule=after_first, draft=True),
    "qwen3": Family(heads=replace(NORMED, width=128), mixer_rule=after_first),
    "smollm3": Family(mlp_bias="mlp_bias", mixer_rule=after_first, tied=True),
    "gemma": Family(heads=GEMMA, tied=True),
    "gemma2": Family(heads=GEMMA, norms=4, tied=True, mixer_rule=every("", 2)),
    "gemma3_text": Family(
        heads=replace(GEMMA, qk_norm="head"), norms=4, tied=True,
        mixer_rule=every("sliding_window_pattern", 6),
        aliases={"sliding_window_pattern": ("_sliding_window_pattern",)},
    ),
    "vaultgemma": Family(heads=GEMMA, tied=True, mixer_rule=every("", 2)),
    "phi": Family(
        adapt=_phi,
        heads=replace(
            QWEN, out_bias=True, names=(
                "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.dense",
            ),
        ),
        mlp_bias=True, gated=False, mlp=("", "fc1", "fc2"), norms=1, norm_parameters=2,
        head_bias=True,
    ),
    "phi3": Family(heads=PLAIN, mixer_rule=windowed),
    "phi4_multimodal": Family(
        heads=PLAIN, mixer_rule=windowed, finish=_aside("side.image_speech")),
    "olmo": Family(norm_parameters=0),
    "olmo2": Family(heads=Heads(qk_norm="full")),
    "olmo3": Family(
        heads=Heads(qk_norm="full", default_window=4096), mixer_rule=every("", 4)
    ),
    "gpt_neox": Family(
        heads=Heads(names=(
            "attention.q_proj", "attention.k_proj", "attention.v_proj", "attention.dense",
        )),
        mlp_bias=True, gated=False, mlp=("", "dense_h_to_4h", "dense_4h_to_h"),
        norm_parameters=2, defaults={"attention_bias": True}, prefix="gpt_neox.layers",
    ),
    "starcoder2": Family(
        heads=Heads(qkv_bias="use_bias", out_bias="use_bias"), mlp_bias="use_bias", gated=False,
        mlp=("", "c_fc", "c_proj"), norm_parameters=2, tied=True, mixer_rule=windowed,
        defaults={"use_bias": True},
    ),
    "cohere": Family(norms=1, tied=True, adapt=_normed("use_qk_norm")),
    "cohere2": Family(
        heads=Heads(default_window=4096), norms=1, tied=True,
        mixer_rule=every("sliding_window_pattern", 4),
        aliases={"sliding_window_pattern": ("_sliding_window_pattern",)},
    ),
    "stablelm": Family(
        heads=Heads(qkv_bias="use_qkv_bias", out_bias=False), norm_parameters=2,
        adapt=_stablelm,
    ),
    "apertus": Family(
        heads=Heads(qk_norm="head", extra=2), gated=False, mlp=("", "up_proj", "down_proj"),
    ),
    "diffllama": Family(mixers={"full_attention": _differential}),
    "doge": Family(
        heads=Heads(qk_norm="head"), mixers={"full_attention": _dynamic}, norms=4,
        mlp_bias="mlp_bias", adapt=_doge,
    ),
    "modernbert-decoder": Family(
        heads=Heads(names=("attn.q_proj", "attn.k_proj", "attn.v_proj", "attn.Wo")),
        mlp_bias="mlp_bias", mlp=("Wi", "Wi", "Wo"), tied=True, head_bias="decoder_bias",
        mixer_rule=lambda c, f, n: [
            "sliding_attention" if i % c.integer("global_attn_every_n_layers", default=3)
            else "full_attention"
            for i in range(n)
        ],
        defaults={"decoder_bias": True}, adapt=_modern, finish=_modern_head,
    ),
    "moshi": Family(
        heads=Heads(qkv_bias=False, out_bias=False, default_window=3000), mixer_rule=windowed,
        mlp=("fc1", "fc1", "fc2"), untied=True, adapt=_moshi, finish=_moshi_text,
    ),
    "arcee": Family(mlp_bias="mlp_bias", gated=False),
    "bitnet": Family(adapt=_bitnet),
    "exaone4": Family(
        heads=replace(PLAIN, qk_norm="head", default_window=4096),
        mixer_rule=_exaone,
    ),
    "glm": Family(
        heads=Heads(width=128, out_bias=False), defaults={"attention_bias": True}
    ),
    "glm4": Family(
        heads=Heads(width=128, out_bias=False), norms=4, defaults={"attention_bias": True}
    ),
    "granite_swa": Family(
        heads=Heads(sinks="all", default_window=128), mlp_bias="mlp_bias", tied=True,
        mixer_rule=lambda c, f, n: [
            "sliding_attention" if i % 4 else "full_attention" for i in range(n)
        ],
    ),
    "hunyuan_v1_dense": Family(heads=NORMED),
    "jais2": Family(
        mlp_bias="mlp_bias", gated=False, norm_parameters=2,
        defaults={"attention_bias": True, "mlp_bias": True},
    ),
    "nanochat": Family(gated=False, mlp=("", "fc1", "fc2"), norms=0, last_norm=0),
    "nemotron": Family(mlp_bias="mlp_bias", gated=False, norm_parameters=2),
    "persimmon": Family(
        heads=Heads(qkv_bias=True, out_bias=True, qk_norm="qk_layernorm", qk_norm_bias=True,
                    names=("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                           "self_attn.dense")),
        mlp_bias=True, gated=False, mlp=("", "dense_h_to_4h", "dense_4h_to_h"),
        norm_parameters=2, defaults={"qk_layernorm": True},
    ),
}  # fmt: skip
ROWS["glm4v_text"] = replace(ROWS["glm4"], heads=QWEN, defaults={})
ROWS["glm_ocr_text"] = replace(ROWS["glm4"], heads=PLAIN, defaults={})
ROWS["molmo2_text"] = Family(
    heads=Heads(out_bias=False, qk_norm="use_qk_norm"),
    aliases={"attention_bias": ("qkv_bias",)},
    defaults={"use_qk_norm": True},
    adapt=_molmo,
    finish=_molmo_rows,
)
ROWS["mistral3_text"] = ROWS["mistral"]
ROWS["apertus1p5_text"] = replace(ROWS["apertus"], adapt=_apertus)


def dense(c: Config) -> Model:
    """A dense decoder by its family's row."""
    return read(c, ROWS[c.kind])


READERS = dict.fromkeys(ROWS, dense)
