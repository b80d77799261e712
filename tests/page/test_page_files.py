"""Files of the reader's, friendly and hostile: points, machines, configs."""

from __future__ import annotations

import json
import random

import pytest

from page.waits import settled
from roofline.page.make import page as make_page
from roofline.points import read_points

MARKUP = "<img src=x onerror=window.hacked=1><script>window.hacked=1</script>"


def point(**changes):
    made = {
        "schema": "roofline.points/1",
        "model": "meta-llama/Llama-3.1-8B",
        "machine": "h100-sxm",
        "engine": "vllm",
        "phase": "decode",
        "parts": [{"count": 1, "grows": False,
                   "groups": [{"batch": 64, "new_tokens": 1, "past": 2047}]}],
        "seconds": {"median": 0.012},
    }  # fmt: skip
    return {**made, **changes}


def lines(*points):
    return "".join(json.dumps(p) + "\n" for p in points).encode()


def drop(page, content, name="points.jsonl"):
    page.evaluate("document.querySelector('.message').textContent = ''")
    page.set_input_files("#file", {"name": name, "mimeType": "text/plain", "buffer": content})
    page.locator(".message:not(:empty)").wait_for(timeout=60_000)
    settled(page)
    return page.inner_text(".message")


def test_points_are_placed_with_their_share_of_the_roof(visit):
    with visit() as page:
        said = drop(page, lines(point(), point(model="some/other"), {"schema": "x"}))
        assert said.startswith("1 measured points shown")
        assert "1 of other models" in said
        assert "1 lines are not points" in said
        page.click("text=The picture as a table")
        settled(page)
        row = page.locator("table").nth(2).locator("tbody tr").first.inner_text()
        # 9.61 ms at best over 12 ms measured
        assert row.split("\t")[-2:] == ["80 %", "at the wall: KV cache"]
        page.locator(".cursor").focus()
        page.keyboard.press("End")
        assert "80 % of its roof · at the wall" in page.inner_text(".tip")
        assert "vllm" in page.inner_text(".tip")


def test_a_short_model_a_roof_of_its_own_and_an_unknown_machine(visit):
    # One layer of 32: a thirty-second of the layers' bytes.
    with visit() as page:
        drop(page, lines(point(layers=1, weights="bf16", seconds={"median": 0.0008})))
        page.locator(".cursor").focus()
        page.keyboard.press("End")
        assert "meta-llama/Llama-3.1-8B (1 layers) · h100-sxm" in page.inner_text(".tip")
        # (1.05 GB head + 436 MB + 64 × 2048 × 4,096 B) / 3.35 TB/s / 0.8 ms
        assert "76 % of its roof" in page.inner_text(".tip")
    with visit() as page:
        drop(
            page,
            lines(point(machine="a desk", roof={"bandwidth": 1e12, "compute": {"bf16": 1e14}})),
        )
        page.locator(".cursor").focus()
        page.keyboard.press("End")
        assert "ABOVE ITS ROOF" in page.inner_text(".tip")
    with visit() as page:
        drop(page, lines(point(machine="a desk")))
        page.locator(".cursor").focus()
        page.keyboard.press("End")
        assert "no roof of this machine is known here" in page.inner_text(".tip")


def test_points_given_on_the_command_line(browser, tmp_path):
    path = tmp_path / "p.jsonl"
    path.write_bytes(lines(point(), point(seconds={"median": 0.02})))
    points = [p.to_json() for p in read_points(str(path))]
    (tmp_path / "x.html").write_text(make_page(points=points, language="en"), encoding="utf-8")
    page = browser.new_page()
    page.goto(f"file://{tmp_path}/x.html")
    page.wait_for_selector("html.ready")
    d = page.get_attribute("path.point", "d")
    assert d.count("h0") == 2
    page.close()


HOSTILE = (
    b"",
    b"\n\n\n",
    b"\x00\xff\xfe garbage \x80",
    b"[" * 100_000,
    b'{"a":' * 20_000,
    lines(None, 1, "x", [], {}),
    json.dumps({"__proto__": {"x": 1}, "schema": "roofline.points/1"}).encode(),
    b'{"schema":"roofline.points/1","parts":[{"groups":[{"batch":NaN}]}]}\n',
    lines(point(seconds={"median": 0}), point(seconds={"median": -1})),
    lines(point(seconds={"median": "1"})),
    lines(point(parts=[]), point(parts=[{"groups": []}]), point(parts=[None])),
    lines(point(parts=[{"groups": [{"batch": 1e300, "new_tokens": 1, "past": 0}]}])),
    lines(point(engine=7), point(engine={"a": 1}), point(basis="guess")),
    json.dumps({"measured": {"bandwidth": {"memory": "fast"}}, "name": MARKUP}).encode(),
    json.dumps({"measured": [], "datasheet": 7, "name": "x"}).encode(),
    json.dumps({"model_type": "llama", "hidden_size": -1}).encode(),
)


