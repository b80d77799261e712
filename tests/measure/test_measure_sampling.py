"""Sampling against a clock and machines of our own making."""

from itertools import pairwise

import pytest

from roofline.measuring.sampling import Candidate, Probe, Series, Window, better, sample


class World:
    """A simulated clock; a device that takes ``cost`` seconds a call, by a schedule."""

    def __init__(self):
        self.now = 0.0
        self.log = []

    def clock(self):
        return self.now

    def candidate(self, label, amount, cost, share=None):
        def run(calls):
            seconds = calls * (cost(self.now) if callable(cost) else cost)
            self.now += seconds
            self.log.append((label, calls))
            return Window(calls, seconds, share)

        return Candidate(label, amount, run)


def run(probes, world, seconds=5.0, **kwargs):
    return sample(probes, seconds, clock=world.clock, **kwargs)


def test_best_candidate_wins_and_rates_are_amount_over_time():
    world = World()
    probe = Probe(
        "bandwidth.memory",
        (
            world.candidate("slow", 1e9, 0.1),
            world.candidate("fast", 1e9, 0.05),
        ),
    )
    table, done = run([probe], world)
    figure = better(table["bandwidth.memory"]).figure()
    assert done
    assert (figure.label, figure.best, figure.median, figure.spread) == ("fast", 2e10, 2e10, 0)


def test_overheads_want_less():
    world = World()
    probe = Probe(
        "overhead.launch",
        (world.candidate("a", 1, 3e-6), world.candidate("b", 1, 5e-6)),
        lower=True,
    )
    figure = better(run([probe], world, 1)[0]["overhead.launch"]).figure()
    assert figure.label == "a"
    assert figure.best == pytest.approx(3e-6)


def test_probes_take_turns():
    world = World()
    probes = [Probe(k, (world.candidate(k, 1, 0.02),)) for k in "abc"]
    run(probes, world, 3)
    tail = [label for label, _ in world.log[-30:]]
    assert all(x != y for x, y in pairwise(tail))
    assert {tail.count(k) for k in "abc"} == {10}


def test_windows_are_filled():
    world = World()
    probe = Probe("x", (world.candidate("x", 1, 1e-5),), window=0.02)
    run([probe], world, 1)
    assert world.log[-1][1] == pytest.approx(2000, rel=0.3)


def test_only_the_leading_candidates_are_kept():
    """Those within 15 % of the best, and no more than three."""

    def counts(*costs):
        world = World()
        probe = Probe("x", tuple(world.candidate(str(c), 1, 0.01 * c) for c in costs))
        table, _ = run([probe], world, 3)
        return {s.candidate.label: len(s.rates) for s in table["x"]}

    far = counts(1, 1.1, 1.3, 2)
    assert far["1.3"] == far["2"] == 2
    assert far["1"] == far["1.1"] > 10
    near = counts(1, 1.1, 1.05, 1.02)
    assert near["1.1"] == 2
    assert near["1"] == near["1.05"] == near["1.02"] > 10


def test_a_candidate_takes_its_probes_turns():
    world = World()
    short = Probe("short", (world.candidate("short", 1, 0.005),), window=0.005, turns=4)
    table, _ = run([short, Probe("one", (world.candidate("one", 1, 0.02),))], world, 3)
    short_windows, windows = (len(table[key][0].rates) for key in ("short", "one"))
    assert short_windows == 4 * windows > 40


def test_choosing_takes_no_more_than_half_of_the_time():
    """Ten candidates of a second each in ten seconds: some are never tried, the rest sampled."""
    world = World()
    probe = Probe("x", tuple(world.candidate(str(i), 1, 1.0) for i in range(10)))
    table, _ = run([probe], world, 10)
    assert len(table["x"]) < 5
    assert better(table["x"]).figure().windows >= 2


def test_time_is_kept_even_with_slow_candidates():
    world = World()
    probe = Probe("x", (world.candidate("slow", 1, 1.0),))
    run([probe], world, 10)
    assert world.now < 15.1


def test_what_does_not_repeat_is_given_more_time():
    """A neighbour leaves late in the run: its figure goes on until both halves agree."""
    world = World()
    slow_until = 9.0
    probes = [
        Probe("quiet", (world.candidate("quiet", 1, 0.02),)),
        Probe("late", (world.candidate("late", 1, lambda t: 0.02 if t > slow_until else 0.03),)),
    ]
    alone, _ = run(probes, world, 10)
    assert alone["late"][0].repeat == pytest.approx(1 / 3)
    world.now = 0.0
    heard = []
    more, done = run(probes, world, 10, extra=20, progress=lambda *a: heard.append((a[0], a[3])))
    assert done
    assert more["late"][0].repeat == 0
    assert len(more["quiet"][0].rates) == len(alone["quiet"][0].rates)
    assert 12 < world.now < 16
    left = [seconds for stage, seconds in heard if stage == "settle"]
    assert left == sorted(left, reverse=True)
    assert 0 < left[-1] < left[0] <= 20


