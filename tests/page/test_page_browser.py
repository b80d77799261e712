"""The page in a real browser: controls by mouse and by keyboard, address, story, files, looks."""

from __future__ import annotations

import json
import random
import re
from importlib import resources

import pytest

from page.waits import addressed, go, recorded, settled
from roofline.cli import main
from roofline.page.data import everything
from roofline.page.words import page_words


def verdict(page):
    return page.inner_text(".verdict"), page.inner_text(".because")


def test_it_opens_from_a_file_with_everything_on_it(visit):
    with visit() as page:
        assert "memory-bound" in page.title()
        assert page.inner_text(".verdict") == "memory-bound"
        assert page.inner_text(".because").startswith("1.05 FLOP/byte, ridge 295")
        texts = page.evaluate(
            "[...document.querySelectorAll('svg.plot .label')].map((x) => x.textContent).join('|')"
        )
        for said in ("ridge 295", "you are here: batch 1", "naive ×256", "limit 59.9",
                     "memory full at batch 226", "prefill of 2,048", "989 TFLOP/s", "3.35 TB/s",
                     "64", "8", "256", "measured", "datasheet"):  # fmt: skip
            assert said in texts


def test_the_policy_forbids_everything_else(visit):
    with visit(loud=True) as page:
        policy = page.get_attribute("meta[http-equiv]", "content")
        assert "default-src 'none'" in policy
        allowed = policy.replace(";", " ").split()
        assert "'unsafe-inline'" not in allowed
        assert "'unsafe-eval'" not in allowed
        assert not [source for source in allowed if "http" in source or "*" in source]
        assert page.evaluate(
            "() => { try { document.body.innerHTML = '<b>x</b>'; return false }"
            " catch { return true } }"
        )


def test_slider_by_keyboard(visit):
    with visit() as page:
        slider = page.locator("[data-name=batch] input[type=range]")
        slider.focus()
        assert slider.get_attribute("aria-valuetext") == "batch 1: 1.05 FLOP/byte, memory-bound"
        for _ in range(6):
            page.keyboard.press("ArrowRight")
        settled(page)
        assert slider.get_attribute("aria-valuetext") == "batch 64: 32 FLOP/byte, memory-bound"
        assert page.inner_text(".because").startswith("32 FLOP/byte")
        page.keyboard.press("End")
        page.keyboard.press("Home")
        page.keyboard.press("End")
        addressed(page, "b=4096")
        assert page.is_visible(".over")


def test_every_control_by_keyboard_alone(visit):
    with visit() as page:
        reached = []
        for _ in range(80):
            page.keyboard.press("Tab")
            what = page.evaluate(
                """() => { const e = document.activeElement;
                    return e === document.body ? "" : [e.tagName, e.type ?? "",
                        (e.labels?.[0]?.textContent ?? e.textContent).slice(0, 30)].join("/"); }"""
            )
            if not what and reached:
                break
            reached.append(what)
            visible = page.evaluate(
                "getComputedStyle(document.activeElement).outlineStyle !== 'none'"
                " || document.activeElement.matches('.cursor, [type=radio], [type=range], h2')"
            )
            assert visible, what
        everything = " ".join(reached)
        for name in ("中文", "Start the story", "The textbook story", "Model", "Machine", "Devices",
                     "radio", "Formats", "Show operators", "Save SVG", "Save PNG", "Copy link",
                     "Batch", "Context", "Prompt", "Intensity", "Ridge", "At best",
                     "More batch", "Memory", "int4 weights", "The picture as a table",
                     "Choose files"):  # fmt: skip
            assert name in everything, name
        page.locator("input[type=radio][value=decode]").focus()
        page.keyboard.press("ArrowRight")
        addressed(page, "p=prefill")
        assert page.inner_text(".verdict") == "compute-bound"
        page.locator(".field select").first.focus()
        page.keyboard.press("ArrowDown")
        addressed(page, "m=llama-3.1-70b")
        page.locator(".toggle input").focus()
        page.keyboard.press("Space")
        settled(page)
        assert page.get_attribute("path.dot", "d").count("M") > 4
        page.locator(".number summary").first.focus()
        page.keyboard.press("Enter")
        settled(page)
        assert "FLOPs = Σ operators" in page.inner_text(".number[open] .why")


