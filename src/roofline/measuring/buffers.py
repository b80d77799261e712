"""Plain memory for the bandwidth kernels: aligned, on huge pages where the system grants them.

With 4 KB pages a read of gigabytes also measures the page walker. So the
memory is aligned to 2 MB and huge pages are asked for (never forced: the
system's setting stays as it is). Small pages can be asked for as well: they
scatter over the banks of the memory, and copying is sometimes faster so.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
from typing import Any

PAGE = 1 << 21


class Buffer:
    """``size`` bytes of zeroed anonymous memory at ``address`` (2 MB aligned)."""

    __slots__ = ("_map", "address", "size")

    def __init__(self, size: int, huge: bool = True) -> None:
        """Reserve the memory; no page is touched yet, so the first writer's node gets it."""
        self.size = size
        self._map = mmap.mmap(-1, size + PAGE)
        advice = getattr(mmap, "MADV_HUGEPAGE" if huge else "MADV_NOHUGEPAGE", None)
        if advice is not None:
            with contextlib.suppress(OSError):  # a kernel without huge pages: small ones do
                self._map.madvise(advice)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        self.address = (start + PAGE - 1) & ~(PAGE - 1)

    def fill(self, byte: int) -> None:
        """Write ``byte`` everywhere, from the calling thread (first touch decides the node)."""
        ctypes.memset(self.address, byte, self.size)

    def words(self, dtype: str = "int64", size: int | None = None) -> Any:
        """The first ``size`` bytes (default all) as a NumPy array that shares the memory."""
        import numpy as np

        kind = np.dtype(dtype)
        count = (self.size if size is None else size) // kind.itemsize
        raw = (ctypes.c_char * (count * kind.itemsize)).from_address(self.address)
        view: Any = memoryview(raw)
        return np.frombuffer(view, dtype=kind)
