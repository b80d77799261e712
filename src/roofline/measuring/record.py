"""A run as a machine file."""

from __future__ import annotations

import contextlib
import platform
import time
from typing import Any

from .. import __version__
from ..machine import here
from .sampling import Estimate
from .session import Result

SCHEMA = "roofline.machine/1"
_ACCUMULATE = {"bf16": "fp32", "fp16": "fp32", "fp8": "fp32", "int8": "int32"}

Json = dict[str, Any]


def machine(result: Result, part: Json | None = None, date: str | None = None) -> Json:
    """The machine file of a run.

    ``part`` is the catalogue's entry for the same hardware, with its
    ``sources``: its datasheet, links and power are carried over, so that both
    roofs stand side by side. The keys beyond a machine's own are under
    ``measurement``.
    """
    date = date or time.strftime("%Y-%m-%d")
    part = part or {}
    key = here.slug(result.device.key)
    out: Json = {
        "schema": SCHEMA,
        "id": f"here-{key}",
        "name": _name(result, part),
        "vendor": part.get("vendor") or vendor(result.device.name),
        "kind": part.get("kind") or ("cpu" if key == "cpu" else "gpu"),
        "sources": {
            **part.get("sources", {}),
            "here": {"title": f"roofline measure {__version__}", "date": date},
        },
    }
    if part.get("generation"):
        out["generation"] = part["generation"]
    out["memory"] = _memory(result, part)
    if part.get("cache") or _cache(result):
        out["cache"] = part.get("cache") or _cache(result)
    out["datasheet"] = part.get("datasheet", {})
    out["measured"] = {
        "bandwidth": _section(result, "bandwidth."),
        "compute": _section(result, "compute."),
        "overhead": _section(result, "overhead."),
    }
    if "memory" in out["measured"]["bandwidth"]:
        out["ceilings"] = "measured"  # what holds where none are asked for
    for name in ("links", "power"):
        if part.get(name):
            out[name] = part[name]
    link = result.figures.get("link.all_reduce")
    if link:
        out.setdefault("links", []).append(
            {
                "name": "all-reduce, measured",
                "bandwidth": _figure(link),
                "scope": "node",
                "devices": int(link.label.split()[0]),
            }
        )
    out["notes"] = notes(result)
    out["measurement"] = _measurement(result, date)
    return out


def notes(result: Result) -> list[str]:
    """Sentences that any reader of the file should have seen."""
    out = [
        "compute: the best library matrix product found, not what the instructions could do",
        "bandwidth: read-only, all cores; copy, triad and one core are under measurement.samples",
    ]
    if result.missing:
        out.append("interrupted: without " + ", ".join(result.missing))
    bad = [f.code for f in result.findings if f.level != "note"]
    if bad:
        out.append("seen while measuring: " + ", ".join(dict.fromkeys(bad)))
    return out


def merge(new: Json, old: Json) -> Json:
    """An interrupted run over an earlier one: figures it has no better word on stay, dated."""
    date = date_of(old)
    for section in ("bandwidth", "compute", "overhead"):
        mine = new["measured"].setdefault(section, {})
        for name, figure in _stored(old, section).items():
            if name not in mine:
                kept = dict(figure) if isinstance(figure, dict) else {"value": figure}
                kept.setdefault("date", date)
                mine[name] = kept
    return new


def below(new: Json, old: Json) -> tuple[str, float] | None:
    """The roof that lies furthest below an earlier run's, and by how much of it, if over 5 %."""
    results = []
    for section in ("bandwidth", "compute"):
        table = _stored(new, section)
        for name, figure in _stored(old, section).items():
            was, now = _value(figure), _value(table.get(name))
            if was > 0 and now > 0:
                results.append((1 - now / was, f"{section}.{name}"))
    down, key = max(results, default=(0.0, ""))
    return (key, down) if down > 0.05 else None


def _stored(data: Json, section: str) -> Json:
    # Somebody may have edited the file.
    measured = data.get("measured")
    table = measured.get(section) if isinstance(measured, dict) else None
    return table if isinstance(table, dict) else {}


def _value(figure: Any) -> float:
    value = figure.get("value") if isinstance(figure, dict) else figure
    return float(value) if isinstance(value, int | float) else 0.0


def vendor(name: str) -> str:
    """The maker, read off a device's name; empty when it does not say."""
    lower = name.lower()
    for word, maker in (
        ("nvidia", "NVIDIA"),
        ("geforce", "NVIDIA"),
        ("tesla", "NVIDIA"),
        ("quadro", "NVIDIA"),
        ("amd", "AMD"),
        ("radeon", "AMD"),
        ("instinct", "AMD"),
        ("intel", "Intel"),
        ("apple", "Apple"),
        ("ampere", "Ampere"),
        ("arm ", "Arm"),
        ("fujitsu", "Fujitsu"),
    ):
        if word in lower:
            return maker
    return ""


