"""GPUs of four makers that are not here: listing, timing, probes, whole runs."""

import pytest

from fakes.measure_fakes import FakeTorch, Namespace
from roofline.errors import MissingExtra, NotFound, RooflineError
from roofline.measuring import devices, gemm, overhead, record, session, torch_probes
from roofline.measuring.sampling import sample
from roofline.measuring.torch_device import TorchDevice, TorchLibrary, import_torch
from roofline.measuring.torch_device import devices as torch_devices

pytest.importorskip("torch")

MI300X = (("AMD Instinct MI300X", 206 << 30, 4 << 20),)
TWO = (("NVIDIA GeForce RTX 4090", 24 << 30, 72 << 20),) * 2
ARC = (("Intel(R) Arc(TM) A770 Graphics", 16 << 30, 16 << 20),)


@pytest.mark.parametrize(
    ("fake", "keys", "platform"),
    [
        (FakeTorch(), ["cuda:0"], "cuda"),
        (FakeTorch(cards=TWO), ["cuda:0", "cuda:1"], "cuda"),
        (FakeTorch("rocm", MI300X), ["cuda:0"], "rocm"),
        (FakeTorch("xpu", ARC), ["xpu:0"], "xpu"),
        (FakeTorch("mps"), ["mps"], "mps"),
        (FakeTorch("none"), [], None),
    ],
)
def test_listing(fake, keys, platform):
    rows = devices.found(fake)
    assert [r.key for r in rows] == ["cpu", *keys]
    assert all(r.platform == platform for r in rows[1:])
    assert all(r.memory for r in rows[1:])


def test_choice():
    rows = devices.found(FakeTorch(cards=TWO))
    assert devices.choose(None, rows).key == "cuda:0"
    assert devices.choose("cuda", rows).key == "cuda:0"
    assert devices.choose("CUDA:1", rows).key == "cuda:1"
    assert devices.choose("cpu", rows).key == "cpu"
    assert devices.choose(None, rows[:1]).key == "cpu"
    with pytest.raises(NotFound, match="known: cpu, cuda:0, cuda:1"):
        devices.choose("xpu", rows)
    assert devices.choose("rocm:0", devices.found(FakeTorch("rocm", MI300X))).platform == "rocm"


def test_a_driver_torch_does_not_see(monkeypatch):
    monkeypatch.setattr(devices.shutil, "which", lambda tool: tool == "nvidia-smi")
    rows = devices.found(FakeTorch("none"))
    assert devices.unreachable(rows) == ["cuda"]
    assert devices.unreachable(devices.found(FakeTorch())) == []


def test_torch_that_is_not_installed(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match="pip install"):
        import_torch("measuring an accelerator")


def test_properties():
    card = torch_devices(FakeTorch())[0]
    assert (card.name, card.memory, card.cache, card.units) == (
        "NVIDIA H100 80GB HBM3",
        85 << 30,
        50 << 20,
        132,
    )
    assert card.free == 256 << 20
    metal = torch_devices(FakeTorch("mps"))[0]
    assert (metal.memory, metal.free, metal.cache) == (48 << 30, 48 << 30, None)


def test_a_driver_that_does_not_know_what_is_free():
    fake = FakeTorch("xpu", ARC)

    def unknown(_):
        raise RuntimeError("not supported by this driver")

    fake.xpu.mem_get_info = unknown
    assert torch_devices(fake)[0].free is None


@pytest.mark.parametrize("kind", ["cuda", "rocm", "xpu", "mps"])
def test_events_time_the_work_and_the_device_is_waited_for(kind):
    fake = FakeTorch(kind)
    device = torch_devices(fake)[0]
    seen = []
    window = device.timed(lambda: seen.append(1), 50)
    assert (window.calls, len(seen)) == (50, 50)
    assert 0 < window.seconds < 1
    assert fake.log == ["sync", "sync"]


def test_without_events_the_wall_clock_does():
    fake = FakeTorch("xpu", ARC)

    def refuse(enable_timing):
        raise NotImplementedError

    fake.xpu.Event = refuse
    window = torch_devices(fake)[0].timed(lambda: None, 3)
    assert window.seconds > 0
    assert fake.log == ["sync", "sync"]


@pytest.mark.parametrize("kind", ["cuda", "rocm", "xpu", "mps"])
def test_bandwidth_probes(kind):
    fake = FakeTorch(kind)
    device = torch_devices(fake)[0]
    probes = list(torch_probes.probes(device, 96 << 20))
    keys = [p.key for p in probes]
    assert keys[:3] == ["bandwidth.memory", "bandwidth.memory.copy", "bandwidth.memory.triad"]
    assert keys[3:] == ([] if kind == "mps" else ["bandwidth.L2"])
    table, done = sample(probes, 0.2)
    assert done
    assert all(s.rates for rows in table.values() for s in rows)
    assert probes[0].candidates[0].amount == 96 << 20
    assert probes[2].candidates[0].amount == pytest.approx(96 << 20, rel=0.01)
    made = [entry[1] for entry in fake.log if entry[0] in ("ones", "empty")]
    assert set(made) == {device.key}


def test_a_device_that_reads_wrong_is_noticed():
    fake = FakeTorch()
    fake.amax = lambda matrix, dim: matrix.sum(dim=dim) * 0
    probe = next(torch_probes.probes(torch_devices(fake)[0], 1 << 20))
    wrong = [c for c in probe.candidates if "maxima" in c.label]
    with pytest.raises(RooflineError, match="wrong value"):
        wrong[0].run(1)


def test_a_full_device_is_a_sentence():
    fake = FakeTorch()

    def full(*_, **__):
        raise RuntimeError("CUDA out of memory. Tried to allocate 1.00 GiB")

    fake.ones = full
    with pytest.raises(RooflineError, match="no room"):
        next(torch_probes.probes(torch_devices(fake)[0], 1 << 30))


