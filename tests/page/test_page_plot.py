"""The figure for print and the still picture: complete, and no label on another."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from roofline.bound.explanation import explain
from roofline.chart.layout import lay_out
from roofline.chart.picture import draw
from roofline.chart.place import Box, Label, place
from roofline.cli import main
from roofline.count.step import Step
from roofline.errors import InputError, MissingExtra
from roofline.page.still import HEIGHT, WIDTH, still, svg, text_width
from roofline.parallel import Parallel
from roofline.say.figure import plot, save, sources_of
from roofline.words import Words

MODELS = ("llama-3.1-8b", "deepseek-v3", "qwen3-30b-a3b", "gemma-3-27b", "gpt2", "llama-3.1-405b")
MACHINES = ("h100-sxm", "rtx-4090", "m2-max-38c", "xeon-8480", "gb10")
STEPS = (
    Step.decode(1, 1), Step.decode(1, 131072), Step.decode(4096, 1), Step.decode(4096, 131072),
    Step.decode(64, 2048), Step.prefill(1, 2048), Step.verify(8, 4, 4096),
    Step.mixed(Step.decode(32, 2048), Step.prefill(1, 512)),
)  # fmt: skip


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("machine", MACHINES)
def test_no_label_meets_another_in_the_still_picture(machine, language):
    words = Words(language)
    for model, step in itertools.product(MODELS, STEPS):
        e = explain(model, machine, step)
        plane = lay_out(
            draw(e.case, step), e.case, words, width=WIDTH, height=HEIGHT, ruler=text_width
        )
        boxes = [box for _, box in plane.labels]
        assert len(boxes) >= 5
        for a, b in itertools.combinations(boxes, 2):
            assert not a.meets(b)
        assert all(box.within(plane.area) for box in boxes)
        for stroke in plane.strokes:
            for x, y in stroke.points:
                assert plane.area.x0 - 1 <= x <= plane.area.x1 + 1
                assert y <= plane.area.y1 + 1


def test_place_takes_the_nearest_free_place_and_leaves_out_what_has_none():
    area = Box(0, 0, 100, 40)
    label = Label("x", 40, 10, [(50, 20, ("e", "w"))], 5)
    first, second = place([label, label, label], area, steps=(0,))
    assert (first[1].x0, second[1].x1) == (55, 45)
    assert len(place([label] * 3, area, steps=(0,))) == 2
    crossed = place([label], area, lines=[(60, 0, 60, 40, 30)], steps=(0,))
    assert crossed[0][1].x1 == 45


def test_a_still_picture_of_what_does_not_fit_has_no_empty_path():
    e = explain("llama-3.1-70b", "h100-sxm")
    assert e.verdict.code == "capacity"
    drawn = svg(e, Words("en"))
    assert re.findall(r'd="M[^0-9-]', drawn) == []
    assert 'd="M' in drawn
    four = explain("llama-3.1-70b", "h100-sxm", parallel=Parallel(tp=4))
    assert "1 of 4" in svg(four, Words("en"))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_still_picture_says_what_the_answer_says(language):
    e = explain("llama-3.1-8b", "h100-sxm", Step.decode(1, 2048))
    words = Words(language)
    root = ElementTree.fromstring(svg(e, words))
    said = " ".join(root.itertext())
    for text in (
        words("chart.ridge", ridge="295"),
        words("chart.limit", limit="59.9"),
        words("chart.full", batch="226"),
        words("chart.you", batch=1),
        "989 TFLOP/s",
        words("ceilings.measured"),
    ):
        assert text in said
    assert words("label.memory") in still(e, words)


def test_still_escapes_names(tmp_path):
    import json

    (tmp_path / "config.json").write_text(
        json.dumps(
            {
                "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2,
                "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 100,
            }
        )
    )  # fmt: skip
    bad = tmp_path / "<img src=x onerror=alert(1)>"
    bad.mkdir()
    (tmp_path / "config.json").rename(bad / "config.json")
    html = still(explain(str(bad), "h100-sxm"), Words("en"))
    assert "<img" not in html


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_figure_files(tmp_path, kind, language):
    path = tmp_path / f"x.{kind}"
    arguments = ["plot", "llama-3.1-8b", "--on", "h100-sxm", "-o", str(path), "--lang", language]
    assert main(arguments) == 0
    head = path.read_bytes()[:5]
    assert head in (b"<?xml", b"\x89PNG\r", b"%PDF-")


def test_figure_into_axes_of_ones_own(tmp_path):
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4))
    canvas = FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    assert plot("llama-3.1-8b", "h100-sxm", Step.decode(64, 2048), ax=left) is left
    plot("qwen3-30b-a3b", "rtx-4090", weights="int4", ax=right, title=False)
    canvas.draw()
    for ax in (left, right):
        assert ax.get_xscale() == ax.get_yscale() == "log"
        renderer = canvas.get_renderer()
        boxes = [t.get_window_extent(renderer) for t in ax.texts]
        assert len(boxes) > 4
        for a, b in itertools.combinations(boxes, 2):
            wide = min(a.x1, b.x1) - max(a.x0, b.x0)
            high = min(a.y1, b.y1) - max(a.y0, b.y0)
            assert not (wide > 1 and high > 2)
    save(left, str(tmp_path / "both.png"))
    with pytest.raises(InputError, match=r"\.svg, \.png or \.pdf"):
        save(left, "x.gif")
    with pytest.raises(InputError, match="cannot be written"):
        save(left, str(tmp_path / "no" / "x.png"))
    with pytest.raises(InputError, match="needs a machine"):
        plot("llama-3.1-8b")


def test_sources_and_dates():
    said = sources_of(explain("llama-3.1-8b", "h100-sxm"))
    assert "NVIDIA H100 Tensor Core GPU datasheet, 2023" in said


def test_without_matplotlib_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match=r"pip install 'roofline\[plot\]'"):
        plot("llama-3.1-8b", "h100-sxm")


def test_a_page_is_written_whole_or_not_at_all(tmp_path, capsys):
    path = tmp_path / "x.html"
    assert main(["page", "qwen3-4b", "--on", "rtx-4090", "-o", str(path), "--lang", "zh"]) == 0
    text = path.read_text(encoding="utf-8")
    assert '<html lang="zh">' in text
    assert "Qwen3-4B" in text
    assert main(["page", "-o", str(tmp_path / "none" / "x.html")]) == 2
    assert main(["page", "no-such-model", "-o", str(path)]) == 2
    assert path.read_text(encoding="utf-8") == text
    assert sorted(p.name for p in tmp_path.iterdir() if p.suffix != ".html") in (
        [], ["roofline-data"],
    )  # fmt: skip
    assert main(["page", "--element", "-o", str(tmp_path / "x.js")]) == 0
    assert "customElements.define" in (tmp_path / "x.js").read_text(encoding="utf-8")
    five = [x for _ in range(5) for x in ("--on", "h100-sxm")]
    assert main(["page", *five]) == 2
    capsys.readouterr()


def test_the_served_page_ends_quietly_on_interrupt(tmp_path):
    import signal
    import time

    import roofline

    source = os.path.dirname(os.path.dirname(roofline.__file__))
    process = subprocess.Popen(
        [sys.executable, "-m", "roofline", "page", "--serve"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": source},
    )
    line = process.stdout.readline()
    assert line.startswith("http://127.0.0.1:")
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=10)
    assert process.returncode == 0
    assert "Traceback" not in errors
