"""Every engine that is driven, in one table: its module and what tells it from the others.

A module has ``opened(chosen)``, which makes the engine and its model and hands back what measures
(:class:`.drive.Measurer`). What is known of engines besides, their names and the machines that they
run on, is ``known.json``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Traits:
    """What tells an engine from the others.

    Attributes:
        module: of this package.
        weights: the format of random weights where none is said; ``None``: the server's own.
        local: whether it runs on this machine; else a server does, wherever that is.
        devices: whether a device can be chosen.
        loads: whether it loads a folder of real weights by itself.
    """

    module: str
    weights: str | None
    local: bool = True
    devices: bool = False
    loads: bool = False


ENGINES = {
    "torch": Traits("pytorch", "bf16", devices=True, loads=True),
    "llamacpp": Traits("llamacpp", "q8_0"),
    "endpoint": Traits("endpoint", None, local=False),
}
