"""The driver on fakes: plans, timing, roofs between points, failures, Ctrl-C."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from roofline.cli import main
from roofline.engines import choose, drive, stepwise
from roofline.engines.base import Job, Setup
from roofline.engines.chosen import BenchRequest
from roofline.engines.plan import Plan, plan
from roofline.engines.roofs import highest
from roofline.errors import InputError, RooflineError
from roofline.model.load import load
from roofline.points import MeasuredRoof, PointsWriter, read_points
from roofline.record import replace

SETUP = Setup("fake", "1", "llama-3.2-1b", "bf16", "bf16", settings={"device": "cpu"})


class Clock:
    """Time that passes only when told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Fake:
    """An engine whose steps take what the test says."""

    def __init__(self, clock: Clock, seconds: Callable[[int], float], rewind: float = 0.0) -> None:
        self.setup = SETUP
        self.clock, self.seconds, self.rewinding = clock, seconds, rewind
        self.steps = 0
        self.closed: list[str] = []

    def prepare(self, job: Job) -> Fake:
        return self

    def step(self) -> None:
        self.clock.now += self.seconds(self.steps)
        self.steps += 1

    def rewind(self) -> None:
        self.clock.now += self.rewinding

    def close(self) -> None:
        self.closed.append("closed")


def test_only_the_step_is_timed() -> None:
    clock = Clock()
    samples = stepwise.measure(
        Fake(clock, lambda n: 0.010, rewind=0.5), Job("decode", 1, 8), 3.0, clock=clock
    )
    assert {round(t, 9) for t in samples.times} == {0.010}
    assert samples.seconds().samples == len(samples.times)


def test_warm_up_steps_are_not_kept() -> None:
    clock = Clock()
    fake = Fake(clock, lambda n: 5.0 if n == 0 else 0.01)
    samples = stepwise.measure(fake, Job("decode", 1, 8), 1.0, clock=clock)
    assert max(samples.times) == pytest.approx(0.01)
    assert fake.closed == ["closed"]


def test_very_long_steps_end_in_time() -> None:
    clock = Clock()
    samples = stepwise.measure(Fake(clock, lambda n: 10.0), Job("decode", 1, 8), 1.0, clock=clock)
    assert len(samples.times) == 2


def test_best_median_and_spread() -> None:
    times = tuple(float(t) for t in range(1, 12))
    seconds = stepwise.Samples(times).seconds()
    assert (seconds.best, seconds.median, seconds.samples) == (1.0, 6.0, 11)
    assert seconds.spread == pytest.approx((10 - 2) / 12)


def test_an_engine_out_of_memory_is_a_sentence_and_gives_back() -> None:
    clock = Clock()

    def broken(n: int) -> float:
        raise RuntimeError("CUDA out of memory.\nTried to allocate")

    fake = Fake(clock, broken)
    with pytest.raises(RooflineError, match=r"stopped at batch 64: CUDA out of memory\.$"):
        stepwise.measure(fake, Job("decode", 64, 8), 1.0, clock=clock)
    assert fake.closed == ["closed"]


class Roofs:
    """Roofs that change from look to look."""

    def __init__(self) -> None:
        self.emulated: set[str] = set()
        self.looks = 0

    def look(self) -> MeasuredRoof:
        self.looks += 1
        return MeasuredRoof(1e9 * self.looks, {"bf16": 1e11}, {}, 0.01)

    def busy(self) -> float:
        return 0.9 if self.looks == 2 else 0.0


class Steady:
    """A measurer without time."""

    setup = SETUP

    def __init__(self, fail: Callable[[Job], str | None] = lambda job: None) -> None:
        self.fail = fail
        self.jobs: list[Job] = []

    def measure(self, job: Job, seconds: float, tick: object = None) -> drive.Outcome:
        self.jobs.append(job)
        if reason := self.fail(job):
            if reason == "ctrl-c":
                raise KeyboardInterrupt
            raise RooflineError(reason)
        samples = stepwise.Samples((0.1, 0.11, 0.12))
        return drive.Outcome(job.parts(), samples.seconds(), "steps", job.tokens, (), {})

    def close(self) -> None:
        pass


def jobs(*batches: int) -> Plan:
    return Plan(tuple(Job("decode", batch, 32) for batch in batches), (), 1.0)


