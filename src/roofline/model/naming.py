"""A name that says a model of the catalogue and how it is stored: hub ids, llama.cpp's labels.

``Qwen/Qwen2.5-7B-Instruct-GPTQ-Int8`` is the catalogue's Qwen2.5-7B in what such names mean. Words
are taken off the end of a name while they are known ones, until the rest is in the catalogue; what
is not known is never dropped. What a name leaves open (a ``-4bit`` may be MLX's or bitsandbytes')
is refused when the model is first priced as it is stored, with what would say it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .. import catalogue
from ..errors import NotFound
from ..record import record
from .quant.said import Stored, stored

_WORDS: tuple[tuple[str, str], ...] = (
    # what of how it is stored: a token of that kind
    ("gguf", r"(?:ud-)?i?q\d(?:_k(?:[-_ ]+(?:xxs|xs|s|m|l|xl|small|medium|large))?|_[01]|_(?:xxs|"
             r"xs|s|m|nl))|tq[12]_0|q8_k"),
    ("file", r"(?:i1-|imatrix-)?gguf|ggml|llamafile"),
    ("bpw", r"\d(?:[._]\d{1,3})?[-_ ]?bpw|(?<=exl[23][-_])\d\.\d{1,2}"),
    ("head", r"h[2-8]"),
    ("library", r"gptqmodel|gptq|awq|auto-?round|unsloth-bnb|bnb|bitsandbytes|mlx|exl2|exl3|hqq|"
                r"eetq|quanto|torchao|aqlm|quark|modelopt|quantized|llmcompressor|vllm"),
    ("wa", r"w[2348]a(?:8|16)(?:-?(?:fp8|int8))?"),
    ("float", r"fp8|mxfp4(?:[-_ ]?moe)?|mxfp8|nvfp4a16|nvfp4|fp4|nf4"),
    ("int", r"int[2348]|[234568][-_]?bits?(?:gs\d{2,3})?"),
    ("plain", r"bf16|fp16|f16|fp32|f32"),
    ("group", r"(?:g|gs)\d{2,4}|\d{2,4}g"),
    ("way", r"dynamic|static|block|pertensor|kv|actorder|asym|sym|dwq|mixed"),
    # what of how it was trained: its shapes are the same
    ("tune", r"instruct|it|chat|hf|base|pt|thinking|sft|dpo|preview|latest|original|qat|text|"
             r"unsloth"),
    ("date", r"20\d\d-?\d\d|2[3-9](?:0[1-9]|1[0-2])|0[1-9][0-3]\d|1[0-2][0-3]\d"),
    ("reach", r"\d{1,3}k|1m"),
)  # fmt: skip
_END = re.compile(
    r"[-_. :]+(?:" + "|".join(f"(?P<{kind}{i}>{p})" for i, (kind, p) in enumerate(_WORDS)) + r")\Z"
)
# llama.cpp's labels end a type with its bits: ``IQ4_XS - 4.25 bpw``.
_LABEL = re.compile(
    r"(?P<kind>[a-z0-9][\w.\-]*) (?P<size>e?\d+(?:\.\d+)?(?:x\d+(?:\.\d+)?)?[bm](?:x\d+e)?"
    r"(?:\.a\d+(?:\.\d+)?b)?)(?: (?P<rest>.+))?\Z"
)
_KINDS = {
    "llama": ("llama", "mistral", "mixtral"),
    "deepseek2": ("deepseekv2", "deepseekv3", "kimik2"),
    "gemma3": ("gemma3", "gemma3text"), "gemma4": ("gemma4",),
    "glm4moe": ("glm4moe",), "glmdsa": ("glmmoedsa",),
    "commandr": ("cohere",), "phi3": ("phi3",), "qwen35": ("qwen35",), "gptneox": ("gptneox",),
}  # fmt: skip
"""llama.cpp's architectures that are called otherwise, or are several model types."""


@record
class NamedModel:
    """What a name says.

    Attributes:
        entry: the catalogue's entry.
        stored: how the name says that it is stored, ``None`` where it says nothing.
        said: the name's words after the entry's, as they were written.
    """

    entry: dict[str, Any]
    stored: Stored | None
    said: str


def read(name: str, entries: list[dict[str, Any]]) -> NamedModel | None:
    """What a name says, ``None`` where no entry is at its beginning.

    Raises:
        NotFound: it could be several entries, or has words that are not known.
    """
    text = " ".join(name.lower().split())
    if (label := _LABEL.match(text)) is not None:
        return _labelled(name, label, entries)
    org, _, base = text.removeprefix("hf.co/").rpartition("/")
    known = _names(entries)
    for start in _starts(base):
        result = _peeled(start, org, known)
        if result is not None:
            return result
    unknown = _prefix(base, known)
    if unknown is not None:
        entry, rest = unknown
        raise NotFound(
            f"'{name[:80]}': {entry['id']} is in the catalogue, but what '{rest[:40]}' says of it "
            "is not known; name it without, or give its config.json"
        )
    return None


