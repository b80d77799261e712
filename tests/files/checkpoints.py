"""Writing safetensors for tests: headers of any tensors, their data a hole."""

import json
import os
import struct
from math import prod

BITS = {"BF16": 16, "F16": 16, "F32": 32, "F8_E4M3": 8, "I8": 8, "U8": 8, "I32": 32, "I64": 64}


def header(tensors):
    """The header of (name, dtype, shape) and the size of their data."""
    entries, at = {}, 0
    for name, dtype, shape in tensors:
        size = prod(shape) * BITS[dtype] // 8
        entries[name] = {
            "dtype": dtype,
            "shape": list(shape),
            "data_offsets": [at, at + size],
        }
        at += size
    return entries, at


def write(path, tensors):
    entries, size = header(tensors)
    text = json.dumps({"__metadata__": {"format": "pt"}, **entries}).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + size)
    return size


def folder(path, config, tensors, shards=1, sidecar=None):
    """A checkpoint's folder, with an index where it has several files."""
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, "config.json"), "w") as file:
        json.dump(config, file)
    if sidecar is not None:
        with open(os.path.join(path, "hf_quant_config.json"), "w") as file:
            json.dump(sidecar, file)
    if shards == 1:
        return write(os.path.join(path, "model.safetensors"), tensors)
    names, total = {}, 0
    for i in range(shards):
        name = f"model-{i + 1:05d}-of-{shards:05d}.safetensors"
        part = tensors[i::shards]
        total += write(os.path.join(path, name), part)
        names.update({t[0]: name for t in part})
    with open(os.path.join(path, "model.safetensors.index.json"), "w") as file:
        json.dump({"metadata": {"total_size": total}, "weight_map": names}, file)
    return total


LLAMA = {
    "model_type": "llama", "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 1000,
    "torch_dtype": "bfloat16", "tie_word_embeddings": False,
}  # fmt: skip

SHAPES = {
    "self_attn.q_proj": (256, 256), "self_attn.k_proj": (128, 256),
    "self_attn.v_proj": (128, 256), "self_attn.o_proj": (256, 256),
    "mlp.gate_proj": (512, 256), "mlp.up_proj": (512, 256), "mlp.down_proj": (256, 512),
}  # fmt: skip


def llama(dtype="BF16", root="model.", layers=2):
    """The tensors of that config."""
    found = [
        (f"{root}embed_tokens.weight", dtype, (1000, 256)),
        (f"{root}norm.weight", dtype, (256,)),
        ("lm_head.weight", dtype, (1000, 256)),
    ]
    for i in range(layers):
        found += [(f"{root}layers.{i}.{n}.weight", dtype, s) for n, s in SHAPES.items()]
        found += [(f"{root}layers.{i}.{n}.weight", dtype, (256,))
                  for n in ("input_layernorm", "post_attention_layernorm")]  # fmt: skip
    return found
