"""Which modules a list in a checkpoint names: the lists, and the paths they are held against.

A :class:`~roofline.model.parts.Linear` has a canonical path (``model.layers.3.mlp.up_proj``).
A checkpoint's lists use its own names: another root (``backbone.layers``,
``language_model.model.layers``), other words (``block_sparse_moe``, ``w1``), fused matrices
(``qkv_proj``). Both sides are brought to one spelling, and each list is then read as the
library that wrote it reads it (:data:`STYLES`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Generic, TypeVar

from ...errors import InputError
from ...limits import NAME_CHARACTERS
from .expressions import compiled, effort

# Words for the same thing, in lists and in paths alike.
_WORDS = {
    "block_sparse_moe": "mlp", "feed_forward": "mlp", "attention": "self_attn",
    "attn": "self_attn", "self_attention": "self_attn", "w1": "gate_proj", "w3": "up_proj",
    "w2": "down_proj", "wq": "q_proj", "wk": "k_proj", "wv": "v_proj", "wo": "o_proj",
    "fc1": "up_proj", "fc2": "down_proj", "c_fc": "up_proj", "dense_h_to_4h": "up_proj",
    "dense_4h_to_h": "down_proj", "query_key_value": "qkv_proj", "c_attn": "qkv_proj",
    "Wqkv": "qkv_proj", "wqkv": "qkv_proj", "W_pack": "qkv_proj", "embed_out": "lm_head",
    "shared_experts": "shared_expert", "share_expert": "shared_expert",
    "shared_mlp": "shared_expert",
}  # fmt: skip
_WORD = re.compile(r"[A-Za-z0-9_]+")
_SAME = (("self_attn.out_proj", "self_attn.o_proj"), ("self_attn.dense", "self_attn.o_proj"))

_ROOTS = (
    "model.language_model.model.", "model.language_model.", "language_model.model.",
    "language_model.", "model.text_model.", "text_model.model.", "text_model.",
    "thinker.model.", "llm.model.", "language.model.", "model.transformer.",
    "transformer.encoder.", "model.decoder.", "decoder.", "backbone.", "transformer.",
    "gpt_neox.", "model.", "",
)  # fmt: skip
_LAYERS = ("layers.", "h.", "blocks.")
_EXPERT = re.compile(r"\bexperts\.(\d+)(?=\.|\Z)")
_FUSED = {
    "q_proj": "qkv_proj", "k_proj": "qkv_proj", "v_proj": "qkv_proj",
    "gate_proj": "gate_up_proj", "up_proj": "gate_up_proj",
}  # fmt: skip

_T = TypeVar("_T")


def words(text: str) -> str:
    """The text with each word in its one spelling."""
    text = _WORD.sub(lambda m: _WORDS.get(m[0], m[0]), text)
    for theirs, ours in _SAME:
        text = text.replace(theirs, ours)
    return text


def canonical(name: str) -> str:
    """A module's name, or a glob, in the spelling of :class:`~roofline.model.parts.Linear`.

    >>> canonical("language_model.model.layers.3.block_sparse_moe.experts.7.w1")
    'model.layers.3.mlp.experts.*.gate_proj'
    """
    for root in _ROOTS:
        if name.startswith(root):
            rest = name[len(root) :]
            for layers in _LAYERS:
                if rest.startswith(layers):
                    name = "model.layers." + rest[len(layers) :]
                    break
            else:
                if root and rest.startswith(("lm_head", "embed_tokens")):
                    name = rest if rest.startswith("lm_head") else "model." + rest
                else:
                    continue
            break
    return _EXPERT.sub("experts.*", words(name))


@lru_cache(1 << 14)
def spellings(path: str) -> tuple[str, ...]:
    """A canonical path and the fused or enclosing modules that stand for it."""
    path = canonical(path)
    result = [path]
    stem, _, leaf = path.rpartition(".")
    if leaf in _FUSED:
        result.append(f"{stem}.{_FUSED[leaf]}" if stem else _FUSED[leaf])
    if ".experts.*." in path:
        bank = path[: path.index(".experts.*.") + len(".experts")]
        result += [f"{bank}.{_FUSED.get(leaf, leaf)}", bank]
    return tuple(result)


class Names:
    """A list of modules as one library reads it.

    Args:
        patterns: the list.
        style: how entries are meant:
            ``module``: a module and what is under it, a regular expression, or an ending
            (transformers); ``part``: any part of the name (AWQ); ``exact``: the name, or
            ``re:`` and a regular expression (compressed-tensors); ``glob``: shell wildcards
            (modelopt, quark), a plain entry also naming what is under it.
        where: for messages.

    Raises:
        InputError: not a list of names, or an expression that is none or may not end.
    """

    def __init__(self, patterns: object, style: str, where: str) -> None:
        if patterns is None:
            patterns = []
        if not isinstance(patterns, list) or not all(isinstance(p, str) for p in patterns):
            raise InputError(f"{where} must be a list of module names")
        self.style = style
        self._where, self._effort = where, effort()
        self._plain: set[str] = set()
        self._under: set[str] = set()
        self._starts: tuple[str, ...] = ()
        self._ends: list[str] = []
        self._parts: list[str] = []
        self._expressions: list[tuple[re.Pattern[str], str]] = []
        self.experts: dict[str, set[int]] = {}
        for pattern in patterns:
            if len(pattern) > NAME_CHARACTERS:
                raise InputError(f"{where} has a name of {len(pattern)} characters")
            if pattern:
                self._add(pattern, where)
        self._memo: dict[str, bool] = {}

    def _add(self, pattern: str, where: str) -> None:
        if match := _EXPERT.search(pattern):
            self.experts.setdefault(canonical(pattern), set()).add(int(match[1][:9]))
        if pattern.startswith("re:"):
            self._expression(pattern[3:], where)
        elif self.style == "part":
            self._parts.append(canonical(pattern))
        elif self.style == "exact":
            self._plain.add(canonical(pattern))
        elif self.style == "glob" and re.search(r"[*?\[]", pattern):
            name = canonical(pattern)
            if re.search(r"[*?\[]", name[:-1]) or not name.endswith("*") or len(name) == 1:
                import fnmatch

                self._expression(fnmatch.translate(name), where, tame=True)
            else:
                self._starts = (*self._starts, name[:-1])
        elif self.style == "module" and re.search(r"[^\w.\-]", pattern):
            self._expression(rf"(?:{pattern})(?:(?<=\.)|(?=\.|$))", where)
        else:
            name = canonical(pattern).removesuffix(".")
            self._plain.add(name)
            self._under.add(name)
            if not name.startswith("model.layers."):
                self._ends.append(name)

    def _expression(self, text: str, where: str, tame: bool = False) -> None:
        result = compiled(words(text), where, self._effort, tame=tame)
        self._expressions.append((result, text))

    @property
    def empty(self) -> bool:
        """Whether nothing is listed."""
        return not (self._plain or self._starts or self._ends or self._parts or self._expressions)

    @property
    def only_names(self) -> frozenset[str] | None:
        """The canonical names, where it lists nothing else and each stands for itself alone."""
        if self._under or self._starts or self._ends or self._parts or self._expressions:
            return None
        return frozenset(self._plain)

    def matches(self, path: str) -> bool:
        """Whether the list names the matrix at ``path``, or what encloses it."""
        result = self._memo.get(path)
        if result is None:
            result = self._memo[path] = self._effort.spend(self._any, path, self._where)
        return result

    def _any(self, path: str) -> bool:
        return any(self._one(name) for name in spellings(path))

    def _one(self, name: str) -> bool:
        if name in self._plain or name.startswith(self._starts):
            return True
        if self._under and any(name[:i] in self._under for i in _dots(name)):
            return True
        if any(name.endswith(end) or f".{end}." in name for end in self._ends):
            return True
        if any(part in name for part in self._parts):
            return True
        return any(
            expression.match(spelled)
            for expression, text in self._expressions
            for spelled in _rooted(name.replace(".experts.*.", ".experts.0."), text)
        )


class InOrder(Generic[_T]):
    """Lists with what each decides, the first that names a module deciding.

    Names that stand for themselves are looked up, however many there are; only the other lists
    are gone through.
    """

    def __init__(self, entries: Iterable[tuple[Names, _T]]) -> None:
        self.entries = tuple(entries)
        self._named: dict[str, int] = {}
        self._others: list[int] = []
        for place, (names, _) in enumerate(self.entries):
            only = names.only_names
            if only is None:
                self._others.append(place)
            for name in only or ():
                self._named.setdefault(name, place)

    def of(self, path: str) -> tuple[_T] | None:
        """What the first list decides that names the module, in a tuple; ``None`` where none."""
        end = len(self.entries)
        first = min((self._named.get(name, end) for name in spellings(path)), default=end)
        for place in self._others:
            if place > first:
                break
            if self.entries[place][0].matches(path):
                first = place
                break
        return (self.entries[first][1],) if first < end else None


def experts(*lists: Names) -> tuple[tuple[str, int], ...]:
    """For patterns that name single experts: how many each names."""
    return tuple((k, len(v)) for names in lists for k, v in names.experts.items())


def _dots(name: str) -> Iterable[int]:
    at = name.find(".")
    while at >= 0:
        yield at
        at = name.find(".", at + 1)


def _rooted(name: str, expression: str) -> Iterable[str]:
    # The name under each root that the expression speaks of.
    yield name
    if name.startswith("model.layers."):
        rest = name.removeprefix("model.")
        if "language_model" in expression:
            yield "model.language_model." + rest
            yield "language_model.model." + rest
        if "backbone" in expression:
            yield "backbone." + rest
        if "transformer" in expression:
            yield "transformer.h." + rest.removeprefix("layers.")
    elif "language_model" in expression:
        yield "language_model." + name
