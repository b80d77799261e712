"""Small GGUF files of every architecture, as llama.cpp itself wants them.

``llamacpp.json`` was made by asking: a file with metadata and no tensors was given to
llama.cpp (the xllamacpp wheel), each tensor that it missed or found too small was added as it
said, until it loaded. With each file are the parameters and bytes that llama.cpp then counts.
``python llamacpp.py FILE…`` asks again, a line of JSON each.
"""

import ctypes
import glob
import json
import os
import sys
from importlib.util import find_spec

HERE = os.path.dirname(os.path.abspath(__file__))


def models():
    """Name to architecture, metadata, tensors, parameters and bytes."""
    with open(os.path.join(HERE, "llamacpp.json"), encoding="utf-8") as file:
        found = json.load(file)["models"]
    for model in found.values():
        tensors = []
        for name, entry in model["tensors"].items():
            shape, layers = tuple(entry["shape"]), entry.get("layers")
            if layers is None:
                tensors.append((name, shape))
            else:
                # a trailing # tells apart entries of other shapes in other layers
                stem = name.rstrip("#")
                tensors += [(f"blk.{i}.{stem}", shape) for i in layers]
        model["tensors"] = tensors
    return found


class _Opaque(ctypes.Structure):
    _fields_ = (("bytes", ctypes.c_ubyte * 1024),)


_LOG = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)


def main():
    spec = find_spec("xllamacpp")
    library = ctypes.CDLL(glob.glob(os.path.join(os.path.dirname(spec.origin), "*.so"))[0])
    pointer, size = ctypes.c_void_p, ctypes.c_uint64
    for name, result, arguments in (
        ("llama_backend_init", None, []), ("llama_log_set", None, [pointer, pointer]),
        ("llama_model_default_params", _Opaque, []),
        ("llama_model_load_from_file", pointer, [ctypes.c_char_p, _Opaque]),
        ("llama_model_size", size, [pointer]), ("llama_model_n_params", size, [pointer]),
        ("llama_model_free", None, [pointer]),
    ):  # fmt: skip
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    errors = []
    keep = _LOG(lambda level, text, _: errors.append(text.decode()) if level >= 4 else None)
    library.llama_log_set(ctypes.cast(keep, pointer), None)
    library.llama_backend_init()
    for path in sys.argv[1:]:
        errors.clear()
        parameters = library.llama_model_default_params()
        model = library.llama_model_load_from_file(os.fsencode(path), parameters)
        if model:
            found = {
                "parameters": library.llama_model_n_params(model),
                "bytes": library.llama_model_size(model),
            }
            library.llama_model_free(model)
        else:
            found = {"error": " ".join(errors)}
        print(json.dumps({"path": path, **found}), flush=True)


if __name__ == "__main__":
    main()
