"""The oracle: real model classes of transformers, built without weights on the meta device."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

from . import recurrences

DEFAULTS: dict[str, dict[str, Any]] = {}
"""What some default configs lack before their own class can be built from them."""


@dataclass(frozen=True)
class Counted:
    parameters: int
    flops: int | None
    why: str = ""


def kinds() -> dict[str, str]:
    """Every causal-LM ``model_type`` of the installed transformers, and its class."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    return dict(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)


def config_of(kind: str, **changes: Any) -> Any:
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    return CONFIG_MAPPING[kind](**{**DEFAULTS.get(kind, {}), **changes})


def build(config: Any, name: str | None = None) -> Any:
    """The class of a config, on the meta device; attention in plain matrix products and
    experts gathered and multiplied in batches, so that the counter sees each."""
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    cls = getattr(transformers, name or kinds()[config.model_type])
    with torch.device("meta"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cls._from_config(
            config,
            attn_implementation="eager",
            experts_implementation="batched_mm",
            dtype=torch.bfloat16,
        ).eval()


def parameters(model: Any) -> int:
    return sum(p.numel() for p in model.parameters())


def flops(model: Any, **inputs: Any) -> int:
    """FLOPs of one token of one sequence, nothing cached: matrix products and convolutions.

    The rotary embedding's tables are not counted. Of a recurrent layer its projections are
    counted in the class, and the rest as its recurrence; see :mod:`.recurrences`.
    """
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    ids = torch.zeros(1, 1, dtype=torch.long, device="meta")
    counter = FlopCounterMode(display=False)
    with warnings.catch_warnings(), torch.no_grad(), counter:
        warnings.simplefilter("ignore")
        model(input_ids=ids, **inputs)
    root = type(model).__name__
    counts = counter.get_flop_counts()

    def of(name: str) -> int:
        return sum(counts.get(f"{root}.{name}", {}).values())

    total = counter.get_total_flops()
    recurrent = []
    for name, module in model.named_modules():
        if "Rotary" in type(module).__name__:
            total -= of(name)
        elif type(module).__name__ in recurrences.RECURRENCES:
            aside = recurrences.aside(module)
            kept = sum(of(f"{name}.{n}") for n, _ in module.named_children() if n not in aside)
            total += kept - of(name)
            recurrent.append(module)
    stepping = FlopCounterMode(display=False)
    with torch.no_grad(), stepping:
        for module in recurrent:
            recurrences.run(module)
    return total + stepping.get_total_flops()
