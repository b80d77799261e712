"""What will run, as it was chosen: the request, the plan, and what opens the engine."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..files import demo, scratch
from ..limits import BENCH_VALUES
from ..machine.load import is_here
from .drive import Measurer
from .plan import Plan
from .pretrained import has_weights
from .table import ENGINES

if TYPE_CHECKING:
    from ..bound.sweep import IntRange


SECONDS = 5.0
"""Time of a point where none is said."""

ANSWER, PROMPT = 128, 128
"""Tokens of a server's answer and of its prompt where none are said."""


@dataclass(frozen=True, slots=True)
class BenchRequest:
    """What was asked for; `None` was not said."""

    model: str | None = None
    as_type: str | None = None
    engine: str | None = None
    weights: str | None = None
    kv: str | None = None
    layers: int | None = None
    device: str | None = None
    threads: int | None = None
    gguf: str | None = None
    library: str | None = None
    url: str | None = None
    served_model: str | None = None
    plain_key: bool = False
    machine: str | None = None
    output_tokens: int = ANSWER
    batches: tuple[int, ...] | None = None
    contexts: tuple[int, ...] | None = None
    prompts: tuple[int, ...] | None = None
    seconds: float = SECONDS

    @property
    def served_prompt(self) -> int:
        """Tokens of the prompt that a server gets: one length, the first."""
        return (self.contexts or (PROMPT,))[0]


def of_a_run(values: IntRange, what: str) -> tuple[int, ...]:
    """Values of a list, as many as one run takes.

    Raises:
        InputError: more.
    """
    if len(values) > BENCH_VALUES:
        raise InputError(f"{what} has {len(values)} values; {BENCH_VALUES} is the most for a run")
    return tuple(values.values)


@dataclass(slots=True)
class Chosen:
    """What will run.

    Attributes:
        engine, model_name, weights, device: for people.
        plan: the jobs.
        points_file: where points go unless another file is named.
        machine_name: the machine's name in points.
    """

    request: BenchRequest
    engine: str
    model_name: str
    weights: str | None
    device: str
    plan: Plan
    machine_name: str | None
    _folder: list[str] = field(default_factory=list)

    @property
    def facts(self) -> dict[str, Any]:
        """What is known besides names: which file or config it is; memory nodes and processor
        cores of this machine."""
        result: dict[str, Any] = {}
        if ENGINES[self.engine].local:
            result["source"] = self._identity()
        if self.here:
            from ..measuring import limits, topology

            cores = limits.read(topology.read()).cores
            result |= {"nodes": len({core.node for core in cores}), "cores": len(cores)}
        return result

    def _identity(self) -> str:
        from ..placing.resolve import short_config
        from . import identity

        source = self.source()
        if source is not None:
            return identity.of_weights(source)
        return identity.of_config(short_config(self.model_name, self.request.layers))

    @property
    def points_file(self) -> str:
        """A file in the current folder, named by what runs."""
        parts = [self.engine, os.path.basename(self.model_name), self.weights or ""]
        name = "-".join(part for part in parts if part)
        safe = "".join(c if c.isalnum() or c in "-._" else "-" for c in name)
        return f"roofline-{safe[:100]}.jsonl"

    def open(self) -> Measurer:
        """The engine, its model made.

        Raises:
            RooflineError: a library is missing, or the model cannot be made.
        """
        module = import_module(f".{ENGINES[self.engine].module}", __package__)
        measurer: Measurer = module.opened(self)
        return measurer

    def source(self) -> str | None:
        """The file or folder that real weights come from, or ``None`` where they are random."""
        gguf = self.request.gguf
        if gguf is not None:
            return demo.demo() if demo.is_demo(gguf) else gguf
        loads = ENGINES[self.engine].loads and self.request.layers is None
        if loads and has_weights(self.model_name):
            return self.model_name
        return None

    def written(self) -> str:
        """A random GGUF in a folder of its own, removed by `clean`."""
        from ..placing.resolve import short_config
        from .random_gguf import write

        folder = scratch.folder()
        self._folder.append(folder)
        path = os.path.join(folder, "random.gguf")
        config = short_config(self.model_name, self.request.layers)
        write(path, config, self.weights or "q8_0", self.model_name)
        return path

    def probe(self, precisions: tuple[str, ...], warn: Callable[[str], None]) -> Any:
        """A probe of this machine's roof, or ``None`` where the engine runs elsewhere."""
        if not self.here:
            return None
        from .roofs import RoofProbe, try_probe

        return try_probe(lambda: RoofProbe(self.device, precisions), warn)

    @property
    def here(self) -> bool:
        """Whether the engine runs on this machine: any but a server, or one said to be here."""
        return ENGINES[self.engine].local or is_here(self.request.machine or "")

    def clean(self) -> None:
        """Remove what was written for the run."""
        import shutil

        for folder in self._folder:
            shutil.rmtree(folder, ignore_errors=True)
        self._folder.clear()
