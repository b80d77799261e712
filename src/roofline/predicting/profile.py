"""Profiles: how an engine spends its time, as a handful of coefficients with their sources.

A profile is data (``profiles/ENGINE.json``, or a file that ``roofline calibrate`` wrote):

    {"schema": "roofline.profile/1", "id": "vllm", "engine": "vllm", "versions": "…",
     "sources": {KEY: {"title", "url", "date"}},
     "coefficients": {NAME: {"value": …, "source": KEY}, "NAME@LABEL": …},
     "fitted": {"machines": […], "models": […], "weights": […], "rows": …},
     "residuals": {KIND: {"rows": …, "groups": …, "low": …, "high": …}},
     "families": {LABEL: {"fitted": …, "residuals": …, "notes": […]}}}

``NAME@LABEL`` holds for machines with that label (a generation such as ``hopper``, a memory
class such as ``nvidia-hbm``, or a vendor), the first label that matches. What a profile does
not say comes from the profile it ``extends``, in the end from ``base``. What machines with a
label were fitted on, and how far measurements lay off, stands in ``families`` where it is not
what the others were fitted on; so do notes that concern them alone.

| coefficient | unit | meaning |
|---|---|---|
| ``linear.compute[.PRECISION]`` | – | fraction of the attainable peak that matrix products reach |
| ``linear.bandwidth`` | – | fraction of the datasheet's bandwidth at which they read weights |
| ``linear.floor`` | s | least time of one kernel |
| ``linear.intake`` | bytes/FLOP | weights that vector units take in per fp32 FLOP of theirs |
| ``ramp`` | – | κ: how much of a floor short kernels pay again |
| ``decode.compute, .bandwidth[.KV], .floor`` | –, –, s | attention over the cache |
| ``prefill.compute[.PRECISION], .tile, .floor`` | –, keys, s | attention of a prompt |
| ``experts.compute, .bandwidth, .floor, .passes`` | –, –, s, – | routed experts |
| ``state.compute, .bandwidth, .floor`` | –, –, s | recurrent layers |
| ``passes``, ``quantise`` | – | reads and writes of activations beside the products |
| ``layer.floor``, ``step.floor``, ``step.sequence`` | s | fixed costs |
| ``collective.floor``, ``collective.bandwidth`` | s, – | messages |
| ``interleave`` | – | share of a prefill's time that running sequences wait for |
| ``burst``, ``request.floor`` | –, s | others whose prompts are ahead of a new one; front end |
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from .. import catalogue
from ..engines.known import canonical
from ..errors import InputError, NotFound
from ..files.whole import writing
from ..files.written import json_text
from ..limits import PROFILE_BYTES
from ..model.config import parse_json
from .checked import ProfileChecked
from .device import Device

FOLDER = os.path.join(os.path.dirname(__file__), "profiles")
SCHEMA = "roofline.profile/1"
SMALLEST = 1e-12
"""No coefficient is smaller, but for none at all."""

SLOWEST = 1e-6
"""Shares of a ceiling are at least this: time would have no end."""

OPTIONAL = frozenset(("collective.once", "linear.intake"))
"""Coefficients that a profile may do without: no such limit, or no such way."""

NAMES = frozenset(
    """linear.compute linear.bandwidth linear.floor ramp decode.compute decode.bandwidth
    decode.floor prefill.compute prefill.tile prefill.floor experts.compute experts.bandwidth
    experts.floor experts.passes state.compute state.bandwidth state.floor passes quantise
    layer.floor step.floor step.sequence collective.floor collective.bandwidth collective.once
    interleave burst request.floor linear.intake
    """.split()
)
"""Every coefficient; a resolved profile has all but those that are optional."""


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A number and where it comes from.

    Attributes:
        name: with its label, ``linear.bandwidth@hopper``.
        value: in SI units or a fraction.
        profile: that holds it.
        source: title of what it was fitted on, with the date.
    """

    name: str
    value: float
    profile: str
    source: str


@dataclass(frozen=True, slots=True)
class Resolved:
    """A profile applied to a device and a cache format.

    Attributes:
        values: the number of each coefficient.
        origins: where each comes from.
    """

    values: Mapping[str, float]
    origins: Mapping[str, Coefficient]


