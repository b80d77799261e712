"""Compile the kernels for this very processor, in memory, without a compiler installed.

`llvmlite` (extra ``[measure]``) carries LLVM as a wheel for x86 and Arm on
Linux, macOS and Windows. Compiling all kernels takes a fraction of a second.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

from ..errors import MissingExtra, RooflineError
from . import kernel_ir

# (streams, lines, prefetch distance): many streams keep more lines in flight, few
# suit the prefetcher better; which wins differs by processor, so all are tried.
READS = ((1, 4, 0), (2, 4, 0), (4, 2, 0), (4, 4, 0), (1, 4, 512), (2, 2, 512))
MOVES = tuple((kind, stream) for kind in ("copy", "triad") for stream in (True, False))
CHAINS = (8, 12, 16)
_LINES = 2
_PAIR = 32  # Arm's non-temporal store takes two registers of 16 bytes at once


@dataclass(frozen=True, slots=True)
class Read:
    """A read-only kernel: ``call(base, stride, blocks, repeats)`` returns the sum."""

    label: str
    streams: int
    lines: int
    call: Any

    def span(self, size: int) -> tuple[int, int, int]:
        """(stride, blocks, bytes read) of one pass over ``size`` bytes."""
        block = self.lines * kernel_ir.LINE
        stride = size // self.streams // block * block
        return stride, stride // block, stride * self.streams


@dataclass(frozen=True, slots=True)
class Move:
    """Copy or triad: ``call(to, from, from2, blocks, repeats, scalar)``."""

    label: str
    kind: str
    call: Any

    def span(self, size: int) -> tuple[int, int]:
        """(blocks, bytes of one array) of a pass over ``size`` bytes."""
        block = _LINES * kernel_ir.LINE
        return size // block, size // block * block


@dataclass(frozen=True, slots=True)
class MultiplyAdd:
    """Multiply-add chains: ``call(blocks, a, b)``; ``flops`` of one block."""

    label: str
    bits: int
    flops: int
    call: Any


@dataclass(frozen=True, slots=True)
class Native:
    """All kernels, compiled; each keeps its machine code alive."""

    width: int
    target: str
    version: str
    reads: tuple[Read, ...]
    moves: tuple[Move, ...]
    arithmetic: tuple[MultiplyAdd, ...]
    beat: Any


def vector_bytes(arch: str, features: dict[str, bool]) -> int:
    """Bytes of the widest vector register that these features promise."""
    if arch.lower() in ("x86_64", "amd64", "i386", "i686"):
        if features.get("avx512f"):
            return 64
        if features.get("avx2") or features.get("avx"):
            return 32
    return 16


def compile_kernels(width: int | None = None) -> Native:
    """Compile for the host.

    Raises:
        MissingExtra: llvmlite is not installed.
    """
    try:
        import llvmlite
        import llvmlite.binding as llvm
    except ImportError:
        raise MissingExtra("llvmlite", "measure", "measuring caches and one core") from None
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    target = llvm.Target.from_default_triple()
    arch = str(llvm.get_process_triple()).split("-", 1)[0]
    width = width or vector_bytes(arch, dict(features))
    try:
        text = ir_text(width)
        module = llvm.parse_assembly(text)
        module.verify()
        engine = llvm.create_mcjit_compiler(
            module,
            target.create_target_machine(
                cpu=llvm.get_host_cpu_name(), features=features.flatten(), opt=2, jit=True
            ),
        )
        engine.finalize_object()
    except RuntimeError as error:
        line = str(error).strip().splitlines()[0] if str(error).strip() else "no reason given"
        raise RooflineError(
            f"llvmlite {llvmlite.__version__} could not compile the bandwidth kernels ({line}); "
            "0.45 or later is needed: pip install -U 'roofline[measure]'"
        ) from None

    def bind(prototype: Any, name: str) -> Any:
        call = prototype(engine.get_function_address(name))
        call.engine = engine  # the code lives as long as anyone can call it
        return call

    return Native(
        width=width,
        target=llvm.get_host_cpu_name(),
        version=llvmlite.__version__,
        reads=tuple(
            Read(_read_label(*spec), spec[0], spec[1], bind(_READ, _read_name(*spec)))
            for spec in READS
        ),
        moves=tuple(
            Move(
                kind + (", non-temporal stores" if stream else ""),
                kind,
                bind(_MOVE, _move_name(kind, stream)),
            )
            for kind, stream in MOVES
        ),
        arithmetic=tuple(
            MultiplyAdd(
                f"{chains} chains",
                bits,
                chains * 2 * 2 * (width * 8 // bits),
                bind(_FMA32 if bits == 32 else _FMA64, f"fma{bits}_{chains}"),
            )
            for bits in (32, 64)
            for chains in CHAINS
        ),
        beat=bind(_BEAT, "beat"),
    )


_I, _P = ctypes.c_int64, ctypes.c_void_p
_READ = ctypes.CFUNCTYPE(_I, _P, _I, _I, _I)
_MOVE = ctypes.CFUNCTYPE(None, _P, _P, _P, _I, _I, ctypes.c_double)
_FMA32 = ctypes.CFUNCTYPE(ctypes.c_float, _I, ctypes.c_float, ctypes.c_float)
_FMA64 = ctypes.CFUNCTYPE(ctypes.c_double, _I, ctypes.c_double, ctypes.c_double)
_BEAT = ctypes.CFUNCTYPE(_I, _I, _I)


def _read_name(streams: int, lines: int, prefetch: int) -> str:
    return f"read_{streams}_{lines}_{prefetch}"


def _read_label(streams: int, lines: int, prefetch: int) -> str:
    plural = "s" if streams > 1 else ""
    ahead = f", prefetch {prefetch} B" if prefetch else ""
    return f"{streams} stream{plural} of {lines} lines{ahead}"


def _move_name(kind: str, stream: bool) -> str:
    return f"{kind}_{'nt' if stream else 'plain'}"


def ir_text(width: int) -> str:
    """All kernels for vectors of so many bytes, as LLVM IR."""
    functions = [kernel_ir.beat("beat")]
    for streams, lines, prefetch in READS:
        name = _read_name(streams, lines, prefetch)
        functions.append(kernel_ir.read(name, width, streams, lines, prefetch))
    for kind, stream in MOVES:
        name = _move_name(kind, stream)
        functions.append(kernel_ir.move(name, max(width, _PAIR), kind, _LINES, stream))
    for bits in (32, 64):
        for chains in CHAINS:
            functions.append(kernel_ir.multiply_add(f"fma{bits}_{chains}", width, bits, chains))
    return kernel_ir.module(width, functions)
