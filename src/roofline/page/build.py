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
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from .. import words as core_words
from ..bound.explanation import Explanation
from . import live as browser
from . import squeeze
from .bundle import FOLDER, bundle, read
from .still import still

_USED = ("label", "part", "ceilings", "say", "lever", "chart", "table", "bound", "why", "title")

_SPOKEN = (
    *("predict.speed", "predict.time", "predict.roof", "predict.like", "predict.strange"),
    "place.verdict.",
)


def languages() -> tuple[str, ...]:
    """Languages with words for the page as well as for the answers."""
    return tuple(x for x in core_words.languages() if os.path.isfile(f"{FOLDER}/{x}.json"))


_UNSAID = (
    *("say.parallel.each.stage", "say.parallel.shown", "say.parallel.pipeline"),
    *("say.parallel.reach", "say.parallel.redundant", "why.reach"),
    "say.parallel.uneven",
    *("say.parallel.experts", "say.parallel.given", "say.held.tensor", "say.held.none"),
    *("say.counter", "say.climb.encode", "say.intensity.communication.way", "say.achieved"),
    *("say.doubts", "chart.you.unfit"),
    *("chart.here", "chart.title", "chart.x", "chart.decode", "title.devices", "why.given"),
    *("why.title", "why.device", "why.collective.all_to_all", "why.collective.send"),
    *("table.released", "table.active", "table.source", "table.architecture", "table.power"),
    *("table.vendor", "table.peak", "table.parameters", "table.size", "table.model", "table.kind"),
    *("table.machine", "table.bandwidth", "table.memory", "table.weights", "table.kv"),
    "table.cache",
    *("label.routing", "label.fitted", "label.batch", "label.levers", "label.fits", "label.best"),
    *("label.achieved", "label.parallel", "label.notes", "label.overhead", "label.kernel"),
    *("predict.speed.set", "predict.time.open", "predict.roof.decode", "predict.roof.load"),
)  # fmt: skip
"""Of those what the page does not say: other layouts, other verbs, small charts."""


def page_words(language: str) -> dict[str, str]:
    """The page's words, and those of the answers that it says too."""
    folder = os.path.dirname(core_words.__file__)
    with open(os.path.join(folder, f"{language}.json"), encoding="utf-8") as file:
        core: dict[str, str] = json.load(file)
    shared = {k: v for k, v in core.items() if k.split(".")[0] in _USED or k.startswith(_SPOKEN)}
    shared = {k: v for k, v in shared.items() if not k.startswith(_UNSAID)}
    return {**shared, **json.loads(read(f"{language}.json"))}


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
    language: str = "en",
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
    all_words = {name: {**page_words(name), **browser.words(name)} for name in languages()}
    words = all_words[language]
    script = bundle("main")
    style = squeeze.style(read("page.css") + browser.style())
    told = browser.data(file)
    given = {**data, "formats": {**told.pop("formats"), **data["formats"]}, "browser": told}
    if live:
        given["live"] = True
        given["engines"] = list(engines)
        given["known"] = [machine["id"] for machine in data["machines"]]
    buttons = "".join(
        f'<button type="button" lang="{name}" data-lang="{name}" '
        f'aria-pressed="{str(name == language).lower()}">'
        f"{html.escape(all_words[name]['page.language'])}</button>"
        for name in sorted(all_words, key=lambda name: name != "zh")
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
