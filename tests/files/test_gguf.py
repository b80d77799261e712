"""The GGUF header reader: real layouts, split files, huge files, and files that lie."""

import os
import struct
import time
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roofline.errors import InputError, NotFound, RooflineError, UnsupportedError
from roofline.files import gguf

from . import ggufs
from .ggufs import F32, LLAMA, Q4_K, Q6_K, header, llama, write


def raw(path, data, size=None):
    with open(path, "wb") as file:
        file.write(data)
        if size is not None:
            file.truncate(size)
    return str(path)


def test_reads_what_was_written(tmp_path):
    path = str(tmp_path / "m.gguf")
    size = write(path, LLAMA, llama())
    found = gguf.read(path)
    assert (found.version, found.bytes, found.paths) == (3, size, (path,))
    assert found.metadata["general.name"] == "Tiny"
    assert found.metadata["tokenizer.ggml.tokens"] == gguf.SkippedValue(100)
    assert found.metadata["tokenizer.chat_template"] == gguf.SkippedValue(5000)
    assert [(t.name, t.shape) for t in found.tensors] == [(n, s) for n, s, _ in llama()]
    by_name = {t.name: t for t in found.tensors}
    assert by_name["blk.0.attn_q.weight"].type == "q4_k"
    assert by_name["blk.0.attn_q.weight"].size == 512 * 512 // 256 * 144


@pytest.mark.parametrize(("order", "version"), [("<", 2), ("<", 3), (">", 3)])
def test_versions_and_byte_orders(tmp_path, order, version):
    path = str(tmp_path / "m.gguf")
    write(path, LLAMA, llama(), order=order, version=version)
    found = gguf.read(path)
    assert found.version == version
    assert found.metadata["llama.embedding_length"] == 512
    assert len(found.tensors) == len(llama())


def test_version_one_has_narrow_counts(tmp_path):
    name = b"a.weight"
    data = b"GGUF" + struct.pack("<III", 1, 1, 0)
    data += struct.pack("<I", len(name)) + name + struct.pack("<IIIQ", 1, 8, F32, 0)
    data += bytes(-len(data) % 32) + bytes(32)
    found = gguf.read(raw(tmp_path / "m.gguf", data))
    assert found.tensors == (gguf.GgufTensor("a.weight", (8,), "f32", 32),)


def test_agrees_with_the_gguf_package(tmp_path):
    package = pytest.importorskip("gguf")
    import numpy as np

    path = str(tmp_path / "m.gguf")
    writer = package.GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_array("llama.some_list", [1, 2, 3])
    writer.add_array("general.tags", ["a", "b"])
    writer.add_float32("llama.some_float", 0.5)
    writer.add_bool("llama.some_flag", True)
    writer.add_tensor("token_embd.weight", np.zeros((5, 64), dtype=np.float16))
    packed = np.zeros((3, 144), dtype=np.uint8)
    writer.add_tensor("blk.0.ffn_up.weight", packed, raw_dtype=package.GGMLQuantizationType.Q4_K)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    found = gguf.read(path)
    assert found.metadata["llama.some_list"] == (1, 2, 3)
    assert found.metadata["general.tags"] == ("a", "b")
    assert found.metadata["llama.some_flag"] is True
    theirs = package.GGUFReader(path)
    assert [(t.name, t.shape, t.size) for t in found.tensors] == [
        (t.name, tuple(int(n) for n in t.shape), int(t.n_bytes)) for t in theirs.tensors
    ]
    assert set(found.metadata) == {k for k in theirs.fields if not k.startswith("GGUF.")}


def test_types_are_those_of_the_gguf_package():
    package = pytest.importorskip("gguf")
    known = {int(k): (k.name.lower(), *v) for k, v in package.GGML_QUANT_SIZES.items()}
    # Its q8_1 still has two fp32 scales; ggml-common.h has two fp16. Files hold none.
    known[9] = ("q8_1", 32, 36)
    assert {k: v for k, v in gguf.TYPES.items() if k in known} == known


