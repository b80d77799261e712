"""llama.cpp's C interface through ctypes: whichever libllama there is, one small part of it.

The `xllamacpp` wheel exports the whole interface from its extension module; a library built for
this very processor (a system package, a build of one's own, the ones in `@node-llama-cpp/*`) is
often much faster, and can be named. Parameter structures grow from version to version, so they are
taken as opaque bytes from the library's own defaults, and only the first four fields of a context's
parameters, which have never moved, are set. What came of them is then asked back.

`llama_batch` and the functions used here are part of llama.h.
"""

from __future__ import annotations

import ctypes
import glob
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

from ..errors import InputError, MissingExtra, RooflineError
from ..measuring import quiet

BUSY = 0.25
"""CPUs that others keep busy before idle threads sleep."""

_ROOM = 1024
"""Bytes for a structure passed by value: more than any version's. A callee reads its own part."""

_DEFAULTS = (512, 2048, 512, 1)
"""`n_ctx`, `n_batch`, `n_ubatch`, `n_seq_max` as llama.cpp's defaults have them."""


class _Opaque(ctypes.Structure):
    _fields_ = (("bytes", ctypes.c_ubyte * _ROOM),)


class Batch(ctypes.Structure):
    """`llama_batch`."""

    _fields_ = (
        ("n_tokens", ctypes.c_int32),
        ("token", ctypes.POINTER(ctypes.c_int32)),
        ("embd", ctypes.POINTER(ctypes.c_float)),
        ("pos", ctypes.POINTER(ctypes.c_int32)),
        ("n_seq_id", ctypes.POINTER(ctypes.c_int32)),
        ("seq_id", ctypes.POINTER(ctypes.POINTER(ctypes.c_int32))),
        ("logits", ctypes.POINTER(ctypes.c_int8)),
    )


_P, _I, _U, _B = ctypes.c_void_p, ctypes.c_int32, ctypes.c_uint32, ctypes.c_bool
_FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "llama_backend_init": (None, ()),
    "llama_log_set": (None, (_P, _P)),
    "llama_print_system_info": (ctypes.c_char_p, ()),
    "llama_model_default_params": (_Opaque, ()),
    "llama_context_default_params": (_Opaque, ()),
    "llama_model_load_from_file": (_P, (ctypes.c_char_p, _Opaque)),
    "llama_model_free": (None, (_P,)),
    "llama_model_get_vocab": (_P, (_P,)),
    "llama_vocab_n_tokens": (_I, (_P,)),
    "llama_vocab_type": (ctypes.c_int, (_P,)),
    "llama_vocab_is_eog": (_B, (_P, _I)),
    "llama_tokenize": (_I, (_P, ctypes.c_char_p, _I, ctypes.POINTER(_I), _I, _B, _B)),
    "llama_token_to_piece": (_I, (_P, _I, ctypes.c_char_p, _I, _I, _B)),
    "llama_get_logits_ith": (ctypes.POINTER(ctypes.c_float), (_P, _I)),
    "llama_model_size": (ctypes.c_uint64, (_P,)),
    "llama_model_n_params": (ctypes.c_uint64, (_P,)),
    "llama_model_desc": (_I, (_P, ctypes.c_char_p, ctypes.c_size_t)),
    "llama_init_from_model": (_P, (_P, _Opaque)),
    "llama_free": (None, (_P,)),
    "llama_n_ctx": (_U, (_P,)),
    "llama_n_batch": (_U, (_P,)),
    "llama_n_ubatch": (_U, (_P,)),
    "llama_n_seq_max": (_U, (_P,)),
    "llama_set_n_threads": (None, (_P, _I, _I)),
    "llama_get_memory": (_P, (_P,)),
    "llama_memory_clear": (None, (_P, _B)),
    "llama_memory_seq_rm": (_B, (_P, _I, _I, _I)),
    "llama_memory_seq_cp": (None, (_P, _I, _I, _I, _I)),
    "llama_batch_init": (Batch, (_I, _I, _I)),
    "llama_batch_free": (None, (Batch,)),
    "llama_decode": (_I, (_P, Batch)),
    "llama_synchronize": (None, (_P,)),
}
_LOG = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)


