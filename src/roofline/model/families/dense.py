"""Dense decoders: Llama, and what differs from it in norms, biases, gates, windows and names."""

from __future__ import annotations

from ...record import replace
from ..config import Config
from ..model import Model
from .decoder import Family, Heads, after_first, always, every, listed, read, windowed

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
        found = [names[pattern[i % len(pattern)]] for i in range(depth)]
        found[-1] = "full_attention"
        return found
    return every("sliding_window_pattern", 4)(c, f, depth)


ROWS: dict[str, Family] = {
    "llama": LLAMA,
    "exaone": LLAMA,
    "internlm3": LLAMA,
    "iquestcoder": LLAMA,
    "granite": LLAMA,
    "helium": Family(heads=Heads(width=128), mlp_bias="mlp_bias"),
    "cwm": Family(
        heads=replace(PLAIN, width=128, default_window=8192), mlp_bias="mlp_bias",
        mixer_rule=lambda c, f, n: [
            "sliding_attention" if i % 4 else "full_attention" for i in range(n)
        ],
    ),
    "hyperclovax": Family(mlp_bias="mlp_bias"),
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
        heads=replace(
            QWEN, out_bias=True, names=(
                "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.dense",
            ),
        ),
        mlp_bias=True, gated=False, mlp=("", "fc1", "fc2"), norms=1, norm_parameters=2,
        head_bias=True,
    ),
    "phi3": Family(heads=PLAIN, mixer_rule=windowed),
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
    "cohere": Family(norms=1, tied=True),
    "cohere2": Family(
        heads=Heads(default_window=4096), norms=1, tied=True,
        mixer_rule=every("sliding_window_pattern", 4),
        aliases={"sliding_window_pattern": ("_sliding_window_pattern",)},
    ),
    "stablelm": Family(
        heads=Heads(qkv_bias="use_qkv_bias", out_bias=False), norm_parameters=2
    ),
    "apertus": Family(
        heads=Heads(qk_norm="head", extra=2), gated=False, mlp=("", "up_proj", "down_proj"),
    ),
    "arcee": Family(mlp_bias="mlp_bias", gated=False),
    "bitnet": Family(),
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
ROWS["mistral3_text"] = ROWS["mistral"]
ROWS["apertus1p5_text"] = ROWS["apertus"]


def dense(c: Config) -> Model:
    """A dense decoder by its family's row."""
    f = ROWS[c.kind]
    heads = f.heads
    if c.kind in ("cohere", "stablelm") and c.flag(
        "use_qk_norm" if c.kind == "cohere" else "qk_layernorm"
    ):
        # One norm a head, each with its own weights (and no bias).
        f = replace(f, heads=replace(heads, qk_norm="full"))
    if c.kind == "phi" and c.flag("qk_layernorm"):
        f = replace(f, heads=replace(heads, qk_norm="head", qk_norm_bias=True))
    if c.kind == "stablelm" and c.flag("use_parallel_residual"):
        f = replace(f, norms=1)
    if c.kind == "hyperclovax" and c.flag("use_post_norm", default=True):
        f = replace(f, norms=4)
    if c.kind == "bitnet":
        # Norms before the output projection and in the middle of the MLP.
        inner = c.integer("hidden_size") + c.integer("intermediate_size")
        f = replace(f, heads=replace(heads, extra=inner))
    if c.kind == "apertus1p5_text" and c.has("output_vocab_size"):
        raise c.refuse("output_vocab_size is not counted")
    return read(c, f)


READERS = dict.fromkeys(ROWS, dense)
__all__ = ["READERS", "ROWS", "always", "listed"]
