"""What every public function checks at its door: its keywords, and the kinds of their values.

The same keyword means the same in each of them, so what it takes is said once, in `KINDS`.

    @spelled
    def explain(model: Model | str, machine: Machine | str, …

    roofline.explain("llama-3.1-8b", "h100-sxm", weigths="int4")
    TypeError: explain() takes no 'weigths'; did you mean 'weights'?
"""

from __future__ import annotations

from functools import wraps

from .errors import InputError

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from re import Match
    from typing import Any, NoReturn, ParamSpec, TypeVar

    P = ParamSpec("P")
    T = TypeVar("T")

_TEXT = ("text", "str")
_FORMAT = ("a format by name, such as 'int4'", "str", "Format")
_COUNT = ("a whole number", "int")
_NUMBER = ("a number", "int", "float")
_FLAG = ("True or False", "bool")
_LENGTHS = ("a whole number, or (least, most)", "int", "tuple", "list")
_COUNTS = ("a whole number or several", "int", "several")
_FORMATS = ("a format by name or several", "str", "Format", "several")
_PATH = ("a path", "str", "PathLike")

KINDS: dict[str, tuple[str, ...]] = {
    "model": ("a model's name, a path, or a Model", "str", "PathLike", "Model"),
    "models": ("names, paths or Models", "str", "PathLike", "Model", "several"),
    "machine": ("a machine's name, a path, or a Machine", "str", "PathLike", "Machine"),
    "machines": ("names, paths or Machines", "str", "PathLike", "Machine", "several"),
    "step": ("a Step", "Step"),
    "results": ("paths of result files, or Points", "str", "PathLike", "Point", "several"),
    "weights": _FORMAT, "kv": _FORMAT, "compute": _TEXT, "ceilings": _TEXT, "as_type": _TEXT,
    "usable": _NUMBER, "parallel": ("a Parallel, such as Parallel(tp=2)", "Parallel"),
    "link": ("a link's name, or bytes/s", "str", "int", "float"), "latency": _NUMBER,
    "batch": _COUNT, "context": _COUNT, "prompt": _COUNT, "output": _COUNT, "drafted": _COUNT,
    "concurrency": _COUNT, "max_batch": _COUNT, "chunk": _COUNT, "rate": _NUMBER,
    "lengths": ("a path, or pairs of prompt and output tokens", "str", "PathLike", "several"),
    "engine": _TEXT, "phase": _TEXT, "language": _TEXT, "device": _TEXT, "mode": _TEXT,
    "seconds": _NUMBER, "tokens_per_s": _NUMBER, "bytes": _NUMBER, "flops": _NUMBER,
    "achieved": _NUMBER, "working_set": _NUMBER, "roof": _NUMBER, "gpu_layers": _COUNT,
    "bandwidth": _NUMBER, "peak": _NUMBER, "force": _FLAG, "keep": _FLAG, "resume": _FLAG,
    "out": _PATH, "gguf": _PATH, "library": _PATH, "url": _TEXT, "served_model": _TEXT,
    "plain_key": _FLAG, "no_roof": _FLAG,
    "tell": ("a function", "callable"), "progress": ("a function", "callable"),
    "layers": _COUNT, "threads": _COUNT, "title": _FLAG, "foot": _TEXT,
}  # fmt: skip
"""Keyword → what it takes, in words, and the names of the classes; ``several`` is any collection.

Where a function takes more than that, it says so: ``@spelled(batch=COUNTS)``.
"""

COUNTS, FORMATS, LENGTHS = _COUNTS, _FORMATS, _LENGTHS
LAYOUTS = ("a Parallel or several", "Parallel", "several")

