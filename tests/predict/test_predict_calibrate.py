"""Calibration: a few own points beat the public profile, none change nothing."""

from __future__ import annotations

import csv
import json
import math
import os
from pathlib import Path

import numpy as np
import pytest

from roofline.bound.case import Case
from roofline.cli import main
from roofline.count.step import Step
from roofline.errors import InputError
from roofline.machine.load import load as load_machine
from roofline.model.load import load as load_model
from roofline.predicting import Predictor, load_profile
from roofline.predicting.calibrate import Calibration, CalibrationPoint, calibrate, growing
from roofline.predicting.profile import Profile, from_file

PUBLIC = load_profile("vllm")
CASE = Case(load_model("qwen3-8b"), load_machine("rtx-4090"), weights="int4")
SHAPES = [(1, 512), (4, 512), (16, 2048), (64, 1024), (128, 512), (2, 8192)]


def other(seed: int) -> Profile:
    """Somebody's machine: other floors, other fractions reached."""
    rng = np.random.default_rng(seed)
    values = Predictor(CASE, PUBLIC).resolved.values
    changed = {
        "step.floor": values["step.floor"] * 10 ** rng.uniform(0.3, 1.2),
        "layer.floor": values["layer.floor"] * rng.uniform(0.3, 3),
        "linear.bandwidth": values["linear.bandwidth"] * rng.uniform(0.6, 0.95),
        "linear.compute": values["linear.compute"] * rng.uniform(0.5, 0.9),
    }
    return PUBLIC.with_values(changed, "served", id="truth")


def points(
    truth: Profile, shapes: list[tuple[int, int]], noise: float = 0.02
) -> list[CalibrationPoint]:
    rng = np.random.default_rng(5)
    true, public = Predictor(CASE, truth), Predictor(CASE, PUBLIC)
    found = []
    for batch, context in shapes:
        step = Step.decode(batch, context)
        seconds = true.step(step).total * math.exp(noise * rng.standard_normal())
        found.append(CalibrationPoint(public, ((step, 1.0),), seconds))
    return found


def error(profile: Profile, truth: Profile) -> float:
    """On steps that no calibration saw."""
    true, own = Predictor(CASE, truth), Predictor(CASE, profile)
    steps = [Step.decode(b, c) for b in (1, 8, 32, 100) for c in (300, 3000)]
    return float(np.median([abs(own.step(s).total / true.step(s).total - 1) for s in steps]))


@pytest.mark.parametrize("seed", range(6))
def test_three_points_beat_the_public_profile(seed: int) -> None:
    truth = other(seed)
    found = calibrate(points(truth, SHAPES[:3]), PUBLIC)
    assert found.points == 3 and found.after is not None
    assert error(found.profile, truth) < error(PUBLIC, truth)


@pytest.mark.parametrize("seed", range(3))
def test_more_points_come_nearer(seed: int) -> None:
    truth = other(seed)
    found = calibrate(points(truth, SHAPES), PUBLIC)
    assert found.after is not None and found.after < found.before
    assert error(found.profile, truth) < 0.06
    assert found.moved


def test_points_that_the_public_profile_predicts_move_nothing_much() -> None:
    found = calibrate(points(PUBLIC, SHAPES, noise=0.001), PUBLIC)
    assert found.before < 0.01
    for name, (public, own) in found.moved.items():
        assert math.isclose(public, own, rel_tol=0.3), name


def test_one_point_already_moves_the_prediction_towards_it() -> None:
    truth = other(1)
    one = points(truth, SHAPES[:1], noise=0)
    found = calibrate(one, PUBLIC)
    step = one[0].steps[0][0]
    before = abs(Predictor(CASE, PUBLIC).step(step).total / one[0].seconds - 1)
    after = abs(Predictor(CASE, found.profile).step(step).total / one[0].seconds - 1)
    assert after < before / 2 and found.after is None


def test_a_calibrated_profile_is_saved_and_knows_what_it_saw(tmp_path: Path) -> None:
    from roofline.predicting.profile import save
    from roofline.predicting.similar import likeness

    found: Calibration = calibrate(points(other(2), SHAPES), PUBLIC, "desk")
    save(found.profile, str(tmp_path / "desk.json"))
    back = from_file(str(tmp_path / "desk.json"))
    assert back == found.profile and back.extends == "vllm" and back.id == "desk"
    like = likeness(Predictor(CASE, back), 16)
    assert like.kind == "seen" and like.rows == len(SHAPES)


def test_without_points_the_profile_is_the_public_one() -> None:
    found = calibrate([], PUBLIC, "mine")
    assert (found.points, found.before, found.after, found.moved) == (0, None, None, {})
    step = Step.decode(8, 1000)
    own, public = Predictor(CASE, found.profile), Predictor(CASE, PUBLIC)
    assert own.step(step) == public.step(step)


def test_no_time_is_refused() -> None:
    bad = CalibrationPoint(Predictor(CASE, PUBLIC), ((Step.decode(1, 10), 1.0),), 0.0)
    with pytest.raises(InputError, match="longer than 0"):
        calibrate([bad], PUBLIC)


def test_growing_steps_are_summed_like_each_of_them() -> None:
    p = Predictor(CASE, PUBLIC)
    few = growing(Step.decode(4, 1000), 400)
    short = sum(often * p.step(step).total for step, often in few)
    long = sum(p.step(Step.decode(4, 1000 + i)).total for i in range(400))
    assert math.isclose(short, long, rel_tol=1e-3)
    assert growing(Step.decode(1, 5), 2) == ((Step.decode(1, 5), 2),)


