"""Where a fit of whole runs starts, and how far its coefficients may go."""

from __future__ import annotations

from ..predicting.fit import Prior

BASE: dict[str, float] = {
    "linear.compute": 1.0,
    "linear.bandwidth": 0.87,
    "linear.floor": 3e-6,
    "ramp": 0.3,
    "decode.compute": 0.3,
    "decode.bandwidth": 0.87,
    "decode.floor": 1e-5,
    "prefill.compute": 0.65,
    "prefill.tile": 250.0,
    "prefill.floor": 1e-5,
    "experts.compute": 0.8,
    "experts.bandwidth": 0.9,
    "experts.floor": 2.5e-5,
    "experts.passes": 1.5,
    "state.compute": 0.5,
    "state.bandwidth": 0.7,
    "state.floor": 1e-5,
    "passes": 2.0,
    "quantise": 2.5,
    "layer.floor": 5e-6,
    "step.floor": 1e-3,
    "step.sequence": 1e-5,
    "collective.floor": 5e-6,
    "collective.bandwidth": 0.7,
    "interleave": 1.0,
    "burst": 0.2,
    "request.floor": 0.05,
}
"""What single kernels have in common over engines and generations, and
guesses of the fixed costs: where a fit of whole runs starts, and what it is drawn to."""


def only(*names: str, **spreads: float) -> dict[str, Prior]:
    """Priors of the named coefficients, centred on ``BASE``."""
    limits = {
        "compute": (0.002, 1.2),
        "bandwidth": (0.2, 1.0),
        "interleave": (0.3, 2.0),
        "burst": (0.01, 1.0),
    }
    result = {}
    for name in names:
        low, high = limits.get(name.rsplit(".", 1)[-1], (BASE[name] / 1000, BASE[name] * 1000))
        spread = SPREADS.get(name, 0.7)
        result[name] = Prior(BASE[name], spreads.get(name.replace(".", "_"), spread), low, high)
    return result


SPREADS = {
    "linear.compute": 0.1,
    "linear.bandwidth": 0.05,
    "decode.compute": 1.0,
    "decode.bandwidth": 0.05,
    "prefill.compute": 0.3,
    "experts.compute": 0.3,
    "experts.bandwidth": 0.1,
    "experts.floor": 0.5,
    "passes": 0.5,
    "layer.floor": 1.0,
    "step.floor": 1.0,
    "step.sequence": 1.0,
    "collective.floor": 0.7,
    "collective.bandwidth": 0.3,
    "interleave": 0.2,
    "burst": 1.0,
    "request.floor": 1.0,
}
