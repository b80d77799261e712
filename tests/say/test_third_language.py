"""A third language is its files: dropped in, every verb speaks it, and nothing but it."""

from __future__ import annotations

import functools
import glob
import json
import os
import re
from types import SimpleNamespace

import pytest

from roofline import words
from roofline.cli import main
from roofline.machine.load import entries as machines
from roofline.machine.load import from_data
from roofline.measuring.quiet import Finding
from roofline.model.load import entries as models
from roofline.model.load import from_entry
from roofline.page import page
from roofline.say import benched, evaluated, measured
from roofline.say import machines as say_machines
from roofline.say.notes import sentence
from roofline.words.note import Note

NAMES = re.compile(r"'[^']*'|https?://\S+|--[a-z-]+")
RUN = re.compile(r"\b[a-z]{2,}(?: [a-z]{2,}){3,}\b")
WORDS = re.compile(r"\b(?:the|of|and|with|that|which|each|its|without)\b")
INNER = re.compile(r"⟦[^⟦⟧]*⟧")
HOME = os.path.dirname(os.path.dirname(words.__file__))


@pytest.fixture
def third(tmp_path, monkeypatch):
    """A language 'xx': every text of English in brackets of its own."""
    for pattern in words.FILES:
        path = tmp_path / pattern.format("xx")
        path.parent.mkdir(parents=True, exist_ok=True)
        own = {key: f"⟦{text}⟧" for key, text in words.texts(pattern, words.SOURCE).items()}
        path.write_text(json.dumps(own), encoding="utf-8")
    monkeypatch.setattr(words, "ROOTS", [*words.ROOTS, str(tmp_path)])
    monkeypatch.setenv("COLUMNS", "140")
    return words.Words("xx")


@functools.cache
def titles():
    """Names of machines, links and documents, which stay as they are; long ones first."""
    found = {model["source"]["title"] for model in models()}
    for machine in machines():
        found |= {machine["name"], *(link["name"] for link in machine.get("links", ()))}
        found |= {source["title"] for source in machine["sources"].values()}
    return sorted(found, key=len, reverse=True)


def beside(text):
    """What is left of a text without all that is in brackets, names and addresses."""
    text = " ".join(text.split())
    for title in titles():
        text = text.replace(" ".join(title.split()), " ")
    while INNER.search(text):
        text = INNER.sub(" ", text)
    return NAMES.sub(" ", text)


def is_spoken(text):
    assert "⟦" in text
    left = beside(text)
    assert not RUN.search(left), RUN.search(left)[0]
    assert not WORDS.search(left), left


ASKED = [
    "explain llama-3.1-8b --on h100-sxm --no-chart --operators --why",
    "explain deepseek-v3 --on h100-sxm --no-chart --tp 8 --phase prefill --why",
    "explain qwen3-vl-8b --on a10 --no-chart --weights q4_k_m --batch 3000",
    "explain Qwen/Qwen3-8B-AWQ --on a10 --no-chart --why",
    "explain llama-3.1-8b --on 2x-rtx-4090 --no-chart --achieved 30tok/s",
    "explain mixtral-8x7b --on rtx-4090 --no-chart",
    "explain qwen3-30b-a3b --on h100-sxm --no-chart --tp 4 --ep 4 --why",
    "explain bge-m3 --on l4 --no-chart",
    "sweep llama-3.1-8b --on h100-sxm rtx-4090 --batch 1,8 --steps",
    "sweep llama-3.1-70b --on rtx-4090 --tp 2 --batch 1 --phase verify",
    "predict llama-3.1-8b --on h100-sxm --engine vllm --why",
    "predict llama-3.1-8b --on a100-80gb-sxm --engine torch --prompt 512 --output 64 --rate 2",
    "machines",
    "machines mi250x-gcd",
    "machines xeon-6980p",
    "machines --diff h100-sxm h200",
    "machines nothing here",
    "models",
    "models llava",
    "models gpt-oss-20b",
    "place --model llama-3.1-8b --on h100-sxm --weights bf16 --batch 8 --context 2k "
    "--tokens-per-s 700",
]


@pytest.mark.parametrize("asked", ASKED)
def test_every_verb_speaks_it(asked, third, capsys):
    assert main([*asked.split(), "--lang", "xx"]) in (0, None)
    is_spoken(capsys.readouterr().out)


