"""The roof of the same minutes: short windows of reading and of matrix products, again and again.

A shared machine drifts by more than engines differ. So the ceilings are sampled before, between
and after the points, each time for a fraction of a second, with the probes of `roofline measure`.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from ..errors import MissingExtra, RooflineError
from ..measuring import bandwidth, gemm, limits, portable, quiet, topology
from ..measuring.crew import Crew
from ..measuring.devices import has_kernels, has_torch
from ..measuring.sampling import Probe, Series
from ..points import MeasuredRoof

WINDOWS = 4
"""Windows of each kind per look: 30–50 ms each."""

MOST_BYTES = 1 << 30


class RoofProbe:
    """Ceilings of one device, ready to be sampled; a context manager.

    Args:
        device: ``cpu`` or a torch device.
        precisions: products to measure; on a CPU fp32 besides.
        room: bytes that the probe may take, about.

    Attributes:
        refused: products that could not be measured, and why.
        emulated: precisions whose library product is slower than fp32's, so that fp32's ceiling
            stands in for theirs.
    """

    def __init__(
        self, device: str = "cpu", precisions: Sequence[str] = ("bf16",), room: int = MOST_BYTES
    ) -> None:
        self.device = device
        self.refused: list[str] = []
        self.emulated: set[str] = set()
        self._stack = ExitStack()
        here = topology.read()
        self._limits = limits.read(here)
        self._features = frozenset(here.features)
        self._wanted = tuple(precisions)
        self._rows: dict[str, list[Series]] = {}
        self._native: Any = None
        try:
            probes = self._cpu(precisions, room) if device == "cpu" else self._other(precisions)
            for probe in probes:
                self._rows[probe.key] = _calibrated(probe)
            self._drop_emulated()
        except BaseException:
            self._stack.close()
            raise

    def _cpu(self, precisions: Sequence[str], room: int) -> list[Probe]:
        crew = self._stack.enter_context(Crew(self._limits.cores[: self._limits.threads]))
        size = min(bandwidth.memory_bytes(topology.read(), self._limits), room)
        probes: list[Probe] = []
        if has_kernels():
            from ..measuring.kernel_native import compile_kernels

            # The kernels live as long as what compiled them.
            self._native = native = compile_kernels()
            everyone = len(crew)
            arena = bandwidth.Arena(crew, size)
            reads = tuple(arena.read(r, arena.each, everyone) for r in native.reads)
            probes.append(Probe("bandwidth.memory", reads, window=0.03))
        else:
            result = portable.PortableArena(crew, size).probes()
            probes += [probe for probe in result if probe.key == "bandwidth.memory"]
        libraries: list[gemm.Library] = [gemm.NumpyLibrary()]
        if has_torch():
            from ..measuring.torch_device import TorchDevice, TorchLibrary, import_torch

            torch = import_torch("the best matrix product")
            libraries.append(TorchLibrary(TorchDevice(torch, "cpu")))
        probes += self._products(libraries, precisions, (1024, 2048))
        return probes

    def _other(self, precisions: Sequence[str]) -> list[Probe]:
        from ..measuring import torch_probes
        from ..measuring.torch_device import TorchDevice, TorchLibrary, import_torch

        torch = import_torch("measuring an accelerator")
        kind, _, index = self.device.partition(":")
        device = TorchDevice(torch, kind, int(index or 0))
        probes = [p for p in torch_probes.probes(device) if p.key == "bandwidth.memory"]
        return probes + self._products([TorchLibrary(device)], precisions, (4096, 8192))

    def _products(
        self, libraries: list[gemm.Library], precisions: Sequence[str], squares: tuple[int, ...]
    ) -> list[Probe]:
        wanted = tuple(dict.fromkeys((*precisions, "fp32"))) if self.device == "cpu" else precisions
        wanted = tuple(wanted)
        return list(gemm.probes(libraries, squares, 0.3, self.refused.append, wanted))

    def _drop_emulated(self) -> None:
        """Look no more at narrow products that are slower than fp32's: those are emulated, fp32's
        ceiling stands in for theirs, and one of their windows takes seconds."""
        wide = _best(self._rows.get("compute.fp32", ()))
        for name in ("bf16", "fp16"):
            rows = self._rows.get(f"compute.{name}")
            if self.device == "cpu" and rows and _best(rows) < wide:
                self.emulated.add(name)
                del self._rows[f"compute.{name}"]

    def look(self) -> MeasuredRoof:
        """A few windows of each ceiling now: bests, and the spread between the windows."""
        best: dict[str, float] = {}
        spreads: list[float] = []
        for key, rows in self._rows.items():
            rates: list[float] = []
            for series in rows:
                before = len(series.rates)
                for _ in range(WINDOWS):
                    series.window()
                rates += series.rates[before:]
            if rates:
                best[key] = max(rates)
                if key == "bandwidth.memory":
                    spreads.append(1 - statistics.median(rates) / best[key])
        return self._roof(best, max(spreads, default=0.0))

    def _roof(self, best: dict[str, float], spread: float) -> MeasuredRoof:
        compute = {
            key.removeprefix("compute."): value
            for key, value in best.items()
            if key.startswith("compute.")
        }
        if self.device == "cpu":
            # Where a narrow product is emulated, widening it first is the faster way.
            wide = compute.get("fp32", 0.0)
            compute |= dict.fromkeys(self.emulated, wide)
            for name in ("bf16", "fp16"):
                if name in compute and compute[name] < wide:
                    self.emulated.add(name)
                    compute[name] = wide
            # No library reaches what the 8-bit instructions can do, and engines of quantised
            # models use those directly: their ceiling is fp32's times the lanes' ratio. So is
            # any other that no library here can measure (torch, where it is installed).
            for name in self._wanted:
                if wide and (name == "int8" or name not in compute):
                    lanes = wide * over_fp32(name, self._features)
                    compute[name] = max(compute.get(name, 0.0), lanes)
        return MeasuredRoof(best.get("bandwidth.memory"), compute, {}, spread)

    def busy(self) -> float | None:
        """CPUs' worth of work that others do here now; ``None`` where it cannot be told."""
        before = quiet.snapshot(_cpus(self._limits))
        time.sleep(0.1)
        return quiet.others(before, quiet.snapshot(_cpus(self._limits)))

    def close(self) -> None:
        """End the threads and give the memory back."""
        self._rows.clear()
        self._stack.close()

    def __enter__(self) -> RoofProbe:
        """The probe itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()


# Multiply-adds that a processor with a feature starts for each one in fp32, most first.
_LANES = {
    "int8": (("amx_int8", 32), ("i8mm", 8), ("avx512_vnni", 4), ("avx_vnni", 4), ("asimddp", 4)),
    "bf16": (("amx_bf16", 16), ("bf16", 4), ("avx512_bf16", 2)),
    "fp16": (("amx_fp16", 16), ("avx512_fp16", 2), ("asimdhp", 2)),
}


def over_fp32(precision: str, features: frozenset[str]) -> int:
    """How many multiply-adds a processor starts for each one in fp32, by its instructions.

    AVX2 multiplies 32 pairs of bytes where it multiplies 8 of fp32, in two instructions
    (vpmaddubsw, vpmaddwd): 2. VNNI does it in one: 4. AMX multiplies 16×64×16 bytes in a tile
    every 16 cycles where two AVX-512 units do 32 fp32 a cycle: 32; half of that in 16 bits.
    AVX-512's own 16-bit products: 2. Arm's dot product does 16 for 4: 4; its matrix products
    32 of 8 bits, 16 of bf16: 8 and 4. What has no instruction is widened to fp32: 1.
    """
    least = 2 if precision == "int8" else 1
    return next((n for name, n in _LANES.get(precision, ()) if name in features), least)


def _best(rows: Sequence[Series]) -> float:
    return max((rate for series in rows for rate in series.rates), default=0.0)


def _cpus(limited: limits.HostLimits) -> frozenset[int]:
    return frozenset(t for core in limited.cores for t in core.threads)


def _calibrated(probe: Probe) -> list[Series]:
    """The two best candidates of a probe, warm."""
    rows = []
    for candidate in probe.candidates:
        series = Series(probe, candidate)
        series.calibrate()
        series.window()
        rows.append(series)
    rows.sort(key=lambda series: -max(series.rates, default=0.0))
    return rows[:2]


def highest(first: MeasuredRoof, second: MeasuredRoof) -> MeasuredRoof:
    """The roof of a point between two looks: the higher ceilings of both.

    The spread is the larger of theirs and of the distance between them.
    """
    pair = [b for b in (first.bandwidth, second.bandwidth) if b]
    apart = 1 - min(pair) / max(pair) if pair else 0.0
    names = {**first.compute, **second.compute}
    compute = {
        name: max(first.compute.get(name, 0.0), second.compute.get(name, 0.0)) for name in names
    }
    spread = max(first.spread or 0.0, second.spread or 0.0, apart)
    return MeasuredRoof(
        max(pair, default=None), compute, {**first.overhead, **second.overhead}, spread
    )


def try_probe(make: Callable[[], Any], warn: Callable[[str], None]) -> Any:
    """The probe, or ``None`` with a warning where the machine cannot be measured."""
    try:
        return make()
    except (MissingExtra, RooflineError, MemoryError) as error:
        warn(str(error))
        return None