def _names(entries: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    result: dict[str, dict[str, Any]] = {}
    for entry in entries:
        for label in (entry["id"], entry["name"], *entry.get("aliases", ())):
            result.setdefault(_squeezed(label), entry)
    return result


def _squeezed(label: str) -> str:
    return catalogue.key(label).replace("-", "")


def _starts(base: str) -> Iterator[str]:
    # Copies of a repository put the maker's name before it: ``qwen_qwen3-8b``, ``meta-llama-3``.
    yield base
    maker, under, rest = base.partition("_")
    if under and maker.replace("-", "").isalpha():
        yield rest
    for maker in ("meta-", "nvidia-", "google-", "microsoft-", "mistralai-", "deepseek-ai-"):
        if base.startswith(maker):
            yield base.removeprefix(maker)


def _peeled(base: str, org: str, known: dict[str, dict[str, Any]]) -> NamedModel | None:
    rest = base
    words: list[tuple[str, str]] = []
    while rest:
        entry = known.get(_squeezed(rest))
        if entry is not None and (words or rest == base) and _dated(entry, words):
            kept = [(kind, word) for kind, word in reversed(words)]
            return NamedModel(entry, stored(kept, org, entry), base[len(rest) :].strip("-_. :"))
        match = _END.search(rest)
        if match is None:
            return None
        kind, word = next((k, w) for k, w in match.groupdict().items() if w)
        words.append((kind.rstrip("0123456789"), word))
        rest = rest[: match.start()]
    return None


def _dated(entry: dict[str, Any], words: list[tuple[str, str]]) -> bool:
    # Where an entry's own names are dated, another date is another model.
    if not any(kind == "date" for kind, _ in words):
        return True
    own = " ".join(entry.get("aliases", ()))
    return re.search(r"-\d{4}\b|-\d\d-20\d\d\b", own) is None or entry["id"].startswith(
        ("deepseek", "kimi")
    )


def _prefix(base: str, known: dict[str, dict[str, Any]]) -> tuple[dict[str, Any], str] | None:
    # The longest beginning of a name that is in the catalogue, and what follows.
    cuts = [m.start() for m in re.finditer(r"[-_. :]", base)]
    for at in reversed(cuts):
        entry = known.get(_squeezed(base[:at]))
        if entry is not None and any(c.isdigit() for c in base[:at]):
            return entry, base[at:]
    return None


def _labelled(name: str, label: re.Match[str], entries: list[dict[str, Any]]) -> NamedModel | None:
    # ``qwen3moe 30B.A3B Q4_K - Medium``: an architecture, a nominal size, a type.
    kind = _squeezed(label["kind"]).replace("_", "").replace(".", "")
    kinds = _KINDS.get(kind, (kind,))
    alike = [e for e in entries if set(kinds) & set(_types(e)) and _generates(e)]
    alike = _sized(label["size"], alike, kind)
    if not alike:
        return None
    shapes: dict[str, list[dict[str, Any]]] = {}
    for entry in alike:
        shapes.setdefault(_shape(entry), []).append(entry)
    if len(shapes) > 1:
        names = " or ".join(group[-1]["id"] for group in shapes.values())
        raise NotFound(
            f"'{name[:80]}': llama.cpp's label may mean {names}, which are not alike: name one"
        )
    own = [e for e in alike if e["id"].startswith(re.match(r"[a-z]*", kind)[0])]  # type: ignore[index]
    plain = [e for e in own or alike if "quantization_config" not in e["config"]]
    entry = (plain or own or alike)[-1]
    rest = re.sub(r"\s*-\s*\d+(?:\.\d+)? bpw\Z| mix\b|\b(?:all|mostly) ", "", label["rest"] or "")
    text = " " + re.sub(r"\s+-\s+", "_", rest.strip())
    match = _END.search(text)
    if rest and (match is None or match.start() > 0):
        raise NotFound(f"'{name[:80]}': the type '{rest[:40]}' is not known")
    words = []
    if match is not None:
        word_kind, word = next((k, w) for k, w in match.groupdict().items() if w)
        words = [(word_kind.rstrip("0123456789"), word)]
    return NamedModel(entry, stored(words, "", entry), rest)


def _generates(entry: dict[str, Any]) -> bool:
    # Not an embedder, nor a copy in other weights.
    name = (entry["config"].get("architectures") or [""])[0]
    plain = name.endswith("LMHeadModel") or not name.endswith(("Model", "Classification"))
    return plain and "encodes" not in entry and "quant_config" not in entry


def _sized(size: str, alike: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    # By the size in their ids, else by their parameters; Llama's also by llama.cpp's own rule,
    # which tells them by their layers.
    total, *active = size.split(".a")
    wanted = {total, *(f"a{a}" for a in active)}
    result = [e for e in alike if wanted <= set(e["id"].split("-"))]
    if not result and total.endswith("b") and total[:-1].isdigit():
        result = [
            e for e in alike
            if abs(_billions(e["parameters_published"]) / int(total[:-1]) - 1) < 0.02
        ]  # fmt: skip
    layers = _LAYERS.get(total) if kind == "llama" else None
    return [e for e in result if layers in (None, e["config"].get("num_hidden_layers"))]


_LAYERS = {"7b": 32, "8b": 32, "13b": 40, "70b": 80}


def _billions(text: str) -> float:
    unit = {"M": 1e-3, "B": 1.0, "T": 1e3}.get(text[-1])
    return float(text[:-1]) * unit if unit else float(text.replace(",", "")) / 1e9


def _types(entry: dict[str, Any]) -> Iterator[str]:
    config = entry["config"]
    for part in (config, config.get("text_config") or {}):
        if isinstance(kind := part.get("model_type"), str):
            yield _squeezed(kind).replace("_", "").replace(".", "")


_SHAPES = (
    "hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
    "intermediate_size", "vocab_size", "head_dim", "num_experts", "moe_intermediate_size",
    "n_routed_experts", "kv_lora_rank", "tie_word_embeddings",
)  # fmt: skip


def _shape(entry: dict[str, Any]) -> str:
    config = entry["config"]
    inner = config.get("text_config") or config
    return repr([inner.get(key) for key in _SHAPES])
