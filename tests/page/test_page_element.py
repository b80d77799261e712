"""<roofline-chart> in somebody else's page, and in a notebook."""

from __future__ import annotations

import hashlib
from base64 import b64encode

import pytest

from page.waits import settled
from roofline.bound.explanation import explain
from roofline.count.step import Step
from roofline.page.make import element_module, fragment
from roofline.parallel import Parallel


@pytest.fixture(scope="module")
def module():
    return element_module(["llama-3.1-8b", "qwen3-4b"], ["h100-sxm", "rtx-4090"])


def open_page(browser, html):
    page = browser.new_page()
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.set_content(html)
    return page, said


def test_two_on_a_page_with_their_own_settings(browser, module):
    hash = "'sha256-" + b64encode(hashlib.sha256(module.encode()).digest()).decode() + "'"
    policy = f"default-src 'none'; script-src {hash}; img-src blob:"
    page, said = open_page(
        browser,
        f'<!doctype html><meta http-equiv=Content-Security-Policy content="{policy}">'
        "<roofline-chart model=llama-3.1-8b machine=h100-sxm batch=64 context=2048 lang=en>"
        "</roofline-chart><roofline-chart model=qwen3-4b machine=rtx-4090 weights=int4:128 lang=zh>"
        f"</roofline-chart><script type=module>{module}</script>",
    )
    page.locator("roofline-chart .verdict").nth(1).wait_for()
    first, second = page.locator("roofline-chart").all()
    assert first.locator(".because").inner_text().startswith("32 FLOP/byte")
    assert "Qwen3-4B" in second.locator("h2.title").inner_text()
    assert second.locator(".verdict").inner_text().startswith("访存受限")
    first.locator("[data-name=batch] input[type=range]").focus()
    page.keyboard.press("ArrowLeft")
    settled(page)
    assert not first.locator(".because").inner_text().startswith("32 FLOP/byte")
    page.evaluate("document.querySelector('roofline-chart').setAttribute('batch', '1')")
    settled(page)
    assert first.locator(".because").inner_text().startswith("1.05 FLOP/byte")
    assert page.evaluate("document.querySelector('roofline-chart').state.batch") == 1
    assert "about:blank" in page.url
    page.close()
    assert said == []


def test_devices_as_an_attribute(browser, module):
    page, said = open_page(
        browser,
        "<roofline-chart machine=h100-sxm devices=4 batch=32 lang=en></roofline-chart>"
        f"<script type=module>{module}</script>",
    )
    page.locator("roofline-chart .verdict").wait_for()
    assert "4 × H100 SXM" in page.locator("roofline-chart h2.title").inner_text()
    page.close()
    assert said == []


def test_a_cell_over_devices():
    text = fragment(explain("llama-3.1-8b", "h100-sxm", parallel=Parallel(tp=4)))
    assert '"devices":4' in text
    assert "1 of 4" in text
    piped = fragment(explain("llama-3.1-8b", "h100-sxm", parallel=Parallel(pp=2)))
    assert "<script" not in piped
    assert "pp 2" in piped


def test_wrong_attributes_give_the_default(browser, module):
    page, said = open_page(
        browser,
        "<roofline-chart model='<b>' machine=none batch=-1 context=NaN lang=xx></roofline-chart>"
        f"<script type=module>{module}</script>",
    )
    page.locator("roofline-chart .verdict").wait_for()
    assert page.locator("roofline-chart .because").inner_text().startswith("1.05")
    page.close()
    assert said == []


def test_a_notebook_cell(browser):
    answer = explain("llama-3.1-8b", "h100-sxm", Step.decode(8, 4096), weights="fp8")
    html = fragment(answer, "en")
    still, script = html.split("<script", 1)
    assert "ridge" in still
    assert "<svg" in still
    assert len(html) < 300_000
    # A viewer that strips scripts shows the still picture.
    page, said = open_page(browser, still)
    assert page.locator("svg.plot").is_visible()
    page.close()
    # A notebook inserts the cell and then runs its scripts.
    page, said = open_page(browser, "<div id=cell></div>")
    page.evaluate(
        """(html) => {
            const cell = document.getElementById("cell");
            cell.innerHTML = html;
            for (const old of cell.querySelectorAll("script")) {
                const script = document.createElement("script");
                script.type = old.type;
                script.textContent = old.textContent;
                old.replaceWith(script);
            }
        }""",
        html,
    )
    page.locator("roofline-chart .embedded .because").wait_for()
    text = page.locator("roofline-chart .embedded h2.title").inner_text()
    assert "fp8" in text
    assert f"{answer.bound.intensity:.3g} FLOP/byte" in page.locator(".because").last.inner_text()
    assert "</script" not in script[:-9]
    page.close()
    assert said == []
