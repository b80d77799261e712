"""One measuring run: look, choose probes, sample them in turns, look again."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field

from ..errors import MissingExtra, RooflineError
from . import bandwidth, consistency, gemm, overhead, quiet, torch_probes
from . import limits as limits_module
from . import topology as topology_module
from .crew import Crew
from .devices import ProbedDevice, has_kernels, has_torch
from .kernel_native import Native, compile_kernels
from .limits import HostLimits
from .portable import PortableArena
from .quiet import Finding
from .sampling import Estimate, Probe, Progress, Table, better, sample
from .topology import Topology
from .torch_device import TorchDevice, TorchLibrary, import_torch

SECONDS = {"quick": 10.0, "standard": 40.0, "thorough": 180.0}
SQUARES = {"quick": (1024, 1536), "standard": (1024, 1536, 2048, 3072)}
LONGEST = {"quick": 0.1, "standard": 0.25, "thorough": 0.5}  # seconds of one product on a CPU
NARROW = ("tf32", "bf16", "fp16", "int8", "fp8")
_DEVICE_LONGEST = 0.1
SQUARES["thorough"] = (512, *SQUARES["standard"], 4096)
ROWS = {"standard": (1, 8, 64, 256), "thorough": (1, 2, 4, 8, 16, 32, 64, 128, 256)}
WEIGHTS = (4096, 4096)
_EXTRA = 0.3  # of the time, for figures that the two halves of the run do not agree on
_BEAT_BLOCKS = 20_000  # about half a millisecond


@dataclass(frozen=True, slots=True)
class Options:
    """What to spend: ``mode`` is quick, standard or thorough; ``seconds`` overrides its time."""

    mode: str = "standard"
    seconds: float | None = None
    force: bool = False

    @property
    def budget(self) -> float:
        """Seconds for the whole run."""
        return SECONDS[self.mode] if self.seconds is None else self.seconds

    @property
    def extra(self) -> float:
        """Seconds at most beyond, for what does not repeat; none where the time was asked for."""
        asked = self.seconds is not None or self.mode == "quick"
        return 0.0 if asked else _EXTRA * self.budget


@dataclass(slots=True)
class Result:
    """What a run found. ``figures`` maps a probe's key to its best candidate's figure."""

    device: ProbedDevice
    topology: Topology
    limits: HostLimits
    mode: str
    figures: dict[str, Estimate] = field(default_factory=dict)
    others: tuple[Estimate, ...] = ()
    findings: list[Finding] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    missing: tuple[str, ...] = ()
    kernels: str = ""
    seconds: float = 0.0

    @property
    def complete(self) -> bool:
        """Whether every probe that was planned has a figure."""
        return not self.missing

    @property
    def keepable(self) -> bool:
        """Whether nothing seen forbids keeping the figures, and there are any."""
        return bool(self.figures) and not quiet.refused(self.findings)


def run(device: ProbedDevice, options: Options, progress: Progress | None = None) -> Result:
    """Measure ``device``.

    Ctrl-C ends the run early; what is done is in the result, what is not in ``missing``.

    Raises:
        RooflineError: the machine is too busy to begin (unless ``options.force``), or a kernel
            computes wrong values.
    """
    started = time.perf_counter()
    topology = topology_module.read()
    limits = limits_module.read(topology)
    if "numpy" not in sys.modules:
        settle_threads(limits)
    result = Result(device, topology, limits, options.mode)
    result.findings += quiet.setting(topology, limits)
    before, seen = quiet.look(limits)
    result.findings += seen
    if not options.force and quiet.refused(seen):
        return result
    clocks: list[float] = []
    if progress:
        progress("prepare", None, time.perf_counter() - started, options.budget)
    with ExitStack() as stack:
        if device.torch is None:
            probes, native = _cpu_probes(result, options, stack)
        else:
            probes, native = list(_device_probes(device.torch, result, options)), None

        def between() -> None:
            now = _beat(native) if native else device.torch.clock() if device.torch else None
            if now is not None:
                clocks.append(now)

        left = options.budget - (time.perf_counter() - started)
        # a slow start may make the run longer, but not its figures of less
        left = max(left, options.budget / 2)
        table, _ = sample(
            probes,
            left,
            extra=options.extra,
            again=unsettled_roofs,
            progress=progress,
            between=between,
        )
        for probe in probes:
            best = better(table.get(probe.key, []))
            figure = best.figure() if best else None
            if figure is not None:
                result.figures[probe.key] = figure
        result.missing = tuple(p.key for p in probes if p.key not in result.figures)
        rest = [s.figure() for rows in table.values() for s in rows]
        result.others = tuple(f for f in rest if f is not None)
    result.figures = consistency.corrected(result.figures)
    after = quiet.snapshot(frozenset(t for c in limits.cores for t in c.threads))
    no_roofs = refuted_caches(result) + emulated(result)
    result.findings += quiet.review(before, after, limits, list(result.figures.values()), clocks)
    result.findings += no_roofs
    result.seconds = time.perf_counter() - started
    return result


def unsettled_roofs(table: Table) -> Iterator[str]:
    """The keys of what becomes a roof."""
    best = {key: max(s.rates) for key, rows in table.items() if (s := better(rows))}
    for key, rate in best.items():
        section, _, name = key.partition(".")
        emulated = name in NARROW and rate < best.get("compute.fp32", 0.0)
        if section in ("bandwidth", "compute") and not emulated:
            yield key


def settle_threads(limits: HostLimits) -> None:
    """Set what a BLAS reads once, when it is loaded."""
    # Threads that spin after their part of a product would halve the next one, if that is torch's.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "16")  # 2^16 ticks: 20 µs
    if limits.quota is not None:
        # a thread per core would be stopped for using up the quota
        for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
            os.environ.setdefault(name, str(limits.threads))


def _beat(native: Native) -> float:
    start = time.perf_counter()
    native.beat(_BEAT_BLOCKS, 3)
    return _BEAT_BLOCKS * 16 / (time.perf_counter() - start)


def _cpu_probes(
    result: Result, options: Options, stack: ExitStack
) -> tuple[list[Probe], Native | None]:
    topology, limits, quick = result.topology, result.limits, options.mode == "quick"
    fastest_first = tuple(sorted(limits.cores, key=lambda core: -core.capacity))
    crew = stack.enter_context(Crew(fastest_first[: limits.threads]))
    size = bandwidth.memory_bytes(topology, limits)
    if topology.last_level() and size < 2 * (topology.last_level() or 0):
        result.findings.append(Finding("working_set", "warn", {"bytes": size}))
    probes: list[Probe] = []
    native: Native | None = None
    if has_kernels():
        native = compile_kernels()
        bandwidth.self_check(native)
        places = (bandwidth.Arena(crew, size),) if quick else bandwidth.arenas(crew, size, limits)
        probes += bandwidth.probes(native, places, topology, limits, quick)
        if options.mode == "thorough":
            probes += bandwidth.ladder(native, places[0], limits)
        result.kernels = f"llvmlite {native.version}, {native.target}, {native.width * 8} bit"
    else:
        probes += PortableArena(crew, size).probes()
        result.kernels = "NumPy"
        result.findings.append(Finding("portable", "warn"))
    libraries: list[gemm.Library] = [gemm.NumpyLibrary()]
    torch_library = _torch_cpu(limits, result)
    if torch_library is not None:
        libraries.append(torch_library)
    precisions = ("fp32", "bf16") if quick else None
    longest = LONGEST[options.mode]
    probes += gemm.probes(
        libraries, SQUARES[options.mode], longest, result.refusals.append, precisions
    )
    if native is not None and not quick:
        probes += gemm.instruction_probes(native, crew)
    if not quick:
        best: gemm.Library = torch_library or libraries[0]
        probes += decode_probes(best, size, result, options.mode, longest)
    probes += _cpu_overheads(torch_library)
    return probes, native


def _torch_cpu(limits: HostLimits, result: Result) -> TorchLibrary | None:
    if not has_torch():
        result.findings.append(Finding("no_torch", "note"))
        return None
    try:
        torch = import_torch("the best matrix product")
    except (MissingExtra, OSError) as error:
        result.refusals.append(str(error))
        return None
    torch.set_num_threads(limits.threads)
    return TorchLibrary(TorchDevice(torch, "cpu"))


def _cpu_overheads(library: TorchLibrary | None) -> Iterator[Probe]:
    yield overhead.python_probe()
    if library is None:
        yield overhead.numpy_probe()
    else:
        yield from overhead.torch_probes(library.device)


def decode_probes(
    library: gemm.Library, size: int, result: Result, mode: str, longest: float
) -> Iterator[Probe]:
    """Decode-like products in the widest-used precisions, their weights from memory."""
    for precision in ("fp32", "bf16"):
        if precision not in library.precisions:
            continue
        each = WEIGHTS[0] * WEIGHTS[1] * gemm.SIZES[precision]
        sets = max(2, min(64, -(-size // 2 // each)))
        try:
            yield from gemm.decode_probes(
                library, precision, ROWS[mode], WEIGHTS, sets=sets, longest=longest
            )
        except (gemm.Refused, RooflineError) as error:
            result.refusals.append(f"{precision}: {error}")


def _device_probes(device: TorchDevice, result: Result, options: Options) -> Iterator[Probe]:
    quick = options.mode == "quick"
    result.kernels = f"torch {device.torch.__version__}"
    if device.memory and device.free and device.kind != "mps":
        taken = device.memory - device.free
        if taken > 0.1 * device.memory:
            result.findings.append(Finding("device_used", "warn", {"bytes": taken}))
    yield from torch_probes.probes(device)
    library = TorchLibrary(device)
    squares = (2048, 4096, 8192) + ((16384,) if options.mode == "thorough" else ())
    yield from gemm.probes(
        [library],
        squares,
        _DEVICE_LONGEST,
        result.refusals.append,
        ("bf16", "fp16") if quick else None,
    )
    if not quick:
        yield from decode_probes(
            library, torch_probes.working_set(device), result, options.mode, _DEVICE_LONGEST
        )
    yield overhead.python_probe()
    yield from overhead.torch_probes(device)
    if not quick:
        from .torch_device import devices

        alike = [d for d in devices(device.torch) if d.kind == device.kind]
        yield from overhead.all_reduce_probes(alike)


def refuted_caches(result: Result) -> list[Finding]:
    """A cache that gives no more than memory is not there for us, whatever is reported."""
    memory = result.figures.get("bandwidth.memory")
    reported, seen = result.topology.last_level(), bandwidth.cache_seen(result.figures)
    out: list[Finding] = []
    if reported and seen is not None and seen < reported // 4:
        out.append(Finding("cache_seen", "warn", {"bytes": seen, "reported": reported}))
    for key, figure in list(result.figures.items()):
        level = key.removeprefix("bandwidth.")
        if memory and level.startswith("L") and figure.best < 1.2 * memory.best:
            out.append(Finding("cache_claim", "warn", {"level": level}))
            del result.figures[key]
    return out


def emulated(result: Result) -> list[Finding]:
    """A narrow precision that multiplies slower than fp32 has no unit of its own here.

    It is no roof: whoever converts to fp32 first, as engines do, gets beyond it.
    """
    full = result.figures.get("compute.fp32")
    out: list[Finding] = []
    for precision in NARROW:
        figure = result.figures.get(f"compute.{precision}")
        if full and figure and figure.best < full.median:
            out.append(
                Finding(
                    "emulated", "note", {"precision": precision, "share": figure.best / full.best}
                )
            )
            del result.figures[f"compute.{precision}"]
    return out
