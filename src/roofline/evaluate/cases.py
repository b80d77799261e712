"""Cases of the files: a model on a machine in some layout and formats, and what it would hold."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from .. import catalogue
from ..bound.arrays import Table
from ..bound.case import Case
from ..count.step import Step
from ..errors import RooflineError
from ..machine.load import load as load_machine
from ..model.load import entries, from_entry
from ..model.model import Model
from ..parallel import Parallel
from ..predicting.device import Device, device
from ..predicting.kernel import KernelPlan

MODELS = {
    "huggyllama/llama-7b": "llama-2-7b",
    "huggyllama/llama-13b": "llama-2-13b",
    "meta-llama/Llama-2-7b-hf": "llama-2-7b",
    "meta-llama/Llama-2-13b-hf": "llama-2-13b",
    "meta-llama/Llama-2-70b-hf": "llama-2-70b",
    "meta-llama/Meta-Llama-3-8B": "llama-3-8b",
    "google/gemma-1.1-7b-it": "gemma-7b",
    "llama2-70b": "llama-2-70b",
    "bloom-176b": "bloom-176b",
    "nvidia/DeepSeek-R1-NVFP4": "deepseek-r1",
    "nvidia/DeepSeek-V3.1-NVFP4": "deepseek-v3",
    "nvidia/Qwen3-32B-NVFP4": "qwen3-32b",
}
"""Names in the files that the catalogue has under another name (same shapes)."""


@lru_cache(maxsize=64)
def model(name: str) -> Model | None:
    """A model of the files from the catalogue alone, or ``None`` where it is not in it."""
    try:
        return from_entry(catalogue.find(MODELS.get(name, name), entries(), "model"))
    except RooflineError:
        return None


@lru_cache(maxsize=64)
def on(name: str) -> Device:
    """A machine by its name in the catalogue."""
    return device(load_machine(name))


@lru_cache(maxsize=512)
def case(machine: str, title: str, layout: Parallel, weights: str, kv: str) -> Case | None:
    """A case of the files, or ``None`` where the model does not divide so."""
    result = model(title)
    assert result is not None
    try:
        return Case(result, load_machine(machine), weights=weights, kv=kv, parallel=layout)
    except RooflineError:
        return None


def held_per_token(of: Case) -> float:
    """Bytes of cache that one more token holds, far into a long context."""
    long, short = (of.work.total("held", Step.decode(1, n)) for n in (1 << 16, 1 << 15))
    return float(long - short) / (1 << 15)


def room(of: Case) -> float:
    """Bytes for the cache on one device, infinite where the memory is unknown."""
    memory = of.machine.memory
    return (memory.value * of.usable if memory else float("inf")) - of.work.resident


def bound(of: Case, step: Step) -> Any:
    """The overlapped bound of steps."""
    return Table(of).bounds(step).overlapped_s


def plan(of: Case) -> KernelPlan:
    """One device's share, ready to be loaded."""
    return KernelPlan(of.work, of.interconnect, of.parallel.dp)
