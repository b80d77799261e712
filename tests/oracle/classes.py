"""The oracle: real model classes of transformers, built without weights on the meta device."""

from __future__ import annotations

import warnings
from typing import Any

from oracle import recurrences

DEFAULTS: dict[str, dict[str, Any]] = {
    "dbrx": {"attn_config": {"rope_theta": 10000.0}},
    "deepseek_v2": {"num_experts_per_tok": 6},
    "dots1": {"n_routed_experts": 128, "n_shared_experts": 2, "num_experts_per_tok": 6},
    "hunyuan_v1_dense": {"head_dim": 128},
    "hunyuan_v1_moe": {"head_dim": 128, "moe_topk": 2, "num_experts": 8},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"] * 16},
    "ministral": {"head_dim": 128, "num_key_value_heads": 8},
    "nemotron": {"num_key_value_heads": 8, "head_dim": 128},
    "reformer": {"is_decoder": True},
}
"""What some default configs lack before their own class can be built from them."""


EVERY_EXPERT = {"Llama4TextExperts"}
"""Classes that send every token through every expert and weigh the results."""


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


KEYS_TWICE = {"DiffLlamaAttention"}
"""Classes that multiply queries by keys once for each half of the values, alike both times."""

ASIDE = (
    "vision", "visual", "image_encoder", "audio_tower", "embed_audio", "multi_modal_projector",
    "embed_tokens_extend",
)  # fmt: skip
"""Modules for pictures and sound: the text side is what is compared."""


def parameters(model: Any) -> int:
    return sum(
        p.numel() for name, p in model.named_parameters() if not any(a in name for a in ASIDE)
    )


def active(model: Any) -> int:
    return int(model.config.get_text_config().num_experts_per_tok)


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
        elif type(module).__name__ in EVERY_EXPERT:
            total -= of(name) - of(name) * active(model) // module.num_experts
        elif type(module).__name__ in KEYS_TWICE:
            total -= 2 * module.config.num_attention_heads * module.head_dim
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
