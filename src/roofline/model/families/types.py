"""Which family's reader a config is for: by its type, by its class, or as somebody says.

A config names its ``model_type`` and the class that runs it (``architectures``). Makers rename
types (``deepseek_ref``), leave them out, or keep the names of the days of remote code; the
class then says what it is. ``classes.json`` maps classes to types.
"""

from __future__ import annotations

from ... import catalogue
from ...errors import InputError, UnsupportedError
from ...pattern import pattern
from ...words.note import Note
from ..config import Config, short

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from collections.abc import Iterable

ALIASES = {
    "Yi": "llama", "LLaMA": "llama", "code_llama": "llama", "codellama": "llama",
    "qwen2_vl_text": "qwen2", "qwen2_5_vl_text": "qwen2", "qwen2_5_omni_text": "qwen2",
    "qwen3_vl_text": "qwen3", "qwen3_omni_text": "qwen3",
    "qwen3_vl_moe_text": "qwen3_moe", "qwen3_omni_moe_text": "qwen3_moe",
    "glm4v_moe_text": "glm4_moe", "mistral4": "deepseek_v3", "hy_v4_vl_text": "hy_v4",
    "paddleocr_vl_text": "ernie4_5", "mllama_text_model": "mllama",
    "emu3_text_model": "llama", "Emu3": "llama", "hunyuan_vl_text": "hunyuan_v1_dense",
    "granite4_vision_text": "granite", "granite_docling_text": "granite",
    "dots_ocr": "qwen2", "llama_bidirec": "llama", "bidir_mistral": "mistral",
    "bidirectional_mistral": "mistral", "qwen2_bidirec": "qwen2", "qwen3_bidirec": "qwen3",
}  # fmt: skip
"""Types that are another under a name of their own."""

BOTH = pattern(r"_bidirec|\Abidir")
"""Types whose attention goes both ways."""

DRAFTERS = pattern(r"(?i)eagle|medusa|mlp_?speculator|mtp\b|mtpmodel|nextn|dflash|assistant")
"""Classes, and types, that read another model's hidden states."""


def classes() -> dict[str, str]:
    """The type that each known class runs."""
    result: dict[str, str] = catalogue.read("model/families/classes.json")["classes"]
    return result


_HEAD = pattern(r"(?:For[A-Z]\w*|LMHeadModel|Model)\Z")


def of_class(name: str) -> str:
    """The type that a class runs, with whatever head; empty where it is not known."""
    table = classes()
    return table.get(name) or table.get(_HEAD.sub("", name) + "ForCausalLM", "")


def named(c: Config) -> list[str]:
    """The classes that a config names."""
    value = c.get("architectures")
    if isinstance(value, str):
        value = [value]
    return [v for v in value if isinstance(v, str)] if isinstance(value, list) else []


def refuse_drafters(c: Config) -> None:
    """Refuse what reads another model's hidden states or cache.

    Raises:
        UnsupportedError: such a class or type, by name.
    """
    for name in (c.kind, *named(c)):
        if DRAFTERS.search(name):
            raise c.refuse(
                f"{short(name)} drafts from another model's states: it is not counted alone"
            )


def resolve(c: Config, known: Iterable[str], as_type: str | None = None) -> tuple[str, str]:
    """The type whose reader is to read a config, and a note where that is not plain.

    Args:
        known: the types that have a reader.
        as_type: the type, or its class, that somebody says it is.

    Raises:
        InputError: neither a type nor a class is named, or ``as_type`` is not known.
        UnsupportedError: an architecture that is not counted.
    """
    known = frozenset(known)
    if as_type is not None:
        return asked(as_type, known), Note("as", type=as_type)
    result, kind = named(c), c.kind
    if "model_type" in c.data and c.data["model_type"] is not None and not kind:
        raise InputError(f"{c.where}: model_type is not a name: {short(c.data['model_type'])}")
    if kind and (plain := canonical(kind, known)):
        return plain, ""
    for name in result:
        if runs := of_class(name):
            what = "class.unknown" if kind else "class.untyped"
            return runs, Note(what, type=kind[:60], name=name, kind=runs)
    if not kind and not result:
        raise InputError(
            f"{c.where}: neither model_type nor architectures, so this is not a model's config.json"
        )
    raise UnsupportedError(f"{c.where}: {unknown(kind or result[0], known)}")


def canonical(kind: str, known: Iterable[str]) -> str:
    """The type that has a reader, by its own name or another's; empty where none has."""
    if kind in known:
        return kind
    return ALIASES.get(kind, "")


def asked(name: str, known: frozenset[str]) -> str:
    """The type that somebody names.

    Raises:
        InputError: no such type, nor class; the nearest are in the message.
    """
    result = canonical(name, known) or of_class(name)
    if not result:
        raise InputError(
            f"--as {short(name)}: no architecture that is counted{near(name, known)}; "
            "'roofline models --architectures' lists them"
        )
    return result


def near(name: str, known: Iterable[str]) -> str:
    """The nearest known types, for a message."""
    result = catalogue.nearest(name, (*known, *classes()))
    return f" (the nearest known: {', '.join(result)})" if result else ""


def unknown(name: str, known: Iterable[str]) -> str:
    """That an architecture is not counted, and what can be done."""
    return (
        f"the architecture '{name[:60]}' is not counted yet{near(name, known)}; if it is one of "
        "'roofline models --architectures' under another name, '--as TYPE' counts it so; if "
        "transformers has its class, '--trace' counts that"
    )