@pytest.mark.parametrize(
    ("setup", "machine", "facts"),
    [
        (replace(SETUP, settings={"threads": 4}), "m", {"source": "a"}),
        (replace(SETUP, settings={"threads": 2, "device": "cuda:0"}), "m", {"source": "a"}),
        (replace(SETUP, version="2"), "m", {"source": "a"}),
        (replace(SETUP, model="other"), "m", {"source": "a"}),
        (replace(SETUP, layers=4), "m", {"source": "a"}),
        (replace(SETUP, weights="fp32"), "m", {"source": "a"}),
        (SETUP, "another", {"source": "a"}),
        (SETUP, "m", {"source": "b"}),
        (SETUP, "m", {"source": "a", "cores": 2}),
    ],
)
def test_a_point_of_other_settings_is_measured_anew(
    setup: Setup, machine: str, facts: dict[str, object], tmp_path: Path
) -> None:
    path = str(tmp_path / "points.jsonl")
    engine = Steady()
    engine.setup = replace(SETUP, settings={"threads": 2, "writes": "some words"})
    with PointsWriter(path) as writer:
        drive.run(engine, jobs(1), writer=writer, machine="m", facts={"source": "a"})
    done = list(read_points(path))
    told: list[str] = []
    engine.setup = replace(engine.setup, settings={"threads": 2, "writes": "other words"})
    drive.run(engine, jobs(1), machine="m", facts={"source": "a"}, done=done,
              tell=lambda event: told.append(event.kind))  # fmt: skip
    assert told == ["skip"]
    if setup is SETUP:
        setup = engine.setup
    told.clear()
    engine.setup = setup
    drive.run(engine, jobs(1), machine=machine, facts=facts, done=done,
              tell=lambda event: told.append(event.kind))  # fmt: skip
    assert told == ["start", "done"]


def test_what_ran_is_told_by_its_content(tmp_path: Path) -> None:
    from roofline.engines import identity

    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF" + bytes(6 << 20))
    first = identity.of_weights(str(path))
    assert identity.of_weights(str(path)) == first
    for change in (lambda d: d[:-1], lambda d: b"g" + d[1:], lambda d: d[:-1] + b"1"):
        other = tmp_path / "other.gguf"
        other.write_bytes(change(path.read_bytes()))
        assert identity.of_weights(str(other)) != first
    assert identity.of_config({"a": 1, "b": 2}) == identity.of_config({"b": 2, "a": 1})
    assert identity.of_config({"a": 1}) != identity.of_config({"a": 2})


def test_each_point_has_the_higher_roof_of_its_minutes() -> None:
    points = drive.run(Steady(), jobs(1, 2), probe=Roofs(), machine="m", facts={"nodes": 1})
    assert [point.roof.bandwidth for point in points if point.roof] == [2e9, 3e9]
    assert points[0].roof is not None and points[0].roof.spread == pytest.approx(0.5)
    assert points[1].notes == ("busy",)
    assert points[0].notes == ()
    assert points[0].machine == "m"
    assert points[0].settings["nodes"] == 1
    assert points[0].settings["job"] == ["decode", 1, 32]


def test_a_job_that_fails_costs_itself() -> None:
    measurer = Steady(lambda job: "no room" if job.batch == 2 else None)
    told: list[drive.Event] = []
    points = drive.run(measurer, jobs(1, 2, 4), tell=told.append)
    assert [point.batch for point in points] == [1, 4]
    assert [event.message for event in told if event.kind == "fail"] == ["no room"]


def test_an_engine_that_is_gone_ends_the_run() -> None:
    with pytest.raises(RooflineError, match="gone"):
        drive.run(Steady(lambda job: "gone"), jobs(1, 2, 4, 8))
    measurer = Steady(lambda job: "gone" if job.batch > 1 else None)
    points = drive.run(measurer, jobs(1, 2, 4, 8, 16, 32))
    assert len(points) == 1
    assert len(measurer.jobs) == 4


def test_ctrl_c_keeps_every_point_before_it(tmp_path: Path) -> None:
    path = str(tmp_path / "p.jsonl")
    measurer = Steady(lambda job: "ctrl-c" if job.batch == 4 else None)
    with PointsWriter(path) as writer, pytest.raises(KeyboardInterrupt):
        drive.run(measurer, jobs(1, 2, 4, 8), writer=writer)
    done = list(read_points(path))
    assert [point.batch for point in done] == [1, 2]
    again = Steady()
    with PointsWriter(path) as writer:
        points = drive.run(again, jobs(1, 2, 4, 8), writer=writer, done=done)
    assert [job.batch for job in again.jobs] == [4, 8]
    assert len(points) == len(list(read_points(path))) == 4


