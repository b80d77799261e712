"""Model, formats and machine of a point: from its file, from the options, or asked for.

What the file says is taken where roofline knows it by name; options say the rest. Nothing else is
assumed: what is still missing is refused with the options that would supply it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from ..bound.case import Case
from ..errors import InputError, NotFound, UnsupportedError
from ..machine.load import load as load_machine
from ..machine.machine import Ceilings, Figure, Machine
from ..model.formats import parse
from ..model.load import by_name, load, taken
from ..model.model import Model
from ..parallel.layout import Parallel
from ..points import Point
from ..record import replace
from .names import in_catalogue, weights_of
from .placed import layout

ALIKE = 0.1
"""Sizes that differ by more are of two models, however each tool counts parameters."""


class OtherModel(InputError):
    """A row of a model that is not the one asked about, and that is not known."""


@dataclass(slots=True)
class Resolver:
    """Cases for points, each made once.

    Attributes:
        model, weights, kv, compute, machine: options. `weights`, `kv` and `compute` fill what
            points leave open; `model` and `machine` are taken whatever a file calls them, but
            for rows of llama.cpp's tables that name, or are as large as, another model.
        as_type: the architecture to count `model` as.
        ceilings: ``datasheet`` or ``measured``; by default a point's own measured roof, then the
            machine's own default.
        layout: how the model lay over several devices, where points do not say.
        link, latency: what joins them, as for :class:`roofline.bound.Case`.
    """

    model: Model | str | None = None
    as_type: str | None = None
    weights: str | None = None
    kv: str | None = None
    compute: str | None = None
    machine: str | Machine | None = None
    ceilings: str | None = None
    layout: Parallel | None = None
    link: str | float | None = None
    latency: float | None = None
    _cases: dict[Any, Case] = field(default_factory=dict, repr=False)
    _machines: dict[str, Machine | None] = field(default_factory=dict, repr=False)
    _models: dict[Any, Model] = field(default_factory=dict, repr=False)
    _named: set[str | None] = field(default_factory=set, repr=False)  # told by their words

    def case(self, point: Point) -> tuple[Point, Case]:
        """The point with its gaps filled, and its case.

        Raises:
            InputError: model, formats or machine are not known; the options are named.
        """
        point = self._spread(point)
        missing: list[str] = []
        model = self._model(point, missing)
        point = point.filled(weights=self.weights, kv=self.kv, compute=self.compute)
        weights = self._weights(point, model)
        if weights is None and model is not None:
            named = self.model is None and point.model in self._named
            weights = "" if named else _stored(point, model)
        if weights is None:
            missing.append("--weights")
        roof = point.roof if self.ceilings != "datasheet" else None
        own = roof is not None and roof.bandwidth is not None and bool(roof.compute)
        name = None if own else self._machine_name(point, missing)
        if missing:
            raise InputError(_ask(point, missing))
        over = layout(point)
        key = (id(model), weights, point.kv, point.compute, name, over, id(roof) if own else None,
               point.engine)  # fmt: skip
        if key not in self._cases:
            if len(self._cases) > 512:
                self._cases.clear()
            machine = _own_machine(point) if own else self._loaded(str(name))
            self._cases[key] = Case(
                model,  # type: ignore[arg-type]
                machine,
                weights=weights or None,
                kv=point.kv,
                compute=point.compute or _multiplied_as(point, weights or "", machine),
                ceilings=None if own else self.ceilings,
                parallel=None if over.single else over,
                link=self.link,
                latency=self.latency,
            )
        if point.machine is None and name is not None:
            point = replace(point, machine=name)
        return point, self._cases[key]

    def _spread(self, point: Point) -> Point:
        """The point with the layout that was given, where it does not say another number of
        devices by a layout of its own.

        Raises:
            InputError: it ran on another number of devices.
        """
        given = self.layout
        said = point.layout
        if given is None or (said is not None and said.devices != given.devices):
            return point
        if point.devices not in (1, given.devices):
            raise InputError(
                f"{_where(point)}: it ran on {point.devices} devices, and {given.name} is "
                f"{given.devices}"
            )
        return replace(point, devices=given.devices, layout=given)

    def _model(self, point: Point, missing: list[str]) -> Model | None:
        key = (point.model, point.layers, point.parameters)
        if key in self._models:
            return self._models[key]
        name = self._model_name(point)
        model = _by_name(point) if name is None else None
        if model is not None:
            self._named.add(point.model)
        if name is not None:
            model = self._asked() if name == self.model else taken(name)
        if model is None:
            missing.append("--model")
            return None
        if point.layers is not None:
            model = cut(model, point.layers)
        if len(self._models) > 512:
            self._models.clear()
        self._models[key] = model
        return model

    def _asked(self) -> Model:
        return taken(self.model or "", self.as_type)

    @property
    def _said(self) -> str:
        return self.model.name if isinstance(self.model, Model) else str(self.model)

    def _model_name(self, point: Point) -> Model | str | None:
        """What was given, unless the row is of another model; else what the file says,
        looked for on this machine alone.

        Raises:
            OtherModel: the row is of a model that is not known.
        """
        said = point.model
        if self.model is None:
            return in_catalogue(said, point.parameters) or _on_disk(said)
        given = self._asked().parameters
        if point.parameters is not None and _apart(point.parameters, given):
            other = in_catalogue(said, point.parameters)
            if other is None:
                raise OtherModel(
                    f"{_where(point)}: '{(said or '?')[:60]}' of {point.parameters / 1e9:.3g} "
                    f"billion parameters is not {self._said}, and not known"
                )
            return other
        if point.engine == "llama.cpp" and point.parameters is None:
            other = in_catalogue(said)
            if other is not None and _apart(load(other).parameters, given):
                return other
        return self.model

    def _weights(self, point: Point, model: Model | None) -> str | None:
        """The format by name; for a file of known size, the average that it comes to."""
        if point.weight_bytes is not None and model is not None and self.weights is None:
            bits = 8 * point.weight_bytes / model.parameters
            if 1 <= bits <= 33 and not (point.weights or "").startswith(("bf16", "fp")):
                return f"{bits:.3f}bits"
        return point.weights

    def _machine_name(self, point: Point, missing: list[str]) -> str | None:
        if self.machine is not None:
            return self.machine if isinstance(self.machine, str) else self.machine.name
        if point.machine is not None and self._known(point.machine) is not None:
            return point.machine
        missing.append("--on")
        return None

    def _loaded(self, name: str) -> Machine:
        return self.machine if isinstance(self.machine, Machine) else load_machine(name)

    def _known(self, name: str) -> Machine | None:
        if name not in self._machines:
            if len(self._machines) > 512:
                self._machines.clear()
            try:
                self._machines[name] = load_machine(name)
            except (NotFound, UnsupportedError):
                self._machines[name] = None
        return self._machines[name]


def _apart(one: float, other: float) -> bool:
    return abs(one / other - 1) > ALIKE


def _by_name(point: Point) -> Model | None:
    """The catalogue's model that a point's name means, in the weights that it says."""
    try:
        model = by_name(point.model or "")
    except NotFound:
        return None
    sized = point.parameters
    return None if sized is not None and _apart(sized, model.parameters) else model


def _on_disk(said: str | None) -> str | None:
    """A model that is on this machine under that name: a path, or a download in a cache."""
    from ..files import hub, ollama

    if said is None:
        return None
    if os.path.exists(said) or ollama.find(said) is not None:
        return said
    repo = hub.parse(said)
    return said if repo is not None and hub.find(repo) is not None else None


def _multiplied_as(point: Point, weights: str, machine: Machine) -> str | None:
    """The arithmetic of llama.cpp's quantised products: bytes, where the machine has a unit for
    them (ggml's MMQ kernels); ``None`` for what the format runs in elsewhere."""
    name = parse(weights).name if weights else ""
    quantised = name.endswith("bits") or name.startswith(("q", "iq", "mxfp4"))
    if point.engine != "llama.cpp" or not quantised:
        return None
    peaks = machine.roof().compute
    wide = max((peaks[p].value for p in ("bf16", "fp16") if p in peaks), default=0.0)
    return "int8" if "int8" in peaks and peaks["int8"].value > wide else None


def _stored(point: Point, model: Model) -> str | None:
    """The format that a point's name ends in, or empty for the checkpoint's own, as ``explain``
    takes it. llama.cpp runs files of its own: only what makers publish quantised says theirs."""
    said = weights_of(point.model)
    if said is not None:
        return said
    name = model.formats().scheme.name
    plain = name in ("bf16", "fp16", "fp32")
    return None if point.engine == "llama.cpp" and plain else ""


def _where(point: Point) -> str:
    return f"{point.source.file}, record {point.source.record}" if point.source else "the point"


def _ask(point: Point, missing: list[str]) -> str:
    what = {
        "--model": "the model" + (f" ('{point.model[:60]}' is none known)" if point.model else ""),
        "--weights": "the format of the weights",
        "--on": "the machine"
        + (f" ('{point.machine[:60]}' is none known)" if point.machine else ""),
    }
    said = ", ".join(what[option] for option in missing)
    return f"{_where(point)}: it does not say {said}; give {' '.join(missing)}"


def _own_machine(point: Point) -> Machine:
    """The machine of a point that carries the ceilings of its own minutes."""
    roof = point.roof
    assert roof is not None and roof.bandwidth is not None

    def figure(value: float) -> Figure:
        return Figure(value, "measured", date=point.time or "", spread=roof.spread)

    kind = str(point.settings.get("device", "cpu")).split(":")[0]
    return Machine(
        id="point",
        name=point.machine or "this machine",
        kind="cpu" if kind == "cpu" else "gpu",
        measured=Ceilings(
            {"memory": figure(roof.bandwidth)},
            {name: figure(value) for name, value in roof.compute.items()},
            {name: figure(value) for name, value in roof.overhead.items()},
        ),
    )


def shortened(name: str, layers: int, as_type: str | None = None) -> Model:
    """The first layers of a model, as an engine ran it that was given no more.

    Raises:
        NotFound: no such model.
        InputError: more layers than the model has.
    """
    return cut(load(name, as_type), layers)


def cut(model: Model, layers: int) -> Model:
    """The first layers of a model.

    Raises:
        InputError: more layers than the model has.
    """
    if not 1 <= layers <= model.depth:
        raise InputError(f"{model.name} has {model.depth} layers, not {layers}")
    first = set(sorted({i for layer in model.layers for i in layer.indices})[:layers])
    kept = (
        replace(layer, indices=here)
        for layer in model.layers
        if (here := tuple(i for i in layer.indices if i in first))
    )
    return model.altered(layers=tuple(kept), file=None)


def short_config(name: str, layers: int | None) -> dict[str, Any]:
    """The config of a catalogue model or a file, cut to ``layers`` layers.

    Raises:
        NotFound: no such model.
        InputError: more layers than the model has.
    """
    from .. import catalogue
    from ..model.config import read_json
    from ..model.load import entries

    if os.path.isdir(name):
        config = dict(read_json(os.path.join(name, "config.json"), constants=True))
    elif os.path.isfile(name):
        config = dict(read_json(name, constants=True))
    else:
        config = dict(catalogue.find(name, entries(), "model")["config"])
    inner = config.get("text_config")
    part: dict[str, Any] = dict(inner) if isinstance(inner, dict) else config
    key = next((k for k in ("num_hidden_layers", "n_layer", "num_layers") if k in part), None)
    if layers is not None:
        if key is None or not isinstance(part[key], int):
            raise InputError(f"{name}: its config does not say how many layers it has")
        if not 1 <= layers <= part[key]:
            raise InputError(f"{name} has {part[key]} layers, not {layers}")
        full, part[key] = part[key], layers
        for name_, value in list(part.items()):  # lists with one entry a layer
            if isinstance(value, list) and len(value) == full:
                part[name_] = value[:layers]
    if part is not config:
        config["text_config"] = part
    return config
