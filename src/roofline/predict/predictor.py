"""A model on a machine under an engine, ready to be asked how long things take."""

from __future__ import annotations

from dataclasses import dataclass

from ..bound import DEFAULT_USABLE
from ..errors import InputError
from ..machine.machine import Machine
from ..model.model import Model
from ..step import Number, Step
from .device import Device, device
from .kernel import loads
from .profile import Profile, Resolved
from .shard import shard, sums
from .steptime import ZERO, Paces, Parts, step_time

# Gauss-Legendre nodes and weights on [0, 1]: a decode of many tokens is summed over its
# growing context by three steps, exact for times up to the fifth power of the context.
NODES = ((0.1127016653792583, 5 / 18), (0.5, 8 / 18), (0.8872983346207417, 5 / 18))


@dataclass(frozen=True, slots=True)
class Split:
    """How a model is divided over devices.

    Attributes:
        tp: devices that share each layer of one replica of the attention.
        dp: replicas of the attention, each with its own sequences; the experts are divided
            over all ``tp · dp`` devices.
        pp: stages of layers, one after another.
    """

    tp: int = 1
    dp: int = 1
    pp: int = 1

    @property
    def devices(self) -> int:
        """All of them."""
        return self.tp * self.dp * self.pp


@dataclass(frozen=True, slots=True)
class Room:
    """What fits into the memory of one replica.

    Attributes:
        sequence_bytes: cache and state of one sequence of the length asked about.
        sequences: that fit, or ``None`` where the memory is unknown.
    """

    sequence_bytes: float
    sequences: float | None


class Predictor:
    """Times of steps and requests.

    Attributes:
        model, machine, device, profile, split: what is asked about.
        resolved: the coefficients with their origins.
        work: one device's share.
    """

    def __init__(
        self,
        model: Model,
        machine: Machine,
        profile: Profile,
        split: Split | None = None,
        *,
        weights: str | None = None,
        kv: str | None = None,
        compute: str | None = None,
        usable: float = DEFAULT_USABLE,
        on: Device | None = None,
    ) -> None:
        """Put a model, in formats, divided by ``split``, on a machine.

        Raises:
            InputError: an impossible split.
            UnsupportedError: an unknown format, precision or link.
        """
        self.model, self.machine, self.profile = model, machine, profile
        self.split = split or Split()
        self.usable = usable
        self.device = on or device(machine)
        tp, dp = self.split.tp, self.split.dp
        if min(tp, dp, self.split.pp) < 1:
            raise InputError("tp, dp and pp are at least 1")
        self.share = shard(model, tp, tp * dp)
        self.work = self.share.work(weights=weights, kv=kv, compute=compute)
        scheme, cache, _ = model.formats(weights, kv)
        self.weights, self.kv = scheme.name, cache.name
        self.resolved: Resolved = profile.resolve(self.device, cache.name)
        self.paces = Paces(self.device, self.resolved.values)
        self.sums = sums(model) if tp * dp > 1 else 0

    def step(self, step: Step) -> Parts:
        """Seconds of one step of one replica, by cause; numbers or arrays."""
        found = loads(self.work, step, self.split.dp)
        return step_time(found, self.paces, self.split.tp * self.split.dp, self.sums)

    def decode(self, batch: Number, past: Number, tokens: Number) -> Parts:
        """Seconds of the *mean* step while ``tokens`` are decoded after ``past`` cached ones."""
        total = ZERO
        for node, weight in NODES:
            context = past + node * tokens
            whole = context.astype(int) if hasattr(context, "astype") else int(context)
            total = total.plus(self.step(Step.decode(batch, whole + 1)), weight)
        return total

    def prefill(self, batch: Number, prompt: Number, past: Number = 0) -> Parts:
        """Seconds of one prefill of a whole batch of prompts."""
        return self.step(Step.prefill(batch, prompt, past))

    def room(self, tokens: int) -> Room:
        """What fits, for sequences of ``tokens`` tokens each."""
        one = Step.decode(1, tokens)
        held = float(self.work.total("held", one))
        if self.device.memory is None:
            return Room(held, None)
        free = self.device.memory * self.usable - self.work.resident / self.split.pp
        free -= float(self.work.workspace(Step.prefill(1, min(tokens, 8192))))
        return Room(held, max(0.0, free * self.split.pp / held) if held else float("inf"))

    def origins(self) -> list[tuple[str, float, str, str]]:
        """Coefficients in use: name, value, profile, source; sorted."""
        found: list[tuple[str, float, str, str]] = []
        for name, c in sorted(self.resolved.origins.items()):
            found.append((name, c.value, f"{c.profile}:{c.name}", c.source))
        return found


__all__ = ["NODES", "Predictor", "Room", "Split"]