def test_working_set():
    device = torch_devices(FakeTorch())[0]
    assert torch_probes.working_set(device) == int(0.4 * (256 << 20))
    fake = FakeTorch()
    fake.cuda.mem_get_info = lambda _: (80 << 30, 85 << 30)
    assert torch_probes.working_set(torch_devices(fake)[0]) == 1 << 30


@pytest.mark.parametrize(
    ("kind", "has", "has_not"),
    [
        ("cuda", {"tf32", "fp8", "int8"}, set()),
        ("rocm", {"fp8"}, {"tf32"}),
        ("xpu", {"bf16"}, {"tf32"}),
        ("mps", {"fp16"}, {"fp64", "int8", "fp8"}),
    ],
)
def test_precisions(kind, has, has_not):
    precisions = set(TorchLibrary(torch_devices(FakeTorch(kind))[0]).precisions)
    assert has <= precisions
    assert not has_not & precisions


@pytest.mark.parametrize("precision", ["fp64", "fp32", "tf32", "bf16", "fp16", "int8"])
def test_products_are_right(precision):
    library = TorchLibrary(torch_devices(FakeTorch())[0])
    gemm.check("torch", precision, library.product(precision, (32, 256, 64)))


def test_tf32_leaves_the_setting_as_it_was():
    fake = FakeTorch()
    fake.backends.cuda = Namespace(matmul=Namespace(allow_tf32=False))
    product = TorchLibrary(torch_devices(fake)[0]).product("tf32", (8, 8, 8))
    product.call()
    assert fake.backends.cuda.matmul.allow_tf32 is False


def test_refusals_carry_torchs_reason():
    fake = FakeTorch()

    def no(*_, **__):
        raise RuntimeError('"addmm_cuda" not implemented for Half\nmore')

    fake.matmul = no
    with pytest.raises(gemm.Refused, match=r'torch on cuda:0: "addmm_cuda" not implemented'):
        TorchLibrary(torch_devices(fake)[0]).product("fp16", (8, 8, 8))
    fake.nn = Namespace(functional=Namespace())
    with pytest.raises(gemm.Refused, match="no public fp8 product"):
        TorchLibrary(torch_devices(fake)[0]).product("fp8", (8, 8, 8))
    fake._int_mm = None
    with pytest.raises(gemm.Refused, match="no int8 product"):
        TorchLibrary(torch_devices(fake)[0]).product("int8", (8, 8, 8))


def test_overheads_of_a_device():
    fake = FakeTorch()
    probes = list(overhead.torch_probes(torch_devices(fake)[0]))
    assert [p.key for p in probes] == ["overhead.launch", "overhead.sync"]
    fake.log.clear()
    probes[0].candidates[0].run(10)
    assert fake.log.count("sync") == 2  # queued: waited for once, not ten times
    fake.log.clear()
    probes[1].candidates[0].run(10)
    assert fake.log.count("sync") == 10


def test_all_reduce_needs_two_devices():
    one = torch_devices(FakeTorch())
    assert list(overhead.all_reduce_probes(one)) == []
    fake = FakeTorch(cards=TWO)
    probes = list(overhead.all_reduce_probes(torch_devices(fake), size=1 << 20))
    assert [p.key for p in probes] == ["overhead.all_reduce", "link.all_reduce"]
    assert probes[1].candidates[0].amount == 1 << 20  # 2·(2 - 1)/2 of the tensor
    assert probes[1].candidates[0].run(3).calls == 3
    assert ("all_reduce", 2, 0.0) in fake.log


@pytest.mark.parametrize(
    ("kind", "cards", "sheet"),
    [
        ("cuda", (("NVIDIA H100 80GB HBM3", 85_520_809_984, 50 << 20),), 3.35e12),
        ("rocm", (("AMD Instinct MI300X", 206_141_652_992, 4 << 20),), 5.3e12),
        ("xpu", (("Some GPU nobody knows", 16 << 30, 0),), None),
        ("mps", (), None),
    ],
)
def test_a_whole_run(kind, cards, sheet, monkeypatch):
    """The measured figures stand beside the sheet's of the part that the driver names."""
    from roofline.machine.load import entries, from_data
    from roofline.measuring.match import part

    fake = FakeTorch(kind, cards)
    fake.mps.recommended_max_memory = lambda: 64 << 20
    if cards:
        card = cards[0]
        getattr(fake, "xpu" if kind == "xpu" else "cuda").mem_get_info = lambda _: (
            64 << 20,
            card[1],
        )
    fake.__version__ = "2.13"
    monkeypatch.setattr(session, "decode_probes", lambda *_: iter(()))
    device = devices.found(fake)[1]
    result = session.run(device, session.Options("quick", 0.5, force=True))
    assert result.complete
    assert {"bandwidth.memory", "overhead.launch", "overhead.sync"} <= set(result.figures)
    data = record.machine(result, part(device.name, device.memory, entries()))
    machine = from_data(data, "the run")
    assert machine.measured.bandwidth["memory"].value > 0
    assert machine.id == f"here-{device.key.replace(':', '')}"
    found = machine.datasheet.bandwidth.get("memory")
    assert (found.value if found else None) == sheet


def test_torch_on_the_cpu_is_a_library_too():
    import torch

    library = TorchLibrary(TorchDevice(torch, "cpu"))
    assert "fp8" not in library.precisions
    for layout in library.layouts("fp32"):
        product = library.product("fp32", (16, 256, 16), layout)
        gemm.check("torch", "fp32", product)
    assert library.timed(product.call, 3).calls == 3
