"""Safetensors: headers as the library writes them, folders held against configs, lies."""

import json
import os
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roofline.count.step import Step
from roofline.errors import InputError, NotFound, RooflineError, UnsupportedError
from roofline.files import safetensors
from roofline.model.load import load

from .checkpoints import LLAMA, SHAPES, folder, header, llama, write


def raw(path, entries, size=0, length=None):
    text = entries if isinstance(entries, bytes) else json.dumps(entries).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text) if length is None else length) + text)
        file.truncate(8 + len(text) + size)
    return str(path)


def test_agrees_with_the_library(tmp_path):
    torch = pytest.importorskip("torch")
    theirs = pytest.importorskip("safetensors.torch")
    path = str(tmp_path / "m.safetensors")
    tensors = {
        "a.weight": torch.zeros(3, 5, dtype=torch.bfloat16),
        "b.weight": torch.zeros(7, dtype=torch.float8_e4m3fn),
        "c": torch.zeros((), dtype=torch.int64),
        "d": torch.zeros(0, 4),
    }
    theirs.save_file(tensors, path, metadata={"format": "pt"})
    found = {t.name: t for t in safetensors.read(path)}
    assert {n: (t.shape, t.size) for n, t in found.items()} == {
        n: (tuple(t.shape), t.numel() * t.element_size()) for n, t in tensors.items()
    }
    assert found["b.weight"].dtype == "F8_E4M3"


@pytest.mark.parametrize(
    ("entries", "size", "says"),
    [
        ({"a": {"dtype": ["BF16"], "shape": [1], "data_offsets": [0, 2]}}, 2, "of the type"),
        ({"a": {"dtype": "BF17", "shape": [1], "data_offsets": [0, 2]}}, 2, "BF17"),
        ({"a": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 2]}}, 2, "takes 2 bytes"),
        ({"a": {"dtype": "BF16", "shape": [-1], "data_offsets": [0, 2]}}, 2, "shape"),
        ({"a": {"dtype": "BF16", "shape": [True], "data_offsets": [0, 2]}}, 2, "shape"),
        ({"a": {"dtype": "BF16", "shape": [1] * 99, "data_offsets": [0, 2]}}, 2, "shape"),
        ({"a": {"dtype": "BF16", "shape": [1], "data_offsets": [0]}}, 2, "offsets"),
        ({"a": {"dtype": "BF16", "shape": [1], "data_offsets": [2**60, 2**60 + 2]}}, 2, "offsets"),
        ({"a": {"dtype": "BF16", "shape": [1], "data_offsets": [4, 6]}}, 8, "gap"),
        ({"a": {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]}}, 1, "truncated"),
        ({"a": {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]}}, 9, "7 bytes after"),
        ({"a": {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]},
          "b": {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]}}, 4, "overlaps"),
        ({"a": 7}, 0, "not an object"),
        (b'{"a": {}, "a": {}}', 0, "there twice"),
        (b"[1, 2]", 0, "not JSON"),
        (b'{"a"', 0, "not JSON"),
        (b'{"a": ' + b"[" * 100_000 + b"}", 0, "nested"),
    ],
)  # fmt: skip
def test_bad_headers(tmp_path, entries, size, says):
    with pytest.raises(InputError, match=says) as raised:
        safetensors.read(raw(tmp_path / "m.safetensors", entries, size))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "too few"),
        (b"PK\x03\x04" + bytes(60), "PyTorch"),
        (b"GGUF" + b"\3\0\0\0" + bytes(60), "GGUF"),
        (b"version https://git-lfs", "pointer"),
        (struct.pack("<Q", 100) + b"{}", "truncated"),
        (struct.pack("<Q", 2**62) + b"{}", "not safetensors"),
    ],
)
def test_bad_files(tmp_path, data, says):
    path = tmp_path / "m.safetensors"
    path.write_bytes(data)
    with pytest.raises(InputError, match=says):
        safetensors.read(str(path))


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_mutations_never_escape(tmp_path_factory, data):
    entries, size = header(llama()[:6])
    text = bytearray(json.dumps(entries).encode())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
        text = text or bytearray(b"{")
    path = raw(tmp_path_factory.getbasetemp() / "mutated.safetensors", bytes(text), size)
    try:
        safetensors.read(path)
    except RooflineError as error:
        assert "\n" not in str(error)
        assert len(str(error)) < 500


