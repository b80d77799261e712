"""What result files call models: hub ids, file names, llama.cpp's labels; and the formats in them.

A name is tried as it stands, then without path, ending and what says quantisation and training. A
label of llama.cpp (`qwen3moe 30B.A3B Q8_0`) names an architecture and a size: the model of the
catalogue that has both is what ran, as far as its work goes. Nothing here asks the network.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

from .. import catalogue
from ..errors import NotFound
from ..model.load import entries, entry, from_entry

_SHARD = re.compile(r"-\d{5}-of-\d{5}$")
_GGUF = re.compile(r"[-_.]gguf$", re.I)
_SUFFIXES: tuple[tuple[str, str | None], ...] = (
    (r"gptq-int8|int8-gptq|gptq-8bit", "int8:128"),
    (r"gptq(?:-int4|-4bit)?|int4-gptq|awq(?:-int4|-4bit)?|int4-awq|int4|w4a16(?:-g128)?", "int4"),
    (r"fp8(?:-dynamic|-static|-kv|-block)?|w8a8-fp8", "fp8"),
    (r"w8a8|int8|quantized\.w8a8", "int8"),
    (r"w8a16|quantized\.w8a16", "int8:128"),
    (r"quantized\.w4a16", "int4"),
    (r"nvfp4|fp4", "nvfp4"),
    (r"mxfp4(?:_moe)?", "mxfp4"),
    (r"bnb-4bit|unsloth-bnb-4bit|nf4", "nf4"),
    (r"bnb-8bit|8bit", "8.5bits"),
    (r"4bit", "4.5bits"),
    (r"bf16", "bf16"),
    (r"f16|fp16", "fp16"),
    (r"f32|fp32", "fp32"),
    (r"(?:ud-)?i?q\d(?:_\w+)?", None),
)
_SUFFIX = re.compile(
    r"[-_.](?:" + "|".join(f"({pattern})" for pattern, _ in _SUFFIXES) + r")$", re.I
)

_TUNED = re.compile(
    r"[-_.](?:instruct|it|chat|hf|base|thinking|\d{4}|v\d(?:\.\d)?|preview|unsloth)$", re.I
)
"""Endings that say how a model was trained, not what it is."""

_LABEL = re.compile(
    r"(?P<kind>[A-Za-z][\w.\- ]*?)[ ](?P<size>\d+(?:x\d+)?(?:\.\d+)?[BMT])?(?:\.A\d[\w.]*)?"
    r"(?:[ ](?P<rest>.*))?$"
)
_KINDS = {
    "llama": ("llama", "mistral", "mixtral"),
    "deepseek2": ("deepseekv3", "deepseekv2", "kimik2"),
    "gemma3": ("gemma3text", "gemma3"),
    "gptoss": ("gptoss",),
    "glm4moe": ("glm4moe", "glmmoedsa"),
}
NEAR = 0.015
"""Sizes that differ by less are of one model: what counts as a parameter varies by tool."""


ENDINGS = tuple(pattern.pattern for pattern in (_SHARD, _GGUF, _SUFFIX, _TUNED))
"""What is taken off a file's name for a model, in order, for the page that does the same."""


def spellings(said: str | None) -> Iterator[str]:
    """What a file calls its model, and what is left of it, longest first."""
    if said is None:
        return
    if os.path.exists(said) or not said.lower().endswith(".gguf"):
        yield said
    name = said.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    name = _SHARD.sub("", name.removesuffix(".gguf"))
    yield name
    while (shorter := _SUFFIX.sub("", _GGUF.sub("", name))) != name:
        name = shorter
        yield name
    while (shorter := _TUNED.sub("", name)) != name:
        name = shorter
        yield name


def weights_of(said: str | None) -> str | None:
    """The format that the ending of a name says, ``None`` where it says none."""
    if said is None:
        return None
    name = said.replace("\\", "/").rsplit("/", 1)[-1]
    name = _GGUF.sub("", _SHARD.sub("", name.removesuffix(".gguf")))
    result = _SUFFIX.search(name)
    if result is None:
        return None
    for number, (_, fmt) in enumerate(_SUFFIXES, 1):
        if result.group(number):
            return fmt or result.group(number).lower().removeprefix("ud-")
    return None


def in_catalogue(said: str | None, parameters: float | None = None) -> str | None:
    """The id of the catalogue's model that a file's name means, by name or by label and size."""
    for name in spellings(said):
        try:
            return str(entry(name)["id"])
        except NotFound:
            continue
    return _by_label(said, parameters) if said else None


def _by_label(said: str, parameters: float | None) -> str | None:
    """The model of that architecture whose size is nearest to the label's, if near enough."""
    result = _LABEL.match(said)
    if result is None or not (result["size"] or parameters):
        return None
    kind = _plain(result["kind"])
    kinds = _KINDS.get(kind, (kind,))
    alike = [each for each in entries() if set(kinds) & set(_types(each))]
    if parameters is None:  # llama.cpp's sizes are nominal: a 7.6B is "7B", and so in its name
        wanted = result["size"].lower()
        alike = [each for each in alike if wanted in str(each["id"]).split("-")]
        alike.sort(key=lambda each: min(kinds.index(t) for t in _types(each) if t in kinds))
        return str(alike[0]["id"]) if alike else None
    off = [(abs(from_entry(each).parameters / parameters - 1), each["id"]) for each in alike]
    best, name = min(off, key=lambda pair: round(pair[0], 4), default=(1.0, ""))
    return str(name) if best <= NEAR else None


def _types(each: dict[str, Any]) -> Iterator[str]:
    config = each["config"]
    for part in (config, config.get("text_config") or {}):
        if isinstance(kind := part.get("model_type"), str):
            yield _plain(kind)


def _plain(name: str) -> str:
    return catalogue.key(name).replace("-", "").replace("_", "").replace(".", "")
