"""Products are checked, refusals named, ceilings never below what was seen."""

import pytest

from fakes.measure_fakes import figure, violations
from roofline.errors import RooflineError
from roofline.measuring import consistency, gemm, overhead
from roofline.measuring.crew import Crew
from roofline.measuring.sampling import Window
from roofline.measuring.topology import Core


class Liar(gemm.NumpyLibrary):
    """A library whose product is off by two per cent."""

    name = "Liar"

    def product(self, precision, shape, layout="k×n", weights=None):
        true = super().product(precision, shape, layout, weights)
        return gemm.Product(true.call, lambda: (true.corner()[0] * 1.02, true.corner()[1]))


class Slow(gemm.NumpyLibrary):
    """A library that needs a second for the small product."""

    name = "Slow"
    precisions = ("fp32", "bf16")

    def product(self, precision, shape, layout="k×n", weights=None):
        if precision == "bf16":
            raise gemm.Refused("no bf16 here")
        return super().product(precision, shape, layout, weights)

    def timed(self, call, calls):
        return Window(calls, float(calls))


@pytest.mark.parametrize("precision", ["fp32", "fp64"])
@pytest.mark.parametrize("layout", ["k×n", "n×k"])
def test_numpy_product_is_right(precision, layout):
    library = gemm.NumpyLibrary()
    gemm.check("NumPy", precision, library.product(precision, (64, 256, 32), layout))


def test_both_layouts_of_the_weights_take_part():
    class Both(gemm.NumpyLibrary):
        def layouts(self, precision):
            return ("k×n", "n×k")

    (probe,) = gemm.probes([Both()], (64,), 1.0, [].append, only=("fp32",))
    assert [c.label for c in probe.candidates] == [
        "NumPy, 64×64×64",
        "NumPy, 64×64×64, weights n×k",
    ]


@pytest.mark.parametrize("precision", ["fp32", "fp64"])
def test_a_wrong_product_is_not_stored(precision):
    with pytest.raises(RooflineError, match="its speed is not stored"):
        gemm.check("Liar", precision, Liar().product(precision, (64, 256, 32)))
    heard = []
    assert list(gemm.probes([Liar()], (64,), 1.0, heard.append)) == []
    assert len(heard) == 2
    assert "wrong by" in heard[0]


def labels(library, shapes, longest):
    heard = []
    found = gemm.candidates(library, "fp32", shapes, longest, heard.append)
    return [c.label for c in found], heard


def test_amount_is_two_m_k_n():
    (one,) = gemm.candidates(gemm.NumpyLibrary(), "fp32", [(3, 5, 7)], 1.0, [].append)
    assert one.amount == 2 * 3 * 5 * 7
    assert one.label == "NumPy, 3×5×7"


def test_shapes_that_take_too_long_are_left_out():
    shapes = [(512, 512, 512), (256, 256, 256)]
    assert labels(Slow(), shapes, 2.0) == (["Slow, 256×256×256"], [])
    assert labels(Slow(), shapes[:1], 2.0) == (["Slow, 256×256×256"], [])
    both = ["Slow, 256×256×256", "Slow, 512×512×512"]
    assert labels(Slow(), shapes, 100.0) == (both, [])


def test_a_shape_tells_whether_the_next_is_affordable():
    """On a GPU the small product is all launch: every product takes a second here."""
    shapes = [(256 << i, 256, 256) for i in range(6)]
    assert len(labels(Slow(), shapes, 2.5)[0]) == 6


def test_a_shape_without_room_does_not_lose_the_others():
    class Small(gemm.NumpyLibrary):
        def product(self, precision, shape, layout="k×n", weights=None):
            if shape[0] > 300:
                raise gemm.Refused("out of memory")
            return super().product(precision, shape, layout, weights)

    found, heard = labels(Small(), [(256, 64, 64), (512, 64, 64), (1024, 64, 64)], 1.0)
    assert found == ["NumPy, 256×64×64"]
    assert heard == ["fp32 512×64×64: out of memory"]


def test_an_emulated_product_is_tried_in_one_small_shape():
    def found(library):
        made = gemm.candidates(library, "fp32", [(512, 512, 512)], 9.0, [].append, floor=1e18)
        return [c.label for c in made]

    class Launched(gemm.NumpyLibrary):
        """Small products take what a launch takes: that says nothing about large ones."""

        def timed(self, call, calls):
            return Window(calls, 5e-5 * calls)

    assert found(Slow()) == ["Slow, 256×256×256"]
    assert found(Launched()) == ["NumPy, 512×512×512"]


