"""The best matrix product a library gives, per precision, over shapes.

A roof for compute is what the best library call reaches, not what the
instructions could do: no engine gets beyond the former. Both are measured where
that is possible; the file says which is which.

Every product is checked once against fp64 on a corner of the result.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

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
_NARROW = ("bf16", "fp16", "int8", "fp8")
_EMULATED = 0.25  # of fp32's speed: a unit of its own is never as slow
_LAUNCHING = 1e-3  # seconds: no launch of a kernel takes as long
Shape = tuple[int, int, int]
Layout = Literal["k×n", "n×k"]  # how the second matrix lies in memory; layers keep weights n×k
SMALL: Shape = (256, 256, 256)


class Library(Protocol):
    """Something that multiplies matrices.

    ``product(precision, (m, k, n), layout)`` returns a call without arguments
    that computes one (m, k) × (k, n) product and the corner of its result that
    ``check`` compares, or raises ``Refused``; it has run once. With ``weights``,
    made by the method of that name, each call takes the next of them in turn.
    ``layouts(precision)`` are those worth trying: the same library may be four
    times as fast in one of them.
    """

    name: str
    precisions: tuple[str, ...]

    def layouts(self, precision: str) -> tuple[Layout, ...]:
        """The layouts of the second matrix to try, that of a layer's weights last."""
        ...

    def weights(self, precision: str, shape: tuple[int, int], layout: Layout) -> Any:
        """One random second matrix, (k, n)."""
        ...

    def product(
        self,
        precision: str,
        shape: Shape,
        layout: Layout = "k×n",
        weights: Sequence[Any] | None = None,
    ) -> Product:
        """Prepare one product."""
        ...

    def timed(self, call: Callable[[], object], calls: int) -> Window:
        """Time ``calls`` calls."""
        ...


class Refused(Exception):
    """This library has no product of that precision here; the message is its reason."""


def laid_out(
    filled: Callable[[int, int, str], Any], precision: str, shape: tuple[int, int], layout: Layout
) -> Any:
    """A (k, n) matrix from ``filled(rows, columns, precision)``, a transposed view in n×k."""
    k, n = shape
    return filled(n, k, precision).T if layout == "n×k" else filled(k, n, precision)


class Turn:
    """Matrices taken one after the other, again and again; ``last`` is the one taken last."""

    def __init__(self, matrices: Sequence[Any]) -> None:
        """Begin with the first."""
        self._matrices, self._taken = matrices, -1

    def next(self) -> Any:
        """The next one."""
        self._taken = (self._taken + 1) % len(self._matrices)
        return self.last

    @property
    def last(self) -> Any:
        """The one that ``next`` gave last."""
        return self._matrices[self._taken]


@dataclass(frozen=True, slots=True)
class Product:
    """One product, ready to run. ``corner()`` of the last is (got, expected): two fp64 arrays."""

    call: Callable[[], object]
    corner: Callable[[], tuple[Any, Any]]


class NumpyLibrary:
    """Whatever BLAS this NumPy was built with."""

    name = "NumPy"
    precisions: tuple[str, ...] = ("fp32", "fp64")

    def layouts(self, precision: str) -> tuple[Layout, ...]:
        """One: BLAS packs the matrix either way."""
        return ("k×n",)

    def weights(self, precision: str, shape: tuple[int, int], layout: Layout) -> Any:
        """Random numbers; in layout n×k a view of them, transposed."""
        return laid_out(self._filled, precision, shape, layout)

    def product(
        self,
        precision: str,
        shape: Shape,
        layout: Layout = "k×n",
        weights: Sequence[Any] | None = None,
    ) -> Product:
        """Prepare ``np.matmul`` of random matrices."""
        import numpy as np

        m, k, n = shape
        turn = Turn(weights or [self.weights(precision, (k, n), layout)])
        a = self._filled(m, k, precision)
        out = np.empty((m, n), a.dtype)

        def call() -> None:
            np.matmul(a, turn.next(), out=out)

        def corner() -> tuple[Any, Any]:
            exact = a[:4].astype(np.float64) @ turn.last[:, :4].astype(np.float64)
            return out[:4, :4].astype(np.float64), exact

        call()
        return Product(call, corner)

    def _filled(self, rows: int, columns: int, precision: str) -> Any:
        # Random rows, again and again: drawing every number would take longer than measuring.
        import numpy as np

        dtype = {"fp32": np.float32, "fp64": np.float64}[precision]
        some = (np.random.default_rng(0).random((min(rows, 64), columns)) - 0.5).astype(dtype)
        return np.resize(some, (rows, columns))

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
    """Compare a corner of one product with fp64.

    Raises:
        RooflineError: it is wrong.
    """
    import numpy as np

    got, exact = product.corner()
    scale = float(np.abs(exact).max()) or 1.0
    error = float(np.abs(got - exact).max()) / scale
    if not error <= TOLERANCE[precision]:
        raise RooflineError(
            f"{library}'s {precision} product is wrong by {error:.1e} of the largest element "
            f"(allowed {TOLERANCE[precision]:.0e}); its speed is not stored"
        )


