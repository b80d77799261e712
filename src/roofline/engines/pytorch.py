"""PyTorch: the model class of `transformers`, a static cache, random weights or a file's.

Without a file the class is built without memory, then given parameters that repeat one random
tile: speed does not depend on their values. The cache is as long as the job's context, so that
attention over a static cache reads what it must and no more. A step is one forward pass with
logits for the last token; sampling is not part of it.
"""

from __future__ import annotations

import inspect
import warnings
from typing import Any

from ..errors import InputError, MissingExtra, RooflineError, UnsupportedError
from ..model.built import plain
from ..placing.resolve import short_config
from .base import Job, Setup
from .chosen import Chosen
from .drive import Stepwise

TILE = 1 << 20

WEIGHTS = ("bf16", "fp16", "fp32", "int8")


class Torch:
    """An engine over a Hugging Face config.

    Args:
        config: the config, shortened or not.
        model: how to call it in points; layers: where it was shortened.
        weights: ``bf16``, ``fp16``, ``fp32`` or ``int8`` (8-bit weights, 16-bit activations).
        device: ``cpu``, ``cuda``, ``cuda:1``, ``mps``, ``xpu``; ROCm is ``cuda`` in torch.
        threads: CPU threads.
        compiled: compile the step; by default where it helps, on CUDA.
        source: a GGUF file, or a folder with safetensors, for real weights.

    Raises:
        MissingExtra: torch or transformers is not installed.
        InputError, UnsupportedError: the config, format or device cannot be used.
    """

    def __init__(
        self,
        config: dict[str, Any],
        *,
        model: str,
        weights: str = "bf16",
        layers: int | None = None,
        device: str = "cpu",
        threads: int | None = None,
        compiled: bool | None = None,
        source: str | None = None,
    ) -> None:
        if weights not in WEIGHTS:
            raise UnsupportedError(
                f"torch runs weights in {', '.join(WEIGHTS)} here, not '{weights}'"
            )
        torch, transformers = _libraries()
        self.torch = torch
        self.device = _device(torch, device)
        if threads:
            torch.set_num_threads(threads)
        narrow = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
        self.dtype = narrow.get(weights, torch.bfloat16)
        writes = ""
        if source is None:
            self.model, self.config = _build(torch, transformers, config, model, self.dtype)
            _fill(torch, self.model, self.device)
        else:
            from .pretrained import load, read_once, write

            with read_once():
                self.model = load(torch, transformers, source, self.dtype).to(self.device)
                writes = write(torch, transformers, self.model, source)
            self.config = self.model.config.get_text_config()
        if weights == "int8":
            _narrow(torch, self.model)
        self.cache_class = transformers.StaticCache
        self.compiled = self.device.type == "cuda" if compiled is None else compiled
        self.forward: Any = self.model.forward
        accepted = inspect.signature(self.model.forward).parameters
        self.cache_argument = "cache" if "cache" in accepted else "past_key_values"
        if self.compiled:
            self.forward = torch.compile(self.model.forward, mode="reduce-overhead")
        kind = {torch.bfloat16: "bf16", torch.float16: "fp16"}.get(self.dtype, "fp32")
        self.setup = Setup(
            engine="torch",
            version=str(torch.__version__),
            model=model,
            layers=layers,
            weights="w8a16" if weights == "int8" else weights,
            kv=kind,
            precisions=(kind,),
            device=str(self.device),
            settings={
                "device": str(self.device),
                "threads": torch.get_num_threads(),
                "compiled": self.compiled,
                "transformers": transformers.__version__,
                "attention": str(getattr(self.config, "_attn_implementation", "?")),
                "sampling": False,
                **({"writes": writes} if writes else {}),
            },
        )

    def prepare(self, job: Job) -> TorchRun:
        """A static cache for the job, filled but for the step."""
        return TorchRun(self, job)

    def synchronize(self) -> None:
        """Wait for the device."""
        if self.device.type == "mps":
            self.torch.mps.synchronize()
        elif self.device.type != "cpu":
            getattr(self.torch, self.device.type).synchronize(self.device)

    def close(self) -> None:
        """Let the model go."""
        self.forward = self.model = None  # the memory goes with them


