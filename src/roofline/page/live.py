"""The page's browser part: the shapes that it can run, and its worker as one script."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..errors import UnsupportedError
from ..model import Model
from ..model import load as load_model
from ..model.attention import Attention
from ..model.ffn import Mlp
from ..model.load import entries
from .bundle import bundle
from .data import model_json

SHAPES = ("smollm2-135m", "smollm2-360m", "tinyllama-1.1b", "llama-3.2-1b")
"""Models whose decode step a browser runs, small ones first: Llama's kind of layer, all alike."""


def worker() -> str:
    """The script of the worker that measures."""
    return bundle("live/worker")


def shape(model: Model, config: dict[str, Any]) -> dict[str, Any]:
    """The shape of a decoder with grouped-query attention and a gated MLP, for the kernels.

    Raises:
        UnsupportedError: the model has another kind of layer.
    """
    parts = model.layers[0].parts if len(model.layers) == 1 else ()
    if len(parts) != 2 or not isinstance(parts[0], Attention) or not isinstance(parts[1], Mlp):
        raise UnsupportedError(f"{model.name}: only layers of attention and an MLP, all alike")
    attention, mlp = parts[0], parts[1]
    plain = Attention(
        hidden=model.hidden,
        heads=attention.heads,
        kv_heads=attention.kv_heads,
        key_width=attention.key_width,
        value_width=attention.key_width,
    )
    if attention != plain or mlp != Mlp(model.hidden, mlp.width) or model.outer:
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
    found = []
    for name in names:
        of = {**shape(load_model(name), configs[name]), "id": name}
        found.append({"shape": of, "model": model_json(name)})
    return found
