"""No label touches another, nothing leaves its room: by code, over models, machines, sliders."""

from __future__ import annotations

import os

import pytest

WIDTHS = (360, 768, 1440)
MACHINES = ("h100-sxm", "rtx-4090", "m2-max-38c", "xeon-8480", "gb10")
ENDS = ((1, 1), (1, 131072), (4096, 1), (4096, 131072))
EVERY = bool(os.environ.get("ROOFLINE_EVERY_LABEL"))
"""Every model × machine × end of both sliders, twenty times as long, instead of going round."""


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_labels_never_collide(lab, width, language):
    """Every model; its machine and its ends of the sliders go round."""
    with lab(width, language) as page:
        found = page.evaluate(
            """([machines, ends, width, turns, start]) => {
                const found = [];
                data.models.forEach((model, i) => {
                    for (let turn = 0; turn < turns; turn += 1) {
                        const n = turns * i + turn + start;
                        const [batch, context] = ends[(n + Math.floor(n / 5)) % ends.length];
                        const state = { model: model.id, machines: [machines[n % machines.length]],
                            batch, context, operators: n % 3 === 0,
                            devices: 2 ** (n % 4), phase: n % 7 === 0 ? "prefill" : "decode" };
                        app.set(state, false);
                        app.refresh();
                        for (const what of lab.collisions(document, width)) {
                            found.push(JSON.stringify(state) + ": " + what);
                        }
                    }
                });
                return found;
            }""",
            [MACHINES, ENDS, width, 20 if EVERY else 1, WIDTHS.index(width)],
        )
    assert found == []


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("language", ["en-US", "zh-CN"])
def test_words_never_collide_either(visit, width, language):
    with visit("#c=8192&b=64&ops=1", width, language=language) as page:
        page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
        page.wait_for_timeout(100)
        assert page.evaluate("crowding(document.body)") == []
        assert page.evaluate("collisions(document, innerWidth)") == []
        page.click(".presets .primary")
        for _ in range(10):
            page.wait_for_timeout(60)
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
            for machines in sets:
                found = page.evaluate(
                    """([machines, width]) => {
                        app.set({ machines, batch: 16, context: 4096 }, false);
                        app.refresh();
                        return lab.collisions(document, width);
                    }""",
                    [machines, width],
                )
                assert found == []
