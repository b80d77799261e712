"""Working sets, levels, threads: what is measured where."""

import threading

import numpy as np
import pytest

from fakes.measure_fakes import topology
from roofline.errors import RooflineError
from roofline.measuring import bandwidth, portable, session
from roofline.measuring.crew import Crew
from roofline.measuring.limits import HostLimits
from roofline.measuring.sampling import sample
from roofline.measuring.topology import Cache, Core

pytestmark = pytest.mark.alone

GIB = 1 << 30


def limits(t, memory=16 * GIB, quota=None):
    return HostLimits(t.cores, quota, memory)


def test_memory_is_far_beyond_the_last_level():
    assert bandwidth.memory_bytes(topology(), limits(topology())) == GIB
    big = topology(caches=[Cache(3, 384 << 20, (0, 1))])
    assert bandwidth.memory_bytes(big, limits(big)) == 4 * (384 << 20)


def test_memory_never_takes_more_than_is_free():
    t = topology()
    assert bandwidth.memory_bytes(t, limits(t, memory=GIB)) == int(0.4 * GIB)
    assert bandwidth.memory_bytes(t, limits(t, memory=None)) == GIB


def test_levels_of_private_and_shared_caches():
    t = topology(cores=4)
    found = {level.key: level.sizes for level in bandwidth.levels(t, limits(t))}
    assert found["L1"] == (16 << 10,)
    assert found["L2"] == (512 << 10,)
    assert found["L3"] == (4 << 20, 2 << 20)  # a quarter of 32 MiB each, half and quarter of that


def test_only_our_threads_share_a_cache():
    t = topology(cores=4)
    alone = HostLimits(t.cores[:1], None, 16 * GIB)
    sizes = {level.key: level.sizes for level in bandwidth.levels(t, alone)}
    assert sizes["L3"] == (16 << 20, 8 << 20)


def test_a_share_no_larger_than_the_level_below_is_no_level():
    t = topology(
        caches=[Cache(1, 32 << 10, (0,)), Cache(2, 1 << 20, (0,)), Cache(3, 2 << 20, (0,))]
    )
    assert [level.key for level in bandwidth.levels(t, limits(t))] == ["L1", "L2"]


def test_no_caches_no_levels():
    t = topology(caches=[])
    assert bandwidth.levels(t, limits(t)) == []


@pytest.fixture
def crew():
    with Crew((Core((0,)), Core((0,)))) as made:
        yield made


def test_crew_runs_together(crew):
    met = threading.Barrier(2, timeout=10)
    seen = []

    def task(i):
        met.wait()
        seen.append(i)

    window = crew.run(task, 7)
    assert sorted(seen) == [0, 1]
    assert window.calls == 7
    assert window.seconds > 0
    assert 0 <= window.share <= 1


def test_crew_of_some(crew):
    seen = []
    crew.run(seen.append, members=1)
    assert seen == [0]


