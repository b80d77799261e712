"""The page's browser part: what it can run, its worker as one script, its words and style.

Without a server the page measures the browser it is read in. Served with a model file
(``roofline page --serve --live FILE``) it also runs that model: :class:`LiveModel` says which
addresses the server answers then, a fixed list.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

from ..errors import InputError, UnsupportedError
from ..files import demo
from ..model import Model
from ..model.attention import Attention
from ..model.ffn import Mlp
from ..model.load import entries
from ..model.load import load as load_model
from ..record import replace
from . import engine as engines
from .bundle import FOLDER, bundle, read
from .data import format_json, model_json

SHAPES = ("smollm2-135m", "smollm2-360m", "tinyllama-1.1b", "llama-3.2-1b")
"""Models whose decode step a browser runs, small ones first: Llama's kind of layer, all alike."""


FORMATS = ("fp32", "fp16")
"""What the kernels store weights and cache in."""

POLICY = (
    "default-src 'none'; script-src 'self' blob: 'wasm-unsafe-eval'; worker-src blob:; "
    "connect-src 'self' blob:"
)
"""Of the worker that runs the engine: its own files, and workers that the engine makes."""


def worker() -> str:
    """The script of the worker that measures."""
    return bundle("live/worker")


def style() -> str:
    """Its style sheet."""
    return read("live/live.css")


def shape(model: Model, config: dict[str, Any]) -> dict[str, Any]:
    """The shape of a decoder with grouped-query attention and a gated MLP, for the kernels.

    Raises:
        UnsupportedError: the model has another kind of layer.
    """
    layer = model.layers[0]
    if len(model.layers) != 1 or [type(part) for part in layer.parts] != [Attention, Mlp]:
        raise UnsupportedError(f"{model.name}: only layers of attention and an MLP, all alike")
    attention, mlp = cast("tuple[Attention, Mlp]", layer.parts)
    plain = Attention(
        hidden=model.hidden,
        heads=attention.heads,
        kv_heads=attention.kv_heads,
        key_width=attention.key_width,
        value_width=attention.key_width,
    )
    as_run = replace(layer, parts=(plain, Mlp(model.hidden, mlp.width)))
    # What the kernels run is what is counted: no window, bias or further norm.
    if model.altered(layers=(as_run,)).work() != model.work() or attention.vectors:
        raise UnsupportedError(f"{model.name}: windows, biases and further norms are not run")
    return {
        "id": "",
        "name": model.name,
        "hidden": model.hidden,
        "layers": model.depth,
        "heads": attention.heads,
        "kv_heads": attention.kv_heads,
        "width": attention.key_width,
        "middle": mlp.width,
        "vocab": model.vocab,
        "theta": float(config.get("rope_theta", 10000.0)),
        "epsilon": float(config.get("rms_norm_eps", 1e-6)),
    }


def shapes(names: Iterable[str] = SHAPES) -> list[dict[str, Any]]:
    """What the panel chooses from: ``[{"shape", "model"}]``, the model as the page draws it."""
    configs = {entry["id"]: entry["config"] for entry in entries()}
    result = []
    for name in names:
        of = {**shape(load_model(name), configs[name]), "id": name}
        result.append({"shape": of, "model": model_json(name)})
    return result


def data(file: LiveModel | None) -> dict[str, Any]:
    """What the page is told of this part, and the number formats that it names."""
    offered = shapes()
    said = file.to_json() if file else None
    models = [x["model"] for x in offered] + ([said["model"]] if said else [])
    named = {m[part] for m in models for part in ("dtype", "kv", "stored")} - {None}
    return {
        "shapes": offered,
        "file": said,
        "formats": {name: format_json(name) for name in sorted({*named, *FORMATS})},
    }


@dataclass(frozen=True, slots=True)
class LiveModel:
    """A model file and the engine that runs it in the page.

    Attributes:
        path: the GGUF file.
        model: what it holds.
        engine: the engine's files.
    """

    path: str
    model: Model
    engine: engines.BrowserEngine

    @property
    def addresses(self) -> dict[str, tuple[str, str]]:
        """What the server answers: address → file, content type. Nothing else is read."""
        return {
            "/live/engine.js": (os.path.join(FOLDER, "live", "engine.js"), "text/javascript"),
            "/live/wllama.js": (self.engine.path("wllama.js"), "text/javascript"),
            "/live/wllama.wasm": (self.engine.path("wllama.wasm"), "application/wasm"),
            "/live/model.gguf": (self.path, "application/octet-stream"),
        }

    def to_json(self) -> dict[str, Any]:
        """What the page is told of it."""
        name = os.path.basename(self.path)
        data = model_json(self.model)
        return {
            "name": name,
            "size": os.path.getsize(self.path),
            "model": {**data, "id": f"file-{name}", "source": {"title": name}},
            "engine": f"{self.engine.name} {self.engine.version}",
            "version": self.engine.version,
        }


def served(name: str, source: str | None = None) -> LiveModel:
    """A model file to run in the page: a path, or ``gemma-3-270m``, which ``[demo]`` brings.

    Args:
        name: which.
        source: where the engine comes from, see :func:`roofline.page.engine.engine`.

    Raises:
        RooflineError: the file is none that can be run, or the engine is missing.
    """
    path = name
    if not os.path.exists(name):
        if name.lower() != demo.NAME:
            raise InputError(f"--live {name}: no such file (a GGUF file, or {demo.NAME})")
        path = demo.demo()
    elif os.path.isdir(name) or not name.lower().endswith(".gguf"):
        raise InputError(f"--live {name}: the page runs one GGUF file")
    return LiveModel(path, load_model(path), engines.engine(source))
