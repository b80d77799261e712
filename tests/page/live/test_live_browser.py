"""The panel in a real Chromium: what it measures, what it says, what it saves."""

from __future__ import annotations

import json
import os

import pytest

import page.live.reference as ref
from page.conftest import FLAGS
from page.live.pages import CONFIG, Reader, changed, lines, served, tiny_shape
from roofline import cli
from roofline.count.step import Step
from roofline.machine.load import load as load_machine
from roofline.model.load import from_config
from roofline.page.bundle import bundle
from roofline.points import read_points


@pytest.fixture(scope="module")
def gpu_browser(browser):
    """Chromium with WebGPU in software (SwiftShader)."""
    flags = [f for f in FLAGS if f != "--disable-gpu"] + ["--enable-unsafe-webgpu"]
    chromium = browser.browser_type.launch(
        executable_path=browser_path(browser), args=flags, timeout=60_000
    )
    yield chromium
    chromium.close()


def browser_path(browser):
    from page.conftest import CHROMIUM

    return CHROMIUM


@pytest.fixture
def reader(browser):
    """Opens pages, and closes them; none may say a word to the console."""
    opened = []

    def open_page(address, on=browser, **options):
        opened.append(Reader(on, address, **options))
        return opened[-1]

    yield open_page
    for one in opened:
        one.close()
        assert one.said == []


def test_measures_with_threads_and_saves_what_the_command_line_reads(reader, tmp_path, capsys):
    with changed() as text, served(text) as address:
        r = reader(address)
        assert r.status() == ""  # nothing before the button is pressed
        r.measure()
        assert r.notes() in ([], ["layers.memory"], ["layers.time"])
        roof, points = r.rows(0), r.rows(1)
        assert len(roof) == 1
        assert [row[1] for row in points] == ["1", "2", "4", "8"]
        assert "4 points" in r.status()
        # the page shows them under this browser's own roof, which it chose
        assert "Tiny" in r.page.inner_text("h2.title")
        assert "WebAssembly" in r.page.inner_text("h2.title")
        assert r.page.inner_text(".message").startswith("4 ")
        _, machine = r.download("[data-engine=wasm]")
        name, saved = r.download("#live-save-points")
    assert name.endswith(".jsonl")
    (tmp_path / "browser.json").write_text(machine, encoding="utf-8")
    (tmp_path / "points.jsonl").write_text(saved, encoding="utf-8")
    found = load_machine(str(tmp_path / "browser.json"))
    peak = found.roof().peak("fp32")
    assert peak.kind == "measured" and peak.source.startswith("measured in")
    assert found.measured.bandwidth["memory"].value > 1e7
    assert found.memory.value >= 256 << 20  # as chosen in the panel
    threads = min(os.cpu_count() or 1, 16)
    assert f"{threads} thread" in found.name or "1 thread" in found.name
    kept = list(read_points(str(tmp_path / "points.jsonl")))
    assert [p.batch for p in kept] == [1, 2, 4, 8]
    layers = kept[0].layers
    work = from_config({**CONFIG, "num_hidden_layers": layers}).work("fp32")
    for point, row in zip(kept, points, strict=True):
        assert (point.engine, point.weights, point.kv) == ("roofline-wasm", "fp32", "fp32")
        assert point.context == 128 and point.basis == "steps"
        assert point.weight_bytes == work.total("weights", Step.decode())
        assert point.seconds.best <= point.seconds.median
        step = Step.decode(int(point.batch), 128)
        moved = sum(c.traffic for c in work.costs(step))
        flops = sum(c.flops for c in work.costs(step))
        assert float(row[7]) == pytest.approx(flops / moved, rel=5e-3)
    config = tmp_path / "config.json"
    config.write_text(json.dumps({**CONFIG, "num_hidden_layers": layers}), encoding="utf-8")
    arguments = ["--model", str(config), "--on", str(tmp_path / "browser.json"), "--lang", "en"]
    assert cli.main(["place", str(tmp_path / "points.jsonl"), *arguments]) == 0
    assert "decode" in capsys.readouterr().out


def test_reads_the_files_back(reader, tmp_path):
    """A machine file and points measured elsewhere come back in by the page's own door."""
    with changed() as text, served(text) as address:
        r = reader(address)
        r.measure()
        _, machine = r.download("[data-engine=wasm]")
        _, saved = r.download("#live-save-points")
        (tmp_path / "m.json").write_text(machine.replace("browser-", "other-"), encoding="utf-8")
        (tmp_path / "p.jsonl").write_text(saved, encoding="utf-8")
        r.page.set_input_files("#file", [str(tmp_path / "m.json")])
        option = "option[value='file-other-webassembly']"
        r.page.wait_for_selector(option, state="attached")


