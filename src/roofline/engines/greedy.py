"""What a model of llama.cpp writes: tokenise, decode, take the likeliest token, again.

Shown before a run on real weights, so that its reader sees that the engine computes what it should.
No part of it is timed.
"""

from __future__ import annotations

import ctypes
import time

from ..errors import RooflineError
from .libllama import LibLlama

PROMPT = "The capital of France is"
TOKENS = 24
LONGEST = 10.0
"""Seconds after which a slow model has written enough."""


def write(lib: LibLlama, model: int, threads: int, prompt: str = PROMPT, most: int = TOKENS) -> str:
    """The prompt and what the model makes of it; empty where it has no vocabulary.

    Raises:
        RooflineError: the library refuses the text or a step.
    """
    import numpy as np

    vocab = lib.model_get_vocab(model)
    if not lib.vocab_type(vocab):
        return ""
    tokens = _tokens(lib, vocab, prompt)
    words = int(lib.vocab_n_tokens(vocab))
    context = lib.context(model, 256, 256, 256, 1)
    batch = lib.batch_init(256, 0, 1)
    said: list[bytes] = []
    end = time.monotonic() + LONGEST
    try:
        lib.set_n_threads(context, threads, threads)
        new, past = tokens, 0
        while len(said) < most and time.monotonic() < end:
            for index, token in enumerate(new):
                batch.token[index], batch.pos[index] = token, past + index
                batch.n_seq_id[index], batch.seq_id[index][0] = 1, 0
                batch.logits[index] = index == len(new) - 1
            batch.n_tokens = len(new)
            if lib.decode(context, batch) != 0:
                raise RooflineError(f"llama.cpp refused to write ({lib.last_error or 'no reason'})")
            past += len(new)
            scores = np.ctypeslib.as_array(lib.get_logits_ith(context, -1), (words,))
            token = int(scores.argmax())
            if lib.vocab_is_eog(vocab, token):
                break
            said.append(_piece(lib, vocab, token))
            new = [token]
    finally:
        lib.batch_free(batch)
        lib.free(context)
    return prompt + b"".join(said).decode(errors="replace")


def _tokens(lib: LibLlama, vocab: int, text: str) -> list[int]:
    data = text.encode()
    room = (ctypes.c_int32 * (len(data) + 8))()
    count = lib.tokenize(vocab, data, len(data), room, len(room), True, False)
    if count < 1:
        raise RooflineError("llama.cpp makes no tokens of a text with this model")
    return list(room[:count])


def _piece(lib: LibLlama, vocab: int, token: int) -> bytes:
    room = ctypes.create_string_buffer(256)
    size = lib.token_to_piece(vocab, token, room, len(room), 0, False)
    return room.raw[: max(0, size)]