def test_forty_gigabytes_at_once(tmp_path):
    """A vocabulary of 250,000 words, 40 GB of tensors in a hole: no time, no memory."""
    path = str(tmp_path / "m.gguf")
    words = struct.pack("<IIQ", 9, 8, 250_000) + ggufs.text("a word") * 250_000
    tensors = [(f"blk.{i}.ffn_up.weight", (16384, 53248), Q4_K) for i in range(80)]
    size = write(path, {**LLAMA, "tokenizer.words": ggufs.Raw(words)}, tensors)
    assert size > 39e9
    tracemalloc.start()
    start = time.process_time()
    found = gguf.read(path)
    spent = time.process_time() - start
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.metadata["tokenizer.words"] == gguf.SkippedValue(250_000)
    assert len(found.tensors) == 80
    assert peak < 8e6
    assert spent < 60  # a guard against reading tensors, not a measurement


def test_split_files(tmp_path):
    tensors = llama(depth=2)
    parts = [tensors[:5], tensors[5:12], tensors[12:]]
    names = [str(tmp_path / f"m-{i + 1:05d}-of-00003.gguf") for i in range(3)]
    for i, part in enumerate(parts):
        pairs = {"split.no": i, "split.count": 3, "split.tensors.count": len(tensors)}
        write(names[i], {**(LLAMA if i == 0 else {}), **pairs}, part)
    for name in names:
        found = gguf.read(name)
        assert found.paths == tuple(names)
        assert [t.name for t in found.tensors] == [t[0] for t in tensors]
        assert found.metadata["general.name"] == "Tiny"
    os.rename(names[1], names[1] + ".part")
    with pytest.raises(NotFound, match="part 2 of 3 is missing"):
        gguf.read(names[0])


def test_split_files_that_disagree(tmp_path):
    path = str(tmp_path / "m-00001-of-00002.gguf")
    write(path, {**LLAMA, "split.no": 0, "split.count": 3}, llama())
    with pytest.raises(InputError, match="one of 3 parts"):
        gguf.read(path)
    write(path, {**LLAMA, "split.no": 0, "split.count": 2}, llama())
    other = str(tmp_path / "m-00002-of-00002.gguf")
    write(other, {"split.no": 1, "split.count": 2}, llama()[:1])
    with pytest.raises(InputError, match="there twice"):
        gguf.read(path)
    write(other, {"split.no": 0, "split.count": 2}, [])
    with pytest.raises(InputError, match="says it is part 1 of 2"):
        gguf.read(path)


GOOD, GOOD_SIZE = header(LLAMA, llama())


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "empty"),
        (b"GG", "not a GGUF file"),
        (b"PK\x03\x04" + bytes(99), "PyTorch"),
        (b"version https://git-lfs.github.com/spec/v1\n", "pointer"),
        (b"<!doctype html>", "web page"),
        (b"ggjt" + bytes(99), "before GGUF"),
        (b"GGUF" + struct.pack("<IQQ", 9, 0, 0), "version 9"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 2**40), "metadata keys"),
        (b"GGUF" + struct.pack("<IQQ", 3, 2**63, 0), "tensors"),
        (b"GGUF" + struct.pack("<IQQ", 3, 100_000, 0), "truncated"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 60_000), "truncated"),
        (GOOD[:500], "truncated"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2**62), "a metadata key of"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2) + b"\xff\xfe" + bytes(64), "not UTF-8"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + ggufs.text("k") + struct.pack("<IQ", 8, 2**60),
         "truncated"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + ggufs.text("k")
         + struct.pack("<IIQ", 9, 8, 2**40), "says it has 1099511627776 strings"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + ggufs.text("k")
         + struct.pack("<IIQ", 9, 4, 2**62), "truncated"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + ggufs.text("k")
         + struct.pack("<IIQ", 9, 9, 1), "array of type 9"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + ggufs.text("k") + struct.pack("<IQ", 99, 0),
         "unknown type 99"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 2) + (ggufs.text("k") + ggufs.value(1)) * 2,
         "key 'k' is there twice"),
    ],
)  # fmt: skip
def test_bad_files(tmp_path, data, says):
    with pytest.raises(InputError, match=says) as raised:
        gguf.read(raw(tmp_path / "m.gguf", data))
    assert str(tmp_path) in str(raised.value)
    assert "\n" not in str(raised.value)