def devices(page):
    return page.locator(".field", has_text=re.compile("^(Devices|设备数)")).locator("select")


def test_devices_by_mouse_and_keyboard(visit):
    with visit("#m=llama-3.1-70b&on=h100-sxm&b=32") as page:
        assert page.is_visible(".over")
        choices = devices(page).locator("option").all_inner_texts()
        assert choices == ["1", "2", "4", "8", "16", "32", "64"]
        devices(page).select_option("4")
        addressed(page, "tp=4")
        assert "4 × H100 SXM" in page.inner_text("h2.title")
        said = page.inner_text(".panel")
        assert "2670 tokens/s, 12 ms a token" in said
        assert "4 over NVLink 4: 450 GB/s a device and direction" in said
        assert "communication 5.7 %" in said
        assert "at batch 248 memory is full" in said
        assert not page.is_visible(".over")
        assert "1 of 4 devices" in page.text_content("svg.plot")
        page.locator(".number", has_text="4 over NVLink").locator("summary").click()
        settled(page)
        why = page.inner_text(".number[open] .why")
        assert "each sends 133 MB in 162 messages" in why
        assert "all_reduce[hidden] ×160: all-reduce" in why
        page.locator(".twin > summary").click()
        settled(page)
        rows = page.inner_text(".twin")
        assert "all_gather[logits]" in rows
        assert "communication (NVLink 4)" in rows
        assert "4 × H100 SXM" in rows
        devices(page).focus()
        page.keyboard.press("ArrowDown")
        addressed(page, "tp=8")
        page.locator(".levers button", has_text="16 ×").click()
        addressed(page, "tp=16")
        assert "16 are more than the 8 that NVLink 4 joins" in page.inner_text(".panel")
        page.go_back()
        settled(page)
        assert devices(page).input_value() == "8"


def test_devices_that_cannot_be_are_refused_in_words(visit):
    cases = {
        "#m=llama-3.1-8b&on=h100-sxm&tp=64": ("does not divide over 64", "Shown on 32."),
        "#m=llama-3.1-8b&on=rtx-4090&tp=16": ("no known link joins 16", "PCIe 4.0 x16 joins 8"),
        "#m=llama-3.1-8b&on=m2-max-38c&tp=2": ("no link to other devices is known", "--link"),
        "#m=llama-3.1-8b&on=h100-sxm&tp=3": ("powers of two", "--tp 3"),
        "#m=llama-3.1-8b&on=h100-sxm,rtx-4090&tp=16": ("RTX 4090", "Shown on 8."),
    }
    with visit() as page:
        for hash, words in cases.items():
            go(page, hash)
            said = page.inner_text(".refused")
            assert all(word in said for word in words), said
            assert page.inner_text(".verdict")
        go(page, "#m=llama-3.1-8b&on=h100-sxm,rtx-4090&tp=16")
        assert "16 × H100 SXM / 8 × RTX 4090" in page.inner_text("h2.title")
        go(page, "#m=llama-3.1-8b&on=h100-sxm&tp=8")
        assert not page.is_visible(".refused")
        machine = page.locator(".field", has_text=re.compile("^Machine")).locator("select")
        machine.select_option("m2-max-38c")
        settled(page)
        assert page.is_visible(".refused")


def test_a_verdict_of_communication(visit):
    with visit("#m=qwen3-0.6b&on=h100-sxm&tp=16&b=8", language="zh-CN") as page:
        assert page.inner_text(".verdict").startswith("通信受限")
        assert page.locator("path.talk").count() == 1
        assert page.evaluate("collisions(document, innerWidth)") == []


