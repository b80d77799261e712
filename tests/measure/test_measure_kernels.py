"""The compiled kernels compute what they say, on this processor and for others."""

import sys

import numpy as np
import pytest

from roofline.errors import MissingExtra, RooflineError
from roofline.measuring import bandwidth, kernel_ir, kernel_native
from roofline.measuring.buffers import PAGE, Buffer
from roofline.measuring.crew import Crew
from roofline.measuring.topology import Core

llvm = pytest.importorskip("llvmlite.binding")

MASK = (1 << 64) - 1


@pytest.fixture(scope="module", params=[16, 32, 64])
def native(request):
    """Vectors narrower and wider than the processor's own are split by LLVM: same results."""
    return kernel_native.compile_kernels(request.param)


def test_every_kernel_is_right(native):
    bandwidth.self_check(native)


@pytest.mark.parametrize("size", [4096, 1 << 16, 3 * 4096 + 2048])
def test_sums_are_of_exactly_the_span(native, size):
    buffer = Buffer(size)
    rng = np.random.default_rng(size)
    buffer.words()[:] = rng.integers(-(1 << 62), 1 << 62, size // 8)
    words = buffer.words().tolist()
    for kernel in native.reads:
        stride, blocks, moved = kernel.span(size)
        per = stride // 8
        want = sum(sum(words[s * per : s * per + per]) for s in range(kernel.streams))
        assert moved == stride * kernel.streams <= size
        assert kernel.call(buffer.address, stride, blocks, 1) & MASK == want & MASK
        assert kernel.call(buffer.address, stride, blocks, 5) & MASK == 5 * want & MASK


def test_one_changed_word_changes_every_sum(native):
    buffer = Buffer(1 << 14)
    for kernel in native.reads:
        stride, blocks, moved = kernel.span(1 << 14)
        before = kernel.call(buffer.address, stride, blocks, 1)
        for word in (0, moved // 16, moved // 8 - 1):
            buffer.words()[word] += 1
            after = kernel.call(buffer.address, stride, blocks, 1)
            assert after - before == 1
            before = after


def test_copy_and_triad(native):
    size = 1 << 14
    a, b, c = Buffer(size), Buffer(size), Buffer(size)
    rng = np.random.default_rng(7)
    b.words("float64")[:], c.words("float64")[:] = rng.random(size // 8), rng.random(size // 8)
    for kernel in native.moves:
        a.fill(0)
        blocks, moved = kernel.span(size - 256)
        kernel.call(a.address, b.address, c.address, blocks, 3, 2.0)
        done = moved // 8
        want = b.words("float64") + (2.0 * c.words("float64") if kernel.kind == "triad" else 0)
        np.testing.assert_allclose(a.words("float64")[:done], want[:done], rtol=1e-15)
        assert not a.words()[done:].any()


def test_multiply_add_counts_its_flops(native):
    for kernel in native.arithmetic:
        # after n blocks of two steps from 0: 1 - 2^-2n in each lane; lanes × chains = flops / 4
        lanes = kernel.flops // 4
        assert kernel.call(1, 0.5, 0.5) == pytest.approx(lanes * 0.75)
        assert kernel.call(2, 0.5, 0.5) == pytest.approx(lanes * 0.9375)


def test_beat_is_a_dependent_chain(native):
    x = 3
    for i in range(2):
        for _ in range(16):
            x = (x * 3 + i) & MASK
    assert native.beat(2, 3) & MASK == x


@pytest.mark.parametrize(
    ("arch", "features", "width"),
    [
        ("x86_64", {"avx512f": True, "avx2": True}, 64),
        ("x86_64", {"avx512f": False, "avx2": True}, 32),
        ("amd64", {"avx": True}, 32),
        ("x86_64", {}, 16),
        ("aarch64", {"sve": True}, 16),
        ("arm64", {}, 16),
    ],
)
def test_width(arch, features, width):
    assert kernel_native.vector_bytes(arch, features) == width


@pytest.mark.parametrize(
    ("triple", "cpu", "width", "signs"),
    [
        ("x86_64-unknown-linux-gnu", "sapphirerapids", 64, ("zmm", "vmovnt")),
        ("x86_64-unknown-linux-gnu", "x86-64", 16, ("xmm", "movnt")),
        ("aarch64-unknown-linux-gnu", "neoverse-v2", 16, ("stnp\tq", "ldp\tq", "fmla")),
        ("arm64-apple-macosx13", "apple-m1", 16, ("stnp\tq", "ldp\tq")),
    ],
)
def test_code_for_other_processors(triple, cpu, width, signs):
    """Wide loads, paired loads and non-temporal stores arrive in the machine code."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        target = llvm.Target.from_triple(triple)
    except RuntimeError as error:
        pytest.skip(f"this LLVM has no such target: {error}")
    module = llvm.parse_assembly(kernel_native.ir_text(width))
    code = target.create_target_machine(cpu=cpu, opt=2).emit_assembly(module)
    for sign in signs:
        assert sign in code, sign


def test_missing_compiler_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    with pytest.raises(MissingExtra, match=r"pip install 'roofline\[measure\]'"):
        kernel_native.compile_kernels()


def test_compiler_that_is_too_old_is_one_sentence(monkeypatch):
    monkeypatch.setattr(kernel_native, "ir_text", lambda _: "not IR")
    with pytest.raises(RooflineError, match=r"0\.45 or later"):
        kernel_native.compile_kernels()


def test_module_declares_what_it_calls():
    text = kernel_ir.module(32, [kernel_ir.read("r", 32, 2, 2, 512)])
    llvm.parse_assembly(text).verify()


def test_buffers_are_aligned_and_shared():
    buffer = Buffer(12345 * 8)
    assert buffer.address % PAGE == 0
    buffer.words()[3] = 77
    assert buffer.words()[3] == 77
    assert len(buffer.words("float32", 400)) == 100


def test_the_arena_notices_a_wrong_sum():
    native = kernel_native.compile_kernels()
    with Crew((Core((0,)),)) as crew:
        arena = bandwidth.Arena(crew, 1 << 20)
        candidate = arena.read(native.reads[0], 1 << 16, 1)
        assert candidate.run(3).calls == 3
        arena.buffers[0].words()[5] += 1
        with pytest.raises(RooflineError, match="wrong sum"):
            candidate.run(3)


def test_moves_keep_the_pattern_that_reads_check():
    native = kernel_native.compile_kernels()
    with Crew((Core((0,)),)) as crew:
        arena = bandwidth.Arena(crew, 1 << 20)
        for kernel in native.moves:
            moved = arena.move(kernel, 1)
            arrays = 2 if kernel.kind == "copy" else 3
            # a call takes a quarter, and four calls all of it
            assert 0.9 * (1 << 20) < 4 * moved.amount <= (1 << 20)
            assert moved.amount % arrays == 0
            moved.run(2)
            moved.run(2)
            arena.read(native.reads[0], 1 << 20, 1).run(1)


def test_a_read_in_parts_walks_through_all_of_the_buffer():
    native = kernel_native.compile_kernels()
    with Crew((Core((0,)),)) as crew:
        arena = bandwidth.Arena(crew, 1 << 20)
        whole, parts = (arena.read(native.reads[0], 1 << 20, 1, parts=n) for n in (1, 4))
        assert 4 * parts.amount == whole.amount
        arena.buffers[0].words()[-1] = 0  # in the last part: the fourth call must notice
        parts.run(3)
        with pytest.raises(RooflineError, match="wrong sum"):
            parts.run(1)
        parts.run(3)
        with pytest.raises(RooflineError, match="wrong sum"):
            parts.run(1)


def test_a_kernel_outlives_what_compiled_it():
    import gc

    call = kernel_native.compile_kernels().beat
    gc.collect()
    assert call(1, 3) != 0
