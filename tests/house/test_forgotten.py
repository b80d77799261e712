"""What is easily forgotten when something is added: each test names the file or line to add.

CONTRIBUTING.md says what a new thing consists of; these hold the parts of it together that no
import, no type and no other test does.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
from pathlib import Path
from typing import Any

import roofline
from roofline.machine.load import entries
from roofline.machine.load import load as load_machine

SOURCE = Path(roofline.__file__).parent
ROOT = SOURCE.parents[1]
LANGUAGES = ("en", "zh")


def data(path: str) -> Any:
    """A JSON file of the package."""
    return json.loads((SOURCE / path).read_text(encoding="utf-8"))


def stems(folder: str, pattern: str) -> set[str]:
    """The names of a folder's files."""
    return {p.stem for p in (SOURCE / folder).glob(pattern) if p.stem != "__init__"}


def text(path: str) -> str:
    """A file of the repository."""
    return (ROOT / path).read_text(encoding="utf-8")


def modules(folder: str) -> dict[str, Any]:
    """The modules of a folder, imported."""
    within = f"roofline.{folder.replace('/', '.')}"
    return {n: importlib.import_module(f"{within}.{n}") for n in sorted(stems(folder, "*.py"))}


# --- a model_type and its family


def test_each_row_of_a_family_has_its_file_in_the_list() -> None:
    from roofline.model.families import FILES

    for name, module in modules("model/families").items():
        rows = set(getattr(module, "READERS", ()))
        listed = set(FILES.get(name, ()))
        if name == "multimodal":  # wrappers have no rows: their text side is read
            continue
        assert not rows - listed, (
            f"FILES['{name}'] (model/families/__init__.py) lacks {rows - listed}"
        )
        assert not listed - rows, f"READERS of model/families/{name}.py lacks {listed - rows}"


def test_a_model_type_has_one_file() -> None:
    from roofline.model.families import FILES

    kinds = [kind for of in FILES.values() for kind in of]
    assert sorted(kinds) == sorted(set(kinds)), {k for k in kinds if kinds.count(k) > 1}


# --- an attention kind and its quantity


def test_a_quantity_keeps_in_json_all_that_it_goes_by() -> None:
    from roofline.count.group import Group
    from roofline.count.quantity import QUANTITIES, Quantity

    groups = (Group(6, 40, 1000), Group(2, 1, 77, all_logits=True))
    for name in QUANTITIES:
        full = Quantity(name, 96, 8, 16, 3, (5, 3, 2, 900), 2, 3)
        again = Quantity.from_json(json.loads(json.dumps(full.to_json())))
        assert again.value(groups) == full.value(groups), (
            f"QUANTITIES['{name}'] (count/quantity.py)"
        )


def test_every_quantity_made_is_listed_and_on_the_page_and_explained() -> None:
    from roofline.count.quantity import QUANTITIES

    step = (SOURCE / "count/quantity.py").read_text(encoding="utf-8")
    made = set(re.findall(r'Quantity\(\s*"(\w+)"', step)) | set(
        re.findall(r'^    "(\w+)": (?:lambda|_)', step.partition("_PER_GROUP")[2], re.MULTILINE)
    )
    assert not made - set(QUANTITIES), (
        f"QUANTITIES (count/quantity.py) lacks {made - set(QUANTITIES)}"
    )
    page = (SOURCE / "page/web/work.js").read_text(encoding="utf-8")
    lost = [q for q in QUANTITIES if not re.search(rf'^  {q}:|"{q}"', page, re.MULTILINE)]
    assert not lost, f"page/web/work.js lacks {lost}"


# --- a number format


def test_formats_are_those_of_files_and_of_the_list() -> None:
    from roofline.files.gguf_types import TYPES
    from roofline.model import formats

    names = set(formats.names())
    for name, elements, size in TYPES.values():
        if elements > 1:
            assert name in names, f"model/formats.py lacks {name} of files/gguf_types.py"
            assert formats.parse(name).size == size / elements, name


# --- a quantisation


def test_each_reader_of_a_quantisation_has_a_method() -> None:
    from roofline.model.quant import METHODS

    listed = set(METHODS.values())
    for file, name in listed:
        module = importlib.import_module(f"roofline.model.quant.{file}")
        assert hasattr(module, name), f"model/quant/{file}.py lacks {name}, which METHODS names"
    for file, module in modules("model/quant").items():
        for name, made in inspect.getmembers(module, inspect.isfunction):
            own = made.__module__ == module.__name__ and not name.startswith("_")
            reads = list(inspect.signature(made).parameters) == ["c", "plain"]
            if own and reads and (file, name) != ("modules", "described"):
                assert (file, name) in listed, (
                    f"METHODS (model/quant/__init__.py) lacks {file}.{name}"
                )


def test_each_quantisation_is_in_the_documents() -> None:
    from roofline.model.quant import METHODS

    for language in LANGUAGES:
        page = text(f"docs/{language}/files.md")
        lost = [m for m in METHODS if m not in page]
        assert not lost, f"docs/{language}/files.md lacks {lost}"


# --- a result form


def test_each_module_of_a_result_form_is_asked() -> None:
    from roofline import results

    asked = {m.__name__.rpartition(".")[2] for m in (*results.RECORDS, *results.LOGS)} | {"own"}
    forms = {n for n, m in modules("results").items() if hasattr(m, "NAME")}
    assert not forms - asked, f"RECORDS or LOGS (results/__init__.py) lack {forms - asked}"