class TorchRun:
    """One job: a cache at its length and the step's tokens."""

    def __init__(self, engine: Torch, job: Job) -> None:
        torch = engine.torch
        self.engine, self.job = engine, job
        self.cache = engine.cache_class(config=engine.config, max_cache_len=job.length)
        past = job.length - 1 if job.phase == "decode" else 0
        new = 1 if job.phase == "decode" else job.length
        generator = torch.Generator().manual_seed(0)
        tokens = torch.randint(
            0, max(2, engine.model.config.get_text_config().vocab_size), (job.batch, new),
            generator=generator,
        )  # fmt: skip
        positions = torch.arange(past, past + new)
        self.inputs = {
            "input_ids": tokens.to(engine.device),
            "position_ids": positions.unsqueeze(0).expand(job.batch, -1).to(engine.device),
            engine.cache_argument: self.cache,
            "use_cache": True,
            "logits_to_keep": 1,
        }
        self.past = past
        with torch.inference_mode():
            if past:
                self._fill(past)
            self._set_length(past)

    def _fill(self, past: int) -> None:
        """Make the cache's tensors by a first step, then give every entry ordinary values."""
        torch = self.engine.torch
        one = self.inputs | {
            "input_ids": self.inputs["input_ids"][:, :1],
            "position_ids": torch.zeros_like(self.inputs["position_ids"][:, :1]),
        }
        self.engine.model(**one)
        for layer in self.cache.layers:
            for tensor in (getattr(layer, "keys", None), getattr(layer, "values", None)):
                if tensor is not None:
                    tensor.fill_(0.02)

    def _set_length(self, length: int) -> None:
        for layer in self.cache.layers:
            seen = getattr(layer, "cumulative_length", None)
            if seen is not None:
                if hasattr(seen, "fill_"):
                    seen.fill_(length)
                else:
                    layer.cumulative_length = length
            if isinstance(getattr(layer, "cumulative_length_int", None), int):
                layer.cumulative_length_int = length

    def step(self) -> None:
        """One forward pass, waited for."""
        with self.engine.torch.inference_mode():
            self.engine.forward(**self.inputs)
        self.engine.synchronize()

    def rewind(self) -> None:
        """The cache's length as before the step."""
        with self.engine.torch.inference_mode():
            self._set_length(self.past)

    def close(self) -> None:
        """Let the cache go."""
        self.inputs.clear()
        self.cache = None


def _libraries() -> tuple[Any, Any]:
    from ..measuring.torch_device import import_torch

    torch = import_torch("running a model in PyTorch")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import transformers
    except ImportError:
        raise MissingExtra("transformers", "torch", "running a model in PyTorch") from None
    return torch, transformers


def _device(torch: Any, name: str) -> Any:
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).strip().splitlines()[0][:120]
        raise InputError(f"torch has no device '{name}' here ({reason})") from None
    return device


def _build(
    torch: Any, transformers: Any, config: dict[str, Any], name: str, dtype: Any
) -> tuple[Any, Any]:
    """The model class on the meta device, and its config."""
    data = plain(config, name)
    kind = data.pop("model_type", None)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parsed = transformers.AutoConfig.for_model(kind, **data)
            text = parsed.get_text_config()
            with torch.device("meta"):
                model = transformers.AutoModelForCausalLM.from_config(
                    text, dtype=dtype, trust_remote_code=False
                )
    except (ValueError, KeyError, TypeError, AttributeError, ImportError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:160]
        raise UnsupportedError(f"{name}: transformers cannot build it ({reason})") from None
    return model.eval(), text


