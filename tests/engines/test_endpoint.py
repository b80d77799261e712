"""The client of a server: what it measures when all goes well, and every fault at every point."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from roofline.cli import main
from roofline.engines import drive
from roofline.engines.base import Job
from roofline.engines.endpoint import Endpoint
from roofline.engines.plan import Plan
from roofline.engines.server import Limits
from roofline.engines.sse import Fault, Parser
from roofline.engines.waves import Stream, wave_of
from roofline.errors import InputError, RooflineError
from roofline.points import PointsWriter, read_points

from .fake_server import MODEL, FakeServer, Script

pytestmark = pytest.mark.alone

QUICK = Limits(connect=0.5, first=0.4, between=0.4, wave=3.0)
KEY = "sk-secret-never-shown"


def endpoint(server: FakeServer, **more: Any) -> Endpoint:
    options = {"output": 32, "limits": QUICK, "environment": {}, **more}
    return Endpoint(server.url, **options)


def test_the_time_between_tokens_of_requests_that_all_generate() -> None:
    with FakeServer(lambda request: Script(tokens=40, gap=0.005)) as server:
        outcome = endpoint(server, output=40).measure(Job("decode", 4, 128), 0.1)
    assert outcome.basis == "token"
    assert 0.0045 <= outcome.seconds.median < 0.1  # the gap, less the clock of one window
    assert outcome.parts[0].groups[0].batch == 4
    assert outcome.settings["tokens_counted_by"] == "usage"
    assert outcome.settings["prompt_tokens"] == 40
    assert outcome.settings["ttft_median_s"] > 0
    assert 40 < outcome.parts[0].groups[0].past <= 80
    assert outcome.notes == ()


def test_late_first_tokens_do_not_count_as_decode() -> None:
    """One request whose prefill takes long shortens the common stretch, not the gaps in it."""
    turns = iter(range(10**6))

    def script(request: dict[str, Any]) -> Script:
        late = next(turns) % 3 == 2
        return Script(tokens=60, gap=0.004, first=0.1 if late else 0.002)

    with FakeServer(script) as server:
        outcome = endpoint(server, output=60).measure(Job("decode", 3, 128), 0.1)
    assert outcome.seconds.median < 0.012


def test_events_of_several_tokens_are_counted_by_usage() -> None:
    with FakeServer(lambda request: Script(tokens=20, gap=0.01, per_event=4)) as server:
        outcome = endpoint(server, output=80).measure(Job("decode", 1, 128), 0.1)
    assert outcome.seconds.median == pytest.approx(0.01 / 4, rel=0.5)
    with FakeServer(lambda request: Script(tokens=20, gap=0.01, usage=False)) as server:
        outcome = endpoint(server, output=20).measure(Job("decode", 1, 128), 0.1)
    assert "tokens-by-events" in outcome.notes


def test_a_stream_cut_anywhere_is_the_same_stream() -> None:
    for cut in (1, 3, 7):
        with FakeServer(lambda request, cut=cut: Script(tokens=8, cut=cut)) as server:
            outcome = endpoint(server, output=8).measure(Job("decode", 1, 128), 0.01)
        assert outcome.settings["output_tokens"] == 8


def test_prompts_differ_from_their_first_word() -> None:
    with FakeServer() as server:
        endpoint(server).measure(Job("decode", 4, 128), 0.05)
    prompts = [request["prompt"] for request in server.requests]
    assert len({prompt.split()[0] for prompt in prompts}) > 0.9 * len(prompts)
    assert all(request["cache_prompt"] is False for request in server.requests)


def test_a_prefix_cache_and_a_queue_are_noticed() -> None:
    metrics = (
        'vllm:num_requests_running{model_name="x"} 2.0\n'
        "vllm:num_requests_waiting 6\nvllm:gpu_cache_usage_perc 0.5\n# HELP x y\ngarbage line\n"
    )
    with FakeServer(lambda r: Script(cached=32), metrics=metrics) as server:
        outcome = endpoint(server).measure(Job("decode", 8, 128), 0.05)
    assert set(outcome.notes) == {"queued", "prefix-cached"}
    assert outcome.parts[0].groups[0].batch == 2
    assert outcome.settings["metrics"] == {"running": 2.0, "waiting": 6.0, "cache_use": 0.5}


def test_servers_that_take_less_are_asked_for_less() -> None:
    with FakeServer(lambda request: Script(refuse_extras=True)) as server:
        endpoint(server).measure(Job("decode", 1, 128), 0.01)
    assert "ignore_eos" not in server.requests[-1]
    with FakeServer(lambda request: Script(chat_only=True)) as server:
        outcome = endpoint(server).measure(Job("decode", 2, 128), 0.01)
    assert server.requests[-1]["path"] == "/v1/chat/completions"
    assert outcome.seconds.median > 0


FAULTS = {
    "hang": "sent no",
    "disconnect": "broke off after",
    "end-early": "broke off after",
    "malformed": "no JSON",
    "no-object": "no object",
    "bad-choices": "choices is no list",
    "bad-choice": "a choice is no object",
    "error": "out of memory",
    "error-event": "an error event",
    "binary": "no JSON",
    "huge": "longer than",
    "keeps-alive": "sent no",
    "empty-texts": "sent no",
    "never-ends": "more than the 16 tokens",
    "compressed": "compressed its reply",
}


@pytest.mark.parametrize("at", [0, 1, 16])
@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_every_fault_at_every_point_of_a_stream(fault: str, at: int) -> None:
    """The warm-up is well; then each request fails. One sentence comes out, and soon."""
    seen = iter(range(10**6))

    def script(request: dict[str, Any]) -> Script:
        if next(seen) == 0:
            return Script(tokens=16)
        return Script(tokens=16, fault=fault, at=at)

    with FakeServer(script) as server:
        client = endpoint(server, output=16, limits=Limits(2.0, 0.3, 0.3, 4.0))
        with pytest.raises(RooflineError) as failed:
            client.measure(Job("decode", 2, 128), 0.05)
    said = str(failed.value)
    assert FAULTS[fault] in said
    assert server.url in said
    assert "\n" not in said


@pytest.mark.parametrize(
    ("fault", "at", "code"),
    [
        ("disconnect", 5, "disconnect"),
        ("malformed", 5, "malformed"),
        ("hang", 5, "timeout"),
        ("status", 500, "status"),
    ],
)
def test_a_fault_now_and_then_costs_a_wave_not_the_point(fault: str, at: int, code: str) -> None:
    seen = iter(range(10**6))

    def script(request: dict[str, Any]) -> Script:
        return Script(tokens=48, gap=0.002, fault=fault if next(seen) == 3 else None, at=at)

    with FakeServer(script) as server:
        client = endpoint(server, output=48, limits=Limits(0.5, 0.4, 0.4, 3.0))
        outcome = client.measure(Job("decode", 2, 128), 0.8)
    assert outcome.settings["faults"][code] == 1
    assert outcome.settings["waves"] >= 2


@pytest.mark.parametrize("fault", ["comment", "empty-text"])
def test_harmless_events_are_passed_over(fault: str) -> None:
    with FakeServer(lambda request: Script(tokens=16, fault=fault, at=4)) as server:
        outcome = endpoint(server, output=16).measure(Job("decode", 1, 128), 0.01)
    assert outcome.settings["output_tokens"] == 16


@pytest.mark.parametrize(
    ("status", "says"),
    [(500, "answered 500"), (429, "answered 429"), (401, "set ROOFLINE_API_KEY"), (503, "503")],
)
def test_a_status_is_named(status: int, says: str) -> None:
    with (
        FakeServer(lambda request: Script(fault="status", at=status)) as server,
        pytest.raises(RooflineError, match=says),
    ):
        endpoint(server).measure(Job("decode", 1, 128), 0.05)


def test_a_redirect_is_not_followed() -> None:
    with (
        FakeServer(lambda request: Script(fault="redirect")) as server,
        pytest.raises(RooflineError, match="answered 302"),
    ):
        endpoint(server).measure(Job("decode", 1, 128), 0.05)


def test_a_server_that_never_answers() -> None:
    with FakeServer(lambda request: Script(fault="hang-before-headers")) as server:
        client = endpoint(server, limits=Limits(0.3, 0.3, 0.3, 1.0))
        with pytest.raises(RooflineError, match=r"waiting too long|took over"):
            client.measure(Job("decode", 1, 128), 0.05)


def test_no_server_at_all() -> None:
    with pytest.raises(RooflineError, match="cannot be reached"):
        Endpoint("http://127.0.0.1:9", limits=QUICK, environment={})


@pytest.mark.parametrize("models", [{}, {"data": []}, {"data": [{"id": 7}]}, [1], "x"])
def test_a_list_of_models_that_is_none(models: Any) -> None:
    with FakeServer(models=models) as server, pytest.raises(RooflineError, match="lists no model"):
        endpoint(server)


def test_the_first_model_is_asked_for() -> None:
    with FakeServer() as server:
        assert endpoint(server).server.model == MODEL
        assert endpoint(server, model="mine").server.model == "mine"


@pytest.mark.parametrize(
    "url", ["", "ftp://x", "http://", "http://u:p@host", "http://[::1", "http://x:99999"]
)
def test_no_address(url: str) -> None:
    with pytest.raises(InputError):
        Endpoint(url, environment={}, model="x")


def test_the_key_goes_into_the_header_and_nowhere_else(tmp_path: Path) -> None:
    echo = f"bad key {KEY} in request".encode()
    answers = iter([Script(), *(Script(fault="status", at=401, body=echo) for _ in range(50))])
    with FakeServer(lambda request: next(answers)) as server:
        client = endpoint(server, environment={"ROOFLINE_API_KEY": KEY})
        with pytest.raises(RooflineError) as failed:
            client.measure(Job("decode", 1, 128), 0.05)
    assert KEY not in str(failed.value)
    assert "***" in str(failed.value)
    assert all(KEY in head for head in server.headers)
    assert KEY not in json.dumps(dict(client.setup.settings))
    with FakeServer() as server:
        client = endpoint(server, environment={"ROOFLINE_API_KEY": KEY})
        path = str(tmp_path / "points.jsonl")
        with PointsWriter(path) as writer:
            drive.run(client, Plan((Job("decode", 1, 128),), (), 0.02), writer=writer)
        assert KEY not in Path(path).read_text()


def test_a_run_keeps_what_it_has_and_resumes(tmp_path: Path) -> None:
    """The server dies after the second point; the third comes with the next run."""
    path = str(tmp_path / "points.jsonl")
    plan = Plan(tuple(Job("decode", batch, 128) for batch in (1, 2, 4)), (), 0.02)
    broken = threading.Event()

    def script(request: dict[str, Any]) -> Script:
        return Script(fault="status" if broken.is_set() else None, at=500)

    told: list[str] = []

    def tell(event: drive.Event) -> None:
        told.append(event.kind)
        if event.kind == "done" and event.index == 2:
            broken.set()

    with FakeServer(script) as server:
        client = endpoint(server, known_as="llama-3.2-1b", weights="bf16")
        with PointsWriter(path) as writer:
            points = drive.run(client, plan, writer=writer, tell=tell)
        assert [point.batch for point in points] == [1, 2]
        assert told[-1] == "fail"
        broken.clear()
        done = list(read_points(path))
        assert len(done) == 2
        told.clear()
        with PointsWriter(path) as writer:
            points = drive.run(client, plan, writer=writer, done=done, tell=tell)
    assert [point.batch for point in points] == [1, 2, 4]
    assert told.count("skip") == 2
    assert len(list(read_points(path))) == 3


def test_a_server_that_is_not_there_leaves_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "points.jsonl"
    line = f"bench llama-3.2-1b --url http://127.0.0.1:9 --on a10 --points {path}"
    assert main(line.split()) == 1
    assert "cannot be reached" in capsys.readouterr().err
    assert not path.exists()
    path.write_text("")  # one that was there stays
    assert main(line.split()) == 1
    assert path.exists()


def test_a_points_file_that_is_moved_costs_no_point_and_is_not_said_to_hold_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, moved = tmp_path / "points.jsonl", tmp_path / "moved.jsonl"

    def script(request: dict[str, Any]) -> Script:
        if path.exists() and path.stat().st_size:
            path.rename(moved)
        return Script(tokens=32)

    with FakeServer(script) as server:
        line = (
            f"bench llama-3.2-1b --url {server.url} --weights bf16 --on a10 --batch 1,2 "
            f"--seconds 20ms --points {path} --lang en --output-tokens 32"
        )
        assert main(line.split()) == 2
    said = capsys.readouterr()
    assert len(list(read_points(str(moved)))) == 1
    assert not path.exists()
    assert "2 sequences" in said.out or "batch 2" in said.out  # it is shown all the same
    assert f"{path} does not hold all of these points" in said.err
    assert "points are in" not in said.err
    assert "moved, replaced or written to by others" in said.err


def test_a_run_that_measured_nothing_says_so_by_its_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jpeg = tmp_path / "photo.jpg"
    jpeg.write_bytes(b"\xff\xd8\xff\xe0\n" + bytes(range(256)))
    before = jpeg.read_bytes()
    with FakeServer(lambda request: Script(fault="status", at=500)) as server:
        line = f"bench llama-3.2-1b --url {server.url} --on a10 --batch 1,2 --seconds 20ms --points"
        assert main([*line.split(), str(jpeg)]) == 2
        assert "no points file" in capsys.readouterr().err
        assert main([*line.split(), str(tmp_path / "points.jsonl")]) == 1
    assert jpeg.read_bytes() == before
    assert os.listdir(tmp_path) == ["photo.jpg"]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ("", ""),
        ("--output-tokens 32", "output_asked"),
        ("--served-model other", "served_model"),
        ("--weights fp8", "weights"),
        ("--kv fp8", "kv"),
        ("--on h100-sxm", "machine"),
        ("elsewhere", "server"),
    ],
)
def test_resume_takes_points_of_the_same_run_alone(
    change: str, what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "points.jsonl"
    line = (
        "bench llama-3.2-1b --weights bf16 --on a10 --batch 1 --seconds 5ms --lang en "
        f"--output-tokens 24 --points {path} --url"
    )

    def script(request: dict[str, Any]) -> Script:
        return Script(tokens=32, gap=0.001)

    with FakeServer(script) as server, FakeServer(script) as other:
        assert main([*line.split(), server.url]) == 0
        url, options = (other.url, "") if change == "elsewhere" else (server.url, change)
        capsys.readouterr()
        assert main([*line.split(), url, "--resume", *options.split()]) == 0
    said = capsys.readouterr().err
    assert len(list(read_points(str(path)))) == (2 if change else 1)
    assert ("of an earlier run" in said) is not bool(change)
    assert (f"of another run (other {what})" in said) is bool(change)
    assert "127.0.0.1" not in path.read_text()


def test_streams_that_never_overlap_are_refused() -> None:
    first, second = Stream(0.0), Stream(0.0)
    first.events = [(0.1 + i / 100, 1.0) for i in range(5)]
    second.events = [(9.0 + i / 100, 1.0) for i in range(5)]
    with pytest.raises(Fault, match="answers are too short"):
        wave_of([first, second], {})


def test_random_bytes_into_the_parser() -> None:
    import random

    rng = random.Random(3)
    good = b'data: {"choices":[{"text":"a","finish_reason":null}],"usage":{"prompt_tokens":3}}\n\n'
    for _ in range(3000):
        data = bytearray(good * rng.randint(1, 3))
        for _ in range(rng.randint(0, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        parser = Parser()
        try:
            for at in range(0, len(data), 11):
                list(parser.feed(bytes(data[at : at + 11])))
        except Fault as fault:
            assert fault.code in ("malformed", "error")
            assert len(str(fault)) < 300


def test_the_verb_over_a_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "points.jsonl")
    with FakeServer(lambda request: Script(tokens=32, gap=0.004)) as server:
        line = (
            f"bench llama-3.2-1b --url {server.url} --weights bf16 --on a10 --batch 1,2 "
            f"--seconds 50ms --points {path} --lang en --output-tokens 32"
        )
        code = main(line.split())
    said = capsys.readouterr()
    assert code == 0
    assert "the share is at least this" in said.out
    assert "NVIDIA A10" in said.out
    assert "2/2 decode, batch 2" in said.err
    assert len(list(read_points(path))) == 2