def test_each_result_form_has_a_sample_and_is_in_the_documents() -> None:
    from roofline import results

    called = {"llama.cpp log": "llama.cpp", "plain table": "CSV", "serving benchmark log": "vllm"}
    for name in results.FORMATS:
        word = called.get(name, name.partition(" ")[0]).lower()
        for language in LANGUAGES:
            page = text(f"docs/{language}/place.md").lower()
            assert word.lower() in page, f"docs/{language}/place.md lacks '{name}'"
    folder = ROOT / "tests/results/samples"
    seen = set()
    for path in sorted(folder.iterdir()):
        for item in results.read(str(path)):
            if item.source is not None:
                seen.add(item.source.format)
    said = [set(name.split()) for name in seen]
    known = set(results.FORMATS) - {"roofline"}
    lost = [name for name in known if not any(set(name.split()) <= words for words in said)]
    assert not lost, f"tests/results/samples/ has nothing of {lost}"


# --- an engine


def test_each_module_of_an_engine_is_in_the_table() -> None:
    from roofline.engines.table import ENGINES

    opened = {
        path.stem
        for path in (SOURCE / "engines").glob("*.py")
        if "\ndef opened(" in path.read_text(encoding="utf-8")
    }
    listed = {traits.module for traits in ENGINES.values()}
    assert not opened - listed, f"ENGINES (engines/table.py) lacks {opened - listed}"
    assert not listed - opened, f"no opened() in engines/ of {listed - opened}"
    for path in sorted((SOURCE / "engines").glob("*.py")):
        if path.stem != "base" and "def prepare(self" in path.read_text(encoding="utf-8"):
            assert path.stem in opened, f"engines/{path.name} has no opened()"


def test_contributing_names_files_that_are_there() -> None:
    part = text("CONTRIBUTING.md").partition("## Eight things")[2].partition("\n## ")[0]
    named = re.findall(r"`([a-z][\w./-]*\.(?:py|js|json|md))`", part)
    assert len(named) >= 20
    for name in (n for n in named if not re.search(r"[A-Z]{2}", n)):  # KIND.py is to be named
        there = (ROOT / name).exists() or (SOURCE / name).exists()
        assert there, f"CONTRIBUTING.md names {name}, which is not there"


def test_each_engine_that_is_driven_is_in_the_documents() -> None:
    from roofline.engines.known import engines
    from roofline.engines.table import ENGINES

    for name in ENGINES:
        for language in LANGUAGES:
            page = text(f"docs/{language}/bench.md")
            assert f"`{name}`" in page or f"--engine {name}" in page, (
                f"docs/{language}/bench.md: {name}"
            )
        if ENGINES[name].local:
            assert name in engines(), f"engines/known.json lacks {name}"


def test_each_predicted_engine_is_known_and_in_help_and_documents() -> None:
    from roofline.cli import parser
    from roofline.engines.known import engines
    from roofline.predicting import profile

    said = next(
        a.help or ""
        for a in parser("predict")._subparsers._group_actions[0].choices["predict"]._actions  # type: ignore[union-attr]
        if "--engine" in a.option_strings
    )
    for name in profile.names():
        assert re.search(rf"(?<![\w-]){name}(?![\w-])", said), (
            f"help of --engine (cli/predict.py): {name}"
        )
        bare = re.sub(r"-20\d\d$", "", name)
        assert bare in engines(), f"engines/known.json lacks {bare}"
        for language in LANGUAGES:
            page = text(f"docs/{language}/predict.md")
            assert engines()[bare]["name"] in page or bare in page, (
                f"docs/{language}/predict.md: {name}"
            )


# --- a verb


def test_each_file_of_a_verb_is_a_verb() -> None:
    from roofline.cli import VERBS

    files = {n for n, m in modules("cli").items() if hasattr(m, "add") and hasattr(m, "run")}
    assert not files - set(VERBS), f"VERBS (cli/__init__.py) lacks {files - set(VERBS)}"
    assert not set(VERBS) - files, f"cli/ lacks the files of {set(VERBS) - files}"
    for verb in VERBS:
        for page in ("README.md", "README.zh.md", "docs/en/help.md"):
            assert re.search(rf"roofline {verb}\b", text(page)), f"{page} lacks 'roofline {verb}'"


# --- a machine


def test_a_machine_says_its_generation_where_its_vendor_has_some() -> None:
    known = set(data("predicting/profiles/generations.json")["generations"])
    listed = [e for e in entries() if e["kind"] != "cpu"]
    vendors = {e["vendor"] for e in listed if e.get("generation")}
    silent = [e["id"] for e in listed if e["vendor"] in vendors and "generation" not in e]
    assert not silent, f'no "generation" in machine/catalogue/*.json: {silent}'
    unknown = {e["generation"]: e["id"] for e in listed if e.get("generation")}
    lost = {g: i for g, i in unknown.items() if g not in known}
    assert not lost, f"not in predicting/profiles/generations.json: {lost}"
    unused = known - set(unknown)
    assert not unused, (
        f"a generation of no machine in predicting/profiles/generations.json: {unused}"
    )


def test_what_profiles_say_of_a_label_is_of_a_label_that_machines_have() -> None:
    from roofline.predicting.device import device

    labels: set[str] = set()
    for entry in entries():
        labels |= set(device(load_machine(entry["id"])).labels)
    for stem in stems("predicting/profiles", "*.json") - {"generations", "suites"}:
        profile = data(f"predicting/profiles/{stem}.json")
        said = {n.partition("@")[2] for n in profile["coefficients"] if "@" in n}
        lost = (said | set(profile.get("families", {}))) - labels
        assert not lost, f"predicting/profiles/{stem}.json speaks of {lost}, which no machine is"