# --- folders -----------------------------------------------------------------------------


@pytest.mark.parametrize("shards", [1, 3])
def test_a_folder_that_agrees_with_its_config(tmp_path, shards):
    path = str(tmp_path / "Tiny-Llama")
    total = folder(path, LLAMA, llama(), shards)
    model = load(path)
    assert model.name == "Tiny-Llama"
    assert model.notes == ()
    assert model.scheme.name == "bf16"
    assert model.work().resident == total


def test_stored_otherwise_than_the_config_says(tmp_path):
    """Attention kept in fp8 with a scale: its bytes are counted, and it is said."""
    tensors = []
    for name, dtype, shape in llama():
        if "self_attn" in name:
            scale = (name.replace(".weight", ".weight_scale"), "F32", (1,))
            tensors += [(name, "F8_E4M3", shape), scale]
        else:
            tensors.append((name, dtype, shape))
    path = str(tmp_path / "m")
    total = folder(path, LLAMA, tensors)
    model = load(path)
    assert model.work().resident == total
    plain = 2 * (3 * 256 * 512 * 2 + (2 * 256 * 256 + 2 * 256 * 128 + 4 * 4)) + 2 * 1000 * 256
    assert model.work().total("weights", Step.decode()) == plain
    assert "8 matrices are not stored as the config says" in model.notes[0]
    assert "as stored" in model.scheme.name


def test_fp32_is_counted_as_served(tmp_path):
    path = str(tmp_path / "m")
    folder(path, LLAMA, llama("F32"))
    model = load(path)
    assert "stored in fp32" in model.notes[0]
    assert model.work().resident * 2 == sum(2 * _elements(t) * 2 for t in llama())


def _elements(tensor):
    n = 1
    for d in tensor[2]:
        n *= d
    return n


def test_what_the_files_lack_and_hold_besides(tmp_path):
    tensors = [t for t in llama() if "layers.1.mlp.up_proj" not in t[0]]
    tensors += [("visual.blocks.0.qkv.weight", "BF16", (1000, 1000)),
                ("model.layers.2.mlp.up_proj.weight", "BF16", (512, 1000))]  # fmt: skip
    path = str(tmp_path / "m")
    folder(path, LLAMA, tensors)
    notes = load(path).notes
    assert notes[0] == (
        "1 matrices of the config are not in the files, the first model.layers.1.mlp.up_proj"
    )
    assert notes[1].startswith(f"its files hold {(1000 * 1000 + 512 * 1000) * 2 / 1e9:.3g} GB more")


