"""Shares of a machine: control groups of both kinds, affinity, free memory."""

import os

import pytest

from fakes.measure_fakes import tree
from roofline.measuring import limits
from roofline.measuring.topology import Core, Topology

GIB = 1 << 30


def machine(cores=8, **kwargs):
    return Topology(
        name="test",
        arch="x86_64",
        system="Linux",
        cores=tuple(Core((i,)) for i in range(cores)),
        caches=kwargs.pop("caches", ()),
        features=frozenset(),
        memory=64 * GIB,
        **kwargs,
    )


ALL = frozenset(range(8))


def test_no_limits(tmp_path):
    root = tree(tmp_path, {"proc/meminfo": "MemAvailable:  1048576 kB", "proc/self/cgroup": "0::/"})
    found = limits.read(machine(), root, ALL)
    assert (found.quota, found.memory, found.memory_limit, found.threads) == (None, GIB, None, 8)


def test_version_2_tightest_ancestor_counts(tmp_path):
    root = tree(
        tmp_path,
        {
            "proc/self/cgroup": "0::/pod/box",
            "proc/meminfo": "MemAvailable:  67108864 kB",
            "sys/fs/cgroup/pod/box/cpu.max": "max 100000",
            "sys/fs/cgroup/pod/cpu.max": "250000 100000",
            "sys/fs/cgroup/pod/box/memory.max": str(4 * GIB),
            "sys/fs/cgroup/pod/box/memory.current": str(GIB),
            "sys/fs/cgroup/pod/memory.max": str(16 * GIB),
            "sys/fs/cgroup/pod/box/cpu.stat": "usage_usec 5\nnr_throttled 7\n",
        },
    )
    found = limits.read(machine(), root, ALL)
    assert (found.quota, found.threads) == (2.5, 2)
    assert (found.memory_limit, found.memory) == (4 * GIB, 3 * GIB)
    assert limits.throttled(root) == 7


def test_version_1(tmp_path):
    root = tree(
        tmp_path,
        {
            "proc/self/cgroup": "4:memory:/a\n1:cpu,cpuacct:/a\n0::/",
            "sys/fs/cgroup/cpu/a/cpu.cfs_quota_us": "150000",
            "sys/fs/cgroup/cpu/a/cpu.cfs_period_us": "100000",
            "sys/fs/cgroup/memory/a/memory.limit_in_bytes": str(2 * GIB),
            "sys/fs/cgroup/memory/a/memory.usage_in_bytes": str(3 * GIB),
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
        },
    )
    found = limits.read(machine(), root, ALL)
    assert (found.quota, found.threads) == (1.5, 1)
    assert (found.memory_limit, found.memory) == (2 * GIB, 0)


def test_version_1_unlimited(tmp_path):
    root = tree(
        tmp_path,
        {
            "proc/self/cgroup": "1:cpu:/",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
        },
    )
    assert limits.read(machine(), root, ALL).quota is None


def test_affinity_keeps_only_our_threads(tmp_path):
    cores = tuple(Core((i, i + 4), node=i // 2) for i in range(4))
    t = Topology("x", "x86_64", "Linux", cores, (), frozenset(), None)
    found = limits.read(t, str(tmp_path), frozenset({1, 5, 6}))
    assert [c.threads for c in found.cores] == [(1, 5), (6,)]
    assert [c.node for c in found.cores] == [0, 1]


def test_affinity_the_topology_does_not_know(tmp_path):
    found = limits.read(machine(2), str(tmp_path), frozenset({40, 41}))
    assert [c.threads for c in found.cores] == [(40,), (41,)]


@pytest.mark.parametrize(("quota", "threads"), [(0.5, 1), (1.0, 1), (1.97, 2), (2.5, 2), (99, 8)])
def test_whole_threads_within_a_quota(quota, threads):
    assert limits.HostLimits(machine().cores, quota, None).threads == threads


def test_swapped(tmp_path):
    root = tree(tmp_path, {"proc/vmstat": "pswpin 3\npswpout 4\npgfault 9"})
    assert limits.swapped(root) == 7
    assert limits.swapped(str(tmp_path / "none")) is None


def test_path_of_a_group_cannot_leave_its_root(tmp_path):
    root = tree(tmp_path, {"proc/self/cgroup": "0::/../../etc", "etc/cpu.max": "1 1"})
    assert limits.read(machine(), root, ALL).quota is None


def test_here():
    from roofline.measuring import topology

    found = limits.read(topology.read())
    if hasattr(os, "sched_getaffinity"):
        ours = {t for c in found.cores for t in c.threads}
        assert ours == os.sched_getaffinity(0)
    assert 1 <= found.threads <= len(found.cores)