def test_hostile_files_are_answered_with_a_sentence(visit):
    with visit() as page:
        for content in HOSTILE:
            assert drop(page, content), content[:80]
            assert page.inner_text(".because").startswith("1.05 FLOP/byte"), content[:80]
            assert page.evaluate("window.hacked") is None, content[:80]
            assert page.evaluate("({}).x") is None, content[:80]


def test_markup_stays_text(visit):
    with visit() as page:
        scripts = page.locator("script").count()
        for content in (
            lines(point(engine=MARKUP, machine=MARKUP, model=None, phase=MARKUP)),
            json.dumps(
                {
                    "name": MARKUP,
                    "id": MARKUP,
                    "datasheet": {"bandwidth": {"memory": 1e12}, "compute": {"bf16": 1e14}},
                    "sources": {"a": {"title": MARKUP}},
                    "memory": {"type": MARKUP, "capacity": {"value": 8e10, "source": "a"}},
                }
            ).encode(),
        ):
            drop(page, content)
            page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
            page.locator(".cursor").focus()
            page.keyboard.press("End")
            settled(page)
            assert page.evaluate("window.hacked") is None
            assert page.locator("img").count() == 0
            assert page.locator("script").count() == scripts
        assert "<img" in page.inner_text(".title")


def test_a_machine_file_brings_its_measured_roof(visit):
    mine = {
        "schema": "roofline.machine/1",
        "id": "here",
        "name": "My desk",
        "memory": {"capacity": 3.2e10, "type": "DDR5"},
        "measured": {
            "bandwidth": {"memory": {"value": 6.1e10, "source": "probe", "date": "2026-05-01"}},
            "compute": {"bf16": 2.5e12, "fp32": 1.2e12},
        },
        "sources": {"probe": {"title": "roofline measure", "date": "2026-05-01"}},
    }
    with visit() as page:
        assert drop(page, json.dumps(mine).encode(), "here.json") == "My desk added."
        assert "My desk" in page.inner_text(".title")
        assert "61 GB/s" in page.text_content("svg.plot")
        assert page.locator("path.roof.measured").count() == 2
        assert page.locator("path.roof.datasheet").count() == 0
        assert "roofline measure, 2026-05-01" in page.inner_text(".sources")


MOVE_THE_AXES = """() => new Promise((done) => {
    const cloud = document.querySelector("path.point");
    const count = () => cloud.getAttribute("d").split("M").length - 1;
    const drag = (name, value) => {
        const slider = document.querySelector(`[data-name=${name}] input[type=range]`);
        slider.value = value;
        slider.dispatchEvent(new Event("input"));
    };
    const before = count();
    const rest = (dragged) => {
        if (count() < before) setTimeout(rest, 5, dragged);
        else done([before, dragged, count()]);
    };
    drag("prompt", 99);
    requestAnimationFrame(() => rest(count()));
})"""
"""The axes follow the prefill of a long prompt: dots before, in the frame, and at rest."""


@pytest.mark.parametrize("many", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_ten_thousand_points_are_one_element_and_more_are_thinned(visit, tmp_path, many):
    rng = random.Random(1)

    def some(n):
        return b"".join(
            lines(
                point(
                    seconds={"median": 0.01 * rng.uniform(1, 9)},
                    parts=[{"count": 1, "groups": [{
                        "batch": rng.randint(1, 256), "new_tokens": 1, "past": rng.randint(0, 9999),
                    }]}],
                )
            )
            for _ in range(n)
        )  # fmt: skip

    with visit() as page:
        assert drop(page, some(10_000)).startswith("10,000 measured points shown")
        assert page.locator("path.point").count() == 1
        assert page.get_attribute("path.point", "d").count("M") > 9000
        before = page.inner_text(".because")
        page.locator("[data-name=batch] input[type=range]").focus()
        page.keyboard.press("ArrowRight")
        settled(page)
        assert page.inner_text(".because") != before
        # the axes move under them: while one drags some stand for all, and all are there at rest
        before, dragged, rested = page.evaluate(MOVE_THE_AXES)
        assert 500 < dragged <= 1500
        assert rested >= before > 9000
    with visit() as page:
        path = tmp_path / "many.jsonl"
        path.write_bytes(some(1000) * many)
        page.set_input_files("#file", str(path))
        page.locator(".message:not(:empty)").wait_for(timeout=60_000)
        said = page.inner_text(".message")
        assert f"{1000 * many:,} lines: 20,000 of them, evenly chosen" in said
        assert page.get_attribute("path.point", "d").count("M") <= 20_000
