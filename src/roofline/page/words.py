"""The page's words: those of the answers that it says too, and its own.

A language of the page is three files with its name: among the words of the answers, in ``web/``
and in ``web/live/``. One that lacks a file or a text is none yet: pages do without it, and who
asks for it is told what is missing.
"""

from __future__ import annotations

import json
import os

from .. import words as core_words
from ..errors import InputError
from .bundle import FOLDER, read

_USED = ("label", "part", "ceilings", "say", "lever", "chart", "table", "bound", "why", "title")

_SPOKEN = (
    *("predict.speed", "predict.time", "predict.roof", "predict.like", "predict.strange"),
    "place.verdict.",
)

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

SHOWN = 3
"""Texts that a refusal names."""


def page_words(language: str) -> dict[str, str]:
    """The page's words, and those of the answers that it says too."""
    core = _core(language)
    shared = {k: v for k, v in core.items() if k.split(".")[0] in _USED or k.startswith(_SPOKEN)}
    shared = {k: v for k, v in shared.items() if not k.startswith(_UNSAID)}
    return {**shared, **json.loads(read(f"{language}.json"))}


def live_words(language: str) -> dict[str, str]:
    """The words of the part that measures the browser."""
    found: dict[str, str] = json.loads(read(f"live/{language}.json"))
    return found


def languages() -> tuple[str, ...]:
    """The languages that are complete, in the order in which a page offers them."""
    there = [name for name in _begun() if not lacking(name)]
    return tuple(sorted(there, key=lambda name: (int(page_words(name)["page.order"]), name)))


def check(language: str) -> None:
    """That a page can be had in a language.

    Raises:
        InputError: it has none of its words, or not all.
    """
    missing = lacking(language)
    if missing and language not in _begun():
        known = ", ".join(languages())
        raise InputError(f"the page has no words for '{language[:20]}' (known: {known})")
    if missing:
        raise InputError(f"the page's words for '{language}' are not complete: {missing[0]}")


def choose(given: str | None = None) -> core_words.Words:
    """The words to start a page with: of the language asked for, else of the locale where the page
    has it, else English.

    Raises:
        InputError: the language asked for is not complete.
    """
    if given:
        check(given.lower().replace("_", "-").split("-")[0])
        return core_words.choose(given)
    found = core_words.choose()
    return found if found.language in languages() else core_words.Words("en")


def lacking(language: str) -> list[str]:
    """What a language has not, file by file; empty where it is complete."""
    found = []
    for where, get in (
        ("words", _core),
        ("page/web", lambda name: json.loads(read(f"{name}.json"))),
        ("page/web/live", live_words),
    ):
        try:
            there = get(language)
        except FileNotFoundError:
            found.append(f"{where}/{language}.json is missing")
            continue
        except (OSError, ValueError) as error:
            found.append(f"{where}/{language}.json cannot be read ({error})")
            continue
        gone = [key for key in get("en") if key not in there]
        if gone:
            more = f" and {len(gone) - SHOWN} more" if len(gone) > SHOWN else ""
            found.append(f"{where}/{language}.json lacks {', '.join(gone[:SHOWN])}{more}")
    return found


def _core(language: str) -> dict[str, str]:
    folder = os.path.dirname(core_words.__file__)
    with open(os.path.join(folder, f"{language}.json"), encoding="utf-8") as file:
        found: dict[str, str] = json.load(file)
    return found


def _begun() -> list[str]:
    # Languages of which the page has some words; all others are not spoken of.
    names = {name for folder in ("", "live") for name in os.listdir(os.path.join(FOLDER, folder))}
    return sorted(name.removesuffix(".json") for name in names if name.endswith(".json"))
