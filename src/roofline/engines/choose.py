"""From what was asked to what will run: engine, model, formats, plan.

Nothing heavy is imported and no model is made before `Chosen.open`, so that a plan costs nothing.
"""

from __future__ import annotations

import os
from importlib.util import find_spec

from ..errors import InputError, MissingExtra, RooflineError
from ..files import demo, gguf
from ..machine.load import is_here
from ..model.load import load
from ..model.model import Model
from .chosen import BenchRequest, Chosen
from .plan import plan
from .table import ENGINES

SMALL = ("tinyllama-1.1b", "qwen3-0.6b", "gemma-3-270m")
"""Models to choose from where none is named, largest first: the first that fits twice."""

LARGE = ("llama-3.1-8b", "llama-3.2-3b", "llama-3.2-1b")
"""The same on an accelerator."""

BATCHES = (1, 2, 4, 8, 16)
"""Batches where none are said."""

CORE = 4e10
"""FLOP/s of a core in an engine's products, about: only for how long a plan takes."""


def choose(request: BenchRequest) -> Chosen:
    """Engine, model and plan of a request.

    Raises:
        MissingExtra: no engine is installed.
        InputError: options that contradict each other.
    """
    engine = request.engine or _engine(request)
    if engine not in ENGINES:
        raise InputError(f"no engine '{engine[:40]}' to run (known: {', '.join(ENGINES)})")
    traits = ENGINES[engine]
    if not traits.local:
        return _endpoint(request)
    device = request.device or (_accelerator() if traits.devices else "cpu")
    if not traits.devices and request.device not in (None, "cpu"):
        raise InputError("--device is torch's; llama.cpp uses what its library was built for")
    name, model = _model(request, device)
    if request.gguf is not None and request.layers is not None:
        raise InputError("--layers shortens random weights; a file is run as it is")
    weights = request.weights
    if weights is None and (traits.loads or request.gguf is None):
        weights = traits.weights
    memory = _memory(device)
    made = plan(
        batches=request.batches or BATCHES,
        contexts=request.contexts or (32,),
        prompts=(512,) if request.prompts is None else request.prompts,
        seconds=request.seconds,
        model=_cut(name, request.layers, request.as_type) if request.layers else model,
        weights={"int8": "w8a16"}.get(weights or "", weights),
        memory=memory,
        speed=CORE * (os.cpu_count() or 1) if device == "cpu" else None,
    )
    if not made.jobs:
        raise InputError(
            f"nothing of this fits in memory ({name} needs {made.skipped[0].needed / 1e9:.1f} GB, "
            f"{(memory or 0) / 1e9:.1f} GB are free); choose another model or --layers"
            if made.skipped
            else "nothing to run: give --batch or --prompt"
        )
    return Chosen(request, engine, name, weights, device, made, _machine_name(device))


def _engine(request: BenchRequest) -> str:
    if request.url:
        return "endpoint"
    if request.gguf or request.library:
        return "llamacpp"
    has = {"torch": find_spec("torch") and find_spec("transformers"), "llamacpp": _has_llama()}
    order = ("torch", "llamacpp") if has["torch"] and _accelerator() != "cpu" else (
        "llamacpp", "torch")  # fmt: skip
    for name in order:
        if has[name]:
            return name
    raise MissingExtra("an engine", "llamacpp", "running a model")


def _has_llama() -> bool:
    from .libllama import candidates

    return bool(find_spec("gguf")) and next(iter(candidates()), None) is not None


def _accelerator() -> str:
    """The first accelerator that torch sees, or ``cpu``; torch is only imported if it is there."""
    if not find_spec("torch"):
        return "cpu"
    from ..measuring.torch_device import devices, import_torch

    result = devices(import_torch("looking for an accelerator"))
    return result[0].key if result else "cpu"


def _model(request: BenchRequest, device: str) -> tuple[str, Model | None]:
    """The model asked for, or one that fits."""
    if request.gguf is not None and request.model is None:
        if demo.is_demo(request.gguf):
            return demo.NAME, load(demo.NAME)
        return request.gguf, load(request.gguf, request.as_type)
    if request.gguf is not None and not demo.is_demo(request.gguf):
        gguf.read(request.gguf)  # what our reader refuses reaches no engine, whatever it is called
    if request.model is not None:
        return request.model, load(request.model, request.as_type)
    memory = _memory(device) or 8e9
    names = SMALL if device == "cpu" else LARGE
    for name in names:
        model = load(name)
        if 2 * model.work().resident < memory:
            return name, model
    raise InputError("no small model fits in memory; name one, with --layers")


def _cut(name: str, layers: int, as_type: str | None) -> Model:
    from ..placing.resolve import shortened

    return shortened(name, layers, as_type)


def _endpoint(request: BenchRequest) -> Chosen:
    if not request.url:
        raise InputError("the endpoint engine asks a server: give its address with --url")
    if request.prompts:
        raise InputError("a server's prefill is not timed apart; leave out --prompt")
    made = plan(
        batches=request.batches or BATCHES,
        contexts=(request.served_prompt,),
        prompts=(),
        seconds=request.seconds,
    )
    model = request.model or request.served_model or "the server's model"
    here = is_here(request.machine or "")
    device = ((request.machine or "").partition(":")[2] or "cpu") if here else "server"
    name = _machine_name(device) if here else request.machine
    return Chosen(request, "endpoint", model, request.weights, device, made, name)


def _memory(device: str) -> float | None:
    """Bytes free for a model on the device, with a tenth to spare."""
    if device == "cpu":
        from ..measuring import limits, topology

        free = limits.read(topology.read()).memory
        return 0.9 * free if free else None
    from ..measuring.torch_device import TorchDevice, import_torch

    kind, _, index = device.partition(":")
    free = TorchDevice(import_torch("looking at the device"), kind, int(index or 0)).free
    return 0.9 * free if free else None


def _machine_name(device: str) -> str | None:
    if device == "cpu":
        from ..measuring import topology

        return topology.read().name or "this machine"
    from ..measuring.torch_device import TorchDevice, import_torch

    kind, _, index = device.partition(":")
    try:
        return TorchDevice(import_torch("its name"), kind, int(index or 0)).name
    except RooflineError:
        return None