@pytest.mark.parametrize("shards", [1, 2])
def test_quantised_folder_agrees(tmp_path, shards):
    """GPTQ as AutoGPTQ writes it: the constant zero points and group indices do not count."""
    tensors = []
    for name, dtype, shape in llama():
        stem = name.removesuffix(".weight")
        if any(stem.endswith(s) for s in SHAPES):
            out, into = shape
            tensors += [(f"{stem}.qweight", "I32", (into // 8, out)),
                        (f"{stem}.qzeros", "I32", (into // 128, out // 8)),
                        (f"{stem}.scales", "F16", (into // 128, out)),
                        (f"{stem}.g_idx", "I32", (into,))]  # fmt: skip
        else:
            tensors.append((name, dtype, shape))
    quant = {"quant_method": "gptq", "bits": 4, "group_size": 128, "sym": True}
    path = str(tmp_path / "m")
    folder(path, {**LLAMA, "quantization_config": quant}, tensors, shards)
    model = load(path)
    assert model.notes == ()
    linear = 2 * (2 * 256 * 256 + 2 * 256 * 128 + 3 * 256 * 512)
    assert model.work().total("weights", Step.decode()) == (
        linear // 2 + linear // 128 * 2 + 2 * 1000 * 256
    )


def test_experts_fused_and_single(tmp_path):
    config = {
        **LLAMA, "model_type": "qwen3_moe", "head_dim": 64, "num_experts": 4,
        "num_experts_per_tok": 2, "moe_intermediate_size": 128, "decoder_sparse_step": 1,
    }  # fmt: skip
    rest = [t for t in llama() if ".mlp." not in t[0]]
    norms = [(f"model.layers.{i}.self_attn.{n}.weight", "BF16", (64,))
             for i in range(2) for n in ("q_norm", "k_norm")]  # fmt: skip
    routers = [(f"model.layers.{i}.mlp.gate.weight", "BF16", (4, 256)) for i in range(2)]
    single = [
        (f"model.layers.{i}.mlp.experts.{e}.{n}.weight", "BF16",
         (256, 128) if n == "down_proj" else (128, 256))
        for i in range(2) for e in range(4) for n in ("gate_proj", "up_proj", "down_proj")
    ]  # fmt: skip
    fused = [
        (f"model.layers.{i}.mlp.experts.{n}", "BF16", s)
        for i in range(2)
        for n, s in (("gate_up_proj", (4, 256, 256)), ("down_proj", (4, 128, 256)))
    ]
    for n, experts in (("single", single), ("fused", fused)):
        path = str(tmp_path / n)
        total = folder(path, config, rest + norms + routers + experts)
        model = load(path)
        assert model.notes == ()
        assert model.work().resident == total


def test_missing_shards(tmp_path):
    path = str(tmp_path / "m")
    folder(path, LLAMA, llama(), 3)
    os.remove(os.path.join(path, "model-00002-of-00003.safetensors"))
    with pytest.raises(NotFound, match="1 of the 3 files"):
        load(path)


def test_index_alone(tmp_path):
    path = str(tmp_path / "m")
    total = folder(path, LLAMA, llama(), 2)
    for i in (1, 2):
        os.remove(os.path.join(path, f"model-0000{i}-of-00002.safetensors"))
    assert load(path).notes == ()
    index = os.path.join(path, safetensors.INDEX)
    with open(index) as file:
        data = json.load(file)
    data["metadata"]["total_size"] = 2 * total
    with open(index, "w") as file:
        json.dump(data, file)
    assert "its index gives" in load(path).notes[0]


@pytest.mark.parametrize(
    ("index", "says"),
    [
        ([], "weight_map"),
        ({"weight_map": {"a": "../../etc/passwd"}}, "not the name of a file beside it"),
        ({"weight_map": {"a": "/etc/x.safetensors"}}, "not the name of a file beside it"),
        ({"weight_map": {"a": "..\\x.safetensors"}}, "not the name of a file beside it"),
        ({"weight_map": {"a": 7}}, "not the name of a file beside it"),
        ({"weight_map": {str(i): f"{i}.safetensors" for i in range(5000)}}, "names 5000 files"),
    ],
)
def test_bad_indexes(tmp_path, index, says):
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    (tmp_path / safetensors.INDEX).write_text(json.dumps(index))
    with pytest.raises(InputError, match=says):
        load(str(tmp_path))


def test_a_tensor_in_two_files(tmp_path):
    for n in ("model-a", "model-b"):
        write(str(tmp_path / f"{n}.safetensors"), llama()[:1])
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    with pytest.raises(InputError, match="in two files"):
        load(str(tmp_path))


def test_unknown_type(tmp_path):
    entries = {"a": {"dtype": "F3", "shape": [1], "data_offsets": [0, 1]}}
    with pytest.raises(UnsupportedError, match="F3"):
        safetensors.read(raw(tmp_path / "m.safetensors", entries, 1))
