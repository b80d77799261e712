"""Pages, elements and notebook cells, from names or from what is already loaded."""

from __future__ import annotations

import datetime
import html
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import words as core_words
from ..bound.case import Case
from ..bound.explanation import Explanation, explain_case
from ..count.step import Step
from ..errors import InputError, RooflineError, UnsupportedError
from ..machine.load import load as load_machine
from ..machine.machine import Machine
from ..model import Model
from ..model.formats import Format
from ..model.load import load as load_model
from ..parallel import Parallel
from . import build, squeeze
from .bundle import bundle, read
from .data import MACHINES, MODELS, page_data
from .live import LiveModel
from .rules import SHOWN_DEVICES
from .still import still
from .words import languages as complete
from .words import note_words, page_words

if TYPE_CHECKING:
    from .predicted import Oracle


def today() -> str:
    """The day a page is made on."""
    return datetime.date.today().isoformat()


def page(
    model: str | Model | None = None,
    on: str | Machine | Sequence[str | Machine] = (),
    *,
    step: Step | None = None,
    formats: Mapping[str, str | None] | None = None,
    devices: int = 1,
    predict: str | None = None,
    models: Sequence[str | Model] = MODELS,
    machines: Sequence[str | Machine] = MACHINES,
    points: Iterable[Mapping[str, Any]] = (),
    language: str | None = None,
    live: bool = False,
    file: LiveModel | None = None,
    oracle: Oracle | None = None,
    date: str | None = None,
) -> str:
    """One self-contained HTML document.

    Args:
        model: shown first; by default the first of ``models``.
        on: machine or machines shown first (at most four are compared).
        step: the step shown first; by default decode at batch 1, context 2048.
        formats: ``weights``, ``kv``, ``compute``, ``ceilings`` shown first.
        devices: tensor-parallel devices shown first, a power of two up to 128.
        predict: an engine to predict for: what is shown first, over up to 8 devices, at the
            stops of the sliders; in a live page shown first, and the server answers for all.
        models, machines: the others to choose from.
        points: measured points, as their files hold them.
        language: of what is seen before script; readers get their browser's.
        live: for ``roofline page --serve``.
        file: the model file that runs in it, for ``--live``.
        oracle: what answers for its predictions, where it is served.
        date: the day to put in; by default today.

    Raises:
        RooflineError: a name, file or format that cannot be used.
    """
    wanted = [on] if isinstance(on, (str, Machine)) else list(on)
    data = page_data(
        first_of([model] if model is not None else [], models),
        first_of(wanted, machines),
        date=date or today(),
        points=points,
    )
    if not shown(devices):
        raise InputError(
            f"the page divides over powers of two up to {SHOWN_DEVICES}, not {devices}; "
            f"'roofline explain --tp {devices}' counts other numbers"
        )
    chosen = {k: v for k, v in (formats or {}).items() if v}
    step = step or Step.decode()
    if step.phase == "encode":
        raise InputError(
            "the page shows decoding: 'roofline explain' and 'roofline plot' answer --phase encode"
        )
    first = model if model is not None else models[0]
    machine = wanted[0] if wanted else machines[0]
    case = Case(
        load_model(first) if isinstance(first, str) else first,
        load_machine(machine) if isinstance(machine, str) else machine,
        **chosen,  # type: ignore[arg-type]
        parallel=Parallel(tp=devices) if devices > 1 else None,
    )
    data["start"] = {
        "machines": [m["id"] for m in data["machines"][: max(1, len(wanted))]][:4],
        "devices": case.parallel.devices,
        **state_of(step),
        **chosen,
    }
    if predict and oracle is None:
        data["predicted"] = _predicted(predict, case, data, wanted or [machine], chosen)
        data["start"]["engine"] = data["predicted"][0]["engine"]["id"]
    if oracle is not None:
        data["start"]["engine"] = oracle.first or usual(case.machine)
    words = core_words.choose(language)
    engines = oracle.to_json() if oracle else ()
    return build.build(
        data, explain_case(case, step), words.language, live=live, file=file, engines=engines
    )


def _predicted(
    engine: str,
    case: Case,
    data: Mapping[str, Any],
    machines: Sequence[str | Machine],
    formats: Mapping[str, str],
) -> list[dict[str, Any]]:
    # Of the first model on the machines shown first, over those numbers of devices that can be.
    from ..predicting import load_profile
    from .predicted import grids

    profile = load_profile(engine)
    model = {data["models"][0]["id"]: case.model}
    result: list[dict[str, Any]] = []
    refused: RooflineError | None = None
    for id, machine in zip((m["id"] for m in data["machines"]), machines[:4], strict=False):
        for n in sorted({1, 2, 4, 8, case.parallel.devices}):
            try:
                result += grids(profile, model, {id: machine}, formats, n)
            except (InputError, UnsupportedError) as error:
                refused = error
    if not result and refused:
        raise refused
    return result