def test_points_of_another_model_are_not_taken_for_ours(tmp_path: Path) -> None:
    points = drive.run(Steady(), jobs(1))
    other = Steady()
    other.setup = Setup("fake", "1", "qwen3-8b", "bf16", "bf16")
    drive.run(other, jobs(1), done=points)
    assert len(other.jobs) == 1


def test_the_higher_of_two_roofs() -> None:
    roof = highest(
        MeasuredRoof(2.0, {"a": 1.0}, {}, 0.1), MeasuredRoof(4.0, {"a": 3.0, "b": 1.0}, {}, 0.2)
    )
    assert (roof.bandwidth, dict(roof.compute), roof.spread) == (4.0, {"a": 3.0, "b": 1.0}, 0.5)


def test_what_does_not_fit_is_left_out_and_said() -> None:
    model = load("llama-3.2-1b")
    made = plan(
        batches=(1, 4096), contexts=(8192,), prompts=(64,), seconds=1, model=model, memory=8e9
    )
    assert [job.batch for job in made.jobs] == [1, 1]
    (skipped,) = made.skipped
    assert skipped.job.batch == 4096
    assert skipped.needed > 8e9


def test_the_time_of_long_steps_and_of_making_the_model_is_counted() -> None:
    model = load("llama-3.2-1b")
    about = {"batches": (1,), "contexts": (8,), "prompts": (512,), "seconds": 1.0}
    short = plan(**about)  # type: ignore[arg-type]
    long = plan(**about, model=model, speed=1e10)  # type: ignore[arg-type]
    # 1.24 G parameters of 2 bytes; 512 tokens of 2 FLOP each but for the table and the head, three
    # steps at the least, one second of them counted already
    prefill = 3 * 512 * 2 * (1.2358e9 - 2048 * 128256) / 1e10 - 1
    assert long.total - short.total == pytest.approx(2 * 1.2358e9 / 4e8 + prefill, rel=0.05)


@pytest.mark.parametrize(("others", "policy"), [(0.0, None), (1.5, "PASSIVE")])
def test_idle_threads_sleep_only_beside_others(
    monkeypatch: pytest.MonkeyPatch, others: float, policy: str | None
) -> None:
    from roofline.engines import libllama

    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    monkeypatch.setattr(libllama.quiet, "others", lambda before, after: others)
    libllama.choose_waiting()
    assert os.environ.get("OMP_WAIT_POLICY") == policy
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    libllama.choose_waiting()
    assert os.environ["OMP_WAIT_POLICY"] == "ACTIVE"


def test_choosing_imports_no_engine_and_says_what_it_will_do(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["bench", "llama-3.2-1b", "--engine", "torch", "--device", "cpu", "--dry-run"]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert "torch: llama-3.2-1b, bf16, on cpu" in said.err
    assert "points: 6, about" in said.err


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        (BenchRequest(engine="endpoint"), "--url"),
        (BenchRequest(url="http://x", prompts=(5,)), "--prompt"),
        (BenchRequest(engine="llamacpp", device="cuda"), "--device"),
        (BenchRequest(model="no-such-model", engine="torch", device="cpu"), "no-such-model"),
        (BenchRequest(model="llama-3.1-405b", engine="torch", device="cpu"), "--layers"),
    ],
)
def test_wrong_requests(request_: BenchRequest, says: str) -> None:
    with pytest.raises(InputError, match=says):
        choose.choose(request_)


def test_job_numbers_are_checked() -> None:
    for batch, length in itertools.product((0, 1), repeat=2):
        if batch and length:
            Job("decode", batch, length)
        else:
            with pytest.raises(InputError):
                Job("decode", batch, length)


@pytest.mark.parametrize("named", [None, "llama-3.2-1b"])
def test_a_file_that_our_reader_refuses_reaches_no_engine(
    tmp_path: Path, named: str | None
) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF\x03\x00\x00\x00" + b"\xff" * 100)
    request = BenchRequest(model=named, engine="llamacpp", gguf=str(path), batches=(1,))
    with pytest.raises(InputError, match=r"broken\.gguf"):
        choose.choose(request)