@dataclass(frozen=True, slots=True)
class Profile:
    """How an engine spends its time. See the module's text for the meaning of the numbers.

    Attributes:
        id, engine, versions: what was measured.
        title: one line for people.
        extends: the profile that fills in what this one does not say.
        coefficients, sources: as in the file.
        fitted: machines, models and formats of the rows it was fitted on.
        residuals: by task and likeness, how far measurements lay from predictions.
        families: by label, the same of machines that have data of their own.
        notes: sentences for the answer.
    """

    id: str
    engine: str
    versions: str = ""
    title: str = ""
    extends: str = "base"
    coefficients: Mapping[str, Any] = field(default_factory=dict)
    sources: Mapping[str, Any] = field(default_factory=dict)
    fitted: Mapping[str, Any] = field(default_factory=dict)
    residuals: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    families: Mapping[str, Any] = field(default_factory=dict)

    def family(self, labels: Iterable[str]) -> Mapping[str, Any]:
        """``fitted``, ``residuals`` and ``notes`` of machines with these labels."""
        for label in labels:
            if label in self.families:
                found: Mapping[str, Any] = self.families[label]
                return found
        return {"fitted": self.fitted, "residuals": self.residuals, "notes": self.notes}

    def chain(self) -> Iterable[Profile]:
        """This profile and those it extends, nearest first."""
        yield self
        if self.id != "base":
            yield from load(self.extends or "base").chain()

    def resolve(self, device: Device, kv: str = "bf16") -> Resolved:
        """The coefficients for a device and a cache format.

        Raises:
            InputError: neither it nor those it extends have a coefficient that every step needs.
        """
        chain = tuple(self.chain())
        narrow = kv.startswith(("fp8", "int8", "mxfp8"))
        origins: dict[str, Coefficient] = {}
        names = {n.partition("@")[0] for p in chain for n in p.coefficients}
        for name in names:
            found = _find(name, chain, device.labels)
            if found:
                origins[name] = found
        if missing := sorted(NAMES - OPTIONAL - origins.keys()):
            raise InputError(
                f"the profile '{self.id[:40]}' lacks {', '.join(missing[:3])}, and extends none "
                "that has it (extends: base)"
            )
        if narrow and "decode.bandwidth.fp8" in origins:
            origins["decode.bandwidth"] = origins["decode.bandwidth.fp8"]
        return Resolved({n: c.value for n, c in origins.items()}, origins)

    def with_values(self, values: Mapping[str, float], source: str, **changes: Any) -> Profile:
        """A copy with some coefficients replaced, all from one source."""
        held = {**self.coefficients}
        held.update({n: {"value": v, "source": source} for n, v in values.items()})
        from dataclasses import replace

        return replace(self, coefficients=held, **changes)

    def to_json(self) -> dict[str, Any]:
        """The profile as a file holds it."""
        return {
            "schema": SCHEMA,
            "id": self.id,
            "engine": self.engine,
            "versions": self.versions,
            "title": self.title,
            "extends": self.extends,
            "notes": list(self.notes),
            "sources": dict(self.sources),
            "coefficients": dict(self.coefficients),
            "fitted": dict(self.fitted),
            "residuals": dict(self.residuals),
            **({"families": dict(self.families)} if self.families else {}),
        }


def _find(name: str, chain: tuple[Profile, ...], labels: tuple[str, ...]) -> Coefficient | None:
    for profile in chain:
        held = profile.coefficients
        for key in (*(f"{name}@{label}" for label in labels), name):
            if key in held:
                entry = held[key]
                source = profile.sources.get(entry.get("source", ""), {})
                said = ", ".join(x for x in (source.get("title", ""), source.get("date", "")) if x)
                return Coefficient(key, float(entry["value"]), profile.id, said)
    return None


def names() -> list[str]:
    """Profiles of the package."""
    skip = ("generations", "base", "suites")
    return sorted(f[:-5] for f in os.listdir(FOLDER) if f.endswith(".json") and f[:-5] not in skip)


def load(name: str) -> Profile:
    """The profile of that name in the package, or of a file that ``calibrate`` wrote.

    Args:
        name: an id, any name of an engine (``TensorRT-LLM``, ``llama.cpp``), or a path.

    Raises:
        NotFound: neither.
        InputError: the file is not a profile.
    """
    if name.endswith(".json"):
        return from_file(name)
    return _packaged(canonical(name))


@lru_cache(maxsize=32)
def _packaged(name: str) -> Profile:
    path = os.path.join(FOLDER, f"{name}.json")
    if (
        not name.replace("-", "").isalnum()
        or not os.path.isfile(path)
        or name in ("generations", "suites")
    ):
        raise NotFound(f"no engine '{name[:40]}' to predict for (known: {', '.join(names())})")
    return from_data(catalogue.read(f"predicting/profiles/{name}.json"), name)


def from_file(path: str) -> Profile:
    """The profile of a JSON file."""
    try:
        with open(path, "rb") as file:
            text = file.read(PROFILE_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    if len(text) > PROFILE_BYTES:
        raise InputError(f"{path}: too large for a profile")
    return from_data(parse_json(text, path), path)


def from_data(data: Any, where: str) -> Profile:
    """The profile of parsed JSON, every number checked.

    Raises:
        InputError: what is wrong, and where.
    """
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise InputError(f"{where}: not a profile (its schema must be {SCHEMA})")

    checked = ProfileChecked(where)

    def text(key: str, default: str = "") -> str:
        return checked.text(data.get(key, default), key)

    coefficients = checked.table(data.get("coefficients", {}), "coefficients")
    for name, entry in coefficients.items():
        _check(name, entry, where)
    extends = text("extends", "base")
    if extends and not os.path.isfile(os.path.join(FOLDER, f"{extends}.json")):
        raise InputError(f"{where}: extends '{extends[:40]}', which is no profile of the package")
    return Profile(
        text("id") or "unnamed",
        text("engine"),
        text("versions"),
        text("title"),
        extends,
        coefficients,
        checked.sources(data.get("sources", {})),
        checked.fitted(data.get("fitted", {})),
        checked.residuals(data.get("residuals", {})),
        tuple(checked.texts(data.get("notes", []), "notes")),
        checked.families(data.get("families", {})),
    )


def _check(name: str, entry: Any, where: str) -> None:
    bare = name.partition("@")[0]
    known = bare in NAMES or ".".join(bare.split(".")[:2]) in NAMES
    value = entry.get("value") if isinstance(entry, dict) else None
    if not known:
        raise InputError(f"{where}: '{name[:60]}' is no coefficient")
    if not isinstance(entry.get("source", "") if isinstance(entry, dict) else "", str):
        raise InputError(f"{where}: source of {name[:60]} must be text")
    least = SLOWEST if {"compute", "bandwidth"} & set(bare.split(".")) else 0
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or not least <= value < 1e6
        or 0 < value < SMALLEST
    ):
        raise InputError(
            f"{where}: {name} must be a number of at least {least:g}, not {value!r:.40}"
        )


def save(profile: Profile, path: str) -> None:
    """Write a profile; the file is whole or not there."""
    with writing(path) as file:
        file.write(json_text(profile.to_json(), 1) + "\n")