def test_crew_hands_errors_over(crew):
    with pytest.raises(ZeroDivisionError):
        crew.run(lambda i: 1 // i)
    assert crew.run(lambda i: None).calls == 1


def test_a_thread_that_sleeps_shows(crew):
    import time

    assert crew.run(lambda i: time.sleep(0.05)).share < 0.5


def test_no_room_is_a_sentence(crew, monkeypatch):
    def full(*_):
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(bandwidth, "Buffer", full)
    with pytest.raises(RooflineError, match=r"no room for 2\.0 GiB"):
        bandwidth.Arena(crew, 2 * GIB)


def test_all_probes_of_a_small_machine(crew):
    kernel_native = pytest.importorskip("roofline.measuring.kernel_native")
    pytest.importorskip("llvmlite")
    native = kernel_native.compile_kernels()
    t = topology(caches=[Cache(1, 32 << 10, (i,)) for i in range(2)])
    places = (bandwidth.Arena(crew, 4 << 20),)
    probes = list(bandwidth.probes(native, places, t, limits(t), quick=True))
    assert [p.key for p in probes] == [
        "bandwidth.memory",
        "bandwidth.memory.copy",
        "bandwidth.memory.triad",
        "bandwidth.memory.core",
        "bandwidth.L1",
    ]
    table, done = sample(probes, 0.1)
    assert done
    assert all(s.rates for rows in table.values() for s in rows)


def test_memory_is_tried_in_two_placements_where_there_is_room(crew):
    kernel_native = pytest.importorskip("roofline.measuring.kernel_native")
    pytest.importorskip("llvmlite")
    t = topology()
    roomy = bandwidth.arenas(crew, 4 << 20, limits(t, memory=32 << 20))
    assert [a.note for a in roomy] == ["", ", small pages"]
    assert len(bandwidth.arenas(crew, 4 << 20, limits(t, memory=28 << 20))) == 1
    native = kernel_native.compile_kernels()
    table = {
        p.key: [c.label for c in p.candidates]
        for p in bandwidth.probes(native, roomy, t, limits(t), quick=False)
    }
    del native
    for key, labels in table.items():
        scattered = sum("small pages" in label for label in labels)
        several = key in ("bandwidth.memory.copy", "bandwidth.memory.triad")
        assert scattered == (len(labels) // 2 if several else 0), key


def test_the_machine_code_outlives_what_compiled_it(crew):
    kernel_native = pytest.importorskip("roofline.measuring.kernel_native")
    pytest.importorskip("llvmlite")
    import gc

    arena = bandwidth.Arena(crew, 1 << 20)
    candidate = arena.read(kernel_native.compile_kernels().reads[0], arena.each, 1)
    gc.collect()
    assert candidate.run(3).seconds > 0


def test_fast_cores_alone_are_tried_too():
    kernel_native = pytest.importorskip("roofline.measuring.kernel_native")
    pytest.importorskip("llvmlite")
    t = topology(cores=2)
    cores = (Core((0,)), Core((0,), capacity=0.5))
    with Crew(cores) as two:
        places = (bandwidth.Arena(two, 1 << 20),)
        native = kernel_native.compile_kernels()
        first = next(iter(bandwidth.probes(native, places, t, limits(t), quick=True)))
    assert sum("1 fast cores" in c.label for c in first.candidates) == 3


def test_numpy_alone(crew):
    arena = portable.PortableArena(crew, 6 << 20)
    probes = list(arena.probes())
    assert [p.key for p in probes] == [
        "bandwidth.memory",
        "bandwidth.memory.copy",
        "bandwidth.memory.core",
    ]
    for probe in probes:
        for candidate in probe.candidates:
            assert candidate.run(2).seconds > 0
    everyone, one = probes[0].candidates[0].amount, probes[2].candidates[0].amount
    assert everyone == 2 * one
    assert 5.9 * (1 << 20) < everyone <= 6 << 20
    assert all(np.array_equal(a[1], a[2]) for a in arena.arrays)  # the copy copied


def test_numpy_maximum_is_checked(crew):
    arena = portable.PortableArena(crew, 6 << 20)
    candidate = next(arena.probes()).candidates[0]
    candidate.run(1)
    arena.arrays[1][2][7] += 1 << 40
    with pytest.raises(RooflineError, match="wrong value"):
        candidate.run(1)


def test_leaving_waits_for_the_kernel_that_still_runs():
    """Its memory is freed after that: an interrupted run must not crash."""
    import time

    started, done = threading.Event(), []

    def task(i):
        started.set()
        time.sleep(0.2)
        done.append(i)

    crew = Crew((Core((0,)),))
    caller = threading.Thread(target=crew.run, args=(task,))
    caller.start()
    started.wait(10)
    crew.close()
    assert done == [0]
    caller.join()


def test_blas_threads_are_told_to_sleep_before_numpy_is_loaded(monkeypatch):
    """Spinning threads of one library would halve the product of the next."""
    environment = {}
    monkeypatch.setattr(session.os, "environ", environment)
    t = topology(cores=4)
    session.settle_threads(limits(t))
    assert environment == {"OPENBLAS_THREAD_TIMEOUT": "16"}
    session.settle_threads(limits(t, quota=2.0))
    assert environment["OPENBLAS_NUM_THREADS"] == "2"
