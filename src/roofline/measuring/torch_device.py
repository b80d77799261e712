"""One device as torch sees it: CUDA, ROCm, XPU, MPS, or the CPU.

Only torch's public interface is used, and torch is imported by whoever asks
for a device, never by this module. Work is timed with the device's own events
where it has them, else by the wall clock around a synchronisation.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import MissingExtra
from .gemm import Layout, Product, Refused, Shape, Turn, laid_out, wall
from .sampling import Window

KINDS = ("cuda", "xpu", "mps")


def import_torch(purpose: str) -> Any:
    """Import torch with its threads asleep while they wait.

    Raises:
        MissingExtra: it is not installed.
    """
    if "torch" not in sys.modules:
        # read once by the OpenMP runtime, when it is loaded
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        import torch
    except ImportError:
        raise MissingExtra("torch", "torch", purpose) from None
    return torch


@dataclass(frozen=True, slots=True)
class TorchDevice:
    """Device ``index`` of ``kind`` ("cuda" also stands for ROCm, as in torch itself)."""

    torch: Any
    kind: str
    index: int = 0

    @property
    def key(self) -> str:
        """Name as torch writes it: ``cuda:0``; ``cpu`` and ``mps`` have no number."""
        return self.kind if self.kind in ("cpu", "mps") else f"{self.kind}:{self.index}"

    @property
    def platform(self) -> str:
        """What drives it: cuda, rocm, xpu, mps or cpu."""
        version = getattr(self.torch, "version", None)
        if self.kind == "cuda" and getattr(version, "hip", None):
            return "rocm"
        return self.kind

    @property
    def _module(self) -> Any:
        return getattr(self.torch, self.kind)

    @property
    def _properties(self) -> Any:
        if self.kind in ("cuda", "xpu"):
            return self._module.get_device_properties(self.index)
        return None

    @property
    def name(self) -> str:
        """The product name the driver gives."""
        if self.kind in ("cuda", "xpu"):
            return str(self._module.get_device_name(self.index))
        return "Apple GPU (Metal)" if self.kind == "mps" else "CPU"

    @property
    def memory(self) -> int | None:
        """Bytes of device memory, or what the driver recommends of a shared pool."""
        total = getattr(self._properties, "total_memory", None)
        if total is None and self.kind == "mps":
            recommended = getattr(self.torch.mps, "recommended_max_memory", None)
            total = recommended() if recommended else None
        return int(total) if total else None

    @property
    def free(self) -> int | None:
        """Bytes that may still be taken now."""
        if self.kind in ("cuda", "xpu"):
            ask = getattr(self._module, "mem_get_info", None)
            if ask is not None:
                try:
                    return int(ask(self.index)[0])
                except RuntimeError:  # some drivers do not say
                    return None
        return self.memory

    @property
    def cache(self) -> int | None:
        """Bytes of L2 cache where torch knows them."""
        for attribute in ("L2_cache_size", "last_level_cache_size"):
            size = getattr(self._properties, attribute, None)
            if size:
                return int(size)
        return None

    @property
    def units(self) -> int | None:
        """Multiprocessors or compute units."""
        for attribute in ("multi_processor_count", "gpu_eu_count"):
            count = getattr(self._properties, attribute, None)
            if count:
                return int(count)
        return None

    def clock(self) -> float | None:
        """Clock in Hz if the driver's library is there to be asked."""
        ask = getattr(self._module, "clock_rate", None) if self.kind == "cuda" else None
        if ask is None:
            return None
        try:
            return float(ask(self.index)) * 1e6
        except Exception:  # without the driver's Python library torch raises one of many errors
            return None

    def synchronize(self) -> None:
        """Wait until all work given to the device is done."""
        if self.kind == "mps":
            self.torch.mps.synchronize()
        elif self.kind != "cpu":
            self._module.synchronize(self.index)

    def timed(self, call: Callable[[], object], calls: int) -> Window:
        """Time ``calls`` calls on the device, with its events if it has them."""
        if self.kind == "cpu":
            return wall(call, calls)
        events = self._events()
        if events is None:
            self.synchronize()
            start = time.perf_counter()
            for _ in range(calls):
                call()
            self.synchronize()
            return Window(calls, time.perf_counter() - start)
        first, last = events
        self.synchronize()
        first.record()
        for _ in range(calls):
            call()
        last.record()
        self.synchronize()
        return Window(calls, float(first.elapsed_time(last)) / 1e3)

    def _events(self) -> tuple[Any, Any] | None:
        maker = getattr(self._module, "Event", None)
        if maker is None:
            maker = getattr(getattr(self._module, "event", None), "Event", None)
        if maker is None:
            return None
        try:
            return maker(enable_timing=True), maker(enable_timing=True)
        except (RuntimeError, TypeError, NotImplementedError):
            return None


def devices(torch: Any) -> list[TorchDevice]:
    """All accelerators torch can use here."""
    result: list[TorchDevice] = []
    for kind in KINDS:
        if kind == "mps":
            backend = getattr(getattr(torch, "backends", None), "mps", None)
            if backend is not None and backend.is_available():
                result.append(TorchDevice(torch, "mps"))
            continue
        module = getattr(torch, kind, None)
        if module is not None and module.is_available():
            result += [TorchDevice(torch, kind, i) for i in range(int(module.device_count()))]
    return result


