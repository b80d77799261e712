"""Models from GGUF files: every architecture against llama.cpp's own count, bytes, refusals."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from math import prod

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roofline.count.step import Step
from roofline.errors import InputError, RooflineError, UnsupportedError
from roofline.files import gguf
from roofline.model.gguf import model as made
from roofline.model.gguf.architectures import ARCHITECTURES
from roofline.model.load import load

from . import llamacpp
from .ggufs import BF16, F16, F32, LLAMA, Q4_K, Q6_K, Q8_0, llama, write

MODELS = llamacpp.models()


def written(name, folder, kind=F16):
    m = MODELS[name]
    path = os.path.join(str(folder), f"{name}.gguf")
    tensors = [(n, shape, F32 if len(shape) < 2 else kind) for n, shape in m["tensors"]]
    write(path, {"general.architecture": m["architecture"], **m["metadata"]}, tensors)
    return path


def aside(name):
    """Numbers in tensors that llama.cpp counts and that are no parameters of a step."""
    arch, metadata = MODELS[name]["architecture"], MODELS[name]["metadata"]
    predicted = metadata.get(f"{arch}.nextn_predict_layers", 0)
    depth = metadata[f"{arch}.block_count"] - predicted
    beyond = tuple(f"blk.{depth + i}." for i in range(predicted))
    later = [s for n, s in MODELS[name]["tensors"] if beyond and n.startswith(beyond)]
    return sum(prod(s) for n, s in MODELS[name]["tensors"] if "rope_f" in n), later


@pytest.mark.parametrize("name", MODELS)
def test_as_llama_cpp_counts(name, tmp_path):
    path = written(name, tmp_path)
    model = load(path)
    constants, later = aside(name)
    assert model.parameters == MODELS[name]["parameters"] - constants - sum(map(prod, later))
    stored = sum(prod(s) * (4 if len(s) < 2 else 2) for s in later)
    assert model.work().resident == MODELS[name]["bytes"] - stored
    # What a step reads is in the file, and never the lookup tables.
    read = model.work().total("weights", Step.decode(1 << 20, 1))
    matrices = sum(prod(s) * 2 for _, s in MODELS[name]["tensors"] if len(s) > 1)
    assert 0 < read <= matrices


def test_a_renamed_architecture_is_read_as_the_one_it_is(tmp_path):
    m = MODELS["qwen2"]
    metadata = {k.replace("qwen2.", "foo.", 1): v for k, v in m["metadata"].items()}
    path = os.path.join(str(tmp_path), "foo.gguf")
    write(
        path,
        {"general.architecture": "foo", **metadata},
        [(n, shape, F32 if len(shape) < 2 else F16) for n, shape in m["tensors"]],
    )
    with pytest.raises(UnsupportedError, match="--as TYPE"):
        load(path)
    assert load(path, "qwen2").parameters == m["parameters"]
    with pytest.raises(InputError, match="qwen2"):
        load(path, "qwen22")
    with pytest.raises(RooflineError):
        load(path, "mamba")


def test_every_architecture_has_a_file():
    assert {m["architecture"] for m in MODELS.values()} == set(ARCHITECTURES) - {"gptj"}


def test_llama_cpp_says_so_still(tmp_path):
    if find_spec("xllamacpp") is None:
        pytest.skip("needs xllamacpp")
    paths = {written(name, tmp_path): name for name in MODELS}
    done = subprocess.run(
        [sys.executable, llamacpp.__file__, *paths], capture_output=True, text=True, check=True
    )
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(found) == len(MODELS)
    for entry in found:
        expected = MODELS[paths[entry["path"]]]
        assert entry.get("error") is None, entry
        assert (entry["parameters"], entry["bytes"]) == (
            expected["parameters"],
            expected["bytes"],
        )


def test_a_mix_of_types_by_hand(tmp_path):
    """Q4_K with Q6_K where llama.cpp's Q4_K_M has it: read per step is not resident."""
    path = str(tmp_path / "m.gguf")
    write(path, LLAMA, llama())
    model = load(path)
    q4, q6 = 144 / 256, 210 / 256
    layers = 2 * (q4 * (512 * 512 * 2 + 512 * 128 + 2 * 512 * 1024) + q6 * 512 * 128)
    layers += (q4 + q6) * 1024 * 512
    assert model.work().total("weights", Step.decode()) == layers + q6 * 512 * 1000
    norms = 4 * (512 + 4 * 512) + 4 * 32
    assert model.work().resident == layers + 2 * q6 * 512 * 1000 + norms
    assert model.name == "Tiny"
    assert model.scheme.name == "q4_k + q6_k + f32"