def test_one_thread_from_a_file(reader, tmp_path):
    with changed() as text:
        path = tmp_path / "page.html"
        path.write_text(text, encoding="utf-8")
        r = reader(path.as_uri())
        r.measure()
        assert r.notes()[0] == "wasm.threads"
        assert len(r.rows(1)) == 4
        assert "threads: 1" in r.rows(0)[0][0]


def test_stop_keeps_what_was_found_and_can_start_again(reader):
    with changed({"probe": 1.5}) as text, served(text) as address:
        r = reader(address)
        r.page.select_option("#live-part", "wasm")
        r.page.click("#live-start")
        r.page.wait_for_selector("#live-stop:visible")
        assert r.page.is_disabled("#live-start")
        r.page.click("#live-stop")
        r.page.wait_for_selector("#live-start:enabled", timeout=5000)
        assert r.status().startswith("Stopped")
        assert r.page.is_hidden("#live-stop")
        workers = [w for w in r.page.workers if w.url.startswith("blob:")]
        assert workers == []


def test_stop_in_a_single_thread_while_a_step_runs(reader, tmp_path):
    """Without shared memory the worker hears between steps; else it is ended."""
    slow = {"batches": [1] * 400, "probe": 0.4, "seconds": 30}
    with changed(slow) as text:
        path = tmp_path / "page.html"
        path.write_text(text, encoding="utf-8")
        r = reader(path.as_uri())
        r.page.select_option("#live-part", "wasm")
        r.page.click("#live-start")
        r.page.wait_for_selector("#live > .live-table tbody tr td", timeout=30_000)
        r.page.wait_for_selector("#live-stop:not([hidden])", state="attached")
        r.page.click("#live-stop")
        r.page.wait_for_selector("#live-start:enabled", timeout=5000)
        assert r.status().startswith("Stopped")


def test_language_can_change_while_it_measures(reader):
    with changed({"probe": 0.4}) as text, served(text) as address:
        r = reader(address)
        r.page.select_option("#live-part", "wasm")
        r.page.click("#live-start")
        r.page.click("[data-lang=zh]")
        r.page.wait_for_selector("html[lang=zh]", state="attached")
        r.page.wait_for_selector("#live-start:enabled", timeout=60_000)
        assert len(r.rows(1)) == 4
        assert "4 个点" in r.status()
        r.page.click("[data-lang=en]")
        r.page.wait_for_selector("html[lang=en]", state="attached")
        assert len(r.rows(1)) == 4 and "4 points" in r.status()
        # the chart keeps its points, too
        assert r.page.inner_text("#live h2") == "This browser"


MISSING = {
    "wasm.simd": "WebAssembly.validate = () => false;",
    "gpu.missing": "Object.defineProperty(navigator, 'gpu', { value: undefined });",
    "memory": (
        "const Memory = WebAssembly.Memory; WebAssembly.Memory = function (limits) {"
        "if (limits.maximum > 3000) throw new RangeError('no room'); return new Memory(limits); };"
    ),
    "clock": (
        "const real = performance.now.bind(performance);"
        "performance.now = () => Math.floor(real() / 4) * 4;"
    ),
}


@pytest.mark.parametrize("code", MISSING)
def test_what_is_missing_is_said_and_the_rest_goes_on(reader, code):
    options = {"memory": 256 << 20} if code == "memory" else {}
    with changed(options, MISSING[code] + "\n") as text, served(text) as address:
        r = reader(address)
        r.measure("both")
        assert code in r.notes()
        assert "gpu.missing" in r.notes() or "gpu.adapter" in r.notes()
        assert len(r.rows(1)) == (0 if code == "wasm.simd" else 4)
        assert all(x.strip() for x in r.page.inner_text(".live-notes").split("\n"))


def test_too_little_memory_at_all(reader):
    none = "WebAssembly.Memory = function () { throw new RangeError('no room'); };\n"
    with changed(before=none) as text, served(text) as address:
        r = reader(address)
        r.measure()
        assert r.notes()[-1] == "wasm.memory"
        assert r.status().startswith("Ended")


