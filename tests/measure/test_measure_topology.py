"""Processors that are not here, as trees of files and tables of sysctl values."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.measure_fakes import tree
from roofline.measuring import topology


def cpu_files(cpu, siblings, package=0, caches=(), **extra):
    base = f"sys/devices/system/cpu/cpu{cpu}"
    files = {
        f"{base}/topology/thread_siblings_list": siblings,
        f"{base}/topology/physical_package_id": str(package),
    }
    for index, (level, kind, size, shared) in enumerate(caches):
        here = f"{base}/cache/index{index}"
        files[f"{here}/level"] = str(level)
        files[f"{here}/type"] = kind
        files[f"{here}/size"] = size
        files[f"{here}/shared_cpu_list"] = shared
    for name, value in extra.items():
        files[f"{base}/{name.replace('__', '/')}"] = value
    return files


@pytest.fixture
def two_sockets(tmp_path):
    """Two sockets of two cores with two threads each: 0-3 and their siblings 4-7."""
    files = {
        "proc/cpuinfo": "\n".join(
            f"processor\t: {i}\nmodel name\t: Intel(R) Xeon(R)  Platinum 8480+\n"
            "flags\t\t: fpu sse2 avx2 avx512f amx_tile hwp"
            for i in range(8)
        ),
        "proc/meminfo": "MemTotal:       527999996 kB\nMemAvailable:   500000000 kB",
        "sys/devices/system/cpu/online": "0-7",
        "sys/devices/system/node/node0/cpulist": "0-1,4-5",
        "sys/devices/system/node/node1/cpulist": "2-3,6-7",
        "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
    }
    for cpu in range(8):
        core, socket = cpu % 4, cpu % 4 // 2
        siblings = f"{core},{core + 4}"
        shared = f"{socket * 2}-{socket * 2 + 1},{socket * 2 + 4}-{socket * 2 + 5}"
        caches = [
            (1, "Data", "48K", siblings),
            (1, "Instruction", "32K", siblings),
            (2, "Unified", "2048K", siblings),
            (3, "Unified", "107520K", shared),
        ]
        files |= cpu_files(
            cpu,
            siblings,
            socket,
            caches,
            cpufreq__scaling_governor="powersave",
            cpufreq__cpuinfo_max_freq="3800000",
        )
    return tree(tmp_path, files)


def test_two_sockets(two_sockets):
    t = topology.read(two_sockets, "Linux")
    assert t.name == "Intel(R) Xeon(R) Platinum 8480+"
    assert [c.threads for c in t.cores] == [(0, 4), (1, 5), (2, 6), (3, 7)]
    assert [c.node for c in t.cores] == [0, 0, 1, 1]
    assert [c.package for c in t.cores] == [0, 0, 1, 1]
    assert t.cache(1).size == 48 << 10  # the data cache, not the instructions'
    assert t.last_level() == 2 * 107520 << 10  # both sockets' together
    assert {"avx512f", "amx_tile"} <= t.features
    assert (t.governor, t.huge_pages, t.hypervisor) == ("powersave", "madvise", None)
    assert t.memory == 527999996 * 1024


def test_arm_server(tmp_path):
    files = {
        "proc/cpuinfo": "processor\t: 0\nFeatures\t: fp asimd sve sve2 bf16 i8mm\n"
        "CPU implementer\t: 0x41\nCPU part\t: 0xd4f\n",
        "sys/devices/system/cpu/online": "0-1",
    }
    for cpu in range(2):
        caches = [
            (1, "Data", "64K", str(cpu)),
            (2, "Unified", "1024K", str(cpu)),
            (3, "Unified", "116736K", "0-1"),
        ]
        files |= cpu_files(cpu, str(cpu), 0, caches)
    t = topology.read(tree(tmp_path, files), "Linux")
    assert (t.name, t.arch) == ("Arm Neoverse-V2", "aarch64")
    assert {"sve2", "bf16"} <= t.features
    assert [c.level for c in t.caches] == [1, 1, 2, 2, 3]


def test_unknown_arm_part_is_named_by_its_numbers(tmp_path):
    info = "processor\t: 0\nCPU implementer\t: 0x99\nCPU part\t: 0x123\n"
    t = topology.read(tree(tmp_path, {"proc/cpuinfo": info}), "Linux")
    assert t.name == "Arm implementer 0x99 part 0x123"


def test_big_and_little(tmp_path):
    files = {"sys/devices/system/cpu/online": "0-3", "proc/cpuinfo": ""}
    for cpu in range(4):
        files |= cpu_files(cpu, str(cpu), cpu_capacity="1024" if cpu < 2 else "512")
    t = topology.read(tree(tmp_path, files), "Linux")
    assert [c.capacity for c in t.cores] == [1.0, 1.0, 0.5, 0.5]


def test_offline_siblings_are_not_counted(tmp_path):
    files = {"sys/devices/system/cpu/online": "0", "proc/cpuinfo": ""}
    files |= cpu_files(0, "0,1")
    assert topology.read(tree(tmp_path, files), "Linux").cores[0].threads == (0,)


def test_bare_container_without_sysfs(tmp_path):
    info = "processor\t: 0\nprocessor\t: 1\nmodel name\t: AMD EPYC\nflags\t: hypervisor\n"
    t = topology.read(tree(tmp_path, {"proc/cpuinfo": info}), "Linux")
    assert (len(t.cores), t.caches, t.last_level()) == (2, (), None)
    assert t.hypervisor == "unnamed"
    assert t.cache(1) is None


def test_apple_silicon():
    values = {
        "machdep.cpu.brand_string": "Apple M2 Max",
        "hw.optional.arm64": "1",
        "hw.memsize": str(96 << 30),
        "hw.nperflevels": "2",
        "hw.perflevel0.physicalcpu": "8",
        "hw.perflevel0.l1dcachesize": "131072",
        "hw.perflevel0.l2cachesize": str(16 << 20),
        "hw.perflevel0.cpusperl2": "4",
        "hw.perflevel1.physicalcpu": "4",
        "hw.perflevel1.l1dcachesize": "65536",
        "hw.perflevel1.l2cachesize": str(4 << 20),
        "hw.perflevel1.cpusperl2": "4",
    }
    t = topology.read(system="Darwin", sysctl=values.get)
    assert (t.name, t.arch, len(t.cores)) == ("Apple M2 Max", "arm64", 12)
    assert sum(c.capacity == 1.0 for c in t.cores) == 8
    assert [c.size >> 20 for c in t.caches if c.level == 2] == [16, 16, 4]
    assert t.cache(2).size == 4 << 20
    assert t.last_level() == 36 << 20
    assert t.hypervisor is None


def test_intel_mac():
    values = {
        "machdep.cpu.brand_string": "Intel(R) Core(TM) i7",
        "hw.physicalcpu": "4",
        "hw.logicalcpu": "8",
        "hw.l1dcachesize": "32768",
        "hw.l2cachesize": "262144",
        "hw.l3cachesize": "8388608",
        "hw.memsize": str(16 << 30),
    }
    t = topology.read(system="Darwin", sysctl=values.get)
    assert [c.threads for c in t.cores][:2] == [(0, 1), (2, 3)]
    assert t.last_level() == 8 << 20


def test_other_system_knows_only_its_cpus():
    t = topology.read(system="Windows")
    assert len(t.cores) >= 1
    assert t.caches == ()


@pytest.mark.parametrize(
    ("spec", "cpus"),
    [
        ("0", (0,)),
        ("0-3,8", (0, 1, 2, 3, 8)),
        ("", ()),
        ("a", ()),
        ("3-1", ()),
        (" 0 , 2 ", (0, 2)),
    ],
)
def test_cpu_list(spec, cpus):
    assert topology.cpu_list(spec) == cpus


@pytest.mark.parametrize(
    ("spec", "size"),
    [("32K", 32768), ("1M", 1 << 20), ("512", 512), ("2G", 2 << 30), ("", None), ("-1K", None)],
)
def test_size_bytes(spec, size):
    assert topology.size_bytes(spec) == size


@settings(deadline=None)
@given(st.text(max_size=40))
def test_any_text_is_a_list_of_cpus_or_nothing(spec):
    if "-" not in spec:
        assert all(cpu >= 0 for cpu in topology.cpu_list(spec))
    topology.size_bytes(spec)


@settings(deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(
            [
                "proc/cpuinfo",
                "proc/meminfo",
                "sys/devices/system/cpu/online",
                "sys/devices/system/cpu/cpu0/cache/index0/size",
                "sys/devices/system/cpu/cpu0/cache/index0/level",
                "sys/devices/system/cpu/cpu0/topology/thread_siblings_list",
                "sys/devices/system/cpu/cpu0/cpu_capacity",
                "sys/devices/system/node/node0/cpulist",
                "sys/kernel/mm/transparent_hugepage/enabled",
            ]
        ),
        st.sampled_from(
            [
                "",
                "0",
                "0-1",
                "1-0",
                "x",
                "[never",
                "32K",
                "99999999999999999999",
                "é\x00",
                "model name : \nflags : \nprocessor : 0",
                "MemTotal: x kB",
                "-5",
            ]
        ),
    )
)
def test_odd_files_never_raise(tmp_path_factory, files):
    t = topology.read(tree(tmp_path_factory.mktemp("root"), files), "Linux")
    assert t.cores


def test_this_machine():
    t = topology.read()
    assert sum(len(core.threads) for core in t.cores) >= 1
    assert t.name