def test_the_verb_calibrates_and_predicts_with_the_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    truth = Predictor(CASE, other(4))
    lines = []
    for batch, context in SHAPES:
        seconds = truth.step(Step.decode(batch, context)).total
        group = {"batch": batch, "new_tokens": 1, "past": context - 1}
        lines.append(
            {
                "schema": "roofline.points/1",
                "phase": "decode",
                "parts": [{"groups": [group], "count": 1}],
                "seconds": {"median": seconds},
                "model": "qwen3-8b",
                "weights": "int4",
                "machine": "rtx-4090",
            }
        )
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(x) + "\n" for x in lines))
    out = tmp_path / "desk.json"
    for language in ("en", "zh"):
        code = main(["calibrate", str(path), "-o", str(out), "--lang", language])
        text = capsys.readouterr()
        assert code == 0, text.err
        assert "step.floor" in text.out and "{" not in text.out
        assert text.out.count("%)") == 2 * len(SHAPES)  # each point left out
    assert main(["calibrate", str(path), "-o", str(out), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["mean_error_left_out"] < data["mean_error_before"]
    assert len(data["left_out"]) == len(SHAPES) and not data["kept_public"]
    asked = ["predict", "qwen3-8b", "--on", "rtx-4090", "--weights", "int4", "--batch", "4"]
    assert main([*asked, "--context", "512", "--engine", str(out), "--json"]) == 0
    step = json.loads(capsys.readouterr().out)["times"]["step"]
    assert math.isclose(step["value"], lines[1]["seconds"]["median"], rel_tol=0.1)  # type: ignore[index]
    folder = tmp_path / "folder"
    folder.mkdir()
    assert main(["calibrate", str(path), "-o", str(folder)]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_points_that_cannot_be_used_fall_back_and_say_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {
        "schema": "roofline.points/1", "phase": "decode", "basis": "first",
        "parts": [{"groups": [{"batch": 1, "new_tokens": 1, "past": 9}], "count": 1}],
        "seconds": {"median": 1.0}, "model": "qwen3-8b", "machine": "rtx-4090", "weights": "int4",
    }  # fmt: skip
    path, out = tmp_path / "mine.jsonl", tmp_path / "desk.json"
    path.write_text(json.dumps(row) + "\n")
    assert main(["calibrate", str(path), "-o", str(out), "--lang", "en"]) == 0
    told = capsys.readouterr().out
    assert "No points" in told and "they list: 1" in told
    assert from_file(str(out)).extends == "vllm"


# ------------------------------------------------------------------ real measurements

BENCH = os.path.join(
    os.path.dirname(__file__), "..", "..", "..", "shared", "validation", "llm_inference_bench.csv"
)
MODELS = {
    "meta-llama/Llama-2-7b-hf": "llama-2-7b",
    "meta-llama/Meta-Llama-3-8B": "llama-3-8b",
    "mistralai/Mistral-7B-v0.1": "mistral-7b-v0.1",
}
THREE = [(1, 256), (16, 256), (32, 256)]
BENCHES = [
    ("Nvidia A100 GPU", "a100-40gb-sxm", "vLLM"),
    ("Nvidia A100 GPU", "a100-40gb-sxm", "TensorRT-LLM"),
    ("Nvidia H100 GPU", "h100-sxm", "vLLM"),
    ("Nvidia H100 GPU", "h100-sxm", "TensorRT-LLM"),
    ("AMD MI250 GPU", "mi250", "vLLM"),
    ("AMD MI300X GPU", "mi300x", "vLLM"),
]


def whole_run(row: dict[str, str], machine: str, profile: Profile) -> CalibrationPoint:
    case = Case(load_model(MODELS[row["model"]]), load_machine(machine), weights="fp16", kv="fp16")
    batch, length = int(row["batch"]), int(row["io_len"])
    decode = growing(Step.decode(batch, length + 1), length - 1)
    steps = ((Step.prefill(batch, length), 1.0), *decode)
    return CalibrationPoint(Predictor(case, profile), steps, float(row["e2e_latency_s"]))


@pytest.mark.slow
@pytest.mark.skipif(not os.path.isfile(BENCH), reason="needs ../shared/validation")
def test_three_real_points_are_better_on_all_others_of_six_machines() -> None:
    """Three points of one model against every other run of the machine, of three models."""
    with open(BENCH, encoding="utf-8", newline="") as file:
        rows = [
            r for r in csv.DictReader(file)
            if r["n_gpu"] == "1" and not r["kv_cache_dtype"] and r["model"] in MODELS
            and int(r["batch"]) * 2 * int(r["io_len"]) < 30_000  # fits: nothing waits
        ]  # fmt: skip

    def off(profile: Profile, held: list[CalibrationPoint]) -> float:
        errors = []
        for p in held:
            own = Predictor(p.predictor.case, profile)
            errors.append(abs(sum(n * own.step(s).total for s, n in p.steps) / p.seconds - 1))
        return float(np.median(errors))

    gains = []
    for hardware, machine, engine in BENCHES:
        public = load_profile({"vLLM": "vllm", "TensorRT-LLM": "trtllm"}[engine])
        mine = [r for r in rows if (r["hardware"], r["engine"]) == (hardware, engine)]
        for model in MODELS:
            seen = [
                next(
                    r for r in mine
                    if r["model"] == model and (int(r["batch"]), int(r["io_len"])) == shape
                )
                for shape in THREE
            ]  # fmt: skip
            held = [whole_run(r, machine, public) for r in mine if r not in seen]
            assert len(held) > 20
            found = calibrate([whole_run(r, machine, public) for r in seen], public)
            before, after = off(public, held), off(found.profile, held)
            assert after < before + 0.02, (hardware, engine, model)
            gains.append(after / before)
    assert float(np.median(gains)) < 0.75
