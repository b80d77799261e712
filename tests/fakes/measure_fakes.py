"""Trees of files, simulated clocks and devices that are not here."""

import os


def tree(root, files):
    """Write ``files`` (path below ``root`` → content) and return ``root`` as text."""
    for path, content in files.items():
        full = os.path.join(root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(content + "\n")
    return str(root)


def topology(cores=2, caches=None, **kwargs):
    """A processor of ``cores`` with 32 KiB of L1, 1 MiB of L2 each and a shared L3 of 32 MiB."""
    from roofline.measuring.topology import Cache, Core, Topology

    everyone = tuple(range(cores))
    if caches is None:
        caches = [Cache(1, 32 << 10, (i,)) for i in everyone]
        caches += [Cache(2, 1 << 20, (i,)) for i in everyone]
        caches += [Cache(3, 32 << 20, everyone)]
    values = {
        "name": "Example CPU 9000",
        "arch": "x86_64",
        "system": "Linux",
        "cores": tuple(Core((i,)) for i in everyone),
        "caches": tuple(caches),
        "features": frozenset(),
        "memory": 64 << 30,
    }
    return Topology(**{**values, **kwargs})


def figure(key, best=100.0, **kwargs):
    """A figure of three windows."""
    from roofline.measuring.sampling import Estimate

    values = {"label": "a way", "median": best * 0.95, "spread": 0.05, "windows": 3}
    return Estimate(key, best=best, **{**values, **kwargs})


class Namespace:
    """Attributes given as keywords."""

    def __init__(self, **kwargs):
        self.__dict__.update(kwargs)


class FakeTorch:
    """torch with devices that are not here: every tensor really lives on the CPU.

    ``cards`` are (name, memory, L2) of devices of ``kind`` "cuda", "rocm" or "xpu";
    kind "mps" has one device without properties.
    """

    def __init__(self, kind="cuda", cards=(("NVIDIA H100 80GB HBM3", 85 << 30, 50 << 20),)):
        import torch

        self._torch = torch
        self.log = []
        self.version = Namespace(hip="6.2" if kind == "rocm" else None)
        for name in ("cuda", "xpu"):
            mine = name == kind or (name == "cuda" and kind == "rocm")
            setattr(self, name, self._module(cards if mine else ()))
        self.backends = Namespace(
            mps=Namespace(is_available=lambda: kind == "mps"), cuda=torch.backends.cuda
        )
        self.mps = Namespace(
            synchronize=lambda: self.log.append("sync"),
            recommended_max_memory=lambda: 48 << 30,
            event=Namespace(Event=self._event()),
        )

    def __getattr__(self, name):
        made = getattr(self._torch, name)
        if name not in ("ones", "zeros", "empty", "rand", "randint"):
            return made

        def on_the_cpu(*args, device="cpu", **kwargs):
            self.log.append((name, device))
            return made(*args, **kwargs)

        return on_the_cpu

    def _event(self):
        import time

        class Event:
            def __init__(self, enable_timing=False):
                assert enable_timing

            def record(self):
                self.at = time.perf_counter()

            def elapsed_time(self, other):
                return (other.at - self.at) * 1e3

        return Event

    def _module(self, cards):
        def reduce(tensors):
            total = sum(float(t.sum()) for t in tensors)
            self.log.append(("all_reduce", len(tensors), total))

        return Namespace(
            is_available=lambda: bool(cards),
            device_count=lambda: len(cards),
            get_device_name=lambda i: cards[i][0],
            get_device_properties=lambda i: Namespace(
                total_memory=cards[i][1], L2_cache_size=cards[i][2], multi_processor_count=132
            ),
            mem_get_info=lambda i: (256 << 20, cards[i][1]),
            synchronize=lambda i=0: self.log.append("sync"),
            Event=self._event(),
            nccl=Namespace(all_reduce=reduce),
        )


def excess(rate: float, intensity: float, peak: float | None, bandwidth: float | None) -> float:
    """How far ``rate`` (FLOP/s) at ``intensity`` lies above min(peak, intensity × bandwidth).

    0.1 is ten per cent above; negative is below. Unknown ceilings do not bind.
    """
    roofs = [peak] if peak else []
    if bandwidth:
        roofs.append(intensity * bandwidth)
    return rate / min(roofs) - 1 if roofs else float("-inf")


def violations(figures) -> dict[str, float]:
    """Keys of points above their own roof by more than its spread → by how much."""
    out: dict[str, float] = {}
    memory = figures.get("bandwidth.memory")
    for key, point in figures.items():
        if not key.startswith("gemm.") or point.intensity is None:
            continue
        # a precision without a unit of its own is computed in fp32
        peak = figures.get(f"compute.{key.split('.')[1]}") or figures.get("compute.fp32")
        over = excess(
            point.best,
            point.intensity,
            peak.best if peak else None,
            memory.best if memory else None,
        )
        allowed = max((f.spread for f in (peak, memory) if f), default=0.0)
        if over > allowed:
            out[key] = over
    return out
