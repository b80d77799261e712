"""llama.cpp's own server, with continuous batching, over a GGUF file: `python real_server.py FILE`.

It prints its address and serves until its input ends.
"""

from __future__ import annotations

import sys

import xllamacpp


def serve(path: str, slots: int, context: int) -> None:
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.n_parallel = slots
    params.n_ctx = context * slots
    params.n_predict = -1
    params.port = 0
    params.endpoint_metrics = True
    params.warmup = False
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
