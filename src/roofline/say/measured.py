"""A finished run in words: what was seen, the figures beside the sheet's, what they mean."""

from typing import Any

from ..errors import RooflineError
from ..install import command
from ..machine.load import from_data
from ..machine.machine import Machine
from ..measuring.quiet import Finding
from ..units import digits, percent, seconds, si
from ..words import Words
from . import table

Json = dict[str, Any]

# The first that fits is the example: model, weight format.
EXAMPLES = (
    ("llama-3.1-8b", "bf16"),
    ("llama-3.1-8b", "int4"),
    ("llama-3.2-1b", "int4"),
)

# What a finding says is missing, and the extra that brings it.
EXTRAS = {"portable": "measure", "no_torch": "torch"}


def name_of(key: str, words: Words) -> str:
    """A probe's name: ``bandwidth.memory.copy`` → ``memory, copy``."""
    if words.has(f"measure.key.{key}"):
        return words(f"measure.key.{key}")
    kind, _, rest = key.partition(".")
    if kind == "ladder":
        return words("measure.key.ladder", size=si(float(rest), "B"))
    if kind == "gemm":
        precision, _, rows = rest.partition(".m")
        return words("measure.key.gemm", precision=precision, rows=rows)
    if words.has(f"measure.key.{kind}"):
        return words(f"measure.key.{kind}", name=rest)
    return key


def value_of(key: str, value: float) -> str:
    """A figure with its unit."""
    kind = key.partition(".")[0]
    if kind == "overhead":
        return seconds(value)
    return si(value, "B/s" if kind in ("bandwidth", "ladder", "link") else "FLOP/s")


def finding(seen: Finding, words: Words) -> str:
    """One finding as a sentence."""
    shown: Json = {}
    for name, value in seen.values.items():
        if name in ("share", "down", "slower", "apart") and isinstance(value, float):
            shown[name] = percent(value)
        elif name in ("bytes", "reported"):
            shown[name] = si(float(value), "B")
        elif name == "key":
            shown["probe"] = name_of(str(value), words)
        else:
            shown[name] = digits(value) if isinstance(value, float) else value
    if seen.code in EXTRAS:
        shown["install"] = command(EXTRAS[seen.code])
    level = words(f"measure.level.{seen.level}")
    return words("joint.colon", head=level, text=words(f"measure.finding.{seen.code}", **shown))


def figures(data: Json, words: Words) -> str:
    """The table of figures: best, median, spread, and how much of the sheet was reached."""
    head = [
        words(f"measure.head.{n}") for n in ("probe", "how", "best", "median", "spread", "sheet")
    ]
    rows, seen = [], set()
    for sample in data["measurement"]["samples"]:
        key = sample["key"]
        if key in seen:  # the other candidates stay in the file
            continue
        seen.add(key)
        rows.append(
            (
                name_of(key, words),
                sample["how"],
                value_of(key, sample["best"]),
                value_of(key, sample["median"]),
                percent(sample["spread"]),
                _reached(data, key, sample["best"]),
            )
        )
    return table.render(head, rows, left=2)


def meaning(data: Json, words: Words, columns: int = 100, chart: bool = True) -> str:
    """The ridge, what of the sheet was reached, and what a known model could do here."""
    try:
        machine = from_data(data, "the measured file")
    except RooflineError:
        return words("measure.say.partial")
    out: list[str] = []
    measured = machine.measured
    memory = measured.bandwidth.get("memory")
    if memory:
        ridges = words.joined(
            words("measure.say.ridge.one", precision=p, ridge=digits(f.value / memory.value))
            for p, f in measured.compute.items()
        )
        if ridges:
            out.append(words("measure.say.ridge", ridges=ridges))
        sheet = machine.datasheet.bandwidth.get("memory")
        if sheet:
            out.append(words("measure.say.sheet", share=percent(memory.value / sheet.value)))
    if memory and measured.compute:
        out += _example(machine, words, columns, chart)
    return "\n".join(out)


def _reached(data: Json, key: str, value: float) -> str:
    section, _, name = key.partition(".")
    sheet = data.get("datasheet", {}).get(section, {}).get(name)
    number = sheet.get("value") if isinstance(sheet, dict) else sheet
    return percent(value / number) if number else "-"


def _example(machine: Machine, words: Words, columns: int, chart: bool) -> list[str]:
    from ..bound.case import Case
    from ..chart import picture, terminal
    from ..count.step import Step
    from ..model.load import load as load_model

    step = Step.decode(batch=1, context=2048)
    for name, weights in EXAMPLES:
        try:
            case = Case(load_model(name), machine, weights=weights, ceilings="measured")
            fits = case.fit(step).max_batch
            if fits == 0:
                continue
            bound, climb = case.bound(step), case.climb(step)
        except RooflineError:
            continue
        if climb.crossing is None:
            turn = words("measure.say.never")
        elif climb.crossing == 1:
            turn = words("measure.say.already")
        else:
            turn = words("measure.say.crossing", batch=climb.crossing)
        out = [
            words(
                "measure.say.model",
                model=case.model.name,
                weights=weights,
                speed=digits(bound.tokens_per_s),
                turn=turn,
            )
        ]
        if chart:
            drawn = terminal.render(picture.draw(case, step), words, columns=min(columns, 100))
            out += ["", drawn]
        return out
    return []
