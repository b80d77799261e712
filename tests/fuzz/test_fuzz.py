"""Every reader on its corpus; and with atheris, on what coverage finds from it."""

import importlib.util
import os
import random
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
CORPUS = os.path.join(HERE, "corpus")
RUNS = 300
"""Inputs a target in the suite; let it run longer by hand."""


def beside(name):
    """A file of this folder as a module."""
    spec = importlib.util.spec_from_file_location(f"fuzz_{name}", os.path.join(HERE, f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


harness, mutate = beside("harness"), beside("mutate")


def kept(name):
    folder = os.path.join(CORPUS, name)
    for file in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        with open(os.path.join(folder, file), "rb") as opened:
            yield opened.read()


@pytest.mark.parametrize("name", sorted(harness.TARGETS))
def test_corpus(name, monkeypatch):
    monkeypatch.setenv("OLLAMA_MODELS", harness.FOLDER)
    seeds = [data for which, data in harness.seeds() if which == name]
    assert seeds, "every target has a seed"
    for data in (b"", b"\0", b"{}", *seeds, *kept(name)):
        harness.one(name, data)


MUTATED = 120
"""Mutated inputs a target in the suite; ``make fuzz`` runs more."""


@pytest.mark.parametrize("name", sorted(harness.TARGETS))
def test_mutated(name, monkeypatch):
    """Inputs like real ones, and wrong: each ends in an answer or a sentence."""
    monkeypatch.setenv("OLLAMA_MODELS", harness.FOLDER)
    seeds = [data for which, data in harness.seeds() if which == name]
    rng = random.Random(name)
    for _ in range(MUTATED):
        data = mutate.mutated(rng.choice(seeds), rng)
        try:
            harness.one(name, data)
        except BaseException as error:
            error.add_note(f"{name}: {data[:2000]!r}")
            raise


def test_seeds_are_understood(monkeypatch):
    """A seed that is refused at once would teach the fuzzer nothing."""
    monkeypatch.setenv("OLLAMA_MODELS", harness.FOLDER)
    from roofline.errors import RooflineError

    refused = []
    for name, data in harness.seeds():
        try:
            harness.TARGETS[name](data)
        except RooflineError as error:
            refused.append((name, str(error)))
    assert {n for n, _ in refused} <= {"gguf", "safetensors", "manifest", "machine", "results"}, (
        refused
    )


def test_the_corpus_is_small():
    sizes = [os.path.getsize(os.path.join(d, f)) for d, _, fs in os.walk(CORPUS) for f in fs]
    assert sum(sizes) < 256_000


@pytest.mark.parametrize("name", sorted(harness.TARGETS))
def test_coverage_guided(name, tmp_path):
    if importlib.util.find_spec("atheris") is None:
        pytest.skip("needs atheris")
    for i, (which, data) in enumerate(harness.seeds()):
        if which == name:
            (tmp_path / f"seed{i}").write_bytes(data)
    command = [sys.executable, os.path.join(HERE, "harness.py"), name, str(tmp_path)]
    folder = os.path.join(CORPUS, name)
    command += [folder] if os.path.isdir(folder) else []
    command += [f"-runs={RUNS}", "-max_len=8192", "-timeout=20", "-rss_limit_mb=2048", "-seed=1"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
