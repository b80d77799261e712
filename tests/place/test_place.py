"""Placing: shares that follow from the work, verdicts that follow from the share."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from roofline.bound.case import Case
from roofline.cli import main
from roofline.count.group import Group
from roofline.count.step import Step
from roofline.errors import InputError
from roofline.machine.load import load as load_machine
from roofline.machine.machine import Ceilings, Figure, Machine
from roofline.model.load import load as load_model
from roofline.parallel import Parallel
from roofline.placing import judge, place
from roofline.placing.climb import climbs
from roofline.placing.gap import fixed_time
from roofline.placing.judgement import judged
from roofline.placing.resolve import Resolver, short_config, shortened
from roofline.points import MeasuredRoof, Part, Point, PointsWriter, Seconds
from roofline.record import replace
from roofline.say.summary import text
from roofline.units import parse_quantity
from roofline.words import Words

SAMPLES = Path(__file__).parent.parent / "results" / "samples"


@pytest.fixture(scope="module")
def case() -> Case:
    return Case(load_model("llama-3.1-8b"), load_machine("h100-sxm"))


def decode(batch: int, context: int, seconds: float, **more: object) -> Point:
    part = Part((Group(batch, 1, context - 1),))
    fields = {"engine": "e", "model": "llama-3.1-8b", "weights": "bf16", **more}
    return Point(parts=(part,), seconds=Seconds(seconds), **fields)  # type: ignore[arg-type]


def test_a_point_at_its_bound_has_share_one(case: Case) -> None:
    bound = case.bound(Step.decode(16, 2048))
    placed = place(decode(16, 2048, bound.overlapped_s), case)
    assert placed.share == pytest.approx(1)
    assert placed.intensity == pytest.approx(bound.intensity)
    assert placed.traffic == pytest.approx(case.bandwidth)
    assert judge(placed).code == "memory:weights"


def test_growing_decode_is_the_sum_of_its_steps(case: Case) -> None:
    for name in ("llama-3.1-8b", "gemma-3-27b", "gpt-oss-120b"):
        one = Case(load_model(name), load_machine("h100-sxm"))
        past, count = 900, 300
        whole = [one.bound(Step.decode(2, past + 1 + i)) for i in range(count)]
        point = Point(parts=(Part((Group(2, 1, past),), count, True),), seconds=Seconds(1))
        placed = place(point, one)
        assert placed.bytes == pytest.approx(sum(b.compulsory for b in whole), rel=1e-3)
        assert placed.flops == pytest.approx(sum(b.flops for b in whole), rel=1e-3)
        if name == "llama-3.1-8b":  # without windows the line is exact
            assert placed.bytes == pytest.approx(sum(b.compulsory for b in whole), rel=1e-12)


# Llama-3.1-8B, from its published shape: what one of tp devices reads of weights and cache.
H, LAYERS, HEADS, KV, D, MIDDLE, VOCAB = 4096, 32, 32, 8, 128, 14336, 128256


@pytest.mark.parametrize("tp", [2, 4, 8, 16])
def test_each_device_has_its_own_share_and_sends_the_rest(case: Case, tp: int) -> None:
    batch, context = 8, 1024
    placed = place(decode(batch, context, 0.01, devices=tp), case)
    heads = max(1, KV // tp)  # eight heads over sixteen devices are kept twice
    matrices = H * HEADS // tp * D * 2 + H * heads * D * 2 + 3 * H * MIDDLE // tp
    assert placed.weights == 2 * (LAYERS * matrices + H * VOCAB // tp)
    # all of the context is read, and what is new written
    assert placed.kv == batch * (context + 1) * LAYERS * 2 * heads * D * 2
    assert placed.bandwidth == case.bandwidth
    assert placed.memory_s == pytest.approx(placed.bytes / case.bandwidth)
    # Megatron: two all-reduces a layer and one after the table; the logits gathered
    assert placed.messages == 2 * LAYERS + 2
    row = batch * H * 2
    sums = (2 * LAYERS + 1) * 2 * (tp - 1) / tp * row
    assert placed.sent == pytest.approx(sums + (tp - 1) / tp * VOCAB * 2 * batch)
    assert placed.share == pytest.approx(placed.overlapped_s / 0.01)
    assert placed.point.tokens_per_s == pytest.approx(batch / 0.01)  # of all together


def test_replicated_heads_hold_a_score_to_the_truth() -> None:
    """Evenly shared, 70B at 64 × 16k on 16 H100 would look half as far as it is."""
    one = Case(load_model("llama-3.1-70b"), load_machine("h100-sxm"))
    cache = 64 * (16384 + 1) * 80 * 2 * 128 * 2  # one head on each device, of eight on sixteen
    placed = place(decode(64, 16384, 64 / 3800, devices=16), one)
    assert placed.kv == cache
    assert placed.share == pytest.approx(0.92, abs=0.01)
    assert judge(placed).code == "memory:kv"
    even = place(decode(64, 16384, 64 / 3800), one).share / 16
    assert even == pytest.approx(0.54, abs=0.01)


def test_the_layout_that_was_said_is_the_one_that_counts() -> None:
    one = Case(load_model("deepseek-v3"), load_machine("h200-sxm"), weights="fp8")
    wide = decode(256, 4096, 0.05, devices=8)
    layout = Parallel(dp=8, ep=8)
    apart = place(replace(wide, layout=layout), one)
    # one latent of 576 a layer for all heads: every tensor-parallel device keeps all of it
    assert place(wide, one).kv == pytest.approx(8 * apart.kv)
    resolver = Resolver(machine="h200-sxm", layout=layout)
    point, case = resolver.case(replace(wide, devices=1, model="deepseek-v3", weights="fp8"))
    assert (point.devices, case.parallel) == (8, layout)
    with pytest.raises(InputError, match="it ran on 4 devices, and dp 8 ep 8 is 8"):
        resolver.case(replace(wide, devices=4, model="deepseek-v3"))


def test_two_v100_are_held_by_their_messages(capsys: pytest.CaptureFixture[str]) -> None:
    """29 tokens/s on one, 17 on two: 64 all-reduces of half a millisecond (gpt-fast 111)."""
    line = "place --model llama-2-7b --weights fp16 --on v100-pcie-16gb --context 512 --devices 2 "
    assert main([*line.split(), "--tokens-per-s", "17", "--link-latency", "0.5ms", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["layout"] == "tp 2"
    assert data["bound"]["communication_s"] == pytest.approx(33e-3, rel=0.01)
    assert data["share"] == pytest.approx(33e-3 * 17, rel=0.01)
    assert main([*line.split(), "--tokens-per-s", "28", "--link-latency", "0.5ms"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "talking between the devices is what takes longest" in said
    assert "at the wall: talking between the devices takes the time" in said


def test_a_model_that_does_not_divide_is_refused_with_what_would(
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = "place --model llama-3.1-8b --weights bf16 --on h100-sxm --tokens-per-s 100 "
    assert main([*line.split(), "--devices", "3"]) == 2
    assert "32 query heads do not divide by 3" in capsys.readouterr().err
    assert main([*line.split(), "--devices", "4", "--tp", "2"]) == 2
    assert "--devices 4, but tp 2 is 2 devices" in capsys.readouterr().err
    assert main([*line.split(), "--pp", "3", "--microbatches", "1", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)  # layer by layer: no faster than one device
    one = Case(load_model("llama-3.1-8b"), load_machine("h100-sxm")).bound(Step.decode(1, 1))
    assert data["bound"]["overlapped_s"] == pytest.approx(one.overlapped_s, rel=1e-3)


@pytest.mark.parametrize(
    ("share", "code"), [(0.95, "memory:weights"), (0.2, "kernel"), (1.2, "suspect")]
)
def test_verdicts_by_share(case: Case, share: float, code: str) -> None:
    bound = case.bound(Step.decode(1, 2048))
    assert judge(place(decode(1, 2048, bound.overlapped_s / share), case)).code == code


def test_the_codes_name_the_ceiling_that_binds(case: Case) -> None:
    deep = case.bound(Step.decode(256, 8192))
    assert judge(place(decode(256, 8192, deep.overlapped_s), case)).code == "memory:kv"
    step = Step.prefill(1, 4096)
    point = Point(
        parts=(Part(step.groups),), seconds=Seconds(case.bound(step).overlapped_s), phase="prefill"
    )
    assert judge(place(point, case)).code == "compute"


def test_a_line_through_the_points_finds_the_fixed_time(case: Case) -> None:
    points = []
    for batch in (1, 8, 64, 256):
        bound = case.bound(Step.decode(batch, 4096)).overlapped_s
        points.append(place(decode(batch, 4096, 0.010 + 1.1 * bound), case))
    fixed = fixed_time(points)
    assert fixed == pytest.approx(0.010, rel=0.02)
    assert judge(points[0], fixed).code == "overhead"
    assert judge(points[0], fixed).fixed_is == "fitted"
    assert fixed_time(points[:2]) is None


def test_launches_alone_can_explain_a_small_model() -> None:
    case = Case(load_model("qwen3-0.6b"), load_machine("h100-sxm"))
    bound = case.bound(Step.decode(1, 128)).overlapped_s
    gap = judge(place(decode(1, 128, bound + 1.5e-3), case))
    assert gap.code == "overhead"
    assert gap.fixed_is == "assumed"
    assert [cause.code for cause in gap.causes][:2] == ["launch", "host"]


def test_a_measured_roof_may_be_touched_within_its_spread() -> None:
    machine = Machine(
        id="x",
        name="x",
        kind="cpu",
        measured=Ceilings(
            {"memory": Figure(3e10, "measured", spread=0.03)}, {"bf16": Figure(1e12)}
        ),
    )
    case = Case(load_model("llama-3.2-1b"), machine)
    bound = case.bound(Step.decode(1, 64)).overlapped_s
    assert judge(place(decode(1, 64, bound / 1.05), case)).code == "memory:weights"
    assert judge(place(decode(1, 64, bound / 1.08), case)).code == "suspect"


def test_a_suspect_names_what_would_explain_it(case: Case) -> None:
    bound = case.bound(Step.decode(1, 512)).overlapped_s
    codes = [c.code for c in judge(place(decode(1, 512, bound / 1.9), case)).causes]
    # H200 and friends do not reach 1.9×, fp8 weights and two devices do.
    assert codes[0] == "precision"
    assert {"devices", "tokens", "speculation", "batch"} <= set(codes)
    far = judge(place(decode(1, 512, bound / 1000), case))
    assert far.code == "suspect"
    step = Step.prefill(1, 4096)
    fast = Point(
        parts=(Part(step.groups),),
        seconds=Seconds(case.bound(step).overlapped_s / 1.8),
        phase="prefill",
    )
    codes = [c.code for c in judge(place(fast, case)).causes]
    assert "sparsity" in codes and "prefix" in codes


def test_the_climb_says_where_it_ends(case: Case) -> None:
    # An engine whose step takes 10 ms up to batch 8, then grows with the batch.
    points = [place(decode(b, 64, 0.010 * max(1.0, b / 8)), case) for b in (1, 2, 4, 8, 16, 32)]
    (climbed,) = climbs(points)
    assert climbed.gain == pytest.approx(8)
    assert climbed.full_until == 8
    assert climbed.flat_from == 8
    assert climbed.against == "engine"
    prefill = Point(
        parts=(Part((Group(1, 512, 0),)),),
        seconds=Seconds(0.010 * 512 / 8),
        phase="prefill",
        engine="e",
        model="llama-3.1-8b",
        weights="bf16",
    )
    (climbed,) = climbs([*points, place(prefill, case)])
    assert climbed.against == "prefill"


def test_what_is_missing_is_asked_for_by_option() -> None:
    with pytest.raises(InputError, match="--model --weights --on"):
        Resolver().case(replace(decode(1, 8, 1), model=None, weights=None))
    with pytest.raises(InputError, match=r"'some-model' is none known.*give --model"):
        Resolver(machine="h100-sxm").case(decode(1, 8, 1, model="some-model"))
    known = Resolver(model="qwen3-8b", machine="a10")
    point, case = known.case(decode(1, 8, 1, model="some-model"))
    assert case.model.name == "Qwen3-8B"
    assert point.model == "some-model"


def test_names_in_files_lose_path_and_quantisation() -> None:
    point = decode(1, 8, 1, model="/m/Llama-3.1-8B-Instruct-Q4_K_M-00001-of-00002.gguf")
    _, case = Resolver(machine="rtx-4090", weights="q4_k_m").case(point)
    assert case.model.name == "Llama-3.1-8B"


def test_a_point_with_its_own_roof_needs_no_machine() -> None:
    own = decode(
        1, 8, 1, model="llama-3.2-1b", roof=MeasuredRoof(3e10, {"bf16": 1e12}), machine="laptop"
    )
    _, case = Resolver().case(own)
    assert case.bandwidth == 3e10
    assert case.roof.bandwidth.kind == "measured"
    _, case = Resolver(machine="m2", ceilings="datasheet").case(own)
    assert case.machine.id == "m2"


def test_a_shortened_model_is_what_the_engine_ran() -> None:
    full, cut = load_model("llama-3.1-8b"), shortened("llama-3.1-8b", 4)
    assert cut.depth == 4
    one = (full.parameters - cut.parameters) / 28
    assert cut.parameters == full.parameters - 28 * one
    gemma = shortened("gemma-3-27b", 6)
    assert gemma.depth == 6
    with pytest.raises(InputError, match="has 32 layers, not 33"):
        short_config("llama-3.1-8b", 33)


def test_every_sample_can_be_placed_and_said_in_both_languages(
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = "--weights bf16 --on h100-sxm --batch 4 --prompt 64 --output 32"
    for name in sorted(os.listdir(SAMPLES)):
        spread = name == "inferencex.json"  # its experts are spread: a model without is no answer
        options = f"{given} --model {'deepseek-v3' if spread else 'llama-3.1-8b'}"
        for language in ("en", "zh"):
            line = ["place", str(SAMPLES / name), *options.split(), "--lang", language]
            assert main(line) == 0, name
            said = capsys.readouterr().out
            assert "{" not in said and len(said) > 200
        assert main(["place", str(SAMPLES / name), *options.split(), "--json"]) == 0
        for row in capsys.readouterr().out.splitlines():
            data = json.loads(row)
            assert data["schema"] == "roofline.placed/1"
            assert data["verdict"]["code"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("", "give a result file, or type a result in"),
        ("--tokens-per-s 5", "give also --model --weights --on"),
        ("--model llama-2-7b --weights bf16 --on a10 --tokens-per-s 5 --seconds 1s", "one of them"),
        ("--model llama-2-7b --weights bf16 --on a10 --tokens-per-s -5", "--tokens-per-s must be"),
        ("x.json --tokens-per-s 5", "give files, or a result typed in"),
        ("nothere.json", "No such file"),
        ("--achieved 5GB", "--achieved must be a quantity"),
        ("--achieved 5GB/s", "give the memory's ceiling"),
        ("--roof 100", "give --tokens-per-s"),
        ("--phase prefill --model llama-2-7b --weights bf16 --on a10 --seconds 1s", "--prompt"),
    ],
)
def test_a_wrong_question_is_one_sentence(
    capsys: pytest.CaptureFixture[str], line: str, says: str
) -> None:
    try:
        code = main(["place", *line.split()])
    except SystemExit as stopped:  # argparse takes -5 for an option
        assert stopped.code == 2
        return
    said = capsys.readouterr().err
    assert code == 2
    assert says in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("35.5GB", "B", 35.5e9),
        ("2GiB", "B", 2 * 2**30),
        ("3.35 TB/s", "B/s", 3.35e12),
        ("3.35T", "B/s", 3.35e12),
        ("312TFLOP/s", "FLOP/s", 312e12),
        ("312TFLOPS/s", "FLOP/s", 312e12),
        ("45ms", "s", 0.045),
        ("1.5s", "s", 1.5),
        ("12µs", "s", 12e-6),
        ("65", "tokens/s", 65),
        ("1e3", "tokens/s", 1000),
    ],
)
def test_quantities(text: str, unit: str, value: float) -> None:
    assert parse_quantity(text, unit, "--x") == pytest.approx(value)


NO_QUANTITIES = [
    *[("", "B"), ("5GB/s", "B"), ("5GB", "B/s"), ("5mB", "B"), ("0s", "s"), ("5mi", "s")],
    *[("nan", "s"), ("1e99", "B"), ("5 apples", "B"), ("5Gs", "s")],
]


@pytest.mark.parametrize(("text", "unit"), NO_QUANTITIES)
def test_no_quantities(text: str, unit: str) -> None:
    with pytest.raises(InputError, match="--x must be a quantity"):
        parse_quantity(text, unit, "--x")


def test_own_points_go_through(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "points.jsonl")
    roof = MeasuredRoof(3e10, {"bf16": 1e12}, {}, 0.02)
    with PointsWriter(path) as writer:
        for batch in (1, 2, 4):
            writer.add(decode(batch, 33, 0.15, model="llama-3.2-1b", roof=roof, machine="box"))
    assert main(["place", path, "--lang", "en"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "box (measured)" in said
    assert "The ×N climb holds all the way." in said


def test_text_of_many_points_stays_readable(case: Case) -> None:
    points = [place(decode(1, 64 + i, 0.02), case) for i in range(100)]
    said = text(points, Words("en"))
    assert "… and 60 more" in said
    assert len(judged(points)) == 100
