"""The simulated server against theory, and against another simulation written for this test."""

from __future__ import annotations

import contextlib
import heapq
import math
import random
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.lengths import fixed
from roofline.bound.case import Case
from roofline.cli import main
from roofline.count.group import Group
from roofline.count.step import Step
from roofline.errors import InputError
from roofline.machine.load import load as load_machine
from roofline.model.load import load as load_model
from roofline.parallel import Parallel
from roofline.predicting import Predictor, load_profile, predict_request, predict_served
from roofline.predicting.lengths import between, read
from roofline.predicting.serve import steady
from roofline.predicting.simulate import Simulated, most, simulate

P = Predictor(Case(load_model("llama-3.1-8b"), load_machine("h100-sxm")), load_profile("vllm"))
FLOOR = P.resolved.values["request.floor"]


# ------------------------------------------------------------------ theory


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_prompts_alone_queue_as_pollaczek_and_khinchine_say(load: float) -> None:
    """One prompt fills a step and nothing is decoded: an M/D/1 queue, W = ρ·D / 2(1-ρ)."""
    tokens = 2048
    service = float(P.prefill(1, tokens).total)
    found = [
        simulate(P, fixed(tokens, 1), rate=load / service, requests=4000, budget=tokens, seed=s)
        for s in range(3)
    ]
    waits = [statistics.mean(f.ttft) - FLOOR - service for f in found]
    expected = load * service / (2 * (1 - load))
    assert statistics.mean(waits) == pytest.approx(expected, rel=0.12)


@pytest.mark.parametrize("rate", [2.0, 8.0, 14.0])
def test_littles_law_holds(rate: float) -> None:
    """Requests in the system = arrivals a second · a request's time in it."""
    found = simulate(P, between((500, 1500), (100, 400)), rate=rate, requests=1500)
    output = 250.0
    stay = statistics.mean(found.ttft) - FLOOR + (output - 1) * statistics.mean(found.tpot)
    assert found.running + found.waiting == pytest.approx(rate * stay, rel=0.08)
    assert found.requests_per_s == pytest.approx(rate, rel=0.08)
    assert found.tokens_per_s == pytest.approx(rate * output, rel=0.10)


# ------------------------------------------------------------------ another simulation


def events(
    step: Callable[[int, float, list[tuple[int, int]]], float],
    arrivals: list[tuple[float, int, int]],
    budget: int,
) -> tuple[list[float], list[float]]:
    """First tokens and token times of a server with endless cache, by events on a heap.

    ``step(n, context, chunks)`` gives the seconds of a step. Tokens' own times are kept, and
    what is asked for is computed from them at the end.
    """
    queue: list[tuple[float, int]] = [(at, i) for i, (at, _, _) in enumerate(arrivals)]
    heapq.heapify(queue)
    prefilled = [0] * len(arrivals)
    stamps: list[list[float]] = [[] for _ in arrivals]
    alive: list[int] = []
    clock = 0.0
    while queue or alive:
        if not alive:
            clock = max(clock, queue[0][0])
        while queue and queue[0][0] <= clock:
            alive.append(heapq.heappop(queue)[1])
        old = [i for i in alive if prefilled[i] == arrivals[i][1]]
        space = budget - len(old)
        new: dict[int, int] = {}
        for i in alive:
            part = min(arrivals[i][1] - prefilled[i], space)
            if part > 0:
                new[i] = part
                space -= part
        contexts = [arrivals[i][1] + len(stamps[i]) - 1 for i in old]
        mean = sum(contexts) / len(old) if old else 0.0
        clock += step(len(old), mean, [(n, prefilled[i]) for i, n in new.items()])
        for i, n in new.items():
            prefilled[i] += n
        for i in {*old, *(i for i in new if prefilled[i] == arrivals[i][1])}:
            stamps[i].append(clock)
        alive = [i for i in alive if len(stamps[i]) < arrivals[i][2]]
    first = [s[0] - at for s, (at, _, _) in zip(stamps, arrivals, strict=True)]
    each = [(s[-1] - s[0]) / (len(s) - 1) for s in stamps if len(s) > 1]
    return first, each


def price(decoding: int, context: float, chunks: list[tuple[int, int]]) -> float:
    groups = [Group(decoding, 1, round(context))] if decoding else []
    groups += [Group(1, n, past) for n, past in chunks]
    return float(P.step(Step("mixed", tuple(groups))).total)


