"""What the page knows: models as open coefficients, machines with their sources, formats.

Schema ``roofline.page/1``::

    {"schema", "version", "date",
     "formats":  {NAME: {"name", "size", "compute", "note"?}}: all that have a name,
     "spelled":  {ALIAS: NAME}: other names of them,
     "choices":  {"weights": [NAME…], "kv": [NAME…], "compute": [PRECISION…]},
     "models":   [{"id", "name", "aliases"?, "org", "parameters", "active", "longest", "dtype",
                   "kv", "stored", "scheme", "matrix", "notes", "source",
                   "tables": of one device, and of one of several (page/factors.py),
                   "layers": {"kinds": a letter for each, "parameters": {LETTER: of one}},
                   "others": such tables of yet more devices}],
     "machines": [a machine file without its sources and notes, its links with their latency, and
                  "launch"?: seconds],
     "latencies": [[word in a link's name, figure of the shortest message]…],
     "sources":  {KEY: {"title", "url", "date"}},
     "points":   [points of schema roofline.points/1],
     "rules":    what page/rules.py gives}
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from .. import __version__
from ..bound import verdict
from ..errors import UnsupportedError
from ..machine.given import GIVEN
from ..machine.links import floor, floors
from ..machine.load import entries as machine_entries
from ..machine.load import load as load_machine
from ..machine.machine import Ceilings, Figure, Machine
from ..model import Model
from ..model import formats as known
from ..model.load import entries as model_entries
from ..model.load import entry as model_entry
from ..model.load import load as load_model
from ..model.model import Uniform
from ..placing.names import ENDINGS
from . import depth
from .factors import tables
from .rules import rules

MODELS = (
    "llama-3.1-8b", "llama-3.1-70b", "llama-2-7b", "qwen3-0.6b", "qwen3-4b", "qwen3-8b",
    "qwen3-32b", "qwen3-30b-a3b", "qwen3-235b-a22b", "mixtral-8x7b", "gpt-oss-20b",
    "gpt-oss-120b", "gemma-3-27b", "deepseek-v3",
)  # fmt: skip
"""Offered where none is asked for: one of each idea, from a laptop's size to a rack's."""

MACHINES = (
    "h100-sxm", "h100-pcie", "h200-sxm", "b200", "a100-80gb-sxm", "l40s", "l4", "rtx-4090",
    "rtx-5090", "rtx-3090", "mi300x", "gb10", "m2-max-38c", "xeon-8480",
)  # fmt: skip
"""The same for machines."""

WEIGHTS = ("bf16", "fp8", "int8", "int4:128", "mxfp4", "nvfp4", "q8_0", "q6_k", "q4_k_m", "q4_0")
KV = ("bf16", "fp8", "int4:64", "q8_0")
COMPUTE = ("bf16", "fp16", "fp8", "int8", "fp4")


def page_data(
    models: Iterable[str | Model] = MODELS,
    machines: Iterable[str | Machine] = MACHINES,
    *,
    date: str,
    points: Iterable[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """All that one page needs, as JSON.

    Args:
        models, machines: names, paths or the things themselves, in the order of the lists.
        date: the day it is made on, ``YYYY-MM-DD``.
        points: measured points, as their files hold them.

    Raises:
        RooflineError: a name or file that cannot be used.
    """
    sources: dict[str, dict[str, str]] = {}
    listed = [model_json(m) for m in models]
    tried = (*verdict.WEIGHTS, *verdict.KV)
    formats = dict.fromkeys(
        (*WEIGHTS, *KV, *tried, *(known.parse(name).name for name in known.names()))
    )
    for model in listed:
        for name in (model["dtype"], model["kv"], model["stored"]):
            if name is not None:
                formats[name] = None
    return {
        "schema": "roofline.page/1",
        "version": __version__,
        "date": date,
        "formats": {name: format_json(name) for name in formats},
        "spelled": known.aliases(),
        "endings": list(ENDINGS),
        "choices": {"weights": list(WEIGHTS), "kv": list(KV), "compute": list(COMPUTE)},
        "models": listed,
        "machines": [machine_json(m, sources) for m in machines],
        "latencies": [[word, _figure(least, sources)] for word, least in floors().items()],
        "sources": sources,
        "points": list(points),
        "rules": rules(),
    }


def everything() -> tuple[list[str], list[str]]:
    """Ids of the whole catalogue: the decoders that can be counted, and the machines."""
    models = []
    for entry in model_entries():
        try:
            model = load_model(entry["id"])
        except UnsupportedError:
            continue
        if model.causal:
            models.append(entry["id"])
    return models, [entry["id"] for entry in machine_entries()]


def format_json(name: str) -> dict[str, Any]:
    """A number format."""
    result = known.parse(name)
    data: dict[str, Any] = {"name": name, "size": result.size, "compute": result.compute}
    return {**data, "note": result.note} if result.note else data


def model_json(model: str | Model) -> dict[str, Any]:
    """A model, its formats left open."""
    entry: dict[str, Any] = {}
    if isinstance(model, str):
        entry = _entry(model)
        model = load_model(model)
    if not model.causal:
        raise UnsupportedError(
            f"{model.name} is an encoder, and the page shows decoding: 'roofline explain' and "
            "'roofline plot' answer for it (--phase encode)"
        )
    scheme = model.scheme
    table, *others = tables(model)
    depth.mark(model, table)
    aliases = entry.get("aliases")
    return {
        "id": entry.get("id") or model.name,
        "name": model.name,
        **({"aliases": list(aliases)} if aliases else {}),
        "org": entry.get("org", ""),
        "parameters": model.parameters,
        "active": model.active_parameters,
        "longest": model.longest,
        "dtype": model.dtype.name,
        "kv": model.kv.name if model.kv else None,
        "stored": scheme.format.name if isinstance(scheme, Uniform) else None,
        "scheme": scheme.name,
        "matrix": _matrix(model),
        "notes": list(model.notes),
        "source": entry.get("source") or {"title": os.path.basename(model.source)},
        "tables": table,
        "others": others,
        "layers": {
            "kinds": depth.pattern(model),
            "parameters": depth.parameters(model, depth.kinds(model)),
        },
    }


def _matrix(model: Model) -> float:
    # Bytes a weight of a typical matrix, the one that the levers compare formats with.
    return model.scheme.weight(model.typical).size


def model_id(model: str | Model) -> str:
    """A model's id on the page."""
    if isinstance(model, str):
        result = _entry(model).get("id")
        return str(result or load_model(model).name)
    return model.name