def test_marks_by_keyboard_say_what_hover_says(visit):
    with visit() as page:
        page.locator(".cursor").focus()
        assert page.inner_text(".tip").startswith("you are here: batch 1")
        said = set()
        page.keyboard.press("Home")
        for _ in range(30):
            said.add(page.inner_text(".tip").split("\n")[0].split(" · ")[0])
            page.keyboard.press("ArrowRight")
        assert {"batch 8", "batch 64", "batch 256: does not fit", "ridge 295", "prefill of 2,048",
                "memory full at batch 226", "limit 59.9: no batch passes it"} <= said  # fmt: skip
        label = page.get_attribute(".cursor", "aria-label")
        assert label.startswith(page.inner_text(".tip").split("\n")[0])
        page.keyboard.press("Escape")
        assert page.is_hidden(".tip")
        box = page.locator("path.prefill").bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        assert page.inner_text(".tip").startswith("prefill of 2,048")


def test_every_control_by_mouse(visit):
    with visit() as page:
        page.locator("[data-name=batch] input[type=range]").click(position={"x": 300, "y": 15})
        settled(page)
        assert not page.inner_text(".because").startswith("1.05")
        page.fill("[data-name=batch] input[type=text]", "37")
        page.keyboard.press("Enter")
        settled(page)
        assert "you are here: batch 37" in page.text_content("svg.plot")
        page.fill("[data-name=context] input[type=text]", "8k")
        page.keyboard.press("Tab")
        addressed(page, "c=8192")
        page.fill("[data-name=context] input[type=text]", "many")
        page.keyboard.press("Tab")
        assert page.get_attribute("[data-name=context] input[type=text]", "aria-invalid") == "true"
        page.click("summary:has-text('Formats')")
        selects = page.locator(".more select")
        for i, value in enumerate(("int4:128", "fp8", "fp8", "measured", "a100-80gb-sxm")):
            selects.nth(i).select_option(value)
            settled(page)
        addressed(page, "w=int4:128&kv=fp8&x=fp8&at=measured")
        assert "on=h100-sxm,a100-80gb-sxm" in recorded(page)
        assert page.locator("circle.here").count() == 2
        page.click(".chip button")
        settled(page)
        assert page.locator("circle.here").count() == 1
        page.click(".levers button >> nth=0")
        settled(page)
        page.click("text=The picture as a table")
        page.locator(".twin tbody tr").nth(10).wait_for(state="attached")


def test_the_textbook_story_and_its_break(visit):
    with visit() as page:
        page.click("text=The textbook story")
        settled(page)
        assert page.inner_text(".because").startswith("1 FLOP/byte")
        page.fill("[data-name=batch] input[type=text]", "256")
        page.keyboard.press("Enter")
        settled(page)
        near = float(re.match(r"[\d.]+", page.inner_text(".because"))[0])
        assert 250 < near < 260
        slider = page.locator("[data-name=context] input[type=range]")
        slider.focus()
        for _ in range(11):
            page.keyboard.press("ArrowRight")
        settled(page)
        assert page.inner_text(".because").startswith("49.2 FLOP/byte")
        assert "limit 59.9" in page.text_content("svg.plot")


def test_a_link_reproduces_the_view_and_back_undoes(visit):
    rng = random.Random(4)
    with visit() as page:
        seen = []
        for _ in range(3):
            page.select_option(".field select >> nth=0", index=rng.randrange(12))
            page.select_option(".field select >> nth=1", index=rng.randrange(12))
            page.fill("[data-name=batch] input[type=text]", str(rng.randint(1, 5000)))
            page.keyboard.press("Enter")
            page.fill("[data-name=context] input[type=text]", str(rng.randint(1, 200000)))
            page.keyboard.press("Enter")
            page.click(f".segments label >> nth={rng.randrange(4)}")
            seen.append((recorded(page), verdict(page)))
    for hash, said in seen:
        with visit(hash) as page:
            assert verdict(page) == said
            assert recorded(page) == hash
    with visit() as page:
        first = verdict(page)
        page.fill("[data-name=batch] input[type=text]", "64")
        page.keyboard.press("Enter")
        addressed(page, "b=64")
        second = verdict(page)
        page.click("text=Experts")
        addressed(page, "m=qwen3-30b-a3b")
        page.go_back()
        settled(page)
        assert verdict(page) == second
        page.go_back()
        settled(page)
        assert verdict(page) == first
        page.go_forward()
        settled(page)
        assert verdict(page) == second