def _fill(torch: Any, model: Any, device: Any) -> None:
    """Memory for every parameter and buffer, with ordinary values.

    Buffers (rotary frequencies) are computed by their modules when they are made anew.
    """
    generator = torch.Generator().manual_seed(0)
    tile = (torch.randn(TILE, generator=generator) * 0.02).to(device)
    try:
        _renew_buffers(torch, model, device)
        made: dict[int, Any] = {}
        for module in model.modules():
            for key, parameter in list(module._parameters.items()):
                if parameter is None or parameter.device.type != "meta":
                    continue
                if id(parameter) not in made:
                    made[id(parameter)] = _tiled(torch, parameter, tile, device)
                module._parameters[key] = made[id(parameter)]
    except (RuntimeError, MemoryError) as error:
        reason = str(error).strip().splitlines()[0][:160]
        raise RooflineError(f"the model does not fit: {reason}") from None


def _tiled(torch: Any, parameter: Any, tile: Any, device: Any) -> Any:
    count = parameter.numel()
    data = torch.empty(count, dtype=parameter.dtype, device=device)
    source = tile.to(parameter.dtype)
    whole = count // TILE * TILE
    if whole:
        data[:whole].view(-1, TILE).copy_(source)
    data[whole:].copy_(source[: count - whole])
    return torch.nn.Parameter(data.view(parameter.shape), requires_grad=False)


def _renew_buffers(torch: Any, model: Any, device: Any) -> None:
    """Modules with buffers are made again on the real device: their own code fills them."""
    for name, module in list(model.named_modules()):
        meta = [b for b in module._buffers.values() if b is not None and b.device.type == "meta"]
        if not meta:
            continue
        again = None
        config = getattr(module, "config", None)
        if config is not None:
            try:
                with torch.device(device):
                    again = type(module)(config=config)
            except TypeError:
                again = None
        if again is None:
            for key, buffer in list(module._buffers.items()):
                if buffer is not None and buffer.device.type == "meta":
                    filled = torch.full(buffer.shape, 0.5, dtype=buffer.dtype, device=device)
                    module._buffers[key] = filled
            continue
        parent = model.get_submodule(name.rpartition(".")[0]) if "." in name else model
        setattr(parent, name.rpartition(".")[2], again)


def _narrow(torch: Any, model: Any) -> None:
    """Linear layers with 8-bit weights and a scale per row, multiplied by torch's own kernel."""
    multiply: Any = getattr(torch, "_weight_int8pack_mm", None)
    if multiply is None:
        raise UnsupportedError("this torch has no product of 8-bit weights; choose bf16 or fp32")

    class Narrow(torch.nn.Module):  # type: ignore[misc]
        def __init__(self, linear: Any) -> None:
            super().__init__()
            weight = linear.weight.data
            scale = weight.abs().amax(dim=1).clamp(min=1e-8) / 127
            self.weight = (weight / scale[:, None]).round().clamp(-128, 127).to(torch.int8)
            self.scale = scale.to(weight.dtype)
            self.bias = linear.bias
            self.out_features = linear.out_features

        def forward(self, x: Any) -> Any:
            flat = x.reshape(-1, x.shape[-1])
            out = multiply(flat, self.weight, self.scale)
            out = out if self.bias is None else out + self.bias
            return out.view(*x.shape[:-1], self.out_features)

    for module in list(model.modules()):
        for key, child in list(module._modules.items()):
            if isinstance(child, torch.nn.Linear):
                module._modules[key] = Narrow(child)


def opened(chosen: Chosen) -> Stepwise:
    """The model in PyTorch, with real weights where there are, else random ones."""
    r = chosen.request
    source = chosen.source()
    return Stepwise(
        Torch(
            {} if source else short_config(chosen.model_name, r.layers),
            source=source,
            model=chosen.model_name,
            weights=chosen.weights or "bf16",
            layers=r.layers,
            device=chosen.device,
            threads=r.threads,
        )
    )
