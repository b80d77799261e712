"""Tens of thousands of mutated configs: an answer that makes sense, or one sentence; in time."""

from __future__ import annotations

import copy
import json
import math
import random
import time
import tracemalloc

import pytest

from roofline import catalogue
from roofline.count.step import Step
from roofline.errors import RooflineError
from roofline.model.config import parse_json
from roofline.model.load import from_config

from .test_published_forms import WRAPPED
from .test_remote import MOE, PUBLISHED

SEEDS = [m["config"] for m in catalogue.read("model/catalogue.json")["models"]]
VALUES = [
    None, True, False, 0, -1, 1, 2, 3, 7, 0.5, -0.0, 1e308, 10**18, -(10**18), 2**63, "", "4096",
    "llama", "NaN", [], {}, [1], [[1]], ["full_attention"], {"a": 1}, float("nan"), float("inf"),
    "\u202e", "x" * 10_000, [0] * 1000, 10**400,
]  # fmt: skip


def mutated(rng: random.Random, seeds: list[dict] = SEEDS) -> dict:
    data = copy.deepcopy(rng.choice(seeds))
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        place = data
        while True:
            inner = [v for v in place.values() if isinstance(v, dict) and v]
            if not inner or rng.random() < 0.4:
                break
            place = rng.choice(inner)
        key = rng.choice(list(place))
        action = rng.random()
        if action < 0.2:
            del place[key]
        elif action < 0.8:
            place[key] = rng.choice(VALUES)
        elif isinstance(place[key], list) and place[key]:
            place[key] = [*place[key][: rng.randrange(len(place[key]))], rng.choice(VALUES)]
        elif type(place[key]) is int:
            place[key] = place[key] * rng.choice((-1, 2, 1000, 10**6)) + rng.choice((0, 1))
        else:
            place[rng.choice(list(data))] = place[key]
    return data


def check(data: dict) -> bool:
    """Whether it was understood; never anything but an answer or one short line."""
    try:
        model = from_config(data, "config")
        work = model.work()
        totals = [work.total(kind, Step.decode(3, 1000)) for kind in ("flops", "weights", "held")]
    except RooflineError as error:
        text = str(error)
        assert text and len(text) < 700, text
        assert "\n" not in text
        return False
    assert model.parameters > 0 and model.depth <= 10_000
    assert all(math.isfinite(t) and t >= 0 for t in totals), totals
    assert totals[0] > 0 and totals[1] > 0
    assert model.active_parameters <= model.parameters
    return True


@pytest.mark.parametrize("seed", range(4))
def test_mutated_configs(seed):
    rng = random.Random(seed)
    count = 5000
    understood = sum(check(mutated(rng)) for _ in range(count))
    assert 0 < understood < count


def test_mutated_forms():
    """Wrappers, remote code and what a class tells, mutated likewise."""
    rng = random.Random(7)
    seeds = [c for c, *_ in (*PUBLISHED.values(), *MOE.values(), *WRAPPED.values())]
    seeds += [{k: v for k, v in c.items() if k != "model_type"} for c in SEEDS]
    count = 5000
    understood = sum(check(mutated(rng, seeds)) for _ in range(count))
    assert 0 < understood < count


SHAPES = """hidden_size num_hidden_layers num_attention_heads num_key_value_heads intermediate_size
head_dim vocab_size num_experts n_routed_experts num_local_experts num_experts_per_tok
moe_intermediate_size kv_lora_rank q_lora_rank qk_nope_head_dim qk_rope_head_dim v_head_dim
index_topk index_n_heads index_head_dim o_groups o_lora_rank ssm_state_size mamba_num_heads
mamba_head_dim linear_num_value_heads linear_num_key_heads linear_key_head_dim""".split()


@pytest.mark.parametrize("wrong", ["64", -64, 64.5, float("nan"), 10**18, [64], {}, True])
def test_a_shape_that_cannot_be_is_refused(wrong):
    tried = 0
    for seed in SEEDS:
        for inner in ("text_config", None):
            for key in SHAPES:
                data = copy.deepcopy(seed)
                place = data.get(inner) if inner else data
                if not isinstance(place, dict) or type(place.get(key)) is not int:
                    continue
                if key in unused(seed, place):
                    continue
                place[key] = wrong
                with pytest.raises(RooflineError):
                    from_config(data, "config")
                tried += 1
    assert tried > 500


def unused(seed: dict, place: dict) -> set[str]:
    """Keys that are announced but decide nothing in their family."""
    kind = place.get("model_type") or seed["model_type"]
    found = set()
    if "kv_lora_rank" in place:
        found |= {"num_key_value_heads", "head_dim"}
    if kind in ("deepseek_v4",):
        found |= {"intermediate_size"}
    if kind == "nemotron_h":
        pattern = place.get("hybrid_override_pattern", "")
        if "-" not in pattern:
            found |= {"intermediate_size"}
    if kind in ("qwen3_moe", "qwen2_moe", "qwen3_vl_moe_text", "qwen3_vl_moe", "qwen3_next"):
        found |= {"intermediate_size"}
    if kind in ("llama4_text", "minimax_m3", "falcon", "qwen3_5_moe_text"):
        found |= {"intermediate_size", "num_key_value_heads"}
    if kind == "nemotron-nas":
        found |= {"num_key_value_heads"}
    return found


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        '{"model_type": ' * 100_000,
        '{"model_type": "llama", "hidden_size": NaN}',
        '{"model_type": "llama", "hidden_size": 1e999}',
        '{"model_type": "llama", "model_type": "qwen2"}',
        '{"hidden_size": ' + "9" * 100_000 + "}",
        "",
        "\x00",
        '"llama"',
    ],
)
def test_text_that_is_no_config(text):
    with pytest.raises(RooflineError):
        from_config(parse_json(text, "config"), "config")


def test_time_and_memory_are_bounded():
    data = json.loads(json.dumps(SEEDS[0]))
    data["num_hidden_layers"] = 10_000
    tracemalloc.start()
    before = time.perf_counter()
    from_config(data, "config").work()
    for huge in (10**18, 10**400, 10_001):
        data["num_hidden_layers"] = huge
        with pytest.raises(RooflineError):
            from_config(data, "config")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50 << 20
    assert time.perf_counter() - before < 30