@pytest.mark.parametrize(
    "hash",
    [
        "#m=nothing&on=no,such&p=fly&b=-1&c=1e9&s=NaN&w=int99&kv=<b>&x=__proto__&story=x&lang=qq",
        "#m=__proto__&on=constructor&b=99999999999999999999",
        "#%E0%A4%A&&&===",
    ],
)
def test_a_broken_link_gives_the_default_view(visit, hash):
    with visit(hash) as page:
        assert page.inner_text(".because").startswith("1.05 FLOP/byte")


def test_a_link_to_a_step_of_the_story_shows_what_it_tells(visit):
    with visit("#story=8") as page:
        assert page.input_value(".field select >> nth=0") == "qwen3-30b-a3b"
        assert page.is_checked(".toggle input")
        assert "batch 16" in page.text_content("svg.plot")
        page.select_option(".field select >> nth=0", "llama-3.1-8b")
        link = recorded(page)
    with visit(link) as page:
        assert page.input_value(".field select >> nth=0") == "llama-3.1-8b"
        assert page.is_visible(".story")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_story_is_told_to_the_end(visit, language):
    words = page_words(language)
    with visit(f"#lang={language}") as page:
        assert page.get_attribute("html", "lang") == language
        page.click(".presets .primary")
        told = []
        for _ in range(12):
            settled(page)
            if page.is_hidden(".story"):
                break
            text = page.inner_text(".story")
            assert "{" not in text, text
            told.append(page.inner_text(".story h2"))
            for button in page.locator(".tries button").all():
                button.click()
                settled(page)
                assert button.get_attribute("aria-pressed") == "true"
                assert "{" not in page.inner_text(".story")
            page.click(".story .bar .primary")
        assert 7 <= len(set(told)) <= 10
        assert words["story.cache.title"] in told


def test_languages_switch_and_stay(visit):
    with visit(language="zh-CN") as page:
        assert page.inner_text(".verdict").startswith("访存受限")
        assert "memory-bound" in page.inner_text(".verdict")
        latin = page.evaluate("document.body.innerText")
        assert "at best" not in latin
        page.click("[data-lang=en]")
        settled(page)
        assert page.inner_text(".verdict") == "memory-bound"
        addressed(page, "lang=en")
        page.go_back()
        settled(page)
        assert page.inner_text(".verdict").startswith("访存受限")


def test_without_script_there_is_a_picture_and_a_table(visit):
    with visit(java_script_enabled=False) as page:
        assert page.is_visible("svg.plot")
        assert page.locator("tbody tr").count() == 4
        assert "memory-bound" in page.inner_text(".panel")
        assert "ridge 295" in page.text_content("svg.plot")


def test_dark_forced_colours_and_print(visit):
    with visit(color_scheme="dark") as page:
        dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert sum(map(int, re.findall(r"\d+", dark)[:3])) < 150
    with visit(forced_colors="active") as page:
        stroke = page.evaluate("getComputedStyle(document.querySelector('.path')).stroke")
        link = page.evaluate(
            "(() => { const a = document.body.appendChild(document.createElement('i'));"
            " a.style.color = 'LinkText'; return getComputedStyle(a).color })()"
        )
        assert stroke == link
        # Filled controls take the system's pair of colours whole, or their text gets a backplate.
        filled = page.evaluate(
            "[...document.querySelectorAll('button.primary, button[aria-pressed=true],"
            " .segments input:checked + span')].map((e) => getComputedStyle(e))"
            ".map((s) => [s.forcedColorAdjust, s.color !== s.backgroundColor])"
        )
        assert len(filled) >= 3
        assert all(pair == ["none", True] for pair in filled)
    with visit(reduced_motion="reduce") as page:
        moving = page.evaluate(
            "[...document.querySelectorAll('*')].filter((e) => parseFloat("
            "getComputedStyle(e).transitionDuration) > 0 || getComputedStyle(e).animationName"
            " !== 'none').length"
        )
        assert moving == 0
    with visit() as page:
        page.emulate_media(media="print")
        for gone in (".controls", ".sliders", ".presets", ".buttons"):
            assert page.locator(gone).first.is_hidden()
        assert page.is_visible("svg.plot")
        assert page.is_visible(".verdict")
        settled(page)
        assert "overlapped bound" in page.inner_text(".panel")
        assert page.locator(".twin tbody tr").nth(3).is_visible()


