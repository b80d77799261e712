"""Writing GGUF files for tests, with struct alone, so that each byte can be made wrong."""

import struct

F32, F16, Q4_0, Q8_0, Q4_K, Q6_K, BF16 = 0, 1, 2, 8, 12, 14, 30
SIZES = {F32: (1, 4), F16: (1, 2), Q4_0: (32, 18), Q8_0: (32, 34), Q4_K: (256, 144),
         Q6_K: (256, 210), BF16: (1, 2)}  # fmt: skip


class Raw(bytes):
    """A metadata value that is encoded already, its type included."""


def text(value, order="<"):
    data = value.encode() if isinstance(value, str) else value
    return struct.pack(order + "Q", len(data)) + data


def value(v, order="<"):
    """A typed metadata value."""
    if isinstance(v, Raw):
        return v
    if isinstance(v, bool):
        return struct.pack(order + "IB", 7, v)
    if isinstance(v, int):
        return struct.pack(order + "II", 4, v)
    if isinstance(v, float):
        return struct.pack(order + "If", 6, v)
    if isinstance(v, (str, bytes)):
        return struct.pack(order + "I", 8) + text(v, order)
    kind = {bool: 7, str: 8, float: 6}.get(type(v[0]), 4)
    head = struct.pack(order + "IIQ", 9, kind, len(v))
    body = (value(x, order)[4:] for x in v)
    return head + b"".join(body)


def header(pairs, tensors, order="<", version=3):
    """Bytes up to the tensors, padded; ``tensors`` are (name, shape, type)."""
    out = [b"GGUF", struct.pack(order + "IQQ", version, len(tensors), len(pairs))]
    out += [text(k, order) + value(v, order) for k, v in pairs.items()]
    offset = 0
    for name, shape, kind in tensors:
        weights, width = SIZES[kind]
        n = 1
        for d in shape:
            n *= d
        out.append(text(name, order) + struct.pack(order + "I", len(shape)))
        out.append(struct.pack(order + "Q" * len(shape), *shape))
        out.append(struct.pack(order + "IQ", kind, offset))
        offset += -(-(n // weights * width) // 32) * 32
    data = b"".join(out)
    return data + bytes(-len(data) % 32), offset


def write(path, pairs, tensors, **how):
    """A file whose tensors are a hole: as long as it says, nearly nothing on the disk."""
    data, size = header(pairs, tensors, **how)
    with open(path, "wb") as file:
        file.write(data)
        file.truncate(len(data) + size)
    return len(data) + size


LLAMA = {
    "general.architecture": "llama", "general.name": "Tiny", "llama.block_count": 2,
    "llama.context_length": 4096, "llama.embedding_length": 512,
    "llama.feed_forward_length": 1024, "llama.attention.head_count": 8,
    "llama.attention.head_count_kv": 2, "llama.rope.dimension_count": 64,
    "tokenizer.ggml.tokens": [f"w{i}" for i in range(100)],
    "tokenizer.chat_template": "x" * 5000,
}  # fmt: skip


def llama(depth=2, kind=Q4_K, down=Q6_K, table=Q6_K):
    """The tensors of a Llama of that metadata."""
    tensors = [("token_embd.weight", (512, 1000), table), ("output_norm.weight", (512,), F32),
               ("output.weight", (512, 1000), Q6_K), ("rope_freqs.weight", (32,), F32)]  # fmt: skip
    for i in range(depth):
        tensors += [
            (f"blk.{i}.attn_norm.weight", (512,), F32), (f"blk.{i}.ffn_norm.weight", (512,), F32),
            (f"blk.{i}.attn_q.weight", (512, 512), kind),
            (f"blk.{i}.attn_k.weight", (512, 128), kind),
            (f"blk.{i}.attn_v.weight", (512, 128), down),
            (f"blk.{i}.attn_output.weight", (512, 512), kind),
            (f"blk.{i}.ffn_gate.weight", (512, 1024), kind),
            (f"blk.{i}.ffn_up.weight", (512, 1024), kind),
            (f"blk.{i}.ffn_down.weight", (1024, 512), down if i else kind),
        ]  # fmt: skip
    return tensors
