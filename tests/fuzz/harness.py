"""Coverage-guided fuzzing of every reader of files: ``python harness.py TARGET CORPUS [-runs=N]``.

A target takes any bytes and must return or raise a :class:`RooflineError` of one short line,
soon and in little memory. Needs atheris (``pip install 'roofline[fuzz]'``); the corpus beside
this file is run by the ordinary suite without it.
"""

import atexit
import functools
import importlib
import json
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src"))

TARGETS = {}
INSTRUMENTED = {
    "gguf": ("files.gguf", "model.gguf", "model.gguf.architectures", "model.families.dense"),
    "safetensors": ("files.safetensors",),
    "index": ("files.safetensors",),
    "config": ("model.load", "model.families.dense", "model.families.experts"),
    "quantisation": ("model.load", *(f"model.quant.{m}" for m in (
        "bitsandbytes", "compressed", "floating", "integer", "modelopt", "quark", "torchao"))),
    "manifest": ("files.ollama",),
    "names": ("files.hub", "files.ollama"),
    "machine": ("machine.load",),
    "toml": ("machine.load",),
    "profile": ("predicting.profile",),
    "points": ("points.point", "points.file"),
    "results": ("results.file", "results.reading"),
    "lengths": ("predicting.lengths",),
    "posted": ("model.load",),
    "asked": ("page.predicted",),
    "arguments": ("cli.options", "units"),
}  # fmt: skip
"""What coverage is taken of; the fewer modules, the sooner a run begins."""
HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "..", "..", "src", "roofline")
MACHINE = {
    "schema": "roofline.machine/1", "id": "x", "name": "X", "kind": "gpu",
    "memory": {"bytes": 80e9, "usable": 79e9, "type": "HBM"},
    "datasheet": {"bandwidth": {"memory": 3e12}, "compute": {"bf16": 9e14, "fp8": 1.8e15}},
    "measured": {"bandwidth": {"memory": {"value": 2.8e12, "date": "2026-01-01", "spread": 0.01}},
                 "compute": {"bf16": 7e14}},
    "links": [{"name": "L", "bandwidth": 4e11, "latency": 2e-6, "scope": "node", "devices": 8}],
    "notes": ["a note"], "sources": {"s": {"title": "t", "url": "u", "date": "2026-01-01"}},
}  # fmt: skip
TOML = b"""schema = "roofline.machine/1"
id = "x"
name = "X"
kind = "cpu"
[datasheet.bandwidth]
memory = 80e9
[datasheet.compute]
bf16 = 2e12
fp32 = {value = 1e12, source = "s"}
[sources.s]
title = "t"
"""
POINT = json.dumps({
    "schema": "roofline.points/1", "basis": "steps", "phase": "decode", "model": "llama-3.1-8b",
    "weights": "bf16", "machine": "h100-sxm", "engine": "vllm", "devices": 1,
    "parts": [{"groups": [{"batch": 8, "new_tokens": 1, "past": 511}], "count": 1}],
    "seconds": {"median": 0.009, "best": 0.0088, "spread": 0.01, "samples": 50},
    "roof": {"bandwidth": 2.9e12, "compute": {"bf16": 7e14}, "spread": 0.01},
    "settings": {"threads": 8}, "time": "2026-01-01T00:00:00Z",
}).encode() + b"\n"  # fmt: skip
QUESTION = {
    "model": "llama-3.1-8b", "machine": "h100-sxm", "engine": "vllm", "phase": "decode",
    "batch": 8, "context": 2048, "weights": "bf16", "kv": "bf16", "devices": 1,
}  # fmt: skip
LINES = (
    "explain llama-3.1-8b --on h100-sxm --batch 8 --context 8k --weights int4 --kv fp8 --why",
    "explain deepseek-v3 --on h200 --tp 8 --ep 8 --link 25GB/s --link-latency 5us --json",
    "explain qwen3-8b --bandwidth 400GB/s --peak 28TFLOP/s --memory 64GB --phase verify",
    "sweep llama-3.1-8b --on h100-sxm rtx-4090 --batch 1:64 --context 1k,8k --steps",
    "sweep qwen3-8b --on h100-sxm --batch 1,8 --format jsonl --tp 1,2 --phase prefill",
    "predict llama-3.1-8b --on h100-sxm --engine vllm --concurrency 32 --prompt 500:2k",
    "predict llama-3.1-8b --on h100-sxm --batch 4 --output 100 --json --why",
    "place --model llama-2-7b --weights bf16 --on rtx-4090 --tokens-per-s 65 --context 512",
    "place --bytes 1GB --flops 2TFLOP --seconds 4ms --on h100-sxm --json",
    "models llama-3.1-8b --context 32k",
    "machines h100-sxm --json",
)
FOLDER = tempfile.mkdtemp(prefix="roofline-fuzz-")
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)


def target(function):
    TARGETS[function.__name__] = function
    return function