def test_a_tied_table_is_read_as_the_head(tmp_path):
    path = str(tmp_path / "m.gguf")
    write(path, LLAMA, [t for t in llama(table=Q8_0) if t[0] != "output.weight"])
    model = load(path)
    assert model.tied
    head = next(op for op in model.work().operators if op.name == "head")
    assert head.weights[0][1] == 512 * 1000 * 34 / 32


def test_cache_and_arithmetic(tmp_path):
    path = str(tmp_path / "m.gguf")
    write(path, LLAMA, llama(kind=BF16, down=BF16, table=BF16))
    model = load(path)
    assert model.kv.name == "fp16"
    one = Step.decode(1, 100)
    assert model.work(kv="q8_0").total("kv_read", one) * 32 == (
        model.work().total("kv_read", one) * 17
    )
    assert {op.compute for op in model.work().operators} == {"bf16"}
    assert model.work("int4").resident < model.work().resident


def test_experts_are_read_as_they_are_touched(tmp_path):
    path = written("qwen3moe", tmp_path, BF16)
    model = load(path)
    one = model.work().total("weights", Step.decode(1))
    many = model.work().total("weights", Step.decode(1000))
    expert = 3 * 3 * 128 * 64 * 2
    assert many - one == pytest.approx(6 * expert)
    assert model.work().resident > many


def test_what_metadata_and_tensors_disagree_about(tmp_path):
    path = str(tmp_path / "m.gguf")

    def refused(metadata, tensors, says, error=RooflineError):
        write(path, metadata, tensors)
        with pytest.raises(error, match=says):
            made(gguf.read(path))

    good = llama()
    refused({**LLAMA, "llama.block_count": 3}, good, "layer 2: no tensor holds", UnsupportedError)
    refused({**LLAMA, "llama.block_count": 0}, good, "block_count leaves 0 layers")
    refused({**LLAMA, "llama.block_count": 2**31}, good, "leaves 2147483648 layers")
    refused({**LLAMA, "llama.attention.head_count_kv": 4}, good, "layer 0: ", UnsupportedError)
    refused({**LLAMA, "llama.embedding_length": 1024}, good, "layer 0: ", UnsupportedError)
    refused(LLAMA, [*good, ("blk.0.strange.weight", (64, 64), F16)], "'blk.0.strange.weight'")
    refused(LLAMA, [t for t in good if "token_embd" not in t[0]], "no tensor token_embd")
    refused({**LLAMA, "general.architecture": "whisper9"}, good, "'whisper9' is not counted|blo")
    refused({**LLAMA, "general.architecture": "clip"}, good, "clip")
    refused({"general.name": "x"}, good, "general.architecture is missing", InputError)
    refused({**LLAMA, "llama.block_count": "two"}, good, "whole number", InputError)


def test_lists_longer_than_kept(tmp_path):
    """A list that was skipped reads as absent, not as zero."""
    path = str(tmp_path / "m.gguf")
    write(path, {**LLAMA, "llama.feed_forward_length": [1024] * 9000}, llama(down=Q6_K, kind=Q4_K))
    with pytest.raises(InputError, match="intermediate_size is missing"):
        load(path)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_impossible_metadata_is_a_sentence(tmp_path_factory, data):
    """Any architecture, some of its metadata and tensors changed: a model, or one sentence."""
    name = data.draw(st.sampled_from(sorted(MODELS)))
    m = MODELS[name]
    pairs = {"general.architecture": m["architecture"], **m["metadata"]}
    tensors = [(n, s, F32 if len(s) < 2 else F16) for n, s in m["tensors"]]
    values = st.sampled_from(
        [0, 1, 2, 3, 7, 2**16, 2**31, 2**32 - 1, 0.5, True, "x", [0, 0], [1] * 40, [True, False]]
    )
    for _ in range(data.draw(st.integers(1, 3))):
        how = data.draw(st.sampled_from(["set", "set", "set", "drop", "tensor", "shape"]))
        key = data.draw(st.sampled_from(sorted(pairs)))
        at = data.draw(st.integers(0, len(tensors) - 1))
        if how == "set":
            pairs[key] = data.draw(values)
        elif how == "drop":
            del pairs[key]
        elif how == "tensor":
            del tensors[at]
        else:
            n, s, kind = tensors[at]
            tensors[at] = (n, tuple(data.draw(st.integers(1, 300)) for _ in s), kind)
        if not pairs or not tensors:
            return
    path = str(tmp_path_factory.getbasetemp() / "impossible.gguf")
    write(path, pairs, tensors)
    try:
        found = load(path)
        found.work().costs(Step.decode(2, 100))
        assert found.parameters > 0
    except RooflineError as error:
        assert "\n" not in str(error)
        assert len(str(error)) < 1000
