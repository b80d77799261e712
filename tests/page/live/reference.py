"""The browser's decode step in NumPy: the same random numbers, the same output.

Held against transformers' Llama in ``test_live_step.py``; the WebAssembly and WebGPU kernels are
held against it.
"""

from __future__ import annotations

import numpy as np

SEEDS = {"qkv": 0, "out": 1, "gate_up": 2, "down": 3, "k": 4, "v": 5, "norm_in": 6, "norm_mid": 7}
HEAD, NORM = 0x10000, 0x10001

SMALL = {
    "id": "small", "name": "small", "hidden": 72, "layers": 2, "heads": 6, "kv_heads": 2,
    "width": 16, "middle": 88, "vocab": 101, "theta": 10000.0, "epsilon": 1e-5,
}  # fmt: skip
"""The shape that the page checks its kernels with: every awkward remainder is in it."""


def hashed(index, seed):
    """The integer hash ("lowbias32") of index and seed."""
    x = (np.atleast_1d(np.asarray(index, np.uint64)) + seed * 0x9E3779B9).astype(np.uint32)
    x ^= x >> 16
    x = x * np.uint32(0x7FEB352D)
    x ^= x >> 15
    x = x * np.uint32(0x846CA68B)
    return x ^ (x >> 16)


def numbers(shape, seed, scale=1.0):
    """Random 32-bit floats in [-scale, scale), numbered in row-major order."""
    flat = (hashed(np.arange(np.prod(shape)), seed) >> 8).astype(np.float32) * np.float32(2**-23)
    return ((flat - np.float32(1)) * np.float32(scale)).reshape(shape)


def gains(n, seed):
    return (1 + numbers(n, seed).astype(np.float64) / 8).astype(np.float32)


class Weights:
    """The tensors of a step with ``layers`` layers."""

    def __init__(self, s, layers):
        self.s, self.layers = s, layers
        queries, entries = s["heads"] * s["width"], s["kv_heads"] * s["width"]
        self.shapes = {
            "qkv": (queries + 2 * entries, s["hidden"]),
            "out": (s["hidden"], queries),
            "gate_up": (2 * s["middle"], s["hidden"]),
            "down": (s["hidden"], s["middle"]),
        }
        self.head = self._matrix((s["vocab"], s["hidden"]), HEAD, 1)
        self.norm = gains(s["hidden"], NORM)

    @staticmethod
    def _matrix(shape, seed, residual):
        scale = np.float32(np.sqrt(3 / shape[1] / residual))
        return numbers(shape, seed, scale)

    def matrix(self, layer, name):
        residual = 2 * self.layers if name in ("out", "down") else 1
        return self._matrix(self.shapes[name], 8 * layer + SEEDS[name], residual)

    def gain(self, layer, name):
        return gains(self.s["hidden"], 8 * layer + SEEDS[name])

    def cache(self, layer, batch, context):
        """Keys and values, [batch, kv_heads, context, width]; the last entry is overwritten."""
        s, scale = self.s, np.float32(np.sqrt(3))
        k = numbers((batch, s["kv_heads"], context, s["width"]), 8 * layer + 4, scale)
        v = numbers((batch, s["kv_heads"], s["width"], context), 8 * layer + 5, scale)
        return k, v.transpose(0, 1, 3, 2).copy()

    def tokens(self, batch):
        return [(b * 7919 + 13) % self.s["vocab"] for b in range(batch)]


def step(s, layers, batch, context):
    """Logits [batch, vocab] of one decode step, in double precision."""
    w = Weights(s, layers)
    d, heads, groups = s["width"], s["heads"], s["kv_heads"]
    x = w.head[w.tokens(batch)].astype(np.float64)
    angles = (context - 1) * s["theta"] ** (-2 * np.arange(d // 2) / d)
    # the tables that the kernels are given are 32-bit floats
    cos, sin = (f(angles).astype(np.float32).astype(np.float64) for f in (np.cos, np.sin))

    def norm(x, gain):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + s["epsilon"]) * gain

    def rotate(x):
        a, b = x[..., : d // 2], x[..., d // 2 :]
        return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)

    for layer in range(layers):
        qkv = norm(x, w.gain(layer, "norm_in")) @ w.matrix(layer, "qkv").T
        qkv = qkv.reshape(batch, heads + 2 * groups, d)
        k, v = (t.astype(np.float64) for t in w.cache(layer, batch, context))
        k[:, :, -1] = rotate(qkv[:, heads : heads + groups])
        v[:, :, -1] = qkv[:, heads + groups :]
        q = rotate(qkv[:, :heads]).reshape(batch, groups, heads // groups, d)
        scores = np.einsum("bghd,bgtd->bght", q, k) / np.sqrt(d)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        shares = scores / scores.sum(-1, keepdims=True)
        attended = np.einsum("bght,bgtd->bghd", shares, v).reshape(batch, heads * d)
        x = x + attended @ w.matrix(layer, "out").T
        gate, up = np.split(norm(x, w.gain(layer, "norm_mid")) @ w.matrix(layer, "gate_up").T, 2, 1)
        x = x + (gate / (1 + np.exp(-gate)) * up) @ w.matrix(layer, "down").T
    return norm(x, w.norm) @ w.head.T


def difference(found, expected):
    """The largest difference, relative to the root mean square of what is expected."""
    found, expected = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    assert found.shape == expected.shape and np.isfinite(found).all()
    return float(np.abs(found - expected).max() / np.sqrt((expected**2).mean()))
