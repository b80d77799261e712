"""Several ES modules as one script, so that a page can be one file under a strict policy.

The modules are plain and run as they are from a folder. As one script each is a function
called once, after those that it imports, that returns what it exports. For that the modules
keep to a plain form, which is checked here: imports by name from ``./other.js`` (or a folder
up or down), exports in front of a ``function``, ``const`` or ``class``, no import in a circle.
Comments and white space stay behind (:mod:`~roofline.page.squeeze`).
"""

from __future__ import annotations

import os
import posixpath
import re

from . import squeeze

FOLDER = os.path.join(os.path.dirname(__file__), "web")

_IMPORT = re.compile(r'^import \{([^}]*)\} from "(\.\.?/[a-z_/]+)\.js";\n', re.M)
_EXPORT = re.compile(r"^export ((?:async )?function\*?|const|class) +([A-Za-z_$][\w$]*)", re.M)
_OTHER = re.compile(r"^\s*(?:import|export)\b.*", re.M)


def read(name: str) -> str:
    """A file of the page's folder."""
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


def bundle(*entries: str, exports: bool = False) -> str:
    """One script that holds these modules and all that they import.

    Args:
        entries: names in the page's folder, without ``.js``.
        exports: whether the script exports what the entries export (else it only runs).

    Raises:
        ValueError: a module breaks one of the rules above.
    """
    order: list[str] = []
    for entry in entries:
        _visit(entry, order, ())
    parts = [_module(name) for name in order]
    if exports:
        for entry in entries:
            names = [name for _, name in _EXPORT.findall(read(f"{entry}.js"))]
            parts.append(f"export const{{{','.join(names)}}}={_variable(entry)};")
    return "\n".join(parts) + "\n"


def _module(name: str) -> str:
    text = read(f"{name}.js")
    names = [exported for _, exported in _EXPORT.findall(text)]
    for imported, path in _IMPORT.findall(text):
        other = _named(name, path)
        there = {exported for _, exported in _EXPORT.findall(read(f"{other}.js"))}
        for wanted in filter(None, (part.strip() for part in imported.split(","))):
            if wanted not in there:
                raise ValueError(f"{name}.js: {other}.js does not export '{wanted}'")
    body = _IMPORT.sub(lambda m: f"const {{{m[1]}}} = {_variable(_named(name, m[2]))};\n", text)
    body = _EXPORT.sub(r"\1 \2", body)
    if left := _OTHER.search(body):
        raise ValueError(f"{name}.js: cannot be bundled: {left[0].strip()}")
    variable = _variable(name)
    body = f"{squeeze.script(body)}return{{{','.join(names)}}};"
    return f"const {variable}=(()=>{{{body}}})();"


def _named(name: str, path: str) -> str:
    # The module that `name` means by a path: live/panel's ../dom is dom.
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), path))


def _variable(name: str) -> str:
    return "$" + name.replace("/", "$")


def _visit(name: str, order: list[str], path: tuple[str, ...]) -> None:
    if name in path:
        raise ValueError(f"modules import each other: {' → '.join((*path, name))}")
    if name in order:
        return
    for _, imported in _IMPORT.findall(read(f"{name}.js")):
        _visit(_named(name, imported), order, (*path, name))
    order.append(name)