def _file(name, data, hole=0):
    path = os.path.join(FOLDER, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)
        if hole:
            file.truncate(len(data) + hole)
    return path


@target
def gguf(data):
    """A GGUF file, its tensors a hole, and the model that it makes."""
    from roofline.count.step import Step
    from roofline.files import gguf as reader
    from roofline.model.gguf import model

    found = reader.read(_file("m.gguf", data, 1 << 24))
    made = model(found)
    made.work().costs(Step.decode(2, 100))


@target
def safetensors(data):
    """A safetensors file."""
    from roofline.files import safetensors as reader

    reader.read(_file("m.safetensors", data, data[0] if data else 0))


@target
def config(data):
    """A config.json, its quantisation included, and what its model costs."""
    from roofline.count.step import Step
    from roofline.model.load import from_path

    from_path(_file("config/config.json", data)).work().costs(Step.decode(2, 100))


@target
def quantisation(data):
    """The quantisation config of a small model with experts."""
    from roofline.files.description import parse_json
    from roofline.model.load import from_config

    base = {
        "model_type": "mixtral", "hidden_size": 256, "intermediate_size": 512,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "vocab_size": 1000, "num_local_experts": 4, "num_experts_per_tok": 2,
        "torch_dtype": "bfloat16",
    }  # fmt: skip
    found = parse_json(data, "fuzz")
    from_config({**base, "quantization_config": found}, "fuzz").work()


@target
def index(data):
    """A safetensors index."""
    from roofline.files import safetensors as reader
    from roofline.files.description import parse_json

    reader.index(parse_json(data, "fuzz"), "fuzz")


@target
def manifest(data):
    """An Ollama manifest."""
    from roofline.files import ollama

    place = os.path.join(FOLDER, "manifests", ollama.HOST, "library", "m")
    os.makedirs(place, exist_ok=True)
    os.environ["OLLAMA_MODELS"] = FOLDER
    _file(os.path.join(place, "latest"), data)
    ollama.find("m")


@target
def names(data):
    """A model's name, whatever was typed."""
    from roofline.files import hub, ollama

    text = data.decode(errors="replace")
    hub.parse(text)
    ollama.find(text)


@target
def machine(data):
    """A machine file, and a step on it."""
    from roofline.machine.load import from_file

    path = _file("machine.json", data)
    if from_file(path).datasheet.bandwidth:
        _on_machine(path)


@target
def profile(data):
    """A profile of an engine, and what it predicts."""
    import roofline
    from roofline.predicting import load_profile

    path = _file("profile.json", data)
    load_profile(path)
    found = roofline.predict("llama-3.1-8b", "h100-sxm", engine=path)
    times = found.times["step"]
    assert times.low <= times.value <= times.high, times
    assert found.roof_s <= times.low * (1 + 1e-9), (found.roof_s, times)
    str(found), json.dumps(found.to_json(), allow_nan=False)


@target
def points(data):
    """A points file, placed, in JSON and in words."""
    _placed(_file("points.jsonl", data), "bf16")


@target
def results(data):
    """A result file of another tool, placed."""
    _placed(_file("result.txt", data), "bf16")


def _placed(path, weights):
    import roofline

    found = roofline.place(
        path, model="llama-3.1-8b", machine="h100-sxm", weights=weights, batch=1, prompt=128,
        output=32, context=128,
    )  # fmt: skip
    text = "".join(json.dumps(line, allow_nan=False) for line in found.to_json()) + str(found)
    assert not set(text) & set("\x00\x1b\r"), "a control character of the file's"
    for item, _ in found:
        assert item.seconds > 0 and item.share >= 0 and item.overlapped_s >= 0, item.point


@target
def lengths(data):
    """Lengths of requests."""
    from roofline.predicting.lengths import read

    found = read(_file("lengths.csv", data))
    assert 1 <= min(found.prompt) <= found.most


@target
def posted(data):
    """A config that is posted to a served page."""
    from roofline.page.serve import config_answer

    json.dumps(config_answer(data), allow_nan=False)


@target
def asked(data):
    """A question that is posted to a served page."""
    from roofline.model.config import parse_json

    _oracle().answer(parse_json(data, "question"))


@functools.cache
def _oracle():
    from roofline.page.make import oracle

    return oracle(
        "llama-3.1-8b", ["h100-sxm"], models=["llama-3.1-8b"], machines=["h100-sxm"], predict="vllm"
    )


@target
def toml(data):
    """A machine file in TOML, and a step on it."""
    _on_machine(_file("machine.toml", data))


def _on_machine(path):
    import roofline

    found = roofline.explain("llama-3.1-8b", path, batch=4)
    bound = found.bound
    assert 0 < bound.overlapped_s < float("inf") and bound.tokens_per_s > 0, bound
    str(found), json.dumps(found.to_json(), allow_nan=False)


VERBS = ("explain", "sweep", "predict", "place", "models", "machines", "plot", "page")