def test_a_measured_machine_is_told_in_it(third):
    keys = ("bandwidth.memory", "bandwidth.memory.copy", "compute.fp32", "overhead.launch")
    of = [{"key": k, "how": "avx2", "best": 2e11, "median": 1e11, "spread": 0.1} for k in keys]
    is_spoken(measured.figures({"measurement": {"samples": of}}, third))
    is_spoken(measured.meaning({}, third))
    is_spoken(measured.finding(Finding("load", "warn", {"load": 3.0}), third))
    is_spoken(evaluated.text([], third))


def test_a_run_of_an_engine_is_told_in_it(third):
    job = SimpleNamespace(phase="decode", batch=8, length=512)
    seconds = SimpleNamespace(spread=0.01, samples=5)
    point = SimpleNamespace(tokens_per_s=42.0, seconds=seconds, notes=("busy", "unknown"))
    for kind in ("start", "done", "skip", "lost"):
        seen = SimpleNamespace(index=1, total=4, job=job, kind=kind, left=9.0, point=point)
        is_spoken(benched.event(seen, third))
    plan = SimpleNamespace(jobs=[job], skipped=[], total=30.0)
    chosen = SimpleNamespace(plan=plan, engine="torch", model_name="m", weights="", device="cpu")
    is_spoken(benched.plan(chosen, third))


def test_the_picture_and_the_page_speak_it(third):
    made = page("llama-3.1-8b", "h100-sxm", models=[], machines=[], language="xx")
    assert '<html lang="xx">' in made
    panel = re.search(r'<section class="panel">.*?</section>', made, re.S)[0]
    is_spoken(re.sub(r"<[^>]*>", " ", panel))
    given = json.loads(re.search(r'id="data">(.*?)</script>', made, re.S)[1])
    notes = [f["note"] for m in given["data"]["machines"] for f in figures(m) if f.get("note")]
    assert notes
    assert all(given["words"]["xx"][f": {note}"] == sentence(note, third) for note in notes)


def figures(data):
    """Every figure in a part of the page's data."""
    if isinstance(data, dict):
        yield from (data,) if "value" in data else ()
        for value in data.values():
            yield from figures(value)


def test_a_figure_for_print_speaks_it(third):
    pytest.importorskip("matplotlib")
    from roofline.say.figure import plot

    axes = plot("llama-3.1-8b", "h100-sxm", language="xx")
    texts = [axes.get_title("left"), axes.get_xlabel(), axes.get_ylabel()]
    for text in (*texts, *(label.get_text() for label in axes.texts if "⟦" in label.get_text())):
        is_spoken(text)


def written(data):
    """Every note in a data file."""
    if isinstance(data, dict):
        for key, value in data.items():
            if key == "note" and isinstance(value, str):
                yield value
            elif key in ("notes", "assumed") and isinstance(value, list):
                yield from value
            elif key != "residuals":
                yield from written(value)
    elif isinstance(data, list):
        for value in data:
            yield from written(value)


def test_every_note_of_the_data_is_known_to_every_language(third):
    found = {note for machine in machines() for note in written(machine)}
    with open(os.path.join(HOME, "machine", "names.json"), encoding="utf-8") as file:
        found |= set(written({k: v for k, v in json.load(file).items() if k != "note"}))
    for path in glob.glob(os.path.join(HOME, "predicting", "profiles", "*.json")):
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        families = data.get("families", {}).values()
        found |= {note for part in (data, *families) for note in part.get("notes", ())}
    assert len(found) > 400
    assert [note for note in sorted(found) if sentence(note, third) == note] == []


def test_every_note_on_a_model_has_a_code():
    for entry in models():
        try:
            model = from_entry(entry)
        except words.InputError:
            continue
        assert all(isinstance(note, Note) for note in model.notes), entry["id"]


def test_nothing_of_ours_is_english_in_chinese():
    zh = words.Words("zh")
    for entry in machines():
        text = say_machines.one(from_data(entry, entry["id"], entry["sources"]), zh)
        found = RUN.search(beside(text))
        assert found is None, (entry["id"], found)


def test_a_note_is_its_sentence_and_survives_copies():
    import copy
    import pickle

    note = Note("aside.more", sides=(Note("side.vision"), Note("side.audio"), Note("side.talker")))
    said = "the vision encoder, audio encoder and speech generator are set aside: text tokens only"
    assert note == said and json.loads(json.dumps([note])) == [said]
    for other in (copy.deepcopy(note), pickle.loads(pickle.dumps(note))):
        assert other == note and other.code == note.code
    assert (
        sentence(note, words.Words("zh"))
        == "视觉编码器、音频编码器和语音生成器不计：只算文本 token"
    )
    assert sentence("a note of somebody's own", words.Words("zh")) == "a note of somebody's own"
