"""One judgement: routing, launches, series, layouts; text and JSON alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from roofline.bound.case import Case
from roofline.cli import main
from roofline.count.group import Group
from roofline.count.step import Step
from roofline.machine.load import load as load_machine
from roofline.model.load import load as load_model
from roofline.parallel import Parallel
from roofline.placing import judge, place
from roofline.placing.climb import climbs
from roofline.placing.judgement import BLOCK, judged, judgements
from roofline.points import Part, Point, Seconds
from roofline.say.placed import explain
from roofline.say.summary import text
from roofline.words import Words

EN = Words("en")


@pytest.fixture(scope="module")
def llama() -> Case:
    return Case(load_model("llama-3.1-8b"), load_machine("h100-sxm"))


@pytest.fixture(scope="module")
def gpt() -> Case:
    return Case(load_model("gpt-oss-120b"), load_machine("gb10"), weights="mxfp4")


def decode(batch: int, context: int, seconds: float, **more: Any) -> Point:
    fields: dict[str, Any] = {"engine": "e", "model": "m", **more}
    return Point(parts=(Part((Group(batch, 1, context - 1),)),), seconds=Seconds(seconds), **fields)


def said(items: list[Any]) -> str:
    return " ".join(text(items, EN, chart=False).split())


BATCHED = [
    {"pp": 512, "tg": 32, "pl": 1, "t_pp": 0.605, "t_tg": 0.559, "n_ubatch": 2048},
    {"pp": 512, "tg": 32, "pl": 32, "t_pp": 8.262, "t_tg": 3.276, "n_ubatch": 2048},
]


def test_a_measurement_says_how_many_experts_were_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bench.jsonl"
    path.write_text("\n".join(map(json.dumps, BATCHED)))
    line = ["place", str(path), *"--model gpt-oss-120b --weights mxfp4 --on gb10".split()]
    assert main([*line, "--json"]) == 0
    rows = [json.loads(row) for row in capsys.readouterr().out.splitlines()]
    prefill, decoded = rows[2], rows[3]
    assert prefill["share"] == pytest.approx(0.22, abs=0.01)  # 8 passes × 61.7 GB, not 32
    assert prefill["bound"]["overlapped_s"] == pytest.approx(8 * 61.7e9 / 273e9, rel=0.01)
    assert decoded["share"] == pytest.approx(1.45, abs=0.01)
    assert decoded["verdict"]["code"] == "routing"
    first = decoded["verdict"]["causes"][0]
    assert first["code"] == "routing"
    assert first["most"] == pytest.approx(27.95e9, rel=0.001)  # 102.4 ms × 273 GB/s
    assert first["read"] == pytest.approx(55, abs=1)
    assert first["touched"] == pytest.approx(81.7, abs=0.1)
    assert main([*line, "--lang", "en"]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "at most 27.9 GB can have been read, about 55.4 of 128 experts a layer" in words
    assert "where even routing touches 81.7" in words
    assert "ABOVE ITS ROOF" not in words


def test_fewer_experts_than_a_token_has_is_no_routing(gpt: Case) -> None:
    """The bound that no routing beats is k experts a layer for the whole batch."""
    least = place(decode(32, 512, 1.0), gpt).least_s
    expected = gpt.bound(Step.decode(32, 512))
    q, bytes_ = next(
        (q, op.count * c) for op in gpt.work.operators for q, c in op.weights if q.q == "touched"
    )
    k = expected.compulsory - bytes_ * (q.value((Group(32, 1, 511),)) - 4)
    assert least == pytest.approx(k / gpt.bandwidth)
    assert judge(place(decode(32, 512, 1.05 * least), gpt)).code == "routing"
    beyond = judge(place(decode(32, 512, 0.9 * least), gpt))
    assert beyond.code == "suspect"
    assert "routing" not in [cause.code for cause in beyond.causes]


def test_an_expectation_is_said_where_it_decides(gpt: Case, llama: Case) -> None:
    bound = gpt.bound(Step.decode(32, 512)).overlapped_s
    facts = [fact.code for fact in judge(place(decode(32, 512, bound / 0.9), gpt)).facts]
    assert facts == ["expected"]
    alone = gpt.bound(Step.decode(1, 512)).overlapped_s  # one token: k experts, whatever they are
    assert not judge(place(decode(1, 512, alone / 0.9), gpt)).facts
    assert not judge(place(decode(32, 512, 1.0), llama)).facts


def test_a_roof_of_communication_that_is_beaten_names_it() -> None:
    case = Case(
        load_model("llama-3.1-8b"),
        load_machine("h100-sxm"),
        parallel=Parallel(tp=8),
        link=5e9,
        latency=5e-6,
    )
    bound = case.bound(Step.decode(256, 512))
    assert bound.communication_bound
    point = decode(256, 512, bound.overlapped_s / 1.5, devices=8)
    gap = judge(place(point, case))
    assert gap.code == "suspect"
    assert gap.causes[0].code == "communication"
    assert gap.causes[0].values["share"] < 1


def test_an_assumed_launch_that_the_step_refutes_is_dropped(llama: Case) -> None:
    bound = llama.bound(Step.decode(1, 512)).overlapped_s
    placed = place(decode(1, 512, 1.6 * bound), llama)  # 2.9 ms are left for 452 kernels
    assert judge(placed).fixed_is == "assumed"
    small = Case(load_model("qwen3-0.6b"), load_machine("h100-sxm"))
    step = small.bound(Step.decode(1, 128)).overlapped_s + 0.5e-3
    quick = judge(place(decode(1, 128, step), small))
    assert quick.code == "kernel"
    assert (quick.fixed_s, quick.fixed_is) == (None, "refuted")
    fact = next(fact for fact in quick.facts if fact.code == "launch.refuted")
    assert fact.values["together"] > 0.5e-3
    words = " ".join(x for _, x in explain(place(decode(1, 128, step), small), quick, EN))
    assert "the assumption is dropped" in words


def test_another_step_of_the_engine_refutes_it_too() -> None:
    small = Case(load_model("qwen3-0.6b"), load_machine("h100-sxm"))
    bound = small.bound(Step.decode(1, 128)).overlapped_s
    slow = place(decode(1, 128, bound + 2e-3), small)
    assert judge(slow).code == "overhead"
    quick = place(decode(2, 128, small.bound(Step.decode(2, 128)).overlapped_s + 0.4e-3), small)
    together = judged([slow, quick])
    assert [gap.fixed_is for _, gap in together] == ["refuted", "refuted"]
    assert together[0][1].code == "kernel"


def test_json_and_text_judge_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], llama: Case
) -> None:
    """Three steps on a line show a fixed time that one of them alone does not."""
    path = tmp_path / "points.jsonl"
    points = []
    for batch in (1, 64, 256):
        bound = llama.bound(Step.decode(batch, 4096)).overlapped_s
        points.append(decode(batch, 4096, 0.010 + 1.1 * bound, model="llama-3.1-8b"))
    path.write_text("\n".join(json.dumps(point.to_json()) for point in points))
    line = ["place", str(path), "--weights", "bf16", "--on", "h100-sxm"]
    assert main([*line, "--json"]) == 0
    rows = [json.loads(row) for row in capsys.readouterr().out.splitlines()]
    verdicts = [row["verdict"] for row in rows]
    assert verdicts[0]["fixed_is"] == "fitted"
    assert verdicts[0]["fixed_s"] == pytest.approx(0.010, rel=0.02)
    items = [place(point, llama) for point in points]
    assert [gap.to_json() for _, gap in judged(items)] == verdicts
    assert main([*line, "--lang", "en"]) == 0
    assert "overhead: 10 ms of every step" in " ".join(capsys.readouterr().out.split())


def test_any_number_of_points_is_judged_in_blocks(llama: Case) -> None:
    one = place(decode(1, 512, 0.01), llama)
    found = list(judgements(one for _ in range(BLOCK + 3)))
    assert len(found) == BLOCK + 3


def test_two_points_give_a_fixed_part_and_one_a_sequence(llama: Case) -> None:
    items = [place(decode(b, 512, 12.2e-3 + b * 4.1e-3), llama) for b in (1, 8)]
    assert "A step takes 12.2 ms + 4.1 ms a sequence (a line through 2 batches)" in said(items)
    for _, gap in judged(items):
        line = next(fact for fact in gap.facts if fact.code == "series.line")
        assert line.values["fixed_s"] == pytest.approx(12.2e-3)
        assert line.values["each_s"] == pytest.approx(4.1e-3)
    bent = [place(decode(b, 512, s), llama) for b, s in ((1, 0.02), (2, 0.02), (8, 0.3), (9, 0.4))]
    assert "a sequence (a line" not in said(bent)


def test_a_rate_that_falls_is_flagged(llama: Case) -> None:
    items = [place(decode(b, 512, b / rate), llama) for b, rate in ((1, 30), (8, 22))]
    (climbed,) = climbs(items)
    assert climbed.falls == (items[0], items[1])
    assert "At batch 8 the rate is 22 tokens/s, where batch 1 gave 30" in said(items)
    fact = next(f for f in judged(items)[1][1].facts if f.code == "series.falls")
    assert (fact.values["batch"], fact.values["before_tokens_per_s"]) == (8, pytest.approx(30))


def test_a_rate_that_outgrows_the_batch_is_flagged(llama: Case) -> None:
    items = [place(decode(b, 512, b / rate), llama) for b, rate in ((1, 30), (4, 30 * 4.19))]
    assert "4.19× the tokens at 4× the batch is more than a batch can give" in said(items)
    assert any(f.code == "series.superlinear" for f in judged(items)[1][1].facts)
    even = [place(decode(b, 512, b / rate), llama) for b, rate in ((1, 30), (4, 119))]
    assert climbs(even)[0].superlinear is None


def test_a_knee_where_memory_is_full_is_not_the_kernels(llama: Case) -> None:
    fits = llama.fit(Step.decode(1, 2048)).max_batch
    assert fits is not None and 200 < fits < 256
    rates = ((64, 2000), (128, 3600), (256, 3700), (512, 3750))
    (climbed,) = climbs([place(decode(b, 2048, b / r), llama) for b, r in rates])
    assert climbed.flat_from == 128
    assert climbed.against == "capacity"
    items = [place(decode(b, 2048, b / r), llama) for b, r in rates]
    assert f"Memory holds {fits} sequences" in said(items)
    assert "kernels, not to the hardware" not in said(items)
    early = ((8, 300), (16, 320), (32, 330))
    (climbed,) = climbs([place(decode(b, 2048, b / r), llama) for b, r in early])
    assert climbed.against == "engine"


def test_stages_read_their_own_part_and_hand_on() -> None:
    case = Case(
        load_model("deepseek-r1"),
        load_machine("rtx-3090"),
        weights="3.656bits",
        parallel=Parallel(pp=16, microbatches=1),
        link=16e9,
    )
    placed = place(decode(1, 64, 1 / 17.24, devices=16), case)
    assert placed.stage is not None
    assert placed.stage.weights == pytest.approx(placed.weights / 16)
    assert placed.stage.weights == pytest.approx(1.1e9, rel=0.08)
    words = " ".join(sentence for _, sentence in explain(placed, judge(placed), EN))
    assert "each of the 16 stages reads about 1.05 GB" in words
    assert "all-reduce" not in words
    assert "hands on" in words


def test_words_fit_the_case(llama: Case) -> None:
    step = Step.prefill(1, 4096)
    slow = Point(
        parts=(Part(step.groups),), seconds=Seconds(3 * llama.bound(step).overlapped_s),
        phase="prefill",
    )  # fmt: skip
    placed = place(slow, llama)
    words = " ".join(sentence for _, sentence in explain(placed, judge(placed), EN))
    assert "reads reach" not in words
    assert "the best matrix products reach" in words
    placed = place(decode(4, 512, 0.02), llama)
    words = " ".join(sentence for _, sentence in explain(placed, judge(placed), EN))
    assert "at batch 4 it must stream" in words
    assert "at batch 1 " not in words


def test_a_sum_of_tokens_that_explains_too_much_is_no_explanation(llama: Case) -> None:
    bound = llama.bound(Step.decode(1, 3078)).overlapped_s
    part = Part((Group(1, 1, 3078),), 2)
    point = Point(parts=(part,), seconds=Seconds(2 * bound / 1.5), basis="token", engine="e")
    codes = {c.code: c.values for c in judge(place(point, llama)).causes}
    assert codes.get("tokens", {}).get("factor", 0) < 100
