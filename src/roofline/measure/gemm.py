"""The best matrix product a library gives, per precision, over shapes.

A roof for compute is what the best library call reaches, not what the
instructions could do: no engine gets beyond the former. Both are measured where
that is possible; the file says which is which.

Every product is checked once against fp64 on a corner of the result.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from ..errors import RooflineError
from .crew import Crew
from .kernel_native import MultiplyAdd, Native
from .sampling import Candidate, Probe, Window

# Relative error of one element of a product with k = 256 that each precision may have.
TOLERANCE = {
    "fp64": 1e-10,
    "fp32": 1e-3,
    "tf32": 2e-2,
    "bf16": 5e-2,
    "fp16": 2e-2,
    "int8": 0.0,
    "fp8": 0.2,
}
SIZES = {"fp64": 8, "fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2, "int8": 1, "fp8": 1}
Shape = tuple[int, int, int]


class Library(Protocol):
    """Something that multiplies matrices.

    ``product(precision, m, k, n)`` returns a call without arguments that
    computes one (m, k) × (k, n) product, or raises ``Refused``; ``result`` and
    ``operands`` of that call are read by ``check``.
    """

    name: str
    precisions: tuple[str, ...]

    def product(self, precision: str, shape: Shape) -> "Product":
        """Prepare one product."""
        ...

    def timed(self, call: Callable[[], object], calls: int) -> Window:
        """Time ``calls`` calls."""
        ...


class Refused(Exception):
    """This library has no product of that precision here; the message is its reason."""


@dataclass(frozen=True, slots=True)
class Product:
    """One product, ready to run. ``corner()`` is (got, expected): two fp64 arrays."""

    call: Callable[[], object]
    corner: Callable[[], tuple[Any, Any]]


class NumpyLibrary:
    """Whatever BLAS this NumPy was built with."""

    name = "NumPy"
    precisions: tuple[str, ...] = ("fp32", "fp64")

    def product(self, precision: str, shape: Shape) -> Product:
        """Prepare ``np.matmul`` of random matrices."""
        import numpy as np

        m, k, n = shape
        rng = np.random.default_rng(0)
        dtype = {"fp32": np.float32, "fp64": np.float64}[precision]
        a = (rng.random((m, k)) - 0.5).astype(dtype)
        b = (rng.random((k, n)) - 0.5).astype(dtype)
        out = np.empty((m, n), dtype)

        def corner() -> tuple[Any, Any]:
            exact = a[:4].astype(np.float64) @ b[:, :4].astype(np.float64)
            return out[:4, :4].astype(np.float64), exact

        return Product(lambda: np.matmul(a, b, out=out), corner)

    def timed(self, call: Callable[[], object], calls: int) -> Window:
        """Wall time of ``calls`` products."""
        return wall(call, calls)


def wall(call: Callable[[], object], calls: int) -> Window:
    """Time ``calls`` calls by the wall clock, for work that is done when the call returns."""
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return Window(calls, time.perf_counter() - start)


def check(library: str, precision: str, product: Product) -> None:
    """Compare a corner of one product with fp64. Raises RooflineError when it is wrong."""
    import numpy as np

    product.call()
    got, exact = product.corner()
    scale = float(np.abs(exact).max()) or 1.0
    error = float(np.abs(got - exact).max()) / scale
    if not error <= TOLERANCE[precision]:
        raise RooflineError(
            f"{library}'s {precision} product is wrong by {error:.1e} of the largest element "
            f"(allowed {TOLERANCE[precision]:.0e}); its speed is not stored"
        )


def candidate(library: Library, precision: str, shape: Shape) -> Candidate:
    """One shape of one library, as a candidate; amount = 2·m·k·n FLOP."""
    m, k, n = shape
    product = library.product(precision, shape)
    return Candidate(
        f"{library.name}, {m}×{k}×{n}",
        2.0 * m * k * n,
        lambda calls: library.timed(product.call, calls),
    )


def affordable(
    library: Library, precision: str, shapes: tuple[Shape, ...], longest: float
) -> tuple[Shape, ...]:
    """The shapes of which one product takes at most ``longest`` seconds, else the small one alone.

    A small product is timed and checked first: an emulated precision may be a
    thousand times slower than a native one.
    """
    small = library.product(precision, (256, 256, 256))
    check(library.name, precision, small)
    window = min((library.timed(small.call, 1) for _ in range(3)), key=lambda w: w.seconds)
    rate = 2.0 * 256**3 / max(window.seconds, 1e-9)
    fits = tuple(s for s in shapes if 2.0 * s[0] * s[1] * s[2] / rate <= longest)
    return fits or ((256, 256, 256),)


def probes(
    libraries: list[Library],
    squares: tuple[int, ...],
    longest: float,
    refuse: Callable[[str], None],
    only: tuple[str, ...] | None = None,
) -> Iterator[Probe]:
    """One probe per precision (or those in ``only``), over libraries and square shapes.

    ``refuse`` hears what failed and why.
    """
    offered = dict.fromkeys(p for library in libraries for p in library.precisions)
    for precision in [p for p in offered if only is None or p in only]:
        found: list[Candidate] = []
        for library in libraries:
            if precision not in library.precisions:
                continue
            try:
                shapes = affordable(library, precision, tuple((s, s, s) for s in squares), longest)
                found += [candidate(library, precision, shape) for shape in shapes]
            except (Refused, RooflineError) as error:
                refuse(f"{precision}: {error}")
        if found:
            yield Probe(f"compute.{precision}", tuple(found), window=min(0.05, longest))


def decode_probes(
    library: Library,
    precision: str,
    rows: tuple[int, ...],
    shape: tuple[int, int],
    *,
    sets: int,
    longest: float,
) -> Iterator[Probe]:
    """Products as in decode: m = ``rows`` tokens against ``sets`` weight matrices in turn,

    enough of them that every one comes from memory. Where the library would
    need more than ``longest`` seconds for all of them, that m is left out.
    """
    k, n = shape
    whole = tuple((m * sets, k, n) for m in rows)
    fits = affordable(library, precision, whole, longest)
    rows = tuple(m for m in rows if (m * sets, k, n) in fits)
    for m in rows:
        products = [library.product(precision, (m, k, n)) for _ in range(sets)]

        def run(calls: int, products: list[Product] = products) -> Window:
            def all_sets() -> None:
                for product in products:
                    product.call()

            return library.timed(all_sets, calls)

        yield Probe(
            f"gemm.{precision}.m{m}",
            (
                Candidate(
                    f"{library.name}, {m}×{k}×{n}",
                    2.0 * m * k * n * sets,
                    run,
                    moved=float(k * n * SIZES[precision] * sets),
                ),
            ),
            window=0.05,
        )


def instruction_probes(native: Native, crew: Crew) -> Iterator[Probe]:
    """What the multiply-add units reach with everything in registers: no product gets beyond."""
    for bits in (64, 32):
        kernels = tuple(k for k in native.arithmetic if k.bits == bits)
        yield Probe(
            f"instruction.fp{bits}",
            tuple(_chains(kernel, crew) for kernel in kernels),
            window=0.02,
        )


def _chains(kernel: MultiplyAdd, crew: Crew) -> Candidate:
    blocks = 4096

    def run(calls: int) -> Window:
        ends = [0.0] * len(crew)

        def task(i: int) -> None:
            ends[i] = kernel.call(blocks * calls, 0.5, 0.5)

        window = crew.run(task, calls)
        if any(abs(end - kernel.flops / 4) > 1e-3 for end in ends):
            raise RooflineError(f"the multiply-add kernel ({kernel.label}) computed wrong values")
        return window

    return Candidate(kernel.label, float(kernel.flops * blocks * len(crew)), run)
