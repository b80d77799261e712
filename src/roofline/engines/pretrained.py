"""Real weights for torch: a GGUF file, or a folder with safetensors, read by `transformers`.

Never code that the folder brings (`trust_remote_code` is off), and never a pickle.
"""

from __future__ import annotations

import contextlib
import glob
import os
import warnings
from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from ..errors import InputError, MissingExtra
from .greedy import PROMPT, TOKENS


def has_weights(path: str) -> bool:
    """Whether a path is a folder that holds a model's weights beside its config."""
    return os.path.isdir(path) and bool(glob.glob(os.path.join(glob.escape(path), "*.safetensors")))


def load(torch: Any, transformers: Any, source: str, dtype: Any) -> Any:
    """The model with its weights, widened to `dtype` where the file holds fewer bits.

    Raises:
        MissingExtra: a library is missing that reads GGUF files.
        InputError: transformers does not load it.
    """
    if not os.path.isdir(source):
        for library in ("gguf", "accelerate"):
            if find_spec(library) is None:
                raise MissingExtra(library, "torch", "reading a GGUF file in PyTorch")
    with _quiet(transformers):
        try:
            how: dict[str, Any] = {"dtype": dtype}
            if os.path.isdir(source):
                how["use_safetensors"] = True  # never a pickle
            model = transformers.AutoModelForCausalLM.from_pretrained(**_at(source), **how)
        except (OSError, ValueError, KeyError, RuntimeError, TypeError) as error:
            raise InputError(f"{source}: transformers does not load it ({_first(error)})") from None
    return model.eval()


def write(torch: Any, transformers: Any, model: Any, source: str) -> str:
    """What the model makes of a prompt, greedily; empty where no tokenizer is there."""
    with _quiet(transformers):
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(**_at(source))
        except (OSError, ValueError, KeyError, TypeError, ImportError):
            return ""
        with torch.inference_mode():
            asked = tokenizer(PROMPT, return_tensors="pt").to(model.device)
            said = model.generate(**asked, max_new_tokens=TOKENS, do_sample=False)
    return str(tokenizer.decode(said[0], skip_special_tokens=True))


def _at(source: str) -> dict[str, Any]:
    folder, name = (source, None) if os.path.isdir(source) else os.path.split(source)
    where: dict[str, Any] = {"pretrained_model_name_or_path": folder or "."}
    where |= {"local_files_only": True, "trust_remote_code": False}
    return where if name is None else where | {"gguf_file": name}


@contextlib.contextmanager
def read_once() -> Iterator[None]:
    """Let `gguf` parse a file once, not again for config, weights and tokeniser: with a vocabulary
    of a quarter million words each time takes seconds."""
    if find_spec("gguf") is None:
        yield
        return
    import gguf

    plain: Any = gguf.GGUFReader
    read: Any = lru_cache(1)(plain)
    vars(gguf)["GGUFReader"] = read
    try:
        yield
    finally:
        vars(gguf)["GGUFReader"] = plain
        read.cache_clear()


@contextlib.contextmanager
def _quiet(transformers: Any) -> Iterator[None]:
    """Without progress bars and advice."""
    log = transformers.utils.logging
    before = log.get_verbosity()
    log.set_verbosity_error()
    log.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.set_verbosity(before)
        log.enable_progress_bar()


def _first(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:160]
