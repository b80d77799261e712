"""All-reduces over the links of one node: one suite per implementation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..machine.load import load as load_machine
from ..predicting.collective import exchange
from ..predicting.fit import Prior
from .data import MACHINES, Row, by, column, read
from .kernels import FREE, apart, known, tell
from .suite import Suite

PRIORS = {
    "collective.floor": Prior(5e-6, 1.0, 1e-7, 1e-3),
    "collective.bandwidth": Prior(0.7, 0.5, 0.05, 1.0),
}
ONCE = {"collective.once": Prior(4e-6, 1.0, 1e-7, 1e-3)}
"""What an engine's own kernel costs whatever the number of devices; NCCL's ring has none."""


def messages(folder: str) -> list[Suite]:
    """The suites of ``collectives.csv``."""
    rows = [
        r
        for r in known(read(folder, "collectives"))
        if r["op_name"] == "all_reduce" and r.get("nccl_dtype") != "int8"
    ]
    for r in rows:
        r["kind"] = r["kernel_source"] or "NCCL"
    return [_suite(group, kind) for (kind,), group in by(rows, "kind")]


def _suite(group: list[Row], kind: str) -> Suite:
    import numpy as np

    count = column(group, "num_gpus")
    sent = 2 * (count - 1) / count * 2.0 * column(group, "message_size")
    names = [str(r["system"]) for r in group]
    links = [load_machine(MACHINES.get(name, name)).links[0] for name in names]
    per_byte = np.array([1 / link.bandwidth.value for link in links])
    switched = np.array([link.name.startswith("NVLink") for link in links])

    def predict(c: Mapping[str, float]) -> Any:
        return exchange(sent, count, per_byte, c)

    tell(group, kind, "bf16", _told)
    return Suite(
        f"all-reduce {kind}",
        group,
        column(group, "latency") * 1e-3,
        predict,
        FREE,
        apart(PRIORS if kind == "NCCL" else PRIORS | ONCE, group),
        np.maximum(sent * per_byte, 1e-9),
        scored=switched,
        aside={"over PCIe, through the host": int((~switched).sum())},
    )


def _told(row: Row) -> tuple[str, int, str]:
    size = int(row["message_size"])
    return f"{int(row['num_gpus'])} devices", size, "small" if size < 1 << 18 else "large"
