"""Calibration: a few own points beat the public profile, none change nothing."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from roofline.bound import Case
from roofline.cli import main
from roofline.errors import InputError
from roofline.machine import load as load_machine
from roofline.model import load as load_model
from roofline.predict import Predictor, load_profile
from roofline.predict.calibrate import Calibration, Point, calibrate, growing
from roofline.predict.profile import Profile, from_file
from roofline.step import Step

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


def points(truth: Profile, shapes: list[tuple[int, int]], noise: float = 0.02) -> list[Point]:
    rng = np.random.default_rng(5)
    true, public = Predictor(CASE, truth), Predictor(CASE, PUBLIC)
    found = []
    for batch, context in shapes:
        step = Step.decode(batch, context)
        seconds = true.step(step).total * math.exp(noise * rng.standard_normal())
        found.append(Point(public, ((step, 1.0),), seconds))
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
    from roofline.predict.profile import save
    from roofline.predict.similar import likeness

    found: Calibration = calibrate(points(other(2), SHAPES), PUBLIC, "desk")
    save(found.profile, str(tmp_path / "desk.json"))
    back = from_file(str(tmp_path / "desk.json"))
    assert back == found.profile and back.extends == "vllm" and back.id == "desk"
    like = likeness(Predictor(CASE, back), 16)
    assert like.kind == "seen" and like.rows == len(SHAPES)


def test_no_points_and_no_time_are_refused() -> None:
    with pytest.raises(InputError, match="no points"):
        calibrate([], PUBLIC)
    bad = Point(Predictor(CASE, PUBLIC), ((Step.decode(1, 10), 1.0),), 0.0)
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
    assert main(["calibrate", str(path), "-o", str(out), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["median_error_left_out"] < data["median_error_before"]
    asked = ["predict", "qwen3-8b", "--on", "rtx-4090", "--weights", "int4", "--batch", "4"]
    assert main([*asked, "--context", "512", "--engine", str(out), "--json"]) == 0
    step = json.loads(capsys.readouterr().out)["times"]["step"]
    assert math.isclose(step["value"], lines[1]["seconds"]["median"], rel_tol=0.1)  # type: ignore[index]
    folder = tmp_path / "folder"
    folder.mkdir()
    assert main(["calibrate", str(path), "-o", str(folder)]) == 2
    assert "cannot be written" in capsys.readouterr().err
