"""What stands beside the numbers: devices, models, layers, drafts, and what is no number at all."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from roofline import results
from roofline.count.group import Group
from roofline.errors import InputError
from roofline.parallel import Parallel
from roofline.points import Part, Point
from roofline.results import Incomplete, Reading
from roofline.results.yaml_subset import is_yaml, parse

SAMPLES = os.path.join(os.path.dirname(__file__), "samples")


def load(name: str) -> list[Reading]:
    found = list(results.read(os.path.join(SAMPLES, name)))
    assert all(isinstance(item, Reading) for item in found)
    return found  # type: ignore[return-value]


def parsed(tmp_path: Path, text: str) -> list[Reading]:
    path = tmp_path / "file"
    path.write_text(text, encoding="utf-8")
    return list(results.read(str(path)))  # type: ignore[arg-type]


def test_llama_cpp_lies_over_all_devices_it_finds_by_layers() -> None:
    for reading in load("llama-bench-old.md"):
        assert reading.machine == "Tesla V100-PCIE-16GB"
        assert (reading.devices, reading.layout) == (2, Parallel(pp=2, microbatches=1))
        assert (reading.weights, reading.parameters) == ("fp16", 6.74e9)
    prefill, decode = load("llama-bench.sql")
    assert prefill.machine == "NVIDIA GeForce RTX 4090"
    assert (prefill.devices, prefill.layout) == (2, Parallel(pp=2, microbatches=1))
    assert prefill.model == "models/it's.gguf"
    assert (prefill.chunk, prefill.settings["threads"]) == (1024, 8)
    # no layer is on the device: the host reads the weights
    assert decode.machine == "AMD Ryzen 7 7800X3D 8-Core Processor"
    assert (decode.devices, decode.time) == (None, None)


DEVICES = {
    "ggml_vulkan: 0 = AMD Radeon RX 7900 XTX (RADV NAVI31) | uma: 0": "AMD Radeon RX 7900 XTX",
    "ggml_metal_init: found device: Apple M2 Max": "Apple M2 Max",
    "ggml_metal_device_init: GPU name:   Apple M4 Max": "Apple M4 Max",
    "  Device 0: AMD Radeon PRO W7900 Dual Slot , gfx1100 (0x1100), VMM: no": (
        "AMD Radeon PRO W7900 Dual Slot"
    ),
    "Device 0: NVIDIA H100 PCIe, compute capability 9.0, VMM: yes": "NVIDIA H100 PCIe",
    "| 0| [level_zero:gpu:0]|   Intel Arc A770 Graphics|    1.5|": "Intel Arc A770 Graphics",
    "|   0  NVIDIA GB10                    On  |   0000000F:01:00.0 Off |  N/A |": "NVIDIA GB10",
    "GPU 0: NVIDIA H200 (UUID: GPU-1)": "NVIDIA H200",
    "llama_model_load_from_file_impl: using device CUDA0 (NVIDIA GeForce RTX 4090) - 23000 MiB": (
        "NVIDIA GeForce RTX 4090"
    ),
    "using device Vulkan0 (AMD Radeon Graphics (RADV GFX1151)) - 1 MiB free": "AMD Radeon Graphics",
}
ROW = "| model | ngl | test | t/s |\n|--|--|--|--|\n| llama 7B Q4_0 | {ngl} | tg128 | 100.0 ± 1 |\n"


@pytest.mark.parametrize("line", DEVICES)
def test_the_device_is_taken_from_its_line(tmp_path: Path, line: str) -> None:
    (reading,) = parsed(tmp_path, f"{line}\n\n{ROW.format(ngl=99)}")
    assert (reading.machine, reading.devices) == (DEVICES[line], None)
    assert reading.settings["n_gpu_layers"] == 99
    (reading,) = parsed(tmp_path, f"{line}\n\n{ROW.format(ngl=0)}")
    assert reading.machine is None


def test_unlike_devices_are_no_machine(tmp_path: Path) -> None:
    lines = "Device 0: NVIDIA A100, x\n  Device 1: NVIDIA GeForce RTX 3090, y\n"
    (reading,) = parsed(tmp_path, lines + ROW.format(ngl=99))
    assert reading.machine is None


def test_a_later_run_has_its_own_devices(tmp_path: Path) -> None:
    text = "".join(
        f"ggml_cuda_init: found {count} CUDA devices:\n"
        + "".join(f"  Device {i}: {name}, compute capability 8.0\n" for i in range(count))
        + f"\n{ROW.format(ngl=99)}\n"
        for count, name in ((2, "NVIDIA A100"), (1, "NVIDIA L4"))
    )
    first, second = parsed(tmp_path, text)
    assert (first.machine, first.devices) == ("NVIDIA A100", 2)
    assert (second.machine, second.devices) == ("NVIDIA L4", None)


def test_rows_are_of_the_model_over_them_and_of_the_step_sizes_over_them() -> None:
    found = load("llama-batched-bench-models.md")
    models = [reading.model for reading in found]
    assert models[:2] == ["ggml-org/gpt-oss-20b-GGUF"] * 2
    assert models[2] == "gpt-oss 20B MXFP4 MoE"
    assert models[3:] == ["ggml-org/gpt-oss-120b-GGUF"] * 2
    assert [reading.chunk for reading in found if reading.kind == "prefill"] == [2048, 2048, 512]
    assert found[2].parameters == 20.91e9
    assert found[2].weight_bytes == pytest.approx(11.27 * 2**30)
    # 32 prompts of 512 tokens in steps of 2048
    assert sum(part.count for part in found[0].point().parts) == 8
    assert found[4].notes == ("shared-prompt",)


def test_a_log_says_the_model_that_it_loaded() -> None:
    prefill, decode = load("llama-server.log")
    assert prefill.model == decode.model == "/models/Llama-3.1-8B-Q4_K_M.gguf"
    assert (decode.weights, decode.parameters) == ("q4_k_m", pytest.approx(8.03e9))
    assert decode.weight_bytes == pytest.approx(4.58 * 2**30)
    assert decode.machine == "AMD Radeon PRO W7900 Dual Slot"
    assert (prefill.chunk, prefill.depth) == (1024, 980)
    assert decode.settings["n_gpu_layers"] == 33


def test_accepted_drafts_are_tokens_without_steps() -> None:
    *_, decode = load("llama-server.log")
    point = decode.point()
    # 200 tokens of which 120 were drafted: 80 steps, of 1 and 150/80 drafted tokens
    assert point.parts == (Part((Group(1, 3, 1000),), 80, True),)
    assert point.accept == pytest.approx(2.5)
    assert point.settings["drafts_accepted"] == 120
    assert point.tokens_per_s == pytest.approx(40)
    *_, answer = load("llama-server.json")
    assert answer.point().parts[0].count == pytest.approx(100)


def test_a_warm_up_is_no_point() -> None:
    assert [reading.seconds for reading in load("sglang-one-batch.txt")] == [0.5, 0.02]
    assert len(load("jetstream.txt")) == 1


def test_the_steps_of_one_batch_are_exact_and_half_way() -> None:
    prefill, step = load("sglang-one-batch.txt")
    assert prefill.point().basis == step.point().basis == "steps"
    assert step.point().parts == (Part((Group(8, 1, 256 + 32),), 1),)


def test_older_one_batch_says_no_batch_and_is_told_it_or_the_prompt(tmp_path: Path) -> None:
    text = (
        "Benchmark ...\n"
        "Prefill. latency: 0.50000 s, throughput:   4096.00 token/s\n"
        "Decode.  median latency: 0.02000 s, median throughput:    400.00 token/s\n"
        "Total. latency:  1.780 s, throughput:   1438.20 token/s\n"
    )
    for answers in ({"batch": 8}, {"prompt": 256}, {"batch": 8, "prompt": 256}):
        point = parsed(tmp_path, text)[1].with_answers(**answers).point()
        assert point.parts == (Part((Group(8, 1, 288),), 1),)
    with pytest.raises(Incomplete, match="give --batch --prompt"):
        parsed(tmp_path, text)[0].point()


def test_a_server_log_has_its_requests_and_their_contexts() -> None:
    (reading,) = load("vllm-server.log")
    assert reading.context == pytest.approx(0.05 * 100_000 / 10)
    assert (reading.samples, reading.cached, reading.engine_version) == (3, 0.5, "0.10.1")
    assert reading.model == "meta-llama/Llama-3.1-8B"
    assert reading.layout == Parallel(tp=2)
    assert reading.point().context == 500
    first, second, prefill = load("sglang-server.log")
    assert first.context == pytest.approx((550 + 590) / 2)
    assert second.context == 2000
    assert second.accept == 2.5
    assert second.point().parts[0].count == pytest.approx(1 / 2.5)
    assert prefill.depth == 100


def test_a_context_that_nobody_says_is_left_out_and_can_be_given() -> None:
    (reading,) = load("vllm-server-v0.log")
    assert reading.point().notes == ("context-unknown",)
    assert reading.point().context == 1
    given = reading.with_answers(context=700).point()
    assert (given.context, given.notes) == (700, ())
    assert reading.with_answers(prompt=600, output=200).point().context == 701


def test_a_plain_table_is_asked_for_its_context(tmp_path: Path) -> None:
    (reading,) = parsed(tmp_path, "bs\ttok/s\n4\t200\n")
    with pytest.raises(Incomplete, match="give --context"):
        reading.point()
    point = reading.with_answers(context=512).point()
    assert (point.batch, point.context, point.tokens_per_s) == (4, 512, 200)
    assert point.basis == "steps"


COLUMNS = [
    ("batch,context,tokens_per_s", "4,512,200"),
    ("batch_size;ctx_len;Tokens/s", "4;512;200,0"),
    ("BS\tSeq Len\tTPS", "4\t512\t200"),
    ("concurrency,context length,Throughput (tok/s)", "4,512,200"),
    ("num_seqs,context,tok/s/user", "4,512,50"),
    ("batch,context,TPOT (ms)", "4,512,20"),
    ("batch,context,latency_ms", "4,512,20"),
    ("batch,context,decode_latency_s", "4,512,0.02"),
    ("users,kv_len,ms_per_token", "4,512,20"),
    ("batch,context,throughput,gpu_mem_gb,req/s", "4,512,200,70,0.5"),
    ("batch   context   tok/s", "4       512       200"),
    ("batch size   seq len   tok/s", "4            512       200.0"),
    ("bs ctx tok/s", "4 512 200"),
    ("并发,上下文长度,吞吐 (tok/s)", "4,512,200"),
    ('"batch","context","decode tokens per second"', '"4","512","200"'),
]


@pytest.mark.parametrize(("header", "row"), COLUMNS)
def test_columns_are_known_in_many_spellings(tmp_path: Path, header: str, row: str) -> None:
    (reading,) = parsed(tmp_path, f"{header}\n{row}\n")
    point = reading.point()
    assert (point.batch, point.context) == (4, 512)
    assert point.seconds.median == pytest.approx(0.02)


REFUSED = [
    ("batch,context,tpot\n4,512,20\n", "column tpot has no unit: call it tpot_ms or tpot_s"),
    ("batch;context;tok/s\n4;512;1,234\n", "'1,234' is a thousand or a fraction"),
    ("batch,context,tok/s\n4,512,fast\n", "tok/s is 'fast', not a number"),
    ("batch,context,tok/s\n4,512,-\n", "no positive number in tok/s"),
    ("context,tok/s\n512,200\n", "no column says how many: add a column batch"),
    ("day,place\n4,512\n", "(its first line: 'day,place')"),
    ("nothing of this kind\n", "--tokens-per-s with --batch and --context"),
    ("benchmarks:\n- &a\n  x: 1\n", "line 2; save it as JSON"),
    ("[2025-01-01 10:00] starting\n", "no results in it that are known"),
    ("[INFO] starting\n{not: json}\n", "no results in it that are known"),
]


@pytest.mark.parametrize(("text", "says"), REFUSED)
def test_what_is_not_understood_is_named(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(InputError) as refused:
        parsed(tmp_path, text)
    assert says in str(refused.value)


def test_json_within_a_text_is_found(tmp_path: Path) -> None:
    inner = (Path(SAMPLES) / "trtllm.json").read_text()
    text = f"[TensorRT-LLM] TensorRT-LLM version: 1.1.0\n$ cat report.json\n{inner}\n$ \n"
    (reading,) = parsed(tmp_path, text)
    assert reading.format == "trtllm-bench"
    bench = (Path(SAMPLES) / "llama-bench.json").read_text()
    found = parsed(tmp_path, f"ggml_cuda_init: found 1 CUDA devices:\n{bench}")
    assert [r.seconds for r in found] == [r.seconds for r in load("llama-bench.json")]


def test_a_shell_around_json_is_no_harm(tmp_path: Path) -> None:
    answer = (Path(SAMPLES) / "llama-server.json").read_text()
    found = parsed(tmp_path, f"{answer}\nreal\t0m2.1s\n$ ")
    assert [r.seconds for r in found] == [r.seconds for r in load("llama-server.json")]
    with pytest.raises(InputError, match="after record 1: not JSON"):
        parsed(tmp_path, f"{answer}\n{answer[:100]}")


def test_the_banner_of_tensorrt_llm_is_no_json(tmp_path: Path) -> None:
    report = (Path(SAMPLES) / "trtllm.txt").read_text()
    (with_banner,) = parsed(tmp_path, f"[TensorRT-LLM] TensorRT-LLM version: 1.1.0\n{report}")
    (without,) = load("trtllm.txt")
    assert with_banner.seconds == without.seconds


@pytest.mark.parametrize("mark", ["> ", "    ", "> > ", "\u2003"])
def test_tables_quoted_and_indented_are_the_same(tmp_path: Path, mark: str) -> None:
    lines = (Path(SAMPLES) / "llama-bench.md").read_text().splitlines()
    found = parsed(tmp_path, "\n".join(mark + line for line in lines))
    plain = load("llama-bench.md")
    assert [(r.kind, r.seconds) for r in found] == [(r.kind, r.seconds) for r in plain]


def test_tables_without_outer_pipes_are_the_same(tmp_path: Path) -> None:
    lines = (Path(SAMPLES) / "llama-bench.md").read_text().splitlines()
    found = parsed(tmp_path, "\n".join(line.strip().strip("|").strip() for line in lines))
    plain = load("llama-bench.md")
    assert [(r.kind, r.seconds) for r in found] == [(r.kind, r.seconds) for r in plain]


def test_short_names_of_inferencex_are_spelled_out() -> None:
    (reading,) = load("inferencex.json")
    assert (reading.machine, reading.weights) == ("b200", "nvfp4")
    assert reading.layout == Parallel(tp=8, ep=8)
    (row,) = load("inferencex-row.json")
    assert (row.machine, row.weights, row.devices) == ("h200-sxm", "fp8", 8)


def test_points_keep_what_is_known_of_them(tmp_path: Path) -> None:
    from roofline.points import PointsWriter, read_points

    points = [reading.point() for reading in load("llama-server.log")]
    with PointsWriter(str(tmp_path / "p.jsonl")) as writer:
        for point in points:
            writer.add(point)
    back = list(read_points(str(tmp_path / "p.jsonl")))
    assert all(isinstance(point, Point) for point in back)
    assert [(p.parameters, p.accept, p.parts) for p in back] == [
        (p.parameters, p.accept, p.parts) for p in points
    ]


def test_engines_of_one_server_run_at_once(tmp_path: Path) -> None:
    line = (
        "Engine 00{}: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 400.0 "
        "tokens/s, Running: 10 reqs, Waiting: 0 reqs\n"
    )
    (reading,) = parsed(tmp_path, "".join(line.format(i % 2) for i in range(4)))
    assert (reading.batch, reading.seconds) == (20, 10 / 400)


def test_the_speculative_example_counts_its_drafts_below(tmp_path: Path) -> None:
    text = (
        "encoded   10 tokens in    0.500 seconds, speed:   20.000 t/s\n"
        "decoded  100 tokens in    4.000 seconds, speed:   25.000 t/s\n\n"
        "n_draft   = 16\nn_predict = 100\nn_drafted = 90\nn_accept  = 60\naccept    = 66.667%\n"
    )
    prefill, decode = parsed(tmp_path, text)
    assert (prefill.prompt, prefill.seconds) == (10, 0.5)
    assert decode.point().parts[0].count == pytest.approx(40)


def test_files_of_a_windows_shell_and_of_a_coloured_one(tmp_path: Path) -> None:
    plain = load("llama-bench.md")
    text = (Path(SAMPLES) / "llama-bench.md").read_text()
    path = tmp_path / "wide"
    path.write_text(text.replace("\n", "\r\n"), encoding="utf-16")
    wide = list(results.read(str(path)))
    colour = parsed(tmp_path, text.replace("| llama", "\x1b[32m| llama\x1b[0m"))
    for found in (wide, colour):
        assert [r.seconds for r in found if isinstance(r, Reading)] == [r.seconds for r in plain]


def test_a_module_of_python_is_no_model(tmp_path: Path) -> None:
    log = (Path(SAMPLES) / "sglang-server.log").read_text()
    command = "python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp 2\n"
    for reading in parsed(tmp_path, command + log):
        assert (reading.model, reading.layout) == ("Qwen/Qwen3-8B", Parallel(tp=2))


WORDS = [
    "a",
    "a: b",
    "- x",
    "#c",
    "it's",
    '"q"',
    "",
    "null",
    "1.5",
    "x" * 200,
    "a b " * 60,
    "\u00e9",
]


def test_yaml_is_read_as_its_own_library_reads_it() -> None:
    yaml = pytest.importorskip("yaml")
    rng = random.Random(7)

    def value(depth: int) -> object:
        kind = rng.random()
        if depth > 4 or kind < 0.5:
            return rng.choice([*WORDS, 1, -3, 2.5, 1e-7, True, None])
        if kind < 0.75:
            return {
                rng.choice(["a", "b c", "k-1", "0", *WORDS]): value(depth + 1) for _ in range(3)
            }
        return [value(depth + 1) for _ in range(rng.randint(0, 3))]

    for _ in range(150):
        whole = {"benchmarks": [value(0)], "m": value(0)}
        text = yaml.dump(whole, width=rng.choice([80, 40]))
        if "? " not in text:
            assert is_yaml(text)
            assert parse(text) == whole


HANDED_OVER = {
    "vllm-throughput-line/input.txt": [("rate", None, 218, 202, 1.0)],
    "mlperf-offline/offline.txt": [("rate", None, None, 290, 1.0)],
    "vllm-mean-tpot/input.txt": [("token", 371, 215, 198, 0.06393)],
    "sglang-one-batch/input.txt": [
        ("prefill", 1, 128, None, 0.02345),
        ("step", 1, 128, 256, 0.0113),
    ],
    "sglang-server-log/input.log": [
        ("token", 1, None, None, 1 / 112.51),
        ("token", 1, None, None, 1 / 112.05),
    ],
    "vllm-server-log/input.log": [("token", 10, None, None, 10 / 239.45)],
    "llmperf/summary.json": [("token", 3, 260, 99, 0.00945)],
    "lmdeploy/input.txt": [("token", 256, 247, 238, 256 / 964.4)],
    "ollama/api.json": [("prefill", 1, 26, None, 0.325953), ("decode", 1, 26, 290, 4.709213)],
    "ollama/verbose.txt": [("prefill", 1, 13, None, 19.747), ("decode", 1, 13, 1133, 127.682)],
}


@pytest.mark.parametrize("name", HANDED_OVER)
def test_files_that_people_handed_over(shared: str, name: str) -> None:
    found = list(results.read(os.path.join(shared, "cases", name)))
    assert len(found) == len(HANDED_OVER[name])
    for item, (kind, batch, prompt, output, seconds) in zip(found, HANDED_OVER[name], strict=True):
        assert isinstance(item, Reading)
        reading = item.with_answers(batch=1) if "one-batch" in name else item
        assert reading.kind == kind
        assert reading.batch is None if batch is None else round(reading.batch or 0) == batch
        assert reading.prompt is None if prompt is None else round(reading.prompt or 0) == prompt
        if output is not None:
            assert round(reading.output or 0) == output
        assert reading.seconds == pytest.approx(seconds, rel=2e-3)
