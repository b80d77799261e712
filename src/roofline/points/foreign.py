"""What of somebody else's fields stays with a point, and what of a point goes into what is shared.

Result files hold what a tool was started with: keys in command lines, tokens in headers, cookies,
addresses with passwords. A list of what is secret is never complete, so the list here is of what
stays: numbers, and the texts of fields that say how something ran. Those texts, and the names that
a point itself has, are cleaned of what looks like a key all the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from ..limits import KEPT_CHARACTERS, KEPT_ITEMS, KEPT_LEVELS

TEXTS = frozenset(
    """
    accelerator accelerators attention attention_backend attn_backend backend backends browser
    build_commit cache_type_k cache_type_v commit compute counted cpu cpu_info cuda dataset
    dataset_name dataset_type date description device device_name device_type devices distribution
    draft draft_model driver dtype end_time engine engine_version flash_attn framework gpu gpu_info
    gpu_name gpu_type guidellm_version hardware hw job kv_cache kv_cache_dtype kv_dtype label
    library machine max_concurrency metric mode model model_filename model_id model_name model_type
    name os percentile phase platform precision prefix profile quant quantization rate_type
    request_rate
    result result_is roof scenario spec_method spec_type speculative split_mode start_time status
    strategy strategy_type sut_name system task test test_case test_name test_time time timestamp
    tokenizer tokenizer_id tokens_counted_by torch_dtype transformers type type_k type_v unit units
    variants version vllm_version wait_policy
    """.split()
)
"""Fields whose text stays: how it ran, not where, with what, or for whom."""

SECRETS = re.compile(
    "apikey|authoriz|passw|passphrase|secret|credential|cookie|bearer|accesskey|accesstoken"
    "|authtoken|hftoken|privatekey|session|signature|webhook|license|jwt|pwd|login|username|email"
)
"""In a field's name, without its punctuation: the whole field goes, whatever is in it."""

_NUMBER = re.compile(
    r"[-+]?[\d.,]{1,20}(?:[eE][-+]?\d{1,3})?\s?(?:%|[KMGTkmun]?i?(?:B|s|x)(?:/s)?)?"
)
_USER = re.compile(r"(?<=://)[^\s/@]*:?[^\s/@]*@")
_QUERY = re.compile(r"(?<=\S)\?\S*[=&]\S*")
_URL = re.compile(r"\b[A-Za-z][A-Za-z0-9+.\-]{1,15}://\S*")
_AT = re.compile(r"\S+:\S+@\S+")
_WORD = r"(?:key|token|secret|passw(?:or)?d|passphrase|pwd|auth\w*|cookie|credentials?)"
_SAID = re.compile(
    rf"(?i)\b(?:bearer|basic)\s+\S+|\w*{_WORD}[\"']?\s*[=:]\s*[\"']?[^\s,]+"
    rf"|(?<!\S)--?[-\w]*{_WORD}\s+\S+"
)
_KNOWN = re.compile(
    r"\b(?:sk|pk|rk|hf|ghp|gho|ghu|ghs|ghr|github_pat|glpat|xox[a-z]|nvapi|gsk|xai|r8|tgp|ya29)"
    r"[-_.][\w.\-]{8,}|\b(?:AKIA|ASIA)[A-Z0-9]{12,}|\bAIza[\w\-]{20,}|\beyJ[\w\-]{8,}\.[\w.\-]+"
    r"|-----BEGIN [^-]*-----.*"
)
_OPAQUE = re.compile(r"(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9+=]{20,}")
_HIDDEN = "***"

NAMES = ("model", "machine", "engine", "engine_version", "time", "weights", "kv", "compute")
"""Texts that a point itself has, which are cleaned wherever they come from and go to."""


def clean(text: str) -> str:
    """A name of a point (its model, its machine) on one line, without what looks like a key.

    >>> clean("https://me:pw@models.example.org/llama-3?token=abcdef")
    'https://models.example.org/llama-3'
    """
    text = _QUERY.sub("", _USER.sub("", text))
    return _line(_KNOWN.sub(_HIDDEN, _SAID.sub(_HIDDEN, text)))


def _line(text: str) -> str:
    text = "".join(c if c.isprintable() else " " for c in text)
    return text if len(text) <= KEPT_CHARACTERS else f"{text[:KEPT_CHARACTERS]}…"


def _text(text: str) -> str:
    """A field's text: as `clean`, and no address nor long mixture of letters and digits."""
    for pattern in (_AT, _URL, _SAID, _KNOWN, _OPAQUE):
        text = pattern.sub(_HIDDEN, text)
    return _line(text)


def _named(key: str) -> bool:
    """Whether a field's name is one, and none of something secret."""
    bare = re.sub(r"[^a-z0-9]", "", key.lower())
    looks = any(pattern.search(key) for pattern in (_AT, _URL, _KNOWN, _OPAQUE))
    return (
        len(key) <= KEPT_CHARACTERS and key.isprintable() and not looks and not SECRETS.search(bare)
    )


def kept(value: Any, key: str = "", depth: int = 0) -> Any:
    """A copy of foreign fields with what may stay; ``None`` for what may not.

    Numbers stay, and texts of `TEXTS`. Infinity and NaN, which JSON has not, become texts.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < 10**30 else None
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, str):
        if _NUMBER.fullmatch(value.strip()) and sum(c.isdigit() for c in value) <= 15:
            return value
        return _text(value) if _plain(key) in TEXTS else None
    if depth > KEPT_LEVELS:
        return None
    if isinstance(value, Mapping):
        named = [(str(k), v) for k, v in value.items() if _named(str(k))][:KEPT_ITEMS]
        result = {k: kept(v, k, depth + 1) for k, v in named}
        return {k: v for k, v in result.items() if v is not None and v not in ({}, [])}
    if isinstance(value, list | tuple):
        items = [kept(item, key, depth + 1) for item in value[:KEPT_ITEMS]]
        return [item for item in items if item is not None and item not in ({}, [])]
    return None


def _plain(key: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", key.lower()).strip("_")


def shared(line: Mapping[str, Any]) -> dict[str, Any]:
    """A point's line as it goes into what others may see: ``place --json``, a page."""
    out = dict(line)
    for name in ("settings", "extra"):
        if name in out:
            out[name] = kept(out[name])
            if not out[name]:
                del out[name]
    for name in NAMES:
        if isinstance(out.get(name), str):
            out[name] = clean(out[name])
    return out
