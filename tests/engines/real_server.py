"""llama.cpp's own server, with continuous batching, over a GGUF file.

    python real_server.py FILE SLOTS CONTEXT [THREADS]

It prints its address and serves until its input ends.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def serving(path: str, slots: int, context: int, threads: int = 1) -> Iterator[str]:
    """The address of such a server in a process of its own, ended afterwards."""
    process = subprocess.Popen(
        [sys.executable, __file__, path, str(slots), str(context), str(threads)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin and process.stdout
    try:
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        process.stdout.close()
        process.kill()
        process.wait()


def serve(path: str, slots: int, context: int, threads: int = 1) -> None:
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # read once, as OpenMP is loaded
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = path
    params.n_parallel = slots
    params.n_ctx = context * slots
    params.n_predict = -1
    params.port = 0
    params.endpoint_metrics = True
    params.warmup = False
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    serve(sys.argv[1], *map(int, sys.argv[2:]))