def test_only_what_is_asked_for_is_given_more_time():
    world = World()
    falling = [world.candidate(k, 1, lambda t: 0.02 * (1 + t)) for k in "ab"]
    probes = [Probe(k, (one,)) for k, one in zip("ab", falling, strict=True)]
    table, _ = run(probes, world, 10, extra=5, again=lambda table: [k for k in table if k == "b"])
    assert len(table["b"][0].rates) > len(table["a"][0].rates) + 10


def test_what_never_repeats_costs_no_more_than_the_extra_time():
    world = World()
    falling = world.candidate("x", 1, lambda t: 0.02 * (1 + t))
    run([Probe("x", (falling,))], world, 10, extra=5)
    assert 15 <= world.now < 16.5


def test_drift_of_a_machine_that_slows_down():
    world = World()
    probe = Probe("compute.fp32", (world.candidate("x", 1, lambda t: 0.01 * (1 + t / 10)),))
    figure = better(run([probe], world, 10)[0]["compute.fp32"]).figure()
    assert 0.2 < figure.drift < 0.5
    assert figure.repeat == pytest.approx(1 / 3, abs=0.1)


def test_spread_and_share():
    world = World()
    costs = iter([0.02] * 100)
    probe = Probe("x", (world.candidate("x", 1, lambda _: next(costs), share=0.5),))
    series = Series(probe, probe.candidates[0])
    for _ in range(9):
        series.window()
    series.rates[:] = [10.0, 8, 8, 8, 8, 8, 8, 8, 8]
    figure = series.figure()
    assert (figure.best, figure.median, figure.spread, figure.share) == (
        10,
        8,
        pytest.approx(0.2),
        0.5,
    )
    assert figure.repeat == pytest.approx(0.2)


def test_no_window_no_figure():
    world = World()
    probe = Probe("x", (world.candidate("x", 1, 1),))
    assert Series(probe, probe.candidates[0]).figure() is None
    assert better([]) is None


@pytest.mark.parametrize("after", [0, 3, 12, 30])
def test_interrupt_keeps_what_is_done(after):
    world = World()
    calls = 0

    def run_once(n):
        nonlocal calls
        calls += 1
        if calls > after:
            raise KeyboardInterrupt
        world.now += 0.02 * n
        return Window(n, 0.02 * n)

    probes = [Probe(k, (Candidate(k, 1.0, run_once),)) for k in "ab"]
    table, done = run(probes, world)
    assert not done
    assert sum(len(s.rates) for rows in table.values() for s in rows) <= after
    if after >= 12:
        assert table["a"][0].figure() is not None


def test_progress_hears_every_window_and_the_time_left():
    world = World()
    heard = []
    probe = Probe("x", (world.candidate("x", 1, 0.02),))
    run([probe], world, 2, progress=lambda *a: heard.append(a))
    stages = [stage for stage, *_ in heard]
    assert stages[0] == "warm"
    assert stages[-1] == "sample"
    assert heard[-1][3] == pytest.approx(0, abs=0.1)


def test_between_is_called_once_a_round():
    world = World()
    rounds = []
    probes = [Probe(k, (world.candidate(k, 1, 0.05),)) for k in "ab"]
    table, _ = run(probes, world, 2, between=lambda: rounds.append(1))
    assert len(rounds) == len(table["a"][0].rates) - 2


def test_a_window_calibrated_while_the_cpu_was_away_is_made_longer():
    world = World()
    slow = iter([1.0])
    probe = Probe("x", (world.candidate("x", 1.0, lambda _: next(slow, 1e-6)),), window=0.02)
    series = Series(probe, probe.candidates[0])
    series.calibrate()
    assert series.calls == 1
    series.window()
    assert series.calls == pytest.approx(20_000, rel=0.3)
    assert series.rates == [pytest.approx(1e6)]


def test_an_instant_call_does_not_hang():
    probe = Probe("x", (Candidate("x", 1.0, lambda n: Window(n, 0.0)),))
    series = Series(probe, probe.candidates[0])
    series.calibrate()
    series.window()
    assert series.rates == []
