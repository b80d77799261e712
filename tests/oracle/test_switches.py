"""Every switch of every config turned over: the class's parameters to the unit, or refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from oracle import classes
from oracle.test_types import others
from roofline.errors import RooflineError
from roofline.model.load import from_config

NO_SHAPE = (
    "use_cache", "output_", "return_dict", "norm_topk", "scale_", "summary", "rescale",
    "residual_in", "reorder", "use_mamb", "use_assoc", "rope_interleave", "prefix_lm",
    "is_decoder", "is_encoder", "moe_renorm", "enable_moe_fp32", "kda_safe", "mup", "moe_apply",
    "use_mem_eff", "time", "pre_norm",
)  # fmt: skip
"""Switches that decide nothing that is counted."""

DEPTH = ("num_hidden_layers", "n_layer", "num_layers", "n_layers", "decoder_layers")


def turned(kind: str) -> list[dict[str, Any]]:
    config = classes.config_of(kind).to_dict()
    few: dict[str, Any] = {}
    if not {"layer_types", "mlp_layer_types"} & config.keys():
        few = {key: 2 for key in DEPTH if isinstance(config.get(key), int)}
    switches = [
        key
        for key, value in config.items()
        if isinstance(value, bool) and not any(word in key for word in NO_SHAPE)
    ]
    return [{**few, key: not config[key]} for key in switches]


@pytest.mark.slow
@pytest.mark.parametrize("kind", others())
def test_switches(kind: str) -> None:
    try:
        changes = turned(kind)
    except Exception as error:
        pytest.skip(f"transformers has no default config of {kind}: {error!r}")
    for change in changes:
        try:
            config = classes.config_of(kind, **change)
            theirs = classes.parameters(classes.build(config, classes.kinds()[kind]))
        except Exception:
            continue
        data = json.loads(json.dumps(config.to_dict(), default=str))
        try:
            ours = from_config(data, kind).parameters
        except RooflineError:
            continue
        assert ours == theirs, change
