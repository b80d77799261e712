"""The browser part against C and NumPy, as ratios within one run.

    python benchmarks/browser_roof.py [--rounds 3] [--gpu]

Needs a C compiler, Chromium and Playwright. In turn, so that both see the same minutes:

- a reader in C (``-O3 -march=native``, as many threads), and the page's own read probe;
- NumPy's fp32 product, and the page's;
- the page's whole measurement as its readers get it: how long it takes, what the decode step at
  batch 1 reaches of the read roof, the longest task of the page's own thread meanwhile.

A machine that does other work blurs all of it: the load is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
from playwright.sync_api import sync_playwright

from roofline.page import page
from roofline.page.serve import PageServer

FLAGS = [
    "--no-sandbox", "--headless=new", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip

READER = r"""
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef int32_t vector __attribute__((vector_size(32)));
static size_t bytes;
static volatile int32_t sink;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

/* Four streams, eight sums: what the page's probe does, in the compiler's widest vectors. */
static void *sum(void *given) {
  const vector *p = given;
  size_t each = bytes / sizeof(vector) / 4;
  vector s[8] = {0};
  for (size_t i = 0; i < each; i += 2)
    for (int k = 0; k < 4; k++) {
      s[2 * k] += p[k * each + i];
      s[2 * k + 1] += p[k * each + i + 1];
    }
  for (int k = 1; k < 8; k++) s[0] += s[k];
  sink += s[0][0] + s[0][7];
  return 0;
}

int main(int count, char **words) {
  int threads = atoi(words[1]);
  double seconds = atof(words[2]);
  bytes = (512ul << 20) / threads;
  vector *parts[64];
  for (int i = 0; i < threads; i++) {
    parts[i] = aligned_alloc(64, bytes);
    for (size_t j = 0; j < bytes / 4; j++) ((int32_t *)parts[i])[j] = j * 0x9e3779b1u;
  }
  for (double end = now() + seconds; now() < end;) {
    pthread_t others[64];
    double start = now();
    for (int i = 1; i < threads; i++) pthread_create(&others[i], 0, sum, parts[i]);
    sum(parts[0]);
    for (int i = 1; i < threads; i++) pthread_join(others[i], 0);
    printf("%.6g\n", bytes * threads / (now() - start));
  }
  return 0;
}
"""

CATEGORIES = ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"]


def c_reads(program, threads, seconds):
    """Bytes/s of each window."""
    out = subprocess.run(
        [program, str(threads), str(seconds)], check=True, capture_output=True, text=True
    )
    return [float(x) for x in out.stdout.split()]


def numpy_product(seconds=1.0):
    """FLOP/s, best of a second of products with a 256 × 256 matrix, as the page's probe."""
    x, w = np.ones((512, 256), np.float32), np.ones((256, 256), np.float32)
    best, end = 0.0, time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(20):
            x @ w
        best = max(best, 20 * 2 * 512 * 256 * 256 / (time.perf_counter() - start))
    return best


def measured(browser, address, part):
    """One measurement as a reader makes it: messages of the worker, and how the page felt."""
    context = browser.new_context()
    tab = context.new_page()
    tab.add_init_script(
        "window.heard = []; const make = window.Worker; window.Worker = function (...all) {"
        "const worker = new make(...all); worker.addEventListener('message', ({ data }) =>"
        " window.heard.push(data)); return worker; };"
    )
    tab.goto(address)
    tab.select_option("#live-part", part)
    tab.wait_for_timeout(500)
    browser.start_tracing(page=tab, categories=CATEGORIES)
    start = time.perf_counter()
    tab.click("#live-start")
    tab.wait_for_selector("#live-start:enabled", timeout=120_000)
    seconds = time.perf_counter() - start
    result = {
        "seconds": seconds,
        "messages": [
            m
            for m in tab.evaluate("window.heard.filter((m) => m.type !== 'ready')")
            if isinstance(m, dict)
        ],
        "tasks": tasks(json.loads(browser.stop_tracing())),
    }
    context.close()
    return result


def tasks(trace):
    """The page's main thread by Chromium's own trace: its longest task by the clock and by the
    processor's time (other programs stretch the first), and all of them together; ms."""
    events = trace["traceEvents"]
    names = [e for e in events if e.get("name") == "thread_name"]
    main = {(e["pid"], e["tid"]) for e in names if e["args"]["name"] == "CrRendererMain"}
    result = [
        (e["dur"] / 1e3, e.get("tdur", 0) / 1e3)
        for e in events
        if (e["pid"], e["tid"]) in main and e.get("ph") == "X" and e["name"] == "RunTask"
    ]
    wall, cpu = (max((t[i] for t in result), default=0.0) for i in (0, 1))
    return {"wall_ms": wall, "cpu_ms": cpu, "total_cpu_ms": sum(t[1] for t in result)}