@pytest.mark.parametrize(
    ("rate", "prompt", "output", "budget"),
    [(3.0, (256, 2048), (20, 200), 8192), (12.0, (100, 900), (50, 150), 8192),
     (8.0, (1000, 4000), (30, 90), 1024)],
)  # fmt: skip
def test_another_simulation_comes_to_the_same(
    rate: float, prompt: tuple[int, int], output: tuple[int, int], budget: int
) -> None:
    rng = random.Random(99)
    arrivals, at = [], 0.0
    for _ in range(900):
        at += rng.expovariate(rate)
        arrivals.append((at, rng.randint(*prompt), rng.randint(*output)))
    first, each = events(price, arrivals, budget)
    found = simulate(P, between(prompt, output), rate=rate, requests=900, budget=budget)
    assert statistics.mean(found.ttft) - FLOOR == pytest.approx(
        statistics.mean(first[180:]), rel=0.10
    )
    assert statistics.mean(found.tpot) == pytest.approx(statistics.mean(each[180:]), rel=0.06)


# ------------------------------------------------------------------ limits


def test_one_client_meets_nobody() -> None:
    """Concurrency 1 is one request at a time, by the formula and by the simulation."""
    alone = predict_request(P, 1, 1000, 200)
    served = predict_served(P, 1, 1000, 200)
    assert served.times["tpot"].value == pytest.approx(alone.times["tpot"].value, rel=1e-3)
    assert served.times["ttft"].value - FLOOR == pytest.approx(alone.times["ttft"].value)
    found = simulate(P, fixed(1000, 200), concurrency=1, requests=5)
    assert found.ttft[-1] == pytest.approx(served.times["ttft"].value)


def test_a_slow_rate_is_one_request_at_a_time() -> None:
    found = simulate(P, fixed(1000, 50), rate=0.01, requests=200)
    assert statistics.median(found.ttft) - FLOOR == pytest.approx(float(P.prefill(1, 1000).total))
    assert statistics.median(found.tpot) == pytest.approx(
        float(P.decode(1, 1000, 50).total), rel=1e-3
    )


@pytest.mark.parametrize(("prompt", "output"), [(512, 64), (1024, 256), (4000, 100)])
def test_the_most_that_is_served_is_what_clients_without_end_get(prompt: int, output: int) -> None:
    """Just below it a rate is served at that rate; above, clients do not get more either."""
    limit = most(P, fixed(prompt, output))
    below = simulate(P, fixed(prompt, output), rate=0.9 * limit, requests=1000)
    assert below.requests_per_s == pytest.approx(0.9 * limit, rel=0.08)
    with pytest.raises(InputError, match="the queue has no end"):
        simulate(P, fixed(prompt, output), rate=1.02 * limit)
    formula = steady(P, 256, prompt, output, P.places(prompt + output))
    assert limit == pytest.approx(formula.tokens_per_s / output, rel=0.25)


def test_a_batch_allowed_caps_what_runs() -> None:
    found: Simulated = simulate(P, fixed(512, 100), concurrency=40, places=8, requests=200)
    assert found.running <= 8 and found.waiting == pytest.approx(32, abs=1)
    formula = steady(P, 40, 512, 100, 8)
    assert found.tokens_per_s == pytest.approx(formula.tokens_per_s, rel=0.1)
    assert statistics.mean(found.ttft) == pytest.approx(formula.ttft, rel=0.15)


def test_small_chunks_trade_first_tokens_for_even_steps() -> None:
    """Smaller chunks: the longest gap shrinks to about a chunk's time, first tokens wait."""
    small, large = (
        simulate(P, between((3000, 5000), (100, 200)), rate=4, requests=600, budget=b)
        for b in (512, 8192)
    )
    assert statistics.mean(small.ttft) > statistics.mean(large.ttft)


# ------------------------------------------------------------------ the answer


def answer(
    capsys: pytest.CaptureFixture[str], *asked: str, code: int = 0, machine: str = "b200"
) -> str:
    verb = ["predict", "llama-3.1-70b", "--on", machine, "--weights", "fp8", *asked]
    assert main(verb) == code
    out, err = capsys.readouterr()
    return out + err


