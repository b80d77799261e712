"""A config as a library's class may be given it: it names no code, no file and no host.

``auto_map`` names Python files of a repository, which transformers runs on a "y";
``attn_implementation`` may name kernels to fetch; keys with a leading underscore are a library's
own. Sizes are held to limits before anything is built, since a class is one Python object a
module, whatever device its numbers are on.
"""

from __future__ import annotations

import re
from typing import Any

from ..errors import InputError
from ..limits import TRACED_ENTRIES, TRACED_EXPERTS, TRACED_LAYERS, TRACED_MODULES
from .config import LIMITS, NESTING, short

DROPPED = frozenset(
    "auto_map attn_implementation experts_implementation trust_remote_code name_or_path "
    "custom_pipelines quantization_config use_pretrained_backbone use_timm_backbone".split()
)

MOST_NUMBER = 1 << 53
"""Any other whole number, such as the base of rotary frequencies."""

_LAYERS = re.compile(r"(^|_)(layers?|blocks?|stages?|depth|depths)$")
_SIZE = re.compile(
    r"(size|dim|width|heads?|positions?|embeddings|length|rank|tokens)$|^n_|^d_|^num_"
)


def plain(data: dict[str, Any], where: str) -> dict[str, Any]:
    """The config without what names code, files or hosts, its sizes held to limits.

    Raises:
        InputError: a size beyond them, by its key.
    """
    most: dict[str, int] = {}
    result = _object(data, where, most, 0)
    modules = most.get("layers", 1) * most.get("experts", 1)
    if modules > TRACED_MODULES:
        raise InputError(
            f"{where}: {most['layers']} layers of {most['experts']} experts are too many modules "
            f"to build (at most {TRACED_MODULES})"
        )
    return result


def _object(data: dict[str, Any], where: str, most: dict[str, int], depth: int) -> dict[str, Any]:
    if depth > NESTING:
        raise InputError(f"{where}: configs nested too deeply")
    if len(data) > TRACED_ENTRIES:
        raise InputError(f"{where}: an object of {len(data)} keys")
    return {
        key: _value(key, value, where, most, depth)
        for key, value in data.items()
        if not key.startswith("_") and key not in DROPPED
    }


def _value(key: str, value: Any, where: str, most: dict[str, int], depth: int) -> Any:
    if depth > 2 * NESTING:
        raise InputError(f"{where}: {short(key)} is nested too deeply")
    if isinstance(value, dict):
        return _object(value, where, most, depth + 1)
    if isinstance(value, list | str) and len(value) > TRACED_ENTRIES:
        raise InputError(f"{where}: {short(key)} has {len(value)} entries")
    if isinstance(value, list):
        return [_value(key, item, where, most, depth + 1) for item in value]
    if isinstance(value, int) and not isinstance(value, bool):
        _held(key, value, where, most)
    return value


def _held(key: str, value: int, where: str, most: dict[str, int]) -> None:
    limit = LIMITS["vocab"] if _SIZE.search(key) else MOST_NUMBER
    if _LAYERS.search(key):
        limit = TRACED_LAYERS
        most["layers"] = max(most.get("layers", 1), value)
    elif "expert" in key and ("num" in key or key.startswith("n_")):
        limit = TRACED_EXPERTS
        most["experts"] = max(most.get("experts", 1), value)
    if abs(value) > limit:
        raise InputError(f"{where}: {key} is {short(value)}, too large to build (at most {limit})")