def test_a_precision_without_a_product_is_named():
    heard = []
    probes = list(gemm.probes([Slow()], (64,), 1e9, heard.append))
    assert [p.key for p in probes] == ["compute.fp32"]
    assert heard == ["bf16: no bf16 here"]


def test_only_the_precisions_asked_for():
    found = gemm.probes([gemm.NumpyLibrary()], (64,), 1.0, [].append, only=("fp64", "fp8"))
    assert [p.key for p in found] == ["compute.fp64"]


def test_decode_products_count_their_weights():
    probes = list(
        gemm.decode_probes(gemm.NumpyLibrary(), "fp32", (1, 4), (64, 32), sets=3, longest=9)
    )
    assert [p.key for p in probes] == ["gemm.fp32.m1", "gemm.fp32.m4"]
    one, four = (p.candidates[0] for p in probes)
    assert one.moved == four.moved == 64 * 32 * 4
    assert four.amount == 4 * one.amount == 2 * 4 * 64 * 32
    assert four.run(2).calls == 2
    slow = gemm.decode_probes(Slow(), "fp32", (1, 512, 1024), (64, 64), sets=1, longest=1.5)
    assert [p.key for p in slow] == ["gemm.fp32.m1"]


def test_decode_products_take_their_weights_in_turn():
    """So that each comes from memory; and they are made once for all m."""
    library, made = gemm.NumpyLibrary(), []

    class Counted(gemm.NumpyLibrary):
        def weights(self, precision, shape, layout):
            made.append(super().weights(precision, shape, layout) * (len(made) + 1))
            return made[-1]

    probes = list(gemm.decode_probes(Counted(), "fp32", (1, 4), (64, 32), sets=3, longest=9))
    assert len(probes) == 2
    assert len(made) == 3
    product = library.product("fp32", (2, 64, 32), "k×n", made)
    seen = []
    for _ in range(6):
        got, exact = product.corner()
        assert got == pytest.approx(exact, abs=1e-4)
        seen.append(got[0, 0])
        product.call()
    assert seen[3:] == pytest.approx(seen[:3])
    assert seen[1] == pytest.approx(2 * seen[0])
    assert seen[2] == pytest.approx(3 * seen[0])


def test_multiply_add_units():
    native = pytest.importorskip("roofline.measuring.kernel_native")
    pytest.importorskip("llvmlite")
    with Crew((Core((0,)),)) as crew:
        probes = list(gemm.instruction_probes(native.compile_kernels(), crew))
        assert [p.key for p in probes] == ["instruction.fp64", "instruction.fp32"]
        for probe in probes:
            for candidate in probe.candidates:
                assert candidate.run(3).seconds > 0


def test_python_and_numpy_overheads():
    for probe in (overhead.python_probe(), overhead.numpy_probe()):
        window = probe.candidates[0].run(1000)
        assert 1e-9 < window.seconds / window.calls < 1e-3
        assert probe.lower


def ceilings(**kwargs):
    return {f.key: f for f in (figure("bandwidth.memory", 30.0), figure("compute.fp32", 100.0))} | {
        f.key: f for f in kwargs.values()
    }


def test_nothing_measured_lies_above_the_stored_ceilings():
    fine = ceilings(m=figure("gemm.fp32.m1", 15.0, intensity=0.5))
    assert violations(fine) == {}
    assert consistency.corrected(fine) == fine
    faster = ceilings(m=figure("gemm.fp32.m1", 18.0, intensity=0.5))
    assert violations(faster) == {"gemm.fp32.m1": pytest.approx(0.2)}
    mended = consistency.corrected(faster)
    assert violations(mended) == {}
    assert mended["bandwidth.memory"].best == 36.0
    assert "gemm.fp32.m1" in mended["bandwidth.memory"].label
    assert mended["compute.fp32"] == faster["compute.fp32"]


def test_a_product_above_the_square_one_raises_the_roof():
    taller = ceilings(m=figure("gemm.fp32.m256", 120.0, intensity=128.0))
    mended = consistency.corrected(taller)
    assert mended["compute.fp32"].best == 120.0
    assert violations(mended) == {}


def test_within_the_spread_is_no_violation():
    near = ceilings(m=figure("gemm.fp32.m1", 15.5, intensity=0.5))
    assert violations(near) == {}


def test_a_precision_without_its_own_roof_is_held_against_fp32():
    point = ceilings(m=figure("gemm.bf16.m256", 130.0, intensity=256.0))
    assert violations(point) == {"gemm.bf16.m256": pytest.approx(0.3)}
