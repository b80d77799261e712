"""How far rows travel to experts: by hand, by enumeration, against published deployments."""

from __future__ import annotations

import json
from itertools import combinations, pairwise
from math import comb

import numpy as np
import pytest

from roofline import Case, InputError, Parallel, Step, load_machine, load_model
from roofline.cli import main
from roofline.count.reach import Reach
from roofline.count.work import Work
from roofline.machine.links import Interconnect


def deepseek(machine="h100-sxm", **layout):
    return Case(load_model("deepseek-v3"), load_machine(machine), parallel=Parallel(**layout))


@pytest.mark.parametrize("reach", [Reach(8, 2, 8, 8), Reach(8, 3, 4, 8), Reach(12, 4, 6, 6)])
def test_even_choices_by_enumeration(reach):
    each = reach.devices // reach.shares
    held = reach.experts // reach.shares
    chosen = list(combinations(range(reach.experts), reach.active))
    for domain in (d for d in range(1, reach.devices + 1) if reach.devices % d == 0):
        first = set(range(max(1, domain // each) * held))  # experts of the first domain
        hit = sum(bool(first & set(one)) for one in chosen) / len(chosen)
        assert reach.hit(domain) == pytest.approx(hit)


def test_nodes_of_chosen_groups_by_enumeration():
    # DeepSeek-V3 on 4 nodes of 8: each node holds 2 of 8 groups, a token chooses from 4.
    reach = Reach(256, 8, 32, 32, groups=8, chosen=4)
    groups = list(combinations(range(8), 4))
    hit = sum(bool({0, 1} & set(one)) for one in groups) / len(groups)
    assert reach.hit(8) == pytest.approx(hit) == pytest.approx(1 - 15 / 70)
    assert reach.rows(8) == pytest.approx(3 * hit)  # 2.36 remote nodes, not 5.4 remote GPUs
    assert reach.rows(8) == pytest.approx(2.357, abs=1e-3)
    # A device of 8 experts: its group is chosen, and 8 of the 128 in such groups are not elsewhere.
    assert reach.hit(1) == pytest.approx(0.5 * (1 - comb(120, 8) / comb(128, 8)))


@pytest.mark.parametrize(
    "reach",
    [Reach(256, 8, 32, 32, groups=8, chosen=4), Reach(384, 8, 16, 64, 4), Reach(8, 2, 8, 8)],
)
def test_what_crosses_each_level_adds_up_to_all_rows(reach):
    domains = [1, 2, 8, reach.devices]
    crossing = [reach.rows(a) - reach.rows(b) for a, b in pairwise(domains)]
    assert all(rows >= -1e-12 for rows in crossing)
    assert sum(crossing) == pytest.approx(reach.rows(1))
    assert reach.rows(reach.devices) == 0


def test_the_exchange_of_a_prefill_by_hand():
    # 128 prompts of 4096 over 32 H100, 16,384 tokens a GPU, 58 layers: 2.357 rows between nodes,
    # out in fp8 with a scale of fp32 for 128, back in bf16, at 50 GB/s a GPU: 0.97 s.
    b = deepseek(dp=32, ep=32).bound(Step.prefill(128, 4096))
    hand = 16384 * 2.35714 * 7168 * (1 + 4 / 128 + 2) * 58 / 50e9
    assert hand == pytest.approx(0.974, abs=1e-3)
    assert b.communication_s == pytest.approx(hand, rel=1e-3)
    both = deepseek(dp=32, ep=32, dispatch="bf16").bound(Step.prefill(128, 4096))
    assert both.communication_s / b.communication_s == pytest.approx(4 / (3 + 1 / 32), rel=1e-3)
    back = deepseek(dp=32, ep=32, combine="fp8").bound(Step.prefill(128, 4096))
    assert back.communication_s < b.communication_s


# Input or output tokens a second that were published, with the set-up:
# SGLang, "Deploying DeepSeek with PD disaggregation and large-scale expert parallelism on 96
# H100 GPUs" (lmsys.org, 2025-05-05): prefill EP 32 on 4 nodes 50,302 a node at prompts of 4096;
# decode EP 72 on 9 nodes 22,282 a node at 2,000 in. DeepSeek: profile-data (GitHub), prefill
# EP 32, 4k prompts, 16k tokens a GPU on H800: 251,000 in all; open-infra-index, day 6: decode EP
# 144 on 18 nodes of H800, 14,800 a node at 4,989 tokens of context on average.
PUBLISHED = [
    ("h100-sxm", {"dp": 32, "ep": 32}, Step.prefill(128, 4096), 201_208),
    ("h800-sxm", {"dp": 32, "ep": 32}, Step.prefill(128, 4096), 251_000),
    ("h100-sxm", {"dp": 72, "ep": 72, "redundant": 32}, Step.decode(72 * 256, 2000), 9 * 22_282),
    ("h800-sxm", {"dp": 144, "ep": 144, "redundant": 32}, Step.decode(144 * 64, 4989), 18 * 14_800),
]


@pytest.mark.parametrize(("machine", "layout", "step", "measured"), PUBLISHED)
def test_no_published_deployment_beats_the_bound(machine, layout, step, measured):
    bound = deepseek(machine, **layout).bound(step)
    assert measured < bound.tokens_per_s < 6 * measured


def drawn(devices, tokens=20_000, seed=1):
    """Other domains of so many devices that DeepSeek-V3's router chooses for a token.

    256 scores drawn alike and independent; of 8 groups those 4 with the largest sum of their two
    best scores, of their experts the best 8 (modeling_deepseek.py, noaux_tc).
    """
    scores = np.random.default_rng(seed).random((tokens, 8, 32))
    best_two = np.sort(scores, axis=2)[:, :, -2:].sum(axis=2)
    chosen = np.argsort(best_two, axis=1)[:, -4:]
    kept = np.full_like(scores, -1)
    rows = np.arange(tokens)[:, None]
    kept[rows, chosen] = scores[rows, chosen]
    experts = np.argsort(kept.reshape(tokens, 256), axis=1)[:, -8:]
    domains = 32 // devices
    hit = np.zeros((tokens, domains), bool)
    hit[rows, experts // (256 // domains)] = True
    return hit.sum(axis=1).mean() * (domains - 1) / domains


@pytest.mark.parametrize("devices", [1, 2, 4, 8, 16])
def test_a_draw_of_tokens_goes_as_far(devices):
    reach = Reach(256, 8, 32, 32, groups=8, chosen=4)
    assert 0.92 * drawn(devices) < reach.rows(devices) < 1.02 * drawn(devices)


# DeepEP, kernels on H800, later on a faster Hopper, with one 400 Gb/s adapter a GPU (its README,
# 2026-06, and docs/legacy.md): machine, devices, GB/s. "Logical": a token's own node counted as
# if it were sent there, too. Each GPU sends 4096 or 8192 tokens of 7168, to 8 experts in 4 groups.
NORMAL = [("h800-sxm", 16, 43), ("h800-sxm", 32, 58), ("h800-sxm", 64, 51), ("h100-sxm", 16, 90),
          ("h100-sxm", 32, 61)]  # fmt: skip
# Low-latency kernels, 128 tokens a GPU, every expert's row sent by itself: devices, dispatch and
# combine in microseconds.
LOW_LATENCY = [(8, 77, 114), (16, 118, 195), (32, 155, 273), (64, 173, 314), (128, 192, 369),
               (256, 194, 360)]  # fmt: skip


@pytest.mark.parametrize(("machine", "devices", "logical"), NORMAL)
def test_no_published_kernel_beats_the_exchange(machine, devices, logical):
    reach = Reach(256, 8, devices, devices, groups=8, chosen=4)
    wire = Interconnect(load_machine(machine)).wire("all_to_all", devices, reach)
    row = 7168 * (1 + 4 / 128)
    measured = devices / 8 * reach.hit(8) * row / (logical * 1e9)  # seconds a token of a GPU
    bound = reach.rows(1) * row * wire.second_per_byte
    assert 0.4 * measured < bound < measured


@pytest.mark.parametrize(("devices", "dispatch", "combine"), LOW_LATENCY)
def test_no_low_latency_kernel_beats_the_exchange(devices, dispatch, combine):
    case = deepseek("h800-sxm", dp=devices, ep=devices)
    ops = {op.name: op for op in case.operators(Step.decode(128 * devices, 100)) if op.wire}
    for name, measured in (("dispatch", dispatch), ("combine", combine)):
        op = ops[f"all_to_all[{name}]"]
        assert op.seconds / op.count < measured * 1e-6


def test_what_crosses_which_level_is_said_and_data(capsys):
    line = (
        "explain deepseek-v3 --on h100-sxm --dp 32 --ep 32 --phase prefill --batch 128 --prompt 4k"
    )
    assert main([*line.split(), "--why", "--no-chart", "--lang", "en"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "once to 2.36 other domains of 8 devices" in text
    assert "7.39 kB a row there, 14.3 kB back" in text
    assert (
        "of its 8 of 256 experts, chosen from 4 of 8 groups: 6.39 at d = 1, 2.357 at d = 8" in text
    )
    assert "331 ms" in text
    assert main([*line.split(), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    wires = data["parallel"]["wires"]
    assert [wire["reach"]["row"] for wire in wires] == [7168 * (1 + 4 / 128), 7168 * 2]
    for wire in wires:
        device, node = wire["levels"]
        assert (device["leaves_domains_of"], node["leaves_domains_of"]) == (1, 8)
        assert (device["crosses"], device["bandwidth"]) == (pytest.approx(1), 500e9)
        assert node["rows_per_token"] == pytest.approx(3 * 55 / 70)
        assert node["crosses"] == pytest.approx(node["rows_per_token"] / device["rows_per_token"])
        assert wire["seconds_per_byte"] == node["seconds_per_byte"]


def test_copies_are_said(capsys):
    line = "explain deepseek-v3 --on h100-sxm --dp 72 --ep 72 --redundant-experts 32 --batch 72"
    assert main([*line.split(), "--no-chart", "--lang", "en"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "32 copies beside a layer's 256 experts: 4 places in each of 72 shares" in text


def test_copies_of_experts_have_places_of_their_own():
    case = deepseek(dp=72, ep=72, redundant=32)
    step = Step.decode(72, 2000)
    work = next(op for op in case.work.operators if op.kind == "experts")
    # 224 experts in one place, 32 in two, over 72 devices; each chosen by 8 of 256 x 72 tokens.
    single, double = 1 - (1 - 8 / 256) ** 72, 1 - (1 - 4 / 256) ** 72
    places = (224 * single + 64 * double) / 72
    one = 3 * 7168 * 2048 * (1 + 4 / (128 * 128))
    assert sum(c * q.value(step.groups) for q, c in work.weights) == pytest.approx(
        places * one, rel=1e-3
    )
    held = deepseek(dp=32, ep=32).work.resident - deepseek(dp=64, ep=64).work.resident
    assert held == pytest.approx(58 * 4 * one, rel=1e-3)  # 8 a device, and 4
    more = case.work.resident - deepseek(dp=64, ep=64).work.resident
    assert more == pytest.approx(0, abs=1e-3 * one)  # 288 / 72 = 256 / 64


def test_a_layout_that_needs_copies_says_how_many(capsys):
    line = "explain deepseek-v3 --on h100-sxm --dp 72 --ep 72 --batch 72"
    assert main(line.split()) == 2
    assert "--redundant-experts 32" in capsys.readouterr().err
    assert main([*line.split(), "--redundant-experts", "40"]) == 2
    assert "--redundant-experts 32" in capsys.readouterr().err
    assert main([*line.replace("72", "32").split(), "--redundant-experts", "33"]) == 2
    assert "--redundant-experts 32" in capsys.readouterr().err
    assert main([*line.split(), "--redundant-experts", "32", "--no-chart"]) == 0
    with pytest.raises(InputError, match="need ep"):
        Parallel(tp=8, redundant=8)
    with pytest.raises(InputError, match="dispatch is between replicas"):
        Parallel(tp=8, ep=8, dispatch="fp8")
    with pytest.raises(InputError, match="no format"):
        Parallel(dp=8, ep=8, dispatch="fp9")


def test_the_work_table_keeps_the_reach():
    work = deepseek(dp=32, ep=32).work
    assert Work.from_json(work.to_json()).operators == work.operators
