"""From what was asked to what will run: engine, model, formats, plan.

Nothing heavy is imported and no model is made before `Chosen.open`, so that a plan costs nothing.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from ..errors import InputError, MissingExtra, NotFound, RooflineError, UnsupportedError
from ..files import demo
from ..machine.load import is_here
from ..model.load import load
from ..model.model import Model
from .drive import Measurer, Stepwise
from .plan import Plan, plan
from .pretrained import has_weights

SMALL = ("tinyllama-1.1b", "qwen3-0.6b", "gemma-3-270m")
"""Models to choose from where none is named, largest first: the first that fits twice."""

LARGE = ("llama-3.1-8b", "llama-3.2-3b", "llama-3.2-1b")
"""The same on an accelerator."""


CORE = 4e10
"""FLOP/s of a core in an engine's products, about: only for how long a plan takes."""


@dataclass(frozen=True, slots=True)
class BenchRequest:
    """What was asked for; `None` was not said."""

    model: str | None = None
    as_type: str | None = None
    engine: str | None = None
    weights: str | None = None
    kv: str | None = None
    layers: int | None = None
    device: str | None = None
    threads: int | None = None
    gguf: str | None = None
    library: str | None = None
    url: str | None = None
    served_model: str | None = None
    plain_key: bool = False
    machine: str | None = None
    output_tokens: int = 128
    batches: tuple[int, ...] | None = None
    contexts: tuple[int, ...] | None = None
    prompts: tuple[int, ...] | None = None
    seconds: float = 5.0


@dataclass(slots=True)
class Chosen:
    """What will run.

    Attributes:
        engine, model_name, weights, device: for people.
        plan: the jobs.
        points_file: where points go unless another file is named.
        machine_name: the machine's name in points.
    """

    request: BenchRequest
    engine: str
    model_name: str
    weights: str | None
    device: str
    plan: Plan
    machine_name: str | None
    _folder: list[str] = field(default_factory=list)

    @property
    def facts(self) -> dict[str, Any]:
        """What is known besides names: which file or config it is; memory nodes and processor
        cores of this machine."""
        result: dict[str, Any] = {}
        if self.engine != "endpoint":
            result["source"] = self._identity()
        if self.here:
            from ..measuring import limits, topology

            cores = limits.read(topology.read()).cores
            result |= {"nodes": len({core.node for core in cores}), "cores": len(cores)}
        return result

    def _identity(self) -> str:
        from ..placing.resolve import short_config
        from . import identity

        source = self.source()
        if source is not None:
            return identity.of_weights(source)
        return identity.of_config(short_config(self.model_name, self.request.layers))

    @property
    def points_file(self) -> str:
        """A file in the current folder, named by what runs."""
        parts = [self.engine, os.path.basename(self.model_name), self.weights or ""]
        name = "-".join(part for part in parts if part)
        safe = "".join(c if c.isalnum() or c in "-._" else "-" for c in name)
        return f"roofline-{safe[:100]}.jsonl"

    def open(self) -> Measurer:
        """The engine, its model made.

        Raises:
            RooflineError: a library is missing, or the model cannot be made.
        """
        r = self.request
        if self.engine == "endpoint":
            from .endpoint import Endpoint

            context = (r.contexts or (128,))[0]
            return Endpoint(
                str(r.url),
                model=r.served_model,
                known_as=r.model,
                weights=r.weights,
                kv=r.kv,
                prompt=context,
                output=r.output_tokens,
                plain_key=r.plain_key,
            )
        if self.engine == "torch":
            from ..placing.resolve import short_config
            from .pytorch import Torch

            source = self.source()
            return Stepwise(
                Torch(
                    {} if source else short_config(self.model_name, r.layers),
                    source=source,
                    model=self.model_name,
                    weights=self.weights or "bf16",
                    layers=r.layers,
                    device=self.device,
                    threads=r.threads,
                )
            )
        from .llamacpp import LlamaCpp

        engine = Stepwise(
            LlamaCpp(
                self.source() or self._written(),
                model=self.model_name,
                weights=self.weights or "",
                layers=r.layers if r.gguf is None else None,
                threads=r.threads,
                library=r.library,
                sized=r.gguf is not None,
                real=r.gguf is not None,
            )
        )
        if os.name == "posix":  # mapped into memory: its name is not needed any more,
            self.clean()  # and nothing is left behind even by a kill
        return engine

    def source(self) -> str | None:
        """The file or folder that real weights come from, or ``None`` where they are random."""
        gguf = self.request.gguf
        if gguf is not None:
            return demo.demo() if demo.is_demo(gguf) else gguf
        if self.engine == "torch" and self.request.layers is None and has_weights(self.model_name):
            return self.model_name
        return None

    def _written(self) -> str:
        """A random GGUF in a folder of its own, removed by `clean`."""
        from ..placing.resolve import short_config
        from .random_gguf import write

        folder = tempfile.mkdtemp(prefix="roofline-")
        self._folder.append(folder)
        path = os.path.join(folder, "random.gguf")
        config = short_config(self.model_name, self.request.layers)
        write(path, config, self.weights or "q8_0", self.model_name)
        return path

    def probe(self, precisions: tuple[str, ...], warn: Callable[[str], None]) -> Any:
        """A probe of this machine's roof, or ``None`` where the engine runs elsewhere."""
        if not self.here:
            return None
        from .roofs import RoofProbe, try_probe

        return try_probe(lambda: RoofProbe(self.device, precisions), warn)

    @property
    def here(self) -> bool:
        """Whether the engine runs on this machine: any but a server, or one said to be here."""
        return self.engine != "endpoint" or is_here(self.request.machine or "")

    def clean(self) -> None:
        """Remove what was written for the run."""
        import shutil

        for folder in self._folder:
            shutil.rmtree(folder, ignore_errors=True)
        self._folder.clear()


def choose(request: BenchRequest) -> Chosen:
    """Engine, model and plan of a request.

    Raises:
        MissingExtra: no engine is installed.
        InputError: options that contradict each other.
    """
    engine = request.engine or _engine(request)
    if engine == "endpoint":
        return _endpoint(request)
    device = request.device or (_accelerator() if engine == "torch" else "cpu")
    if engine == "llamacpp" and request.device not in (None, "cpu"):
        raise InputError("--device is torch's; llama.cpp uses what its library was built for")
    name, model = _model(request, device)
    if request.gguf is not None and request.layers is not None:
        raise InputError("--layers shortens random weights; a file is run as it is")
    weights = request.weights
    if weights is None and engine == "torch":
        weights = "bf16"
    elif weights is None and request.gguf is None:
        weights = "q8_0"
    memory = _memory(device)
    made = plan(
        batches=request.batches or (1, 2, 4, 8, 16),
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
        try:
            return request.gguf, load(request.gguf, request.as_type)
        except (UnsupportedError, NotFound):
            raise
        except InputError:
            return request.gguf, None
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
        batches=request.batches or (1, 2, 4, 8, 16),
        contexts=(request.contexts or (128,))[:1],
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
