"""Quantised checkpoints: from a ``quantization_config`` to a format for every module.

One file per library that writes such configs; an unknown one is refused by name.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ...errors import InputError, UnsupportedError
from ..config import Config, short
from ..formats import Format
from .expressions import one_config
from .names import Names, canonical
from .rules import Beyond, Quantised, Rules

# Which file and function reads which quant_method.
METHODS = {
    "awq": ("integer", "awq"),
    "gptq": ("integer", "gptq"),
    "auto-round": ("integer", "auto_round"),
    "mlx": ("integer", "mlx"),
    "fp8": ("floating", "fp8"),
    "fbgemm_fp8": ("floating", "fbgemm_fp8"),
    "mxfp4": ("floating", "mxfp4"),
    "compressed-tensors": ("compressed", "read"),
    "modelopt": ("modelopt", "read"),
    "bitsandbytes": ("bitsandbytes", "read"),
    "torchao": ("torchao", "read"),
    "quark": ("quark", "read"),
    "exl2": ("codebooks", "exl"),
    "exl3": ("codebooks", "exl"),
    "aqlm": ("codebooks", "aqlm"),
    "higgs": ("codebooks", "higgs"),
    "hqq": ("codebooks", "hqq"),
    "quanto": ("codebooks", "quanto"),
    "eetq": ("codebooks", "eetq"),
    "bitnet": ("codebooks", "bitnet"),
    "fp_quant": ("codebooks", "fp_quant"),
    "ascend": ("codebooks", "ascend"),
    "vptq": ("modules", "vptq"),
    "spqr": ("modules", "spqr"),
    "gemma": ("modules", "gemma"),
    "metal": ("modules", "simple"),
    "sinq": ("modules", "simple"),
    "qqq": ("modules", "simple"),
    "nvfp4": ("modules", "simple"),
    "mxfp8": ("modules", "simple"),
    "fouroversix": ("modules", "simple"),
    "w8a8_int8": ("codebooks", "by_channel"),
    "w8a8_fp8": ("codebooks", "by_channel"),
}

_SAME = {
    "modelopt_fp4": "modelopt", "modelopt_fp8": "modelopt", "modelopt_mixed": "modelopt",
    "auto_round": "auto-round", "intel/auto-round": "auto-round", "gptq_marlin": "gptq",
    "awq_marlin": "awq", "gptqmodel": "gptq", "bnb": "bitsandbytes",
    "compressed_tensors": "compressed-tensors", "exllamav2": "exl2", "exllamav3": "exl3",
    "optimum-quanto": "quanto", "fpquant": "fp_quant", "hqq_marlin": "hqq",
}  # fmt: skip


def read(
    data: dict[str, Any], plain: Format, where: str, sidecar: dict[str, Any] | None = None
) -> Quantised | None:
    """How a checkpoint stores its matrices, or ``None`` where it is not quantised.

    Args:
        data: the parsed ``config.json``.
        plain: the format of what stays unquantised: the checkpoint's dtype.
        where: how to call the config in messages.
        sidecar: the parsed ``hf_quant_config.json`` beside it, if there is one; or msmodelslim's
            ``quant_model_description.json`` under the key ``description``.

    Raises:
        InputError: a config that cannot be.
        UnsupportedError: a method, or a variant of one, that is not counted, named.
    """
    found = _find(data)
    if found is None and sidecar is None:
        return None
    if sidecar is not None and isinstance(sidecar.get("description"), dict):
        said = Config({"description": sidecar["description"]}, where)
        from .modules import described

        return described(said, plain)
    if found is None or (sidecar is not None and _method(found, where) == "modelopt"):
        if not isinstance(sidecar, dict) or not isinstance(sidecar.get("quantization"), dict):
            raise InputError(f"{where}: hf_quant_config.json has no object 'quantization'")
        found, method = sidecar, "modelopt"
        if sidecar["quantization"].get("quant_algo") is None:
            return None
    else:
        method = _method(found, where)
    if method not in METHODS:
        raise UnsupportedError(
            f"{where}: the quantisation method {short(method)} is not counted; known are "
            f"{', '.join(sorted(METHODS))} ('--weights FORMAT' counts it as one format)"
        )
    if "expert_dtype" in data:
        found = {**found, "expert_dtype": data["expert_dtype"]}
    file, name = METHODS[method]
    reader = getattr(import_module(f".{file}", __name__), name)
    with one_config():
        read: Quantised = reader(Config(found, f"{where}: quantization_config"), plain)
    return read


def _find(data: dict[str, Any]) -> dict[str, Any] | None:
    # In the config, or in its text model's; MLX names no method and calls it "quantization".
    from ..families.multimodal import text_of

    for place in (data, text_of(data)):
        for key in ("quantization_config", "compression_config"):
            found = place.get(key)
            if isinstance(found, dict) and found:
                return found
        if isinstance(place.get("quantize"), str):  # Ascend's msmodelslim
            return {"quant_method": "ascend", "quantize": place["quantize"]}
        mlx = place.get("quantization")
        if isinstance(mlx, dict) and "bits" in mlx and "quant_method" not in mlx:
            return {**mlx, "quant_method": "mlx"}
    return None


def _method(found: dict[str, Any], where: str) -> str:
    method = found.get("quant_method")
    if method is None:
        if "quantization" in found or "quant_algo" in found:
            return "modelopt"
        if "load_in_4bit" in found or "load_in_8bit" in found:
            return "bitsandbytes"
        if "bits" in found and "group_size" in found:
            return "mlx"
        raise InputError(f"{where}: quantization_config names no quant_method")
    if not isinstance(method, str):
        raise InputError(f"{where}: quant_method must be a name, not {short(method)}")
    return _SAME.get(method.lower(), method.lower())


__all__ = ["METHODS", "Beyond", "Names", "Quantised", "Rules", "canonical", "read"]
