"""How a model is laid over devices: so many ways, each with its own group of devices.

tp   tensor parallel: heads, the middles of MLPs and the vocabulary are divided; the
     devices of a group sum their results after every part
dp   attention data parallel: so many groups of tp, each with its own sequences
ep   expert parallel: routed experts are divided into ep shares over the tp·dp devices of a
     stage; where ep is less than tp·dp, each expert's matrices are divided as well
pp   pipeline parallel: layers are divided into stages of tp·dp devices each

devices = tp · dp · pp, and ep divides tp · dp
"""

from __future__ import annotations

from ..errors import InputError
from ..limits import DEVICES
from ..machine.links import divisors
from ..model.formats import parse
from ..record import record


@record
class Parallel:
    """A layout over devices.

    >>> Parallel(tp=8, pp=2).devices
    16
    >>> Parallel(dp=8, ep=8)  # attention data-parallel, experts spread: one device a replica

    Attributes:
        tp, pp, ep, dp: tensor, pipeline, expert and attention data parallelism, 1 for none.
        redundant: copies of routed experts beside the E of a layer, so that E + copies divide
            by ep and busy experts have more than one place (DeepSeek's EP 72 and EP 144 of 256
            have 32).
        dispatch, combine: formats in which tokens go to experts and results come back;
            ``None``: what the experts' products take in, and the activations' own.
        microbatches: parts that a step's sequences go through the pipeline in, each at most
            once in every stage at a time; ``None``: as many as there are stages.
    """

    tp: int = 1
    pp: int = 1
    ep: int = 1
    dp: int = 1
    microbatches: int | None = None
    redundant: int = 0
    dispatch: str | None = None
    combine: str | None = None

    def __post_init__(self) -> None:
        for name in ("tp", "pp", "ep", "dp", "microbatches"):
            value = getattr(self, name)
            if value is None and name == "microbatches":
                continue
            if type(value) is not int or not 1 <= value <= DEVICES:
                raise InputError(f"{name} must be a whole number from 1, not {value!r}")
        if type(self.redundant) is not int or not 0 <= self.redundant <= DEVICES:
            raise InputError(f"redundant experts must be a whole number, not {self.redundant!r}")
        if self.redundant and self.ep == 1:
            raise InputError("redundant experts are placed by expert parallelism: they need ep")
        for what, size in (("dispatch", self.dispatch_size), ("combine", self.combine_size)):
            if size and self.dp == 1:
                raise InputError(
                    f"{what} is between replicas: it needs dp of 2 or more (with dp 1 every "
                    "device has every token)"
                )
        if self.microbatches is not None and self.pp == 1:
            raise InputError("microbatches go through a pipeline: they need pp of 2 or more")
        if self.devices > DEVICES:
            raise InputError(
                f"tp × dp × pp is {self.devices} devices; at most {DEVICES} are counted"
            )
        if self.width % self.ep:
            fit = ", ".join(map(str, divisors(self.width)))
            raise InputError(
                f"experts are spread over the tp × dp = {self.width} devices of a stage, and ep "
                f"{self.ep} does not divide them: ep may be {fit}, or tp × dp a multiple of "
                f"{self.ep}"
            )

    @property
    def dispatch_size(self) -> float | None:
        """Bytes of an element on its way to an expert, where it was said."""
        return _size(self.dispatch)

    @property
    def combine_size(self) -> float | None:
        """Bytes of an element on its way back, where it was said."""
        return _size(self.combine)

    @property
    def width(self) -> int:
        """Devices of one stage."""
        return self.tp * self.dp

    @property
    def devices(self) -> int:
        """Devices in all."""
        return self.tp * self.dp * self.pp

    @property
    def single(self) -> bool:
        """Whether it is one device."""
        return self.devices == 1

    @property
    def waves(self) -> int:
        """The most microbatches that a step goes through the pipeline in."""
        return 1 if self.pp == 1 else self.microbatches or self.pp

    def microbatches_of(self, batch: int) -> int:
        """Microbatches that so many sequences go through the pipeline in."""
        return min(self.waves, -(-batch // self.dp))

    def bubble(self, batch: int) -> float:
        """Fraction of a pass that a stage waits while the pipeline fills and drains.

        (p-1)/(m+p-1) for p equal stages and m microbatches (GPipe, arXiv 1811.06965).
        """
        return (self.pp - 1) / (self.microbatches_of(batch) + self.pp - 1)

    @property
    def name(self) -> str:
        """For people: ``tp 8 pp 2``."""
        parts = [f"{f} {getattr(self, f)}" for f in ("tp", "dp", "ep", "pp")]
        return " ".join(p for p in parts if not p.endswith(" 1")) or "tp 1"


def _size(name: str | None) -> float | None:
    return None if name is None else parse(name).size
