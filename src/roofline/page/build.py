"""One self-contained HTML file: page, data, words, style and script, under a strict policy.

The policy allows exactly this style and this script (by their SHA-256), pictures and workers
made by the page itself, WebAssembly, and nothing from the network; a live page may also ask its
own server. Trusted Types are required and the only ones allowed are the addresses of workers,
so no text can become markup or script.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from .. import words as core_words
from ..bound.explanation import Explanation
from . import live as browser
from . import squeeze
from .bundle import bundle, read
from .still import still
from .words import languages, live_words, note_words, page_words


def digest(text: str) -> str:
    """A source of a content security policy: exactly this text."""
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def policy(script: str, style: str, *, live: bool = False) -> str:
    """The content security policy of a page."""
    rules = {
        "default-src": "'none'",
        "script-src": f"{digest(script)} 'wasm-unsafe-eval'",
        "style-src": digest(style),
        "img-src": "blob: data:",
        "connect-src": "'self'" if live else "'none'",
        "worker-src": "blob: 'self'" if live else "blob:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "roofline-live",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def embedded(value: Any) -> str:
    """JSON that can stand inside a script element whatever it holds."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def build(
    data: Mapping[str, Any],
    start: Explanation,
    language: str = core_words.SOURCE,
    *,
    live: bool = False,
    file: browser.LiveModel | None = None,
    engines: Sequence[Mapping[str, str]] = (),
) -> str:
    """The page as one text.

    Args:
        data: as :func:`roofline.page.data.page_data` gives it.
        start: what is shown first: the data's first model on its first machine.
        language: of what is seen before (or without) script; readers then get their own.
        live: whether it is served by ``roofline page --serve``.
        file: the model file that is served with it.
        engines: those that the server predicts for.
    """
    script = bundle("main")
    style = squeeze.style(read("page.css") + browser.style())
    said = browser.data(file)
    given = {**data, "formats": {**said.pop("formats"), **data["formats"]}, "browser": said}
    all_words = {
        name: {**page_words(name), **live_words(name), **note_words(given, name)}
        for name in languages()
    }
    words = all_words[language]
    if live:
        given["live"] = True
        given["engines"] = list(engines)
        given["known"] = [machine["id"] for machine in data["machines"]]
    buttons = "".join(
        f'<button type="button" lang="{name}" data-lang="{name}" '
        f'aria-pressed="{str(name == language).lower()}">'
        f"{html.escape(all_words[name]['page.language'])}</button>"
        for name in all_words
    )
    texts = {
        "policy": policy(script, style, live=live),
        "lang": language,
        "version": data["version"],
        "date": data["date"],
        **{name: words[f"page.{name}"] for name in ("title", "name", "tagline", "foot")},
        **{name: words[name] for name in words if name.startswith("about.")},
    }
    raw = {
        "style": style,
        "languages": buttons,
        "still": still(start, core_words.Words(language)),
        "data": embedded({"data": given, "words": all_words}),
        "worker": browser.worker(),
        "script": script,
    }

    def fill(match: re.Match[str]) -> str:
        name = match[1]
        return raw[name] if name in raw else html.escape(str(texts[name]))

    return re.sub(r"\{\{([a-z.]+)\}\}", fill, read("index.html"))
