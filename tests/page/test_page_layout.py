"""No label touches another, nothing leaves its room: by code, over models, machines, sliders."""

from __future__ import annotations

import itertools
import os

import pytest

from page.cases import WHOLE
from page.waits import settled

WIDTHS = (360, 768, 1440)
MACHINES = ("h100-sxm", "rtx-4090", "m2-max-38c", "xeon-8480", "gb10")
ENDS = ((1, 1), (1, 131072), (4096, 1), (4096, 131072))
EVERY = bool(os.environ.get("ROOFLINE_EVERY_LABEL"))
"""Every model × machine × end of both sliders, and that again with operators and several devices,
instead of each model once at each width."""

CHUNK = 500
"""States set one after another in one page, so that a picture costs a drawing and no loading."""

SCAN = """([states, width]) => {
    const found = [];
    for (const state of states) {
        app.set(state, false);
        app.refresh();
        for (const what of lab.collisions(document, width)) {
            found.push(JSON.stringify(state) + ": " + what);
        }
    }
    return found;
}"""


def scan(page, states, width):
    """What collides or overflows, in words, each with its state."""
    found = []
    for i in range(0, len(states), CHUNK):
        found += page.evaluate(SCAN, [states[i : i + CHUNK], width])
    return found


def states(models, turn):
    """What is looked at: all of it, or every second model with the rest going round."""
    every = list(itertools.product(MACHINES, ENDS, (False, True)))
    for i, model in enumerate(models):
        n = i + turn
        if n % 2 and not EVERY:
            continue
        some = every if EVERY else [every[(9 * n) % len(every)]]
        for k, (machine, (batch, context), more) in enumerate(some):
            yield {
                "model": model,
                "machines": [machine],
                "batch": batch,
                "context": context,
                "operators": more,
                "devices": 2 ** (1 + (n + k // 2) % 3) if more else 1,
                "phase": "prefill" if n % 7 == 0 and not EVERY else "decode",
            }


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("language", ["en", "zh"])
@WHOLE
def test_labels_never_collide(lab, width, language, whole):
    if EVERY and whole:
        pytest.skip("all of them are looked at already")
    with lab(width, language, whole or EVERY) as page:
        models = page.evaluate("data.models.map((model) => model.id)")
        turn = WIDTHS.index(width) * 3 + (language == "zh")
        assert scan(page, [*states(models, turn)], width) == []


@pytest.mark.parametrize("width", [360, pytest.param(768, marks=pytest.mark.slow), 1440])
@pytest.mark.parametrize("language", ["en-US", "zh-CN"])
def test_words_never_collide_either(visit, width, language):
    with visit("#c=8192&b=64&ops=1", width, language=language) as page:
        page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
        settled(page)
        assert page.evaluate("crowding(document.body)") == []
        assert page.evaluate("collisions(document, innerWidth)") == []
        page.click(".presets .primary")
        for _ in range(10):
            settled(page)
            assert page.evaluate("crowding(document.body)") == []
            page.click(".story .bar .primary")


def test_several_machines(lab):
    sets = (
        ["h100-sxm", "a100-80gb-sxm", "mi300x", "b200"],
        ["l4", "rtx-4090", "m2-max-38c", "xeon-8480"],
        ["h100-sxm", "h200-sxm"],
    )
    for width in WIDTHS:
        with lab(width, "zh") as page:
            some = [{"machines": m, "batch": 16, "context": 4096} for m in sets]
            assert scan(page, some, width) == []