@target
def arguments(data):
    """A command line of verbs that only ask: words separated by line ends."""
    import contextlib
    import io

    from roofline.cli import main

    argv = data.decode(errors="replace").split("\n")
    argv = [a.replace("\x00", "") for a in argv]
    if argv[0] not in VERBS or set(argv) & {"--serve", "--open", "--trace", "-o", "--out"}:
        return
    if any(a.startswith(("-o", "--ou", "--se", "--op", "--tr", "--li", "--wl")) for a in argv):
        return
    argv += ["-o", os.path.join(FOLDER, "out.svg")] if argv[0] in ("plot", "page") else []
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(argv)
        except SystemExit as done:
            code = done.code
    assert code in (0, 1, 2), code
    assert "Traceback" not in err.getvalue()
    assert code != 0 or out.getvalue(), argv
    assert "nan" not in out.getvalue().lower().split(), out.getvalue()[:500]


def one(name, data):
    """Run a target once; whatever is not a sentence for the user is a fault."""
    from roofline.errors import RooflineError

    try:
        TARGETS[name](data)
    except RooflineError as error:
        text = str(error)
        if len(text) > 2000 or "\n" in text:
            raise AssertionError(f"not one sentence: {text[:200]!r}") from None


def seeds():
    """Small starting points for each target, made rather than kept."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    from files import checkpoints, ggufs

    yield "gguf", ggufs.header(ggufs.LLAMA, ggufs.llama())[0]
    yield "gguf", ggufs.header({"general.architecture": "x"}, [])[0]
    entries, _ = checkpoints.header(checkpoints.llama()[:4])
    text = json.dumps(entries).encode()
    yield "safetensors", len(text).to_bytes(8, "little") + text
    yield "config", json.dumps(checkpoints.LLAMA).encode()
    yield "manifest", b'{"layers": [{"mediaType": "a", "digest": "sha256:00"}]}'
    yield "index", b'{"metadata": {"total_size": 1}, "weight_map": {"a": "a.safetensors"}}'
    yield "names", b"hf.co/acme/tiny-GGUF:Q4_K_M"
    yield "machine", b'{"schema": "roofline.machine/1", "id": "x", "name": "X"}'
    yield "machine", json.dumps(MACHINE).encode()
    yield "toml", TOML
    for kind in ("vllm", "llamacpp"):
        with open(os.path.join(SOURCE, "predicting", "profiles", f"{kind}.json"), "rb") as file:
            yield "profile", file.read()
    samples = os.path.join(os.path.dirname(HERE), "results", "samples")
    for name in sorted(os.listdir(samples)):
        with open(os.path.join(samples, name), "rb") as file:
            data = file.read(30_000)
        yield ("points" if data.startswith(b'{"schema": "roofline.points') else "results"), data
    yield "points", POINT
    yield "lengths", b"TIMESTAMP,ContextTokens,GeneratedTokens\n2023,4808,10\n2023,3180,8\n"
    yield "lengths", b'{"timestamp": 0, "input_length": 67, "output_length": 5}\n'
    yield "posted", json.dumps(checkpoints.LLAMA).encode()
    yield "asked", json.dumps(QUESTION).encode()
    for line in LINES:
        yield "arguments", line.replace(" ", "\n").encode()
    for method in (
        {"quant_method": "awq", "bits": 4, "group_size": 128},
        {"quant_method": "gptq", "bits": 4, "group_size": 128, "dynamic": {"-:.*q_proj": {}}},
        {"quant_method": "fp8", "weight_block_size": [128, 128],
         "modules_to_not_convert": ["lm_head", "model.layers.*.self_attn"]},
        {"quant_method": "compressed-tensors", "ignore": ["re:.*self_attn.*"],
         "config_groups": {"g": {"targets": ["Linear"], "weights": {"num_bits": 4, "type": "int",
          "strategy": "group", "group_size": 32}, "input_activations": None}}},
        {"quant_method": "modelopt", "quantization": {"quant_algo": "NVFP4", "group_size": 16,
         "kv_cache_quant_algo": "FP8", "exclude_modules": ["model.layers.0*"]}},
        {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"},
        {"quant_method": "torchao", "quant_type": {"default": {
            "_type": "Int4WeightOnlyConfig", "_data": {"group_size": 64}}}},
        {"quant_method": "quark", "exclude": ["*self_attn*"], "global_quant_config": {
            "weight": {"dtype": "fp8_e4m3", "qscheme": "per_tensor"}}},
        {"quant_method": "auto-round", "bits": 4, "group_size": 128,
         "extra_config": {"a.*b": {"bits": 8}}},
        {"bits": 4, "group_size": 64, "mode": "affine", "lm_head": False},
    ):  # fmt: skip
        yield "quantisation", json.dumps(method).encode()


def main():
    import atheris

    name = sys.argv.pop(1)
    with atheris.instrument_imports(include=["roofline"]):
        for module in INSTRUMENTED[name]:
            importlib.import_module(f"roofline.{module}")
    atheris.Setup(sys.argv, lambda data: one(name, bytes(data)))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