def of(run, kind, **wanted):
    return [
        m
        for m in run["messages"]
        if m["type"] == kind and all(m.get(k) == v for k, v in wanted.items())
    ]


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--gpu", action="store_true", help="WebGPU too (software, where no GPU)")
    options.add_argument("--chromium", default="/usr/bin/chromium")
    options.add_argument("--json", help="write all figures there")
    args = options.parse_args()
    threads = min(os.cpu_count() or 1, 16)
    print(f"threads {threads}, load {os.getloadavg()[0]:.1f} before")
    rounds = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        source, program = f"{folder}/reader.c", f"{folder}/reader"
        with open(source, "w", encoding="utf-8") as file:
            file.write(READER)
        compile_ = ["cc", "-O3", "-march=native", "-pthread", source, "-o", program]
        subprocess.run(compile_, check=True)
        flags = FLAGS + (["--enable-unsafe-webgpu"] if args.gpu else ["--disable-gpu"])
        browser = playwright.chromium.launch(executable_path=args.chromium, args=flags)
        with PageServer(page(live=True)) as server:
            serving = threading.Thread(target=server.serve_forever, daemon=True)
            serving.start()
            for _ in range(args.rounds):
                before = {n: c_reads(program, n, 1.5) for n in {1, threads}}
                product = numpy_product()
                run = measured(browser, server.address, "both" if args.gpu else "wasm")
                after = {n: c_reads(program, n, 1.5) for n in {1, threads}}
                reads = {n: before[n] + after[n] for n in before}
                rounds.append(report(reads, product, run, threads))
            server.shutdown()
        browser.close()
    print(f"load {os.getloadavg()[0]:.1f} after")
    print("\nmedian of the rounds:")
    for key in rounds[0]["ratios"]:
        values = [r["ratios"][key] for r in rounds if r["ratios"].get(key) is not None]
        each = ", ".join(f"{v:.3g}" for v in values)
        print(f"  {key:44} {statistics.median(values):.3g}   ({each})")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(rounds, file, indent=1)
    return 0


def report(reads, product, run, threads):
    ratios = {}
    for n, values in sorted(reads.items()):
        for result in of(run, "read", threads=n):
            best = result["best"] / max(values)
            median = result["median"] / statistics.median(values)
            ratios[f"read, {n} thread(s): best / C's best"] = best
            ratios[f"read, {n} thread(s): median / C's median"] = median
            print(
                f"read {n} thread(s): page {result['best'] / 1e9:.1f} (median "
                f"{result['median'] / 1e9:.1f}), C {max(values) / 1e9:.1f} (median "
                f"{statistics.median(values) / 1e9:.1f}) GB/s"
            )
    for roof in of(run, "roof"):
        engine, fp32 = roof["engine"], roof["compute"]["fp32"]["best"]
        print(
            f"{engine}: {roof['bandwidth']['best'] / 1e9:.2f} GB/s, fp32 {fp32 / 1e9:.2f} GFLOP/s"
        )
        if engine == "wasm":
            ratios["fp32 product / NumPy's"] = fp32 / product
        points = of(run, "point", engine=engine)
        for p in points:
            speed = p["batch"] / p["seconds"]["median"]
            print(
                f"  batch {p['batch']:3} of {p['layers']} layers: {speed:8.1f} tokens/s,"
                f" {p['bytes'] / p['seconds']['median'] / 1e9:.2f} GB/s,"
                f" {p['flops'] / p['seconds']['median'] / 1e9:.1f} GFLOP/s,"
                f" {p['intensity']:.2f} FLOP/byte"
            )
        first = next((p for p in points if p["batch"] == 1), None)
        if first and engine == "wasm":
            rate = first["bytes"] / first["seconds"]["median"]
            best = first["bytes"] / first["seconds"]["best"]
            ratios["decode at batch 1, median / read roof (best)"] = (
                rate / roof["bandwidth"]["best"]
            )
            ratios["decode at batch 1, best / read roof (best)"] = best / roof["bandwidth"]["best"]
            ratios["decode at batch 1, median / read median"] = rate / roof["bandwidth"]["median"]
    ratios["seconds of the whole measurement"] = run["seconds"]
    ratios["longest task of the page, ms"] = run["tasks"]["wall_ms"]
    ratios["longest task of the page, ms of processor"] = run["tasks"]["cpu_ms"]
    return {"ratios": ratios, "run": run, "c": reads, "numpy": product}


if __name__ == "__main__":
    sys.exit(main())