AXE = "axe-playwright-python (pip install axe-playwright-python)"


@pytest.mark.parametrize(
    ("language", "scheme"),
    [
        ("en-US", "light"),
        ("zh-CN", "dark"),
        pytest.param("en-US", "dark", marks=pytest.mark.slow),
        pytest.param("zh-CN", "light", marks=pytest.mark.slow),
    ],
)
def test_axe_finds_nothing(visit, scheme, language):
    pytest.importorskip("axe_playwright_python", reason=f"needs {AXE}")
    source = (resources.files("axe_playwright_python") / "axe.min.js").read_text("utf-8")
    with visit("#ops=1&on=h100-sxm,mi300x", language=language, color_scheme=scheme) as page:
        page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
        page.click(".presets .primary")
        settled(page)
        page.evaluate(source)
        found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    assert [(v["id"], [n["html"][:120] for n in v["nodes"]]) for v in found["violations"]] == []


def test_export_carries_sources_and_date(visit, tmp_path):
    with visit("#ops=1&b=64") as page:
        with page.expect_download() as caught:
            page.click("text=Save SVG")
        caught.value.save_as(tmp_path / "x.svg")
        text = (tmp_path / "x.svg").read_text(encoding="utf-8")
        from xml.etree import ElementTree

        root = ElementTree.fromstring(text)
        said = " ".join(root.itertext())
        assert "NVIDIA H100 Tensor Core GPU datasheet" in said
        assert re.search(r"\d{4}-\d\d-\d\d", said)
        assert "you are here: batch 64" in said
        assert "class=" not in text
        assert "var(" not in text
        with page.expect_download() as caught:
            page.click("text=Save PNG")
        caught.value.save_as(tmp_path / "x.png")
        data = (tmp_path / "x.png").read_bytes()
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        assert int.from_bytes(data[16:20], "big") > 1000
        page.click("text=The picture as a table")
        with page.expect_download() as caught:
            page.click("text=Save CSV")
        caught.value.save_as(tmp_path / "x.csv")
        lines = (tmp_path / "x.csv").read_text(encoding="utf-8-sig").splitlines()
        assert lines[0].startswith("what,")
        assert any(line.startswith("decode,64,31.9") for line in lines)


def test_default_file_is_small(default_page):
    import gzip
    from urllib.request import url2pathname

    with open(url2pathname(default_page.removeprefix("file://")), "rb") as file:
        assert len(gzip.compress(file.read(), 9)) < 120_000


def test_it_works_in_a_frame(browser, default_page):
    context = browser.new_context()
    page = context.new_page()
    said = []
    page.on("console", lambda message: said.append(message.text))
    from urllib.request import url2pathname

    with open(url2pathname(default_page.removeprefix("file://")), encoding="utf-8") as file:
        text = file.read()
    page.set_content("<iframe sandbox='allow-scripts' width=900 height=900></iframe>")
    page.evaluate("(text) => { document.querySelector('iframe').srcdoc = text }", text)
    frame = page.frame_locator("iframe")
    frame.locator("html.ready").wait_for()
    frame.locator("[data-name=batch] input[type=text]").fill("8")
    frame.locator("[data-name=batch] input[type=text]").press("Enter")
    frame.locator("svg.plot", has_text="you are here: batch 8").wait_for()
    context.close()
    assert said == []


@pytest.mark.slow
def test_a_page_of_the_whole_catalogue(tmp_path):
    path = tmp_path / "all.html"
    assert main(["page", "--all", "-o", str(path)]) == 0
    text = path.read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])["data"]
    models, machines = everything()
    assert {m["id"] for m in data["models"]} == set(models)
    assert {m["id"] for m in data["machines"]} == set(machines)
    assert data["schema"] == "roofline.page/1"