def test_the_interval_at_a_rate_holds_slower_and_faster_engines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    import json

    def times(rate: float) -> dict[str, dict[str, float | None]]:
        data = json.loads(answer(capsys, "--rate", str(rate), "--json"))
        assert data["most_requests_per_s"] > rate
        found: dict[str, dict[str, float | None]] = data["times"]
        return found

    slow, fast = times(1), times(4)
    for t in (*slow.values(), *fast.values()):
        assert t["low"] <= t["value"] and (t["high"] is None or t["high"] >= t["value"])  # type: ignore[operator]

    def width(t: dict[str, float | None]) -> float:
        return math.inf if t["high"] is None else t["high"] / t["low"]  # type: ignore[operator]

    assert width(fast["tpot"]) > width(slow["tpot"])


@pytest.mark.parametrize("language", ["en", "zh"])
def test_near_the_most_the_answer_says_that_it_may_have_no_end(
    capsys: pytest.CaptureFixture[str], language: str
) -> None:
    refused = answer(capsys, "--rate", "1000", code=2)
    at = float(refused.partition("about ")[2].partition(" ")[0])
    told = answer(capsys, "--rate", f"{0.9 * at:.3g}", "--lang", language)
    assert ("no end" if language == "en" else "没有尽头") in told and "inf" not in told


def test_options_of_a_server_need_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--max-batch" in answer(capsys, "--max-batch", "4", code=2)
    assert "--chunk" in answer(capsys, "--chunk", "4k", "--output", "10", code=2)
    served = answer(capsys, "--concurrency", "64", "--max-batch", "16", "--chunk", "2k")
    assert "16 at once" in served


# ------------------------------------------------------------------ lengths that were seen


def test_lengths_that_were_seen_come_in_pairs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Half short questions with long answers, half the reverse: neither mean is a request."""
    path = tmp_path / "seen.csv"
    path.write_text("id,output,prompt\na,400,100\nb,20,4000\n")
    found = read(str(path))
    assert found.pairs == ((100, 400), (4000, 20)) and found.mean == (2050, 210)
    assert found.most == 4020
    rng = random.Random(3)
    assert {found.draw(rng) for _ in range(50)} == set(found.pairs)
    run = simulate(P, found, rate=3, requests=800)
    assert run.tokens_per_s == pytest.approx(3 * 210, rel=0.1)
    told = answer(capsys, "--rate", "1", "--lengths", str(path))
    assert "100-4000" in told and "20-400" in told


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no requests"),
        ("prompt,output\n", "no requests"),
        ("a,b\n1,2\n", "line 1"),
        ("12,0\n", "line 1"),
        ("5,5\n7\n", "line 2"),
        ("5,5\n1e3,4\n", "line 2"),
        ("\x00,4\n", ""),
    ],
)
def test_wrong_lengths_cost_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    path = tmp_path / "seen.csv"
    path.write_text(text)
    told = answer(capsys, "--rate", "1", "--lengths", str(path), code=2)
    assert message in told and told.count("\n") == 1
    assert "cannot be read" in answer(capsys, "--rate", "1", "--lengths", "none.csv", code=2)
    both = answer(capsys, "--rate", "1", "--lengths", str(path), "--output", "9", code=2)
    assert "either" in both


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=80))
def test_any_file_is_lengths_or_a_sentence(data: bytes) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        with contextlib.suppress(InputError):
            assert read(file.name).most >= 2


@pytest.mark.parametrize("dp", [1, 4])
@pytest.mark.parametrize("clients", [8, 64])
def test_throughput_is_what_the_clients_get(dp: int, clients: int) -> None:
    """C clients of one length, in bursts or not: tokens a second = C · output / time of one."""
    case = Case(
        load_model("qwen3-30b-a3b"), load_machine("h100-sxm"), parallel=Parallel(dp=dp, ep=dp)
    )
    p = Predictor(case, load_profile("vllm"))
    found = simulate(p, fixed(1024, 200), concurrency=clients, requests=6 * clients)
    each = statistics.mean(found.ttft) - FLOOR + 199 * statistics.mean(found.tpot)
    assert found.tokens_per_s == pytest.approx(clients * 200 / each, rel=0.05)
    formula = steady(p, clients, 1024, 200)
    assert found.tokens_per_s == pytest.approx(formula.tokens_per_s, rel=0.15)