def test_a_wrong_result_is_not_shown(reader):
    """One constant of one kernel changed: the check against plain JavaScript must catch it."""
    broken = lambda script: script.replace("i32.const(0x846ca68b)", "i32.const(0x846ca68d)")  # noqa: E731
    with changed(edit=broken) as text, served(text) as address:
        r = reader(address)
        r.measure()
        assert r.notes()[-1] == "wrong"
        assert r.rows(0) == r.rows(1) == []


def test_a_hidden_tab_is_noted_in_the_points(reader):
    with changed({"probe": 0.4}) as text, served(text) as address:
        r = reader(address)
        r.page.select_option("#live-part", "wasm")
        r.page.click("#live-start")
        r.page.evaluate(
            "Object.defineProperty(document, 'visibilityState', { get: () => 'hidden' });"
            "document.dispatchEvent(new Event('visibilitychange'));"
        )
        r.page.wait_for_selector("#live-start:enabled", timeout=60_000)
        assert r.notes().count("hidden") == 1
        _, saved = r.download("#live-save-points")
        assert all("hidden" in point["notes"][0] for point in lines(saved))


STEP = """async ([script, cases]) => {
  const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  const { openGpu, GpuStep, readBuffer } = await import(url);
  const gpu = await openGpu(navigator.gpu);
  const out = [];
  for (const [s, layers, batch, most, context] of cases) {
    const step = await GpuStep.make(gpu, { s, layers, most, context, f16: false });
    out.push((await step.evaluate(batch)).map((x) => [...x]));
    gpu.free();
  }
  const limits = { least: 1, most: 1, seconds: 0, stopped: () => false };
  const { correct } = await readBuffer(gpu, 1 << 20, limits);
  return { about: gpu.about, out, correct };
}"""

CASES = [
    (ref.SMALL, 2, 1, 2, 1), (ref.SMALL, 2, 2, 2, 70), (ref.SMALL, 1, 4, 4, 64),
    (ref.SMALL, 2, 9, 9, 9), (tiny_shape(), 2, 3, 3, 5),
]  # fmt: skip


def test_webgpu_gives_the_same_output(gpu_browser):
    p = gpu_browser.new_page()
    with changed() as text, served(text) as address:
        p.goto(address + "nothing")  # a page of our own without a policy of its own
        p.evaluate("() => document.open()")
        script = bundle("live/gpu", "live/gpu_step", exports=True)
        found = p.evaluate(STEP, [script, CASES])
    p.close()
    assert found["correct"] is True
    assert found["about"]["software"] is True
    for logits, (s, layers, batch, _, context) in zip(found["out"], CASES, strict=True):
        assert ref.difference(logits, ref.step(s, layers, batch, context)) < 1e-5


def test_webgpu_in_the_panel(reader, gpu_browser):
    options = {"batches": [1, 2], "seconds": 60}
    with changed(options) as text, served(text) as address:
        r = reader(address, on=gpu_browser)
        r.measure("both")
        assert "gpu.software" in r.notes()
        assert {row[0] for row in r.rows(1)} == {"WebAssembly", "WebGPU"}
        # the page does not stay at what software says of a GPU
        assert "WebAssembly" in r.page.inner_text("h2.title")
        _, machine = r.download("[data-engine=webgpu]")
        _, saved = r.download("#live-save-points")
    assert json.loads(machine)["kind"] == "cpu"  # a software adapter is no GPU
    assert {p["engine"] for p in lines(saved)} == {"roofline-wasm", "roofline-webgpu"}


LOST = {
    "gpu.lost": (
        "const request = GPUAdapter.prototype.requestDevice;"
        "GPUAdapter.prototype.requestDevice = async function (...all) {"
        "const device = await request.apply(this, all); device.destroy(); return device; };"
    ),
    "gpu.memory": (
        "GPUDevice.prototype.popErrorScope = async () => new GPUOutOfMemoryError('full');"
    ),
    "gpu.device": "GPUAdapter.prototype.requestDevice = async () => { throw new Error('no'); };",
}


@pytest.mark.parametrize("code", LOST)
def test_a_gpu_that_fails_ends_its_part_only(reader, gpu_browser, code):
    with changed({"batches": [1]}, LOST[code] + "\n") as text, served(text) as address:
        r = reader(address, on=gpu_browser)
        r.measure("both")
        assert r.notes()[-1] == code
        assert len(r.rows(1)) == 1  # WebAssembly's
        assert r.status().startswith("Measured")