def oracle(
    model: str | None = None,
    on: Sequence[str] = (),
    *,
    models: Sequence[str] = MODELS,
    machines: Sequence[str] = MACHINES,
    predict: str | None = None,
) -> Oracle:
    """What answers for the predictions of a served page, with these things on it.

    Raises:
        RooflineError: a name, file or engine that cannot be used.
    """
    from .data import model_id
    from .predicted import Oracle

    ours = first_of([model] if model is not None else [], models)
    theirs = first_of(list(on), machines)
    return Oracle({model_id(m): m for m in ours}, {load_machine(k).id: k for k in theirs}, predict)


def usual(machine: Machine) -> str:
    """The engine that a served page predicts for where none is asked for."""
    return "vllm" if machine.kind == "gpu" else "llamacpp"


def first_of(wanted: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    """Those wanted, then the others, none twice."""
    names = {load_name(x) for x in wanted}
    return [*wanted, *(x for x in others if load_name(x) not in names)]


def load_name(thing: Any) -> str:
    """The catalogue's id of a name, else what it is called."""
    from .. import catalogue
    from ..errors import NotFound
    from ..machine.load import find as machine
    from ..model.load import entries as models

    if not isinstance(thing, str):
        return str(getattr(thing, "id", thing.name))
    try:
        return str(catalogue.find(thing, models(), "model")["id"])
    except NotFound:
        try:
            return str(machine(thing)[0]["id"])
        except NotFound:
            return thing


def shown(devices: int) -> bool:
    """Whether the page's control has so many devices."""
    return 1 <= devices <= SHOWN_DEVICES and devices & (devices - 1) == 0


def drawable(case: Case) -> bool:
    """Whether the page's controls can say what a case is: tensor parallel over its own links."""
    layout, options = case.parallel, case.options
    alone = layout.devices == layout.tp and shown(layout.tp)
    if case.model.encodes:
        return False  # the page's controls are those of decoding
    return alone and options["link"] is None and options["latency"] is None


def state_of(step: Step) -> dict[str, Any]:
    """The page's controls for a step."""
    group = step.groups[0]
    state: dict[str, Any] = {"phase": step.phase, "batch": group.batch}
    if step.phase == "prefill":
        return {**state, "prompt": group.new_tokens, "context": group.context}
    state["context"] = group.past + 1
    if step.phase == "verify":
        state["drafted"] = group.new_tokens - 1
    if step.phase == "mixed" and len(step.groups) > 1:
        state["prompt"] = step.groups[1].new_tokens
    return state


def element_module(
    models: Sequence[str | Model] = MODELS,
    machines: Sequence[str | Machine] = MACHINES,
    *,
    date: str | None = None,
    data: Mapping[str, Any] | None = None,
    languages: Sequence[str] = (),
) -> str:
    """One ES module that defines ``<roofline-chart>``, with its data, words and style.

    Args:
        models, machines: what its attributes can name.
        date: the day to put in; by default today.
        data: all of that already made.
        languages: by default all.
    """
    data = data or page_data(models, machines, date=date or today())
    words = {
        name: {**page_words(name), **note_words(data, name)} for name in languages or complete()
    }
    given = build.embedded({"data": data, "words": words, "style": squeeze.style(read("page.css"))})
    return f"const ROOFLINE = {given};\n{bundle('element')}"


def fragment(explanation: Explanation, language: str | None = None) -> str:
    """The chart for a notebook: a still picture that becomes ``<roofline-chart>`` where
    scripts may run. The answer's own model and machine, nothing from the network. A layout that
    the page's controls do not have (replicas, stages, a given link) stays a picture."""
    case, step = explanation.case, explanation.step
    words = core_words.choose(language)
    picture = still(explanation, words)
    if not drawable(case):
        return f'<div lang="{html.escape(words.language)}">{picture}</div>'
    data = page_data([case.model], [case.machine], date=today())
    named = {k: v.name if isinstance(v, Format) else v for k, v in case.options.items()}
    chosen = {k: v for k, v in named.items() if isinstance(v, str)}
    data["start"] = {**state_of(step), "devices": case.parallel.devices, **chosen}
    module = element_module(data=data, languages=[words.language])
    return (
        f'<roofline-chart lang="{html.escape(words.language)}">{picture}'
        f'</roofline-chart><script type="module">{module}</script>'
    )