def _entry(name: str) -> dict[str, Any]:
    from ..errors import NotFound

    try:
        return model_entry(name)
    except NotFound:
        return {}  # a path; load() says what is wrong with it


def machine_json(machine: str | Machine, sources: dict[str, dict[str, str]]) -> dict[str, Any]:
    """A machine as a machine file holds it, its sources added to ``sources``."""
    if isinstance(machine, str):
        machine = load_machine(machine)

    def figure(f: Figure | None) -> Any:
        return _figure(f, sources)

    def ceilings(c: Ceilings) -> dict[str, Any]:
        units = {"bandwidth": c.bandwidth, "compute": c.compute}
        return {u: {k: figure(v) for k, v in of.items()} for u, of in units.items() if of}

    data: dict[str, Any] = {
        "id": machine.id,
        "name": machine.name,
        "aliases": list(machine.aliases),
        "kind": machine.kind,
        "memory": {
            "capacity": figure(machine.capacity),
            "usable": figure(machine.usable),
            "type": machine.memory_type,
            "unified": machine.unified,
        },
        "datasheet": ceilings(machine.datasheet),
        "measured": ceilings(machine.measured),
        "links": [
            {
                "name": link.name,
                "bandwidth": figure(link.bandwidth),
                "latency": figure(link.latency or floor(link)),
                "devices": link.devices,
                **({"scope": link.scope} if link.scope == "host" else {}),
                **({"topology": link.topology} if link.topology else {}),
            }
            for link in machine.links
        ],
    }
    if machine.prefers:
        data["ceilings"] = machine.prefers
    if launch := machine.measured.overhead.get("launch"):
        data["launch"] = launch.value
    return {k: v for k, v in data.items() if v not in ({}, [])}


def _figure(f: Figure | None, sources: dict[str, dict[str, str]]) -> dict[str, Any] | None:
    if f is None:
        return None
    data: dict[str, Any] = {"value": _whole(f.value)}
    if f.source:
        data["source"] = _key({"title": f.source, "url": f.url, "date": f.date}, sources)
    if f.kind == GIVEN:
        data["kind"] = f.kind
    for name in ("accumulate", "note", "spread"):
        if getattr(f, name) not in ("", None):
            data[name] = getattr(f, name)
    return data


def _key(source: dict[str, str], sources: dict[str, dict[str, str]]) -> str:
    for key, known_source in sources.items():
        if known_source == source:
            return key
    key = f"s{len(sources) + 1}"
    sources[key] = source
    return key


def _whole(value: float) -> float:
    return int(value) if value == int(value) and abs(value) < 1 << 53 else value
