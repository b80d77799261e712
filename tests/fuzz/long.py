"""Mutated inputs for as long as one likes: ``python tests/fuzz/long.py [TARGET…] --runs N``.

Each target runs in a process of its own with so much memory; an input that takes longer than the
patience, ends the process or is no sentence is kept beside this file, in ``found/``.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import random
import resource
import signal
import subprocess
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
MEMORY = 1 << 30
"""Bytes of address space a target has beyond what it starts with."""

PATIENCE_S = 10


def load(name: str):
    """A file beside this one."""
    spec = importlib.util.spec_from_file_location(name, os.path.join(HERE, f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def keep(name: str, data: bytes, why: str) -> None:
    """An input that was a fault."""
    folder = os.path.join(HERE, "found", name)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, hashlib.sha256(data).hexdigest()[:12])
    with open(path, "wb") as file:
        file.write(data)
    print(f"  {name}: {why}\n    {path}", flush=True)


def run(name: str, runs: int, seed: int, most: int) -> int:
    """One target in this process; how many kinds of fault it found."""
    harness, mutate = load("harness"), load("mutate")
    seeds = [data for which, data in harness.seeds() if which == name]
    rng = random.Random(f"{name} {seed}")
    for data in seeds:
        harness_one(harness, name, data)
    with open("/proc/self/statm", encoding="ascii") as statm:
        used = int(statm.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    kinds: set[str] = set()
    start, slowest = time.monotonic(), 0.0
    signal.signal(signal.SIGALRM, late)
    for i in range(runs):
        data = mutate.mutated(rng.choice(seeds), rng)
        signal.alarm(PATIENCE_S)
        began = time.monotonic()
        why = harness_one(harness, name, data)
        signal.alarm(0)
        slowest = max(slowest, time.monotonic() - began)
        if why is not None and why.partition(" | ")[0] not in kinds:
            kinds.add(why.partition(" | ")[0])
            keep(name, data, why)
            if len(kinds) >= most:
                runs = i + 1
                break
    spent = time.monotonic() - start
    print(f"{name:14} {runs:8,} inputs in {spent:6.1f} s, slowest {slowest:5.2f} s, "
          f"{len(kinds)} kinds of fault", flush=True)  # fmt: skip
    return len(kinds)


class Late(BaseException):
    """An input that took too long; no handler of ours may take it for something else."""


def late(number: int, frame: object) -> None:
    """The input took too long."""
    raise Late(f"over {PATIENCE_S} s")


def harness_one(harness, name: str, data: bytes) -> str | None:
    """What was wrong with an input, by place; ``None`` if nothing."""
    try:
        harness.one(name, data)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        frames = traceback.extract_tb(error.__traceback__)
        last = next((f for f in reversed(frames) if "roofline/" in f.filename), frames[-1])
        where = f"{os.path.basename(last.filename)}:{last.lineno}"
        return f"{type(error).__name__} at {where} | {str(error)[:160]!r}"
    return None


def main() -> int:
    """Run the targets asked for, each in a process of its own."""
    p = argparse.ArgumentParser()
    p.add_argument("targets", nargs="*")
    p.add_argument("--runs", type=int, default=20_000)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--most", type=int, default=40, help="kinds of fault after which to stop")
    p.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    args = p.parse_args()
    if args.here:
        return run(args.targets[0], args.runs, args.seed, args.most)
    faults = 0
    for name in args.targets or sorted(load("harness").TARGETS):
        command = [sys.executable, __file__, name, "--here", "--runs", str(args.runs)]
        command += ["--seed", str(args.seed), "--most", str(args.most)]
        faults += abs(subprocess.run(command, check=False).returncode)
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