def entry(name="a.weight", shape=(256, 4), kind=Q4_K, offset=0, dims=None):
    data = ggufs.text(name) + struct.pack("<I", len(shape) if dims is None else dims)
    return data + struct.pack("<" + "Q" * len(shape), *shape) + struct.pack("<IQ", kind, offset)


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ([entry(dims=9)], "9 dimensions"),
        ([entry(kind=4)], "type 4"),
        ([entry(shape=(100, 4))], "rows of 100"),
        ([entry(shape=(0, 4))], "dimensions"),
        ([entry(shape=(2**40, 2**40))], "dimensions"),
        ([entry(offset=7)], "not aligned"),
        ([entry(offset=1 << 50)], "truncated"),
        ([entry(), entry()], "there twice"),
        ([entry(), entry(name="b", offset=32)], "overlap"),
    ],
)
def test_bad_tensors(tmp_path, entries, says):
    data = b"GGUF" + struct.pack("<IQQ", 3, len(entries), 0) + b"".join(entries)
    with pytest.raises(InputError, match=says):
        gguf.read(raw(tmp_path / "m.gguf", data, 1 << 16))


@pytest.mark.parametrize("align", [0, 3, 1 << 30])
def test_bad_alignment(tmp_path, align):
    path = str(tmp_path / "m.gguf")
    write(path, {**LLAMA, "general.alignment": align}, llama())
    with pytest.raises(InputError, match=r"general\.alignment"):
        gguf.read(path)


def test_truncated_says_where(tmp_path):
    path = str(tmp_path / "m.gguf")
    size = write(path, LLAMA, llama())
    os.truncate(path, size - 4096)
    with pytest.raises(InputError, match=f"the file at {size - 4096}"):
        gguf.read(path)


def test_zero_words_by_the_billion_end_soon(tmp_path):
    """A hole of 40 GB reads as five thousand million empty strings: refused by count."""
    data = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + ggufs.text("k")
    data += struct.pack("<IIQ", 9, 8, 4_900_000_000)
    with pytest.raises(InputError, match="4900000000 strings"):
        gguf.read(raw(tmp_path / "m.gguf", data, 40_000_000_000))


def test_not_a_file(tmp_path):
    with pytest.raises(NotFound, match="no such file"):
        gguf.read(str(tmp_path / "none.gguf"))
    with pytest.raises(InputError, match="a folder"):
        gguf.read(str(tmp_path))
    loop = tmp_path / "loop.gguf"
    loop.symlink_to(loop)
    with pytest.raises(InputError, match="cannot be opened"):
        gguf.read(str(loop))
    pipe = tmp_path / "pipe.gguf"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="not a regular file"):
        gguf.read(str(pipe))
    with pytest.raises(InputError):
        gguf.read("a\0b.gguf")


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_mutations_never_escape(tmp_path_factory, data):
    """Whatever bytes change, the reader returns or says one sentence."""
    changed = bytearray(GOOD)
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(changed) - 1))
        how = data.draw(st.sampled_from(["byte", "word", "cut", "grow"]))
        if how == "byte":
            changed[at] = data.draw(st.integers(0, 255))
        elif how == "word":
            word = data.draw(st.sampled_from([0, 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1]))
            changed[at : at + 8] = struct.pack("<Q", word)
        elif how == "cut":
            del changed[at:]
            changed = changed or bytearray(b"\0")
        else:
            changed[at:at] = data.draw(st.binary(max_size=40))
    path = str(tmp_path_factory.getbasetemp() / "mutated.gguf")
    raw(path, bytes(changed), len(changed) + GOOD_SIZE)
    try:
        found = gguf.read(path)
    except RooflineError as error:
        assert "\n" not in str(error)
        assert len(str(error)) < 500
    else:
        assert all(t.size > 0 for t in found.tensors)
        assert sum(t.size for t in found.tensors) <= found.bytes


def test_unknown_types_are_refused_by_number(tmp_path):
    data = b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + entry(kind=777)
    with pytest.raises(UnsupportedError, match="type 777"):
        gguf.read(raw(tmp_path / "m.gguf", data, 1 << 16))


def test_q6_is_six_and_a_half_bits():
    weights, size = gguf.TYPES[Q6_K][1:]
    assert 8 * size / weights == 6.5625