class LibLlama:
    """A loaded libllama.

    Attributes:
        path: the file it was loaded from.
        last_error: the last line that the library logged as an error.
    """

    def __init__(self, path: str | None = None) -> None:
        """Load the library at `path`, or the first that is found.

        Raises:
            MissingExtra: there is none.
            InputError: the file is no libllama, or one whose interface is not known.
        """
        choose_waiting()
        self.path = path or find()
        self.last_error = ""
        try:
            self._kept = [ctypes.CDLL(p, ctypes.RTLD_GLOBAL) for p in _before(self.path)]
            self._lib = ctypes.CDLL(self.path)
        except OSError as error:
            raise InputError(f"{self.path}: cannot be loaded as a library ({error})") from None
        for name, (result, arguments) in _FUNCTIONS.items():
            try:
                function = getattr(self._lib, name)
            except AttributeError:
                raise InputError(
                    f"{self.path}: has no {name}, so it is no libllama of the last year"
                ) from None
            function.restype, function.argtypes = result, list(arguments)
        self._log = _LOG(self._logged)
        self._lib.llama_log_set(ctypes.cast(self._log, _P), None)
        self._load_backends()
        self._lib.llama_backend_init()

    def __getattr__(self, name: str) -> Any:
        """A function of the library, without its `llama_`."""
        return getattr(self._lib, f"llama_{name}")

    def _logged(self, level: int, text: bytes, _: Any) -> None:
        if level == 4:  # GGML_LOG_LEVEL_ERROR
            self.last_error = text.decode(errors="replace").strip()[:200] or self.last_error

    def _load_backends(self) -> None:
        """Builds with one library per instruction set choose the best here."""
        for library in (self._lib, *self._kept):
            load = getattr(library, "ggml_backend_load_all_from_path", None)
            if load is not None:
                load.restype, load.argtypes = None, [ctypes.c_char_p]
                load(os.path.dirname(os.path.abspath(self.path)).encode())
                return

    @property
    def system(self) -> str:
        """Instruction sets and options of the build, as it says them itself."""
        return str(self._lib.llama_print_system_info().decode(errors="replace")).strip(" |")

    def load_model(self, path: str) -> int:
        """A model of a GGUF file; `model_free` it.

        Raises:
            InputError: the library refuses the file.
        """
        params = self._lib.llama_model_default_params()
        model = self._lib.llama_model_load_from_file(os.fsencode(path), params)
        if not model:
            raise InputError(
                f"{path}: llama.cpp does not load it ({self.last_error or 'no reason'})"
            )
        return int(model)

    def context(self, model: int, cells: int, batch: int, ubatch: int, sequences: int) -> int:
        """A context with room for `cells` tokens of cache in `sequences` sequences.

        Raises:
            InputError: this version's parameters lie elsewhere.
            RooflineError: the library cannot make the context.
        """
        params = self._lib.llama_context_default_params()
        head = ctypes.cast(ctypes.pointer(params), ctypes.POINTER(ctypes.c_uint32))
        if tuple(head[i] for i in range(4)) != _DEFAULTS:
            raise InputError(f"{self.path}: a libllama whose context parameters are not known")
        for index, value in enumerate((cells, batch, ubatch, sequences)):
            head[index] = value
        context = self._lib.llama_init_from_model(model, params)
        if not context:
            reason = self.last_error or "probably no memory"
            raise RooflineError(f"llama.cpp makes no context of {cells} tokens ({reason})")
        got = (self.n_ctx(context), self.n_seq_max(context))
        if got[0] < cells or got[1] < sequences:
            self._lib.llama_free(context)
            raise RooflineError(
                f"llama.cpp gave room for {got[0]} tokens in {got[1]} sequences, "
                f"not {cells} in {sequences}"
            )
        return int(context)

    def description(self, model: int) -> str:
        """`llama 1B Q8_0`."""
        buffer = ctypes.create_string_buffer(256)
        self._lib.llama_model_desc(model, buffer, 256)
        return buffer.value.decode(errors="replace")


def choose_waiting(cpus: frozenset[int] | None = None, root: str = "/") -> None:
    """Let threads without work sleep instead of spin where others keep a processor busy.

    Two spinning threads on one free core take each other's time and slow a step a hundredfold. On a
    quiet machine sleeping costs a step its barriers, up to a third of it, so there the library does
    as it does by itself. OpenMP reads ``OMP_WAIT_POLICY`` once, as it is loaded; whoever set it is
    obeyed.
    """
    if "OMP_WAIT_POLICY" in os.environ:
        return
    if cpus is None:
        cpus = frozenset(range(os.cpu_count() or 1))
        if hasattr(os, "sched_getaffinity"):
            cpus = frozenset(os.sched_getaffinity(0))
    before = quiet.snapshot(cpus, root)
    time.sleep(0.2)
    if (quiet.others(before, quiet.snapshot(cpus, root)) or 0.0) > BUSY:
        os.environ["OMP_WAIT_POLICY"] = "PASSIVE"


def find() -> str:
    """The first libllama of `candidates`.

    Raises:
        MissingExtra: none is there.
    """
    for path in candidates():
        return path
    raise MissingExtra("xllamacpp", "llamacpp", "running llama.cpp")


def candidates() -> Iterator[str]:
    """Libraries that are here: the one named in ROOFLINE_LIBLLAMA, the system's, the wheel's."""
    if named := os.environ.get("ROOFLINE_LIBLLAMA"):
        yield named
    ending = {"darwin": "dylib", "win32": "dll"}.get(sys.platform, "so")
    folders = ["/usr/local/lib", "/opt/homebrew/lib", "/usr/lib", *_multiarch()]
    for folder in folders:
        for path in sorted(glob.glob(os.path.join(folder, f"libllama*.{ending}"))):
            if "common" not in os.path.basename(path):
                yield path
    from importlib.util import find_spec

    spec = find_spec("xllamacpp")
    if spec and spec.origin:
        yield from glob.glob(os.path.join(os.path.dirname(spec.origin), "xllamacpp*.*[so][od]*"))


def _multiarch() -> list[str]:
    return sorted(glob.glob("/usr/lib/*-linux-gnu"))


def _before(path: str) -> list[str]:
    """ggml libraries beside a libllama that it is linked to by bare names."""
    folder = os.path.dirname(os.path.abspath(path))
    base = glob.glob(os.path.join(folder, "libggml-base*"))
    whole = glob.glob(os.path.join(folder, "libggml.*"))
    return [*base, *whole] if os.path.basename(path).startswith("libllama") else []
