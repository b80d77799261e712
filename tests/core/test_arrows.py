"""Imports point one way: folders in the declared order, modules in no circle.

Every import is read from the source, those inside functions and for type checkers too. What a
result says of itself is looked up when it is asked for, and is all that points upwards.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

import roofline

ORDER = """
    install errors limits spelled rows record pattern units catalogue words files count model
    machine parallel bound
    points results placing measuring engines predicting evaluate api chart say page cli __main__
""".split()
"""Each may import those before it. ``docs/*/design.md`` draw the same."""

UPWARDS = {"__str__": "say", "_repr_html_": "page"}
"""The methods that may import a folder above their own, and which."""

SOURCE = Path(roofline.__file__).parent
DOCS = SOURCE.parents[1] / "docs"


class Import(NamedTuple):
    """An import of the package's own.

    ``where``: file and line. ``by``, ``of``: modules, ``place.gap``; the package itself is ``""``.
    ``within``: the innermost function, ``""`` at the top of a module. ``name``: what is taken.
    """

    where: str
    by: str
    of: str
    within: str
    name: str


def imports(source: Path) -> Iterator[Import]:
    """Every import of a package's own modules."""
    files = {_module(path, source): path for path in sorted(source.rglob("*.py"))}
    for by, path in files.items():
        where = path.relative_to(source.parent).as_posix()
        package = by if path.name == "__init__.py" else by.rpartition(".")[0]
        for node, within in _nodes(ast.parse(path.read_text(encoding="utf-8")), ""):
            for base, name in _taken(node, package, source.name):
                inner = f"{base}.{name}" if base else name
                of = inner if inner in files else base
                yield Import(f"{where}:{node.lineno}", by, of, within, name)


def _module(path: Path, source: Path) -> str:
    parts = path.relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _nodes(tree: ast.AST, within: str) -> Iterator[tuple[ast.Import | ast.ImportFrom, str]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, within
        inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        yield from _nodes(node, node.name if inside else within)


def _taken(node: ast.Import | ast.ImportFrom, package: str, top: str) -> Iterator[tuple[str, str]]:
    """Module and name of each import that stays in the package."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            first, _, rest = alias.name.partition(".")
            if first == top:
                base, _, name = rest.rpartition(".")
                yield base, name
        return
    if node.level:
        above = package.split(".")[: len(package.split(".")) - node.level + 1]
        base = ".".join(part for part in (*above, node.module) if part)
    else:
        first, _, base = (node.module or "").partition(".")
        if first != top:
            return
    for alias in node.names:
        yield base, alias.name


def upwards(found: list[Import]) -> Iterator[str]:
    """Imports of a folder that stands above."""
    for one in found:
        by, of = one.by.partition(".")[0], one.of.partition(".")[0]
        if not by or by == of or declared(one):
            continue
        if not of:
            if one.name != "__version__":
                yield (
                    f"{one.where} takes {one.name} from the package itself, which only names "
                    "homes: import it from where it lives"
                )
        elif missing := {by, of} - set(ORDER):
            yield f"{one.where}: {missing.pop()} has no place in ORDER of {Path(__file__).name}"
        elif ORDER.index(by) < ORDER.index(of):
            lower = " ".join(ORDER[: ORDER.index(by)])
            yield f"{one.where} imports {one.of}, but {by}/ may import only: {lower}"


def circles(found: list[Import]) -> Iterator[str]:
    """Modules that import each other, by whatever way round: a shortest one for each import."""
    graph: dict[str, dict[str, str]] = {}
    for one in found:
        if one.by and one.by != one.of and not declared(one):
            graph.setdefault(one.by, {}).setdefault(one.of, one.where)
    seen: set[frozenset[str]] = set()
    for start in graph:
        way = _way_back(graph, start)
        if way and frozenset(way) not in seen:
            seen.add(frozenset(way))
            steps = pairwise(way)
            yield ", ".join(f"{graph[a][b]} imports {b}" for a, b in steps) + ": a circle"


def _way_back(graph: dict[str, dict[str, str]], start: str) -> list[str]:
    ways, seen = [[start]], set[str]()
    for way in ways:
        for of in graph.get(way[-1], ()):
            if of == start:
                return [*way, of]
            if of not in seen:
                seen.add(of)
                ways.append([*way, of])
    return []


def declared(one: Import) -> bool:
    """Whether it is one of those that may point upwards."""
    return UPWARDS.get(one.within) == one.of.partition(".")[0]


@pytest.fixture(scope="module")
def found() -> list[Import]:
    return list(imports(SOURCE))


def test_folders_import_only_those_below(found: list[Import]) -> None:
    assert not "\n".join(upwards(found))


def test_no_modules_import_each_other(found: list[Import]) -> None:
    assert not "\n".join(circles(found))


def test_every_folder_has_a_place_in_the_order() -> None:
    modules = {_module(p, SOURCE).partition(".")[0] for p in SOURCE.rglob("*.py")} - {""}
    assert modules == set(ORDER)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_plan_of_the_house_draws_the_same_order(language: str) -> None:
    text = (DOCS / language / "design.md").read_text(encoding="utf-8")
    drawn = re.findall(r"^\| `(\w+)` \|", text, re.M)
    assert drawn == [name for name in ORDER if name != "__main__"]


HOUSE = {
    "__init__.py": "from .placing.gap import judge",
    "errors.py": "",
    "placing/__init__.py": "",
    "placing/gap.py": "from . import suspect\nfrom ..errors import InputError",
    "placing/suspect.py": "from ..errors import InputError",
    "say/__init__.py": "from ..placing.gap import judge",
}


@pytest.mark.parametrize(
    ("file", "line", "told"),
    [
        ("placing/suspect.py", "from .gap import Cause", "a circle"),
        ("placing/suspect.py", "def late():\n    from .gap import Cause", "suspect.py:3 imports"),
        ("placing/suspect.py", "if 0:\n    from house.placing.gap import Cause", "a circle"),
        ("placing/gap.py", "from ..say import words", "placing/gap.py:3 imports say, but placing/"),
        ("placing/gap.py", "import house.say", "placing/ may import only: install errors"),
        ("placing/gap.py", "def said():\n    from ..say import words", "gap.py:4 imports say"),
        (
            "placing/gap.py",
            "def __str__():\n    from ..page import fragment",
            "gap.py:4 imports page",
        ),
        ("errors.py", "from .placing.gap import judge", "errors.py:1 imports placing.gap"),
        ("placing/gap.py", "from .. import judge", "takes judge from the package itself"),
        ("placing/gap.py", "from ..utils import odds", "utils has no place in ORDER"),
    ],
)
def test_what_points_the_wrong_way_is_named(
    tmp_path: Path, file: str, line: str, told: str
) -> None:
    faults = _faults(tmp_path, {**HOUSE, "page.py": "", "utils.py": "", file: _with(file, line)})
    assert any(told in fault for fault in faults), faults


@pytest.mark.parametrize(
    "line",
    [
        "def __str__(self):\n    from ..say import words",
        "def _repr_html_(self):\n    from ..page import fragment",
        "from .. import __version__",
        "import json\nfrom os import path",
    ],
)
def test_what_may_point_upwards_does(tmp_path: Path, line: str) -> None:
    assert not _faults(
        tmp_path, {**HOUSE, "page.py": "", "placing/gap.py": _with("placing/gap.py", line)}
    )


def _with(file: str, line: str) -> str:
    return f"{HOUSE[file]}\n{line}".lstrip()


def _faults(folder: Path, house: dict[str, str]) -> list[str]:
    for name, text in house.items():
        path = folder / "house" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    found = list(imports(folder / "house"))
    return [*upwards(found), *circles(found)]