class TorchLibrary:
    """torch's matrix products on one device."""

    def __init__(self, device: TorchDevice) -> None:
        """Offer the precisions the device may have; `Refused` tells which it has not."""
        self.device = device
        self.torch = device.torch
        self.name = "torch"
        names = ["fp64", "fp32", "bf16", "fp16", "int8"]
        if device.kind == "mps":
            names = ["fp32", "fp16", "bf16"]
        elif device.kind in ("cuda", "xpu"):
            names += ["fp8"]
        if device.platform == "cuda":
            names.insert(2, "tf32")
        self.precisions = tuple(names)

    def timed(self, call: Callable[[], object], calls: int) -> Window:
        """As the device times it."""
        return self.device.timed(call, calls)

    def layouts(self, precision: str) -> tuple[Layout, ...]:
        """Both; narrow formats exist n×k alone on a GPU."""
        return ("n×k",) if precision in ("int8", "fp8") else ("k×n", "n×k")

    def weights(self, precision: str, shape: tuple[int, int], layout: Layout) -> Any:
        """Random numbers, in a format multiplied plainly.

        Raises:
            Refused: there is no room.
        """
        try:
            return laid_out(self._filled, precision, shape, layout)
        except RuntimeError as error:
            raise self._refused(error) from None

    def product(
        self,
        precision: str,
        shape: Shape,
        layout: Layout = "k×n",
        weights: Sequence[Any] | None = None,
    ) -> Product:
        """Prepare a product.

        Raises:
            Refused: torch's own reason.
        """
        try:
            if precision == "int8":
                return self._int8(precision, shape)
            if precision == "fp8":
                return self._fp8(precision, shape)
            return self._plain(precision, shape, layout, weights)
        except Refused:
            raise
        except (RuntimeError, NotImplementedError, TypeError, AttributeError, ValueError) as error:
            raise self._refused(error) from None

    def _refused(self, error: Exception) -> Refused:
        lines = str(error).strip().splitlines()
        return Refused(f"torch on {self.device.key}: {lines[0] if lines else error}")

    def _plain(
        self, precision: str, shape: Shape, layout: Layout, weights: Sequence[Any] | None
    ) -> Product:
        torch, (m, k, n) = self.torch, shape
        a = self._filled(m, k, precision)
        turn = Turn(weights or [self.weights(precision, (k, n), layout)])
        out = torch.empty(m, n, dtype=a.dtype, device=self.device.key)

        def call() -> None:
            torch.matmul(a, turn.next(), out=out)

        def tensor_float() -> None:
            flags = torch.backends.cuda.matmul
            before = flags.allow_tf32
            flags.allow_tf32 = True
            try:
                call()
            finally:
                flags.allow_tf32 = before

        chosen = tensor_float if precision == "tf32" else call
        chosen()
        return Product(chosen, lambda: self._corner(out, a, turn.last))

    def _filled(self, rows: int, columns: int, precision: str) -> Any:
        # Random rows, again and again: drawing every number would take longer than measuring.
        torch = self.torch
        dtype = {
            "fp64": torch.float64,
            "fp32": torch.float32,
            "tf32": torch.float32,
            "bf16": torch.bfloat16,
            "fp16": torch.float16,
        }[precision]
        block = (torch.rand(min(rows, 64), columns, device=self.device.key) - 0.5).to(dtype)
        return block.repeat(-(-rows // len(block)), 1)[:rows].contiguous()

    def _int8(self, precision: str, shape: Shape) -> Product:
        # torch has no public int8 product yet; this one is what its own quantisation calls.
        multiply = getattr(self.torch, "_int_mm", None)
        if multiply is None:
            raise Refused(f"this torch has no {precision} product")
        torch, (m, k, n) = self.torch, shape
        a = torch.randint(-64, 64, (m, k), device=self.device.key, dtype=torch.int8)
        b = torch.randint(-64, 64, (n, k), device=self.device.key, dtype=torch.int8).t()
        out = multiply(a, b)

        def call() -> None:
            multiply(a, b, out=out)

        call()
        return Product(call, lambda: self._corner(out, a, b))

    def _fp8(self, precision: str, shape: Shape) -> Product:
        functional = self.torch.nn.functional
        multiply = getattr(functional, "scaled_mm", None)
        if multiply is None:
            raise Refused(f"this torch has no public {precision} product (2.10 has)")
        torch, (m, k, n) = self.torch, shape
        kind = torch.float8_e4m3fn
        a = (torch.rand(m, k, device=self.device.key) - 0.5).to(kind)
        b = (torch.rand(n, k, device=self.device.key) - 0.5).to(kind).t()
        one = torch.ones((), device=self.device.key)
        recipe = functional.ScalingType.TensorWise
        kept: list[Any] = [None]

        def call() -> None:
            kept[0] = multiply(a, b, one, recipe, one, recipe, output_dtype=torch.bfloat16)

        call()
        return Product(call, lambda: self._corner(kept[0], a, b))

    def _corner(self, out: Any, a: Any, b: Any) -> tuple[Any, Any]:
        torch = self.torch
        left, right = a[:4].cpu(), b[:, :4].cpu()
        exact = left.to(torch.float64) @ right.to(torch.float64)
        return out[:4, :4].cpu().to(torch.float64).numpy(), exact.numpy()