def candidates(
    library: Library,
    precision: str,
    shapes: list[Shape],
    longest: float,
    refuse: Callable[[str], None],
    *,
    layout: Layout = "k×n",
    floor: float = 0.0,
) -> Iterator[Candidate]:
    """The shapes, smallest first, of which one product takes at most ``longest`` seconds.

    A small product is timed and checked first, and each shape tells whether the
    next is affordable: an emulated precision may be a thousand times slower than
    a native one, and on a GPU a small product says little about a large one.
    Below ``floor`` FLOP/s the small one stands alone, if it takes longer than
    launching anything could: it is emulated.
    Where none is affordable the small one stands. ``refuse`` hears of a shape
    that could not be made (no memory).
    """
    small = library.product(precision, SMALL, layout)
    check(library.name, precision, small)
    rate = _rate(library, small, SMALL, tries=3)
    if rate < floor and flops(SMALL) / rate > _LAUNCHING:
        shapes = []
    result = 0
    for wanted in sorted(shapes, key=flops):
        if flops(wanted) / rate > longest:
            break
        try:
            product = library.product(precision, wanted, layout)
        except Refused as reason:
            refuse(f"{precision} {named(wanted)}: {reason}")
            break
        rate = max(rate, _rate(library, product, wanted, tries=1))
        result += 1
        yield _candidate(library, product, wanted, layout)
    if not result:
        yield _candidate(library, small, SMALL, layout)


def flops(shape: Shape) -> float:
    """2·m·k·n."""
    return 2.0 * shape[0] * shape[1] * shape[2]


def named(shape: Shape) -> str:
    """``m×k×n``."""
    return "×".join(str(n) for n in shape)


def _rate(library: Library, product: Product, shape: Shape, tries: int) -> float:
    seconds = min(library.timed(product.call, 1).seconds for _ in range(tries))
    return flops(shape) / max(seconds, 1e-9)


def _small_rate(libraries: list[Library], precision: str) -> float:
    """FLOP/s of the small product in the first library that has it, 0 in none."""
    for library in libraries:
        if precision in library.precisions:
            try:
                return _rate(library, library.product(precision, SMALL), SMALL, tries=3)
            except Refused:
                continue
    return 0.0


def _candidate(library: Library, product: Product, shape: Shape, layout: Layout) -> Candidate:
    return Candidate(
        f"{library.name}, {named(shape)}" + (", weights n×k" if layout == "n×k" else ""),
        flops(shape),
        lambda calls: library.timed(product.call, calls),
    )


def probes(
    libraries: list[Library],
    sides: tuple[int, ...],
    longest: float,
    refuse: Callable[[str], None],
    only: tuple[str, ...] | None = None,
) -> Iterator[Probe]:
    """One probe per precision (or those in ``only``), over libraries, layouts and shapes:

    squares of ``sides``, and where there are many two deep ones (k four times as long), which
    suit blockings that keep the result in registers. ``refuse`` hears what failed and why.
    """
    offered = dict.fromkeys(p for library in libraries for p in library.precisions)
    shapes = [(s, s, s) for s in sides] + [
        (s, 4 * s, s) for s in sides[: 2 if len(sides) > 4 else 0]
    ]
    full = 0.0  # FLOP/s of the small fp32 product
    for precision in [p for p in offered if only is None or p in only]:
        result: list[Candidate] = []
        floor = full * _EMULATED if precision in _NARROW else 0.0
        for library in libraries:
            if precision not in library.precisions:
                continue
            for layout in library.layouts(precision):
                try:
                    result += candidates(
                        library, precision, shapes, longest, refuse, layout=layout, floor=floor
                    )
                except (Refused, RooflineError) as error:
                    refuse(f"{precision}: {error}")
                    break
        if precision == "fp32" and result:
            full = _small_rate(libraries, "fp32")
        if result:
            yield Probe(f"compute.{precision}", tuple(result), window=min(0.02, longest), turns=2)


def decode_probes(
    library: Library,
    precision: str,
    rows: tuple[int, ...],
    shape: tuple[int, int],
    *,
    sets: int,
    longest: float,
) -> Iterator[Probe]:
    """Products as in decode: m = ``rows`` tokens against one of ``sets`` weight matrices,

    the next in every call, and enough of them that each comes from memory. An m
    whose one product would take more than ``longest`` seconds at the rate of the
    one before is left out, and all larger ones.
    """
    k, n = shape
    layout = library.layouts(precision)[-1]
    weights = [library.weights(precision, shape, layout) for _ in range(sets)]
    rate = float("inf")  # FLOP/s of the last m: more rows are hardly slower per FLOP
    for m in sorted(rows):
        if flops((m, k, n)) / rate > longest:
            break
        product = library.product(precision, (m, k, n), layout, weights)
        rate = _rate(library, product, (m, k, n), tries=1)

        def run(calls: int, product: Product = product) -> Window:
            return library.timed(product.call, calls)

        yield Probe(
            f"gemm.{precision}.m{m}",
            (
                Candidate(
                    f"{library.name}, {m}×{k}×{n}",
                    flops((m, k, n)),
                    run,
                    moved=float(k * n * SIZES[precision]),
                ),
            ),
            window=0.02,
        )


def instruction_probes(native: Native, crew: Crew) -> Iterator[Probe]:
    """What the multiply-add units reach with everything in registers: no product gets beyond."""
    for bits in (64, 32):
        kernels = tuple(k for k in native.arithmetic if k.bits == bits)
        yield Probe(
            f"instruction.fp{bits}",
            tuple(_chains(kernel, crew) for kernel in kernels),
            window=0.005,
            turns=4,
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
