"""Coverage-guided fuzzing of every reader of files: ``python harness.py TARGET CORPUS [-runs=N]``.

A target takes any bytes and must return or raise a :class:`RooflineError` of one short line,
soon and in little memory. Needs atheris (``pip install 'roofline[fuzz]'``); the corpus beside
this file is run by the ordinary suite without it.
"""

import importlib
import json
import os
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
}  # fmt: skip
"""What coverage is taken of; the fewer modules, the sooner a run begins."""
FOLDER = tempfile.mkdtemp(prefix="roofline-fuzz-")


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
    """A machine file."""
    from roofline.machine.load import from_file

    from_file(_file("machine.json", data))


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
