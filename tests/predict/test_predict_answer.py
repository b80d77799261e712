"""The answer: in words, in JSON, from the command line, in both languages."""

from __future__ import annotations

import json

import pytest

from roofline import predict
from roofline.cli import main
from roofline.count.step import Step
from roofline.errors import InputError, RooflineError
from roofline.parallel import Parallel
from roofline.predicting.prediction import Prediction
from roofline.predicting.similar import FAR


def ask(**kw: object) -> Prediction:
    return predict("llama-3.1-8b", "h100-sxm", **kw)  # type: ignore[arg-type]


def test_a_step_lies_above_the_roof_with_an_interval_around_it() -> None:
    found = ask(step=Step.decode(1, 2048))
    time = found.times["step"]
    assert found.roof_s <= time.low < time.value < time.high
    assert abs(found.parts.total - time.value) < 1e-12
    assert 100 < found.tokens_per_s.value < 219  # the roof's


def test_a_request_is_its_prefill_and_its_tokens() -> None:
    found = ask(batch=4, prompt=1000, output=100)
    t = {k: v.value for k, v in found.times.items()}
    assert abs(t["total"] - (t["ttft"] + 99 * t["tpot"])) < 1e-9
    assert found.running == 4


def test_sequences_that_do_not_fit_run_in_turns() -> None:
    few = ask(batch=64, prompt=4096, output=4096)
    many = ask(batch=640, prompt=4096, output=4096)
    assert many.running is not None and many.running < 640
    assert many.times["total"].value > 5 * few.times["total"].value


def test_a_served_workload_queues_beyond_the_cache() -> None:
    few = ask(concurrency=16, prompt=1024, output=256)
    many = ask(concurrency=4000, prompt=1024, output=256)
    assert few.running == 16 and few.waiting == 0
    assert many.running is not None and many.running < 1000
    assert many.waiting is not None and many.waiting > 1
    assert many.times["tpot"].value > few.times["tpot"].value


def test_more_in_flight_is_never_faster_for_one() -> None:
    times = [ask(concurrency=c, prompt=512, output=128).times["tpot"].value for c in (1, 4, 16, 64)]
    assert times == sorted(times)


def test_a_stranger_gets_a_wider_interval() -> None:
    def width(p: Prediction) -> float:
        t = p.times["step"]
        return t.high / t.low

    known = predict(
        "llama-3.1-70b", "h100-sxm", parallel=Parallel(tp=4), weights="fp8", kv="fp8", batch=16
    )
    other_model = predict("llama-3.1-8b", "h100-sxm", weights="fp8", kv="fp8", batch=16)
    other_both = predict("llama-3.1-8b", "h200-sxm", weights="fp8", kv="fp8", batch=16)
    no_data = predict("llama-3.1-8b", "h100-sxm", engine="torch")
    assert known.like.kind == "seen" and other_model.like.kind == "model"
    assert other_both.like.kind == "both" and other_both.like.generation
    assert width(known) < width(other_model) <= width(other_both)
    assert no_data.like.rows == 0
    assert FAR["high"] >= 1


def test_what_cannot_be_asked_is_refused() -> None:
    with pytest.raises(InputError, match="does not fit"):
        predict("llama-3.1-405b", "rtx-3060-12gb", batch=1, prompt=128, output=128)
    with pytest.raises(InputError, match="3"):
        ask(parallel=Parallel(tp=3))
    with pytest.raises(RooflineError, match="link"):
        predict("llama-3.1-8b", "arc-b580", parallel=Parallel(tp=16), weights="int4")


ARGUMENTS = [
    [],
    ["--batch", "16", "--context", "8k"],
    ["--phase", "prefill", "--prompt", "2k"],
    ["--phase", "mixed", "--batch", "8", "--prompt", "512"],
    ["--phase", "verify", "--drafted", "3"],
    ["--batch", "4", "--prompt", "512", "--output", "128"],
    ["--concurrency", "64", "--prompt", "1k", "--output", "256", "--tp", "2"],
    ["--concurrency", "5000", "--engine", "trtllm"],
    ["--engine", "torch", "--why"],
]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_the_verb_answers_in_both_languages(
    arguments: list[str], language: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["predict", "llama-3.1-8b", "--on", "h100-sxm", "--lang", language, *arguments])
    out, err = capsys.readouterr()
    assert code == 0 and not err
    assert "Llama-3.1-8B" in out and "90 %" in out and "{" not in out
    if language == "zh":
        assert "构成" in out and "made of" not in out


@pytest.mark.parametrize("arguments", ARGUMENTS[:-1])
def test_json_is_versioned_and_in_si_units(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["predict", "llama-3.1-8b", "--on", "h100-sxm", "--json", *arguments]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["schema"] == "roofline.predict/1"
    for t in data["times"].values():
        assert 0 < t["low"] <= t["value"] <= t["high"]
    assert 0 < data["of_bound"] <= 1
    assert all({"name", "value", "from", "source"} <= set(c) for c in data["coefficients"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--engine", "vlm"], "no engine 'vlm'"),
        (["--tp", "x"], "--tp must be"),
        (["--output", "5", "--context", "5"], "say --prompt"),
        (["--output", "5", "--phase", "prefill"], "have no meaning"),
        (["--ceilings", "measured"], "--ceilings has no meaning"),
    ],
)
def test_a_wrong_question_costs_one_sentence(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["predict", "llama-3.1-8b", "--on", "h100-sxm", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_step_that_does_not_fit_says_so_first(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["predict", "llama-3.1-405b", "--on", "rtx-4090"]
    assert main([*argv, "--lang", "en"]) == 0
    _, _, first, *_ = capsys.readouterr().out.splitlines()
    assert first.split("  ")[1] == "does not fit"
    assert main([*argv, "--lang", "zh"]) == 0
    assert "假如放得下" in capsys.readouterr().out
    assert main([*argv, "--json"]) == 0
    fits = json.loads(capsys.readouterr().out)["fits"]
    assert fits["step"] is False
    assert fits["held_by"][0]["devices"] == 38


def test_what_cannot_be_served_says_what_would_serve_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    argv = ["predict", "llama-3.1-70b", "--on", "h100-sxm", "--output", "100"]
    for more in ([], ["--concurrency", "4"], ["--rate", "1"]):
        assert main([*argv, *more]) == 2
        assert "2 × NVIDIA H100 SXM would hold it, as --tp 2" in capsys.readouterr().err


def test_a_batch_of_which_memory_holds_a_part_says_that_it_takes_turns(
    capsys: pytest.CaptureFixture[str],
) -> None:
    argv = ["predict", "llama-3.1-8b", "--on", "h100-sxm", "--batch", "1000", "--output", "100"]
    assert main([*argv, "--prompt", "2000", "--lang", "en"]) == 0
    assert "memory has room for no more, so the batch takes 4.52 turns" in capsys.readouterr().out


def test_verify_says_that_every_draft_is_taken_to_be_accepted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    argv = ["llama-3.1-8b", "--on", "h100-sxm", "--phase", "verify", "--drafted", "3"]
    for verb in ("predict", "explain"):
        assert main([verb, *argv, "--json"]) == 0
        data = json.loads(capsys.readouterr().out)
        of = data if verb == "predict" else data["bound"]
        rate = of["tokens_per_s"] if verb == "explain" else of["tokens_per_s"]["value"]
        assert "every drafted token is accepted" in of["tokens_per_s_assumes"]
        assert of["tokens_per_s_none_accepted"] == pytest.approx(rate / 4)
        assert main([verb, *argv, "--lang", "en"]) == 0
        assert "every drafted token" in capsys.readouterr().out