OTHERS = {
    "batch_size": "batch", "bs": "batch", "context_length": "context", "seq_len": "context",
    "kv_cache": "kv", "cache": "kv", "kv_cache_dtype": "kv", "dtype": "weights",
    "quantization": "weights", "quant": "weights", "precision": "compute", "on": "machine",
    "hardware": "machine", "gpu": "machine", "input_len": "prompt", "output_len": "output",
    "max_num_seqs": "max_batch", "max_num_batched_tokens": "chunk", "link_latency": "latency",
    "tp": "parallel", "pp": "parallel", "ep": "parallel", "dp": "parallel", "devices": "parallel",
    "lang": "language", "files": "results", "gpu_memory_utilization": "usable",
}  # fmt: skip
"""What a keyword is called elsewhere, the command's own options among them."""


OPTIONS = {
    "on": "machine", "as": "as_type", "link_latency": "latency", "redundant_experts": "redundant",
}  # fmt: skip
"""Options of the command that Python calls otherwise."""


def spelled(**more: tuple[str, ...]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A function that refuses what it does not take, in words.

    Args:
        more: kinds of this function's own keywords, beside those of :data:`KINDS`.

    Raises:
        TypeError: when called with an unknown keyword (the nearest is named) or a value of
            another kind (what it takes is said).
    """

    def checked(function: Callable[P, T]) -> Callable[P, T]:
        code = function.__code__
        first = code.co_varnames[: code.co_argcount]
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        needed = set(first[: len(first) - len(function.__defaults__ or ())])
        kinds = {
            name: more.get(name) or KINDS[name] for name in names if name in KINDS or name in more
        }
        title = function.__name__

        @wraps(function)
        def call(*args: P.args, **given: P.kwargs) -> T:
            for name in given:
                if name not in names:
                    _unknown(title, name, names)
            for name, value in (*zip(first, args, strict=False), *given.items()):
                kind = kinds.get(name)
                if kind and not (value is None and name not in needed) and not _is(value, kind):
                    raise TypeError(f"{title}(): {name} is {kind[0]}, not {_shown(value)}")
            try:
                return function(*args, **given)
            except InputError as error:
                error.args = (as_keywords(str(error)),)
                raise

        return call

    return checked


def as_keywords(text: str) -> str:
    """A message with the command's options in it as Python's keywords; whole commands stay.

    >>> as_keywords("give --tokens-per-s and --on; 'roofline measure --quick' measures")
    "give tokens_per_s and machine; 'roofline measure --quick' measures"
    >>> as_keywords("'--phase encode' counts it")
    'phase="encode" counts it'
    """
    from re import sub

    def said(match: Match[str]) -> str:
        name, value, alone = match.groups()
        if name is None and alone is None:
            return str(match[0])
        word = (name or alone).replace("-", "_")
        word = OPTIONS.get(word, word)
        return word if alone else f'{word}="{value}"'

    options = r"'roofline [^']*'|'--([a-z][a-z-]*) (\w+)'|(?<![\w-])--([a-z][a-z-]*[a-z])"
    return sub(options, said, text)


def _is(value: Any, kind: tuple[str, ...]) -> bool:
    own = type(value)
    if own.__name__ in kind:
        return True
    if own is bool:
        return False
    if any(base.__name__ in kind for base in own.__mro__[1:-1]):
        return True
    if "int" in kind and hasattr(own, "__index__"):
        return True
    if "float" in kind and hasattr(own, "__float__") and not hasattr(own, "__len__"):
        return True
    if "PathLike" in kind and hasattr(own, "__fspath__"):
        return True
    if "callable" in kind and callable(value):
        return True
    return "several" in kind and hasattr(own, "__iter__") and not isinstance(value, str | bytes)


def _shown(value: Any) -> str:
    text = repr(value)
    return f"{text[:40]} ({type(value).__name__})"


def _unknown(title: str, name: str, names: tuple[str, ...]) -> NoReturn:
    from difflib import get_close_matches

    near = OTHERS.get(name)
    if near not in names:
        near = next(iter(get_close_matches(name, names, 1, 0.6)), None)
    hint = f"; did you mean '{near}'?" if near else f"; it takes {', '.join(names)}"
    raise TypeError(f"{title}() takes no '{name}'{hint}")
