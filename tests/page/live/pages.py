"""Pages that measure quickly: a tiny model, little memory, short probes."""

from __future__ import annotations

import contextlib
import json
import threading
from unittest import mock

from roofline.model.load import from_config
from roofline.page import live, page
from roofline.page.data import model_json
from roofline.page.serve import PageServer

CONFIG = {
    "model_type": "llama", "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 6,
    "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 1000,
    "tie_word_embeddings": True, "torch_dtype": "bfloat16", "rms_norm_eps": 1e-5,
}  # fmt: skip

QUICK = {
    "seconds": 12, "probe": 0.1, "climb": 0.2, "memory": 32 << 20, "read": 4 << 20,
    "batches": [1, 2, 4, 8],
}  # fmt: skip


def tiny():
    """A model small enough that a step takes no time."""
    return from_config(CONFIG, "tiny").altered(name="Tiny")


def tiny_shape():
    return {**live.shape(tiny(), CONFIG), "id": "tiny"}


@contextlib.contextmanager
def changed(options=None, before="", file=None, edit=lambda script: script):
    """The text of a page whose worker starts with ``before`` and measures with ``options``."""
    offered = [{"shape": tiny_shape(), "model": {**model_json(tiny()), "id": "tiny"}}]
    real = live.data, live.worker

    def data(file):
        return {**real[0](file), "shapes": offered, "options": {**QUICK, **(options or {})}}

    with (
        mock.patch.object(live, "data", data),
        mock.patch.object(live, "worker", lambda: edit(before + real[1]())),
    ):
        yield page(
            "smollm2-135m", "h100-sxm", models=[], machines=[], live=True, file=file,
            language="en", date="2026-01-02",
        )  # fmt: skip


@contextlib.contextmanager
def serving(server):
    """A server at work; ended afterwards."""
    with server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@contextlib.contextmanager
def served(text, file=None):
    """The address of a page on the loopback."""
    with serving(PageServer(text, 0, file)) as server:
        yield server.address


class Reader:
    """A page with what it said to its console."""

    def __init__(self, browser, address, locale="en-US"):
        self.context = browser.new_context(locale=locale, accept_downloads=True)
        self.page = self.context.new_page()
        self.said = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.goto(address)

    def measure(self, part="wasm"):
        self.page.select_option("#live-part", part)
        self.page.click("#live-start")
        self.page.wait_for_selector("#live-start:enabled", timeout=60_000)

    def notes(self):
        return self.page.eval_on_selector_all(
            ".live-notes li", "all => all.map((x) => x.dataset.code)"
        )

    def rows(self, table=1):
        return self.page.evaluate(
            """(i) => [...document.querySelectorAll('#live > .live-table')[i].querySelectorAll(
            'tbody tr')].map((r) => [...r.children].map((c) => c.textContent))""",
            table,
        )

    def status(self):
        return self.page.inner_text("#live > .live-status")

    def download(self, selector):
        with self.page.expect_download() as waiting:
            self.page.click(selector)
        with open(waiting.value.path(), encoding="utf-8") as file:
            return waiting.value.suggested_filename, file.read()

    def close(self):
        self.context.close()


def lines(text):
    return [json.loads(line) for line in text.splitlines()]
