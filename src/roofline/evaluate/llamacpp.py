"""Decode of llama.cpp, from its lists of benchmarks."""

from __future__ import annotations

import re

from ..count.step import Step
from ..errors import RooflineError
from ..machine.load import load as load_machine
from ..parallel import Parallel
from ..predicting.fit import Prior
from ..predicting.stack import Piece, Stack
from .cases import bound, case, on, plan
from .data import Row, Rule, by, read, sort_out
from .priors import BASE, only
from .suite import Suite

_NAMES = {
    "3080 10GB": "rtx-3080-10gb",
    "3080 Ti 12GB": "rtx-3080-ti",
    "3090 24GB": "rtx-3090",
    "RTX 3090": "rtx-3090",
    "4070 Ti 12GB": "rtx-4070-ti",
    "4080 16GB": "rtx-4080",
    "4090 24GB": "rtx-4090",
    "A100 80GB": "a100-80gb-sxm",
    "A100 SXM 80GB": "a100-80gb-sxm",
    "A40 48GB": "a40",
    "A6000 48GB": "rtx-a6000",
    "6000 Ada 48GB": "rtx-6000-ada",
    "5000 Ada 32GB": "rtx-5000-ada",
    "RTX 5000 Ada 32GB": "rtx-5000-ada",
    "RTX 6000 Ada 48GB": "rtx-6000-ada",
    "RTX A6000 48GB": "rtx-a6000",
    "L40S 48GB": "l40s",
    "Arc B580": "arc-b580",
    "Arc A770": "arc-a770",
    "H100 80GB": "h100-sxm",
    "H100 PCIe 80GB": "h100-pcie",
    "RTX 4000 Ada 20GB": "rtx-4000-ada",
    "RTX 5060 Ti": "rtx-5060-ti-16gb",
    "RTX PRO 6000 Blackwell": "rtx-pro-6000",
    "Radeon AI PRO R9700": "radeon-ai-pro-r9700",
}
ALONE = Parallel()
_APPLE = re.compile(r"(?:apple )?(m\d)\s*(pro|max|ultra)?\s*(\d+)", re.IGNORECASE)


def chip(title: str) -> str | None:
    """The machine that a title of the llama.cpp lists means, or ``None``."""
    plain = title.replace("\u2011", "-")
    apple = _APPLE.match(plain)
    if apple:
        family, kind, cores = (x.lower() if x else x for x in apple.groups())
        names = [f"{family}-{kind}-{cores}c"] if kind else [family]
    else:
        names = [_NAMES.get(title, title)]
    for name in names:
        try:
            return load_machine(name).id
        except RooflineError:
            continue
    return None


RULES = [
    Rule("a machine that is not known", "no such machine in the catalogue",
         lambda r: chip(r["hardware"]) is None),
    Rule("several GPUs", "layers split over several GPUs without overlap; not modelled",
         lambda r: (r["n_gpu"] or 1) > 1),
]  # fmt: skip

START = {
    **BASE,
    "linear.floor": 2e-6,
    "layer.floor": 1e-5,
    "step.floor": 5e-4,
    "decode.compute": 0.02,
    "linear.compute": 0.9,
    "linear.bandwidth": 0.9,
}


def llamacpp(folder: str) -> list[Suite]:
    """Decode of llama.cpp, one suite per back-end, memory class and age of the build."""
    rows = [r for r in read(folder, "llamacpp") if r["metric"] == "decode_tok_s"]
    rows, aside = sort_out(rows, RULES)
    for row in rows:
        dev = on(chip(row["hardware"]) or "")
        old = str(row["build"]).startswith("2024")
        row.update(
            machine=dev.id,
            engine="llamacpp",
            precision={"f16": "fp16"}.get(row["quant"].lower(), row["quant"].lower()),
            batch=int(row["batch"]),
            regime="2024" if old else "2025",
            back_end=f"{row['backend']} {dev.memory_class}"
            if row["backend"] == "CUDA"
            else row["backend"],
        )
    suites = []
    for (back_end,), group in by(rows, "back_end"):
        suites.append(_llamacpp(f"llama.cpp decode {back_end}", group, aside))
    graphics = [s for s in suites if "Metal" not in s.name]
    for suite in graphics:  # what they have in common is fitted on all of them
        suite.beside = tuple(other for other in graphics if other is not suite)
    return suites


def _llamacpp(name: str, group: list[Row], aside: dict[str, int]) -> Suite:
    import numpy as np

    size = len(group)
    pieces, limit = [], np.zeros(size)
    for i, row in enumerate(group):
        row["at"] = i
    for (machine, title, quant, test, age), rows in by(
        group, "machine", "model", "precision", "test", "regime"
    ):
        of = case(machine, title, ALONE, quant, "fp16")
        assert of is not None
        at = np.array([r["at"] for r in rows])
        ones = np.ones(len(rows), int)
        step = Step.decode(ones, int(test[2:]) // 2 * ones)
        dev = on(machine)
        labels = (f"build-{age}", dev.memory_class, *dev.labels)
        pieces.append(Piece(at, plan(of)(step), dev, labels))
        limit[at] = bound(of, step)
    priors = only("linear.bandwidth", "linear.floor", "layer.floor")
    fixed = {**START}
    for key in priors:
        p = priors[key]
        spread = 0.1 if key == "linear.bandwidth" else 1.0
        priors[key] = Prior(START[key], spread, p.low, p.high)
    priors["ramp"] = Prior(0.3, 1.0, 1e-3, 3.0)
    if "Metal" in name:
        ages = {r["regime"] for r in group}
    else:
        ages = {"2024", "2025"}
        # Its products with a vector run on vector units, which take weights in only so fast.
        priors["linear.intake"] = Prior(0.15, 0.7, 0.01, 10.0)
        priors["linear.bandwidth*hbm"] = Prior(1.0, 0.1, 0.3, 1.2)
    if len(ages) > 1:
        priors["layer.floor*build-2024"] = Prior(2.0, 0.7, 0.2, 30.0)
        priors["linear.floor*build-2024"] = Prior(2.0, 0.7, 0.2, 30.0)
    return Suite(
        name,
        group,
        1 / np.array([r["value"] for r in group]),
        Stack(pieces, size),
        fixed,
        priors,
        limit,
        aside=aside,
    )
