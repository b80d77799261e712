"""The page's words: those of the answers that it says too, and its own.

Which files a language is, and which languages are whole, :mod:`roofline.words` says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .. import words as core_words
from ..say.notes import sentence

_USED = ("label", "part", "ceilings", "say", "lever", "chart", "table", "bound", "why", "title")

_SPOKEN = (
    *("joint.list", "joint.clauses", "joint.sides"),
    *("predict.speed", "predict.time", "predict.roof", "predict.like", "predict.strange"),
    *("place.verdict.", "machine.accumulate"),
)

_UNSAID = (
    *("say.parallel.each.stage", "say.parallel.shown", "say.parallel.pipeline"),
    *("say.parallel.reach", "say.parallel.redundant", "why.reach"),
    "say.parallel.uneven",
    *("say.parallel.experts", "say.parallel.given", "say.held.tensor", "say.held.none"),
    *("say.counter", "say.climb.encode", "say.intensity.communication.way", "say.achieved"),
    *("say.doubts", "chart.you.unfit", "chart.fonts"),
    *("chart.here", "chart.title", "chart.x", "chart.decode", "title.devices", "title.machine"),
    "why.given",
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
    core = core_words.texts("words/{}.json", language)
    shared = {k: v for k, v in core.items() if k.split(".")[0] in _USED or k.startswith(_SPOKEN)}
    shared = {k: v for k, v in shared.items() if not k.startswith(_UNSAID)}
    return {**shared, **core_words.texts("page/web/{}.json", language)}


def note_words(data: Mapping[str, Any], language: str) -> dict[str, str]:
    """The notes of a page's data in a language, by their English after a colon; none that are
    the same."""
    words = core_words.Words(language)
    result = {note: sentence(note, words) for note in dict.fromkeys(_notes(data))}
    return {f": {note}": said for note, said in result.items() if said != note}


def _notes(data: Any) -> Iterable[str]:
    # Of models, formats and figures.
    if isinstance(data, Mapping):
        for name, value in data.items():
            if name == "note" and isinstance(value, str):
                yield value
            elif name == "notes":
                yield from value
            else:
                yield from _notes(value)
    elif isinstance(data, list):
        for value in data:
            yield from _notes(value)


def live_words(language: str) -> dict[str, str]:
    """The words of the part that measures the browser."""
    return dict(core_words.texts("page/web/live/{}.json", language))


def languages() -> tuple[str, ...]:
    """The languages that are complete, in the order in which a page offers them."""
    there = core_words.complete()
    return tuple(sorted(there, key=lambda name: (page_words(name)["page.order"], name)))