def _name(result: Result, part: Json) -> str:
    name = str(part.get("name") or result.device.name)
    if result.device.key != "cpu":
        return name
    cores = result.limits.threads
    return f"{name}, {cores} core{'s' if cores > 1 else ''}"


def _section(result: Result, prefix: str) -> Json:
    """Figures of one kind. Of bandwidths only the read ones are ceilings of a level."""
    results = {}
    for key, figure in result.figures.items():
        name = key.removeprefix(prefix)
        if key.startswith(prefix) and not (prefix == "bandwidth." and "." in name):
            results[name] = _figure(figure)
            if prefix == "compute." and name in _ACCUMULATE:
                results[name]["accumulate"] = _ACCUMULATE[name]
    return results


def _figure(figure: Estimate) -> Json:
    return {
        "value": _round(figure.best),
        "source": "here",
        "spread": _round(figure.spread, 3),
        "note": figure.label,
    }


def _memory(result: Result, part: Json) -> Json:
    memory = dict(part.get("memory", {}))
    if result.device.memory:
        limit = result.limits.memory_limit if result.device.key == "cpu" else None
        capacity = min(result.device.memory, limit or result.device.memory)
        if "capacity" in memory:
            memory["usable"] = {"value": capacity, "source": "here"}
        else:
            memory["capacity"] = {"value": capacity, "source": "here"}
    return memory


def _cache(result: Result) -> Json | None:
    if result.device.torch is not None:
        size = result.device.torch.cache
        return {"level": "L2", "capacity": {"value": size, "source": "here"}} if size else None
    caches = result.topology.caches
    if not caches:
        return None
    return {
        "level": f"L{max(c.level for c in caches)}",
        "capacity": {
            "value": result.topology.last_level(),
            "source": "here",
            "note": "as the system reports it"
            + (
                ", which in a virtual machine may be more than our share"
                if result.topology.hypervisor
                else ""
            ),
        },
    }


def _measurement(result: Result, date: str) -> Json:
    topology, limits = result.topology, result.limits
    nodes = {core.node for core in limits.cores}
    best = {(f.key, f.label) for f in result.figures.values()}
    samples = [_sample(f) for f in result.figures.values()]
    samples += [_sample(f) for f in result.others if (f.key, f.label) not in best]
    repeats = [f.repeat for f in result.figures.values() if f.repeat is not None]
    return {
        "date": date,
        "mode": result.mode,
        "seconds": _round(result.seconds, 4),
        "complete": result.complete,
        "missing": list(result.missing),
        "device": result.device.key,
        "kernels": result.kernels,
        "versions": versions(),
        "host": {
            "fingerprint": here.fingerprint(),
            "system": topology.system,
            "arch": topology.arch,
            "processor": topology.name,
            "cores": len(topology.cores),
            "threads_used": limits.threads,
            "quota": limits.quota,
            "nodes": len(nodes),
            "memory": topology.memory,
            "hypervisor": topology.hypervisor,
            "huge_pages": topology.huge_pages,
            "governor": topology.governor,
        },
        # the worst difference between the best of the run's two halves
        "repeatability": _round(max(repeats), 3) if repeats else None,
        "findings": [{"code": f.code, "level": f.level, **f.values} for f in result.findings],
        "refused": result.refusals,
        "samples": samples,
    }


def _sample(figure: Estimate) -> Json:
    out: Json = {
        "key": figure.key,
        "how": figure.label,
        "best": _round(figure.best),
        "median": _round(figure.median),
        "spread": _round(figure.spread, 3),
        "windows": figure.windows,
    }
    for name in ("repeat", "drift", "share", "intensity"):
        value = getattr(figure, name)
        if value is not None:
            out[name] = _round(value, 4)
    return out


def versions() -> dict[str, str]:
    """Versions of what took part, as far as installed."""
    from importlib.metadata import PackageNotFoundError, version

    out = {"roofline": __version__, "python": platform.python_version()}
    for name in ("numpy", "llvmlite", "torch"):
        with contextlib.suppress(PackageNotFoundError):
            out[name] = version(name)
    return out


def _round(value: float, digits: int = 6) -> float:
    return float(f"{value:.{digits}g}")


def date_of(data: Json) -> str:
    """The day of a file's run; empty if it does not say."""
    sources = data.get("sources")
    source = sources.get("here") if isinstance(sources, dict) else None
    return str(source.get("date", "")) if isinstance(source, dict) else ""
