"""What stands around the numbers in a text: devices, model, layers on the GPU, threads, layout.

llama.cpp and its kin print their devices and their model before they run, people paste the
command and put a heading over each model's table. What was said last holds for the numbers below
it, and fills only what the numbers' own reader left open.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ..parallel.layout import Parallel
from ..record import replace
from .fields import amount
from .llama_cpp import laid, quantisation
from .reading import Reading

_FOUND = re.compile(
    r"ggml_(?:cuda|vulkan|sycl|hip|musa|cann|opencl)\w*: [Ff]ound (\d{1,4}) (?:\w+ )?devices"
)
_DEVICE = re.compile(
    r"(?:^|\s)Device (\d{1,3}): ([^,\n]{3,80}?)\s*(?:,|$)"
    r"|ggml_vulkan: (\d{1,3}) = ([^|(\n]{3,80}?)\s*(?:\(|\||$)"
    r"|^\s*\|\s*(\d{1,3})\s*\|\s*\[(?:level_zero|opencl):gpu:\d+\]\s*\|\s*([^|\n]{3,80}?)\s*\|"
    r"|^\s*\|\s*(\d{1,3})\s+((?:NVIDIA|Tesla|GeForce|Quadro|GRID)\b[^|\n]{0,60}?)"
    r"\s+(?:On|Off|N/A|WDDM|TCC)\s*\|"
    r"|^\s*GPU (\d{1,3}): ([^(\n]{3,80}?) \(UUID"
    r"|using device [A-Za-z]+(\d{1,3}) \(([^()\n]{3,80}?)\s*[()]"
)
_ALONE = re.compile(
    r"ggml_metal\w*: (?:found device|GPU name|picking default device):\s*([^\n(]{3,60}?)\s*(?:\(|$)"
    r"|using device [A-Za-z]+ \(([^()\n]{3,80}?)\s*[()]"
    r"|ggml_opencl: (?:selected|selecting) device:\s*'?([^'\n]{3,80}?)'?\s*(?:\(|$)"
)
_HEADING = re.compile(r"^\s*(?:#{1,6}\s+|\*\*)(.{2,120}?)\**:?\s*$")
_SIZED = re.compile(r"(?<![\w.])\d{1,4}(?:\.\d{1,2})?[BM]\b|\d{1,4}(?:\.\d{1,2})?x\d{1,3}B\b", re.I)
_HUB = re.compile(r"^[A-Za-z0-9][\w.\-]*/[A-Za-z0-9][\w.\-]*$")
_COMMAND = re.compile(
    r"(?:^|[\s/\\$])(?:llama-[\w-]+|llama_cpp\S*|koboldcpp\S*|ollama|vllm|sglang\S*|python3?|trtllm\S*"
    r"|bench_\w+(?:\.py)?|lmdeploy)(?:\.exe)?\s"
)
_OPTION = re.compile(
    r"(?:^|\s)(?:(-m|--model|--model-path|--model_path|--hf-repo|-hf|serve|ollama run)[ =]"
    r"([^\s'\"\-]\S*)"
    r"|(?:-tp|--tp|--tp-size|--tensor-parallel-size|--tensor_parallel_size)[ =](\d{1,3})"
    r"|(?:-ngl|--n-gpu-layers|--gpu-layers|--gpulayers)[ =](-?\d{1,4})"
    r"|(?:-ub|--ubatch-size)[ =](\d{1,6}))(?=\s|$)"
)
_KEYS: tuple[tuple[re.Pattern[str], str, Callable[[str], Any]], ...] = (
    (re.compile(r"llama_model_loader: loaded meta data .* from (\S+)"), "model", str),
    (
        re.compile(r"(?:print_info|print_meta): (?:model )?(?:file type|ftype)\s*=\s*(.+)"),
        "type",
        str,
    ),
    (
        re.compile(r"(?:print_info|print_meta): (?:file|model) size\s*=\s*([\d.]+ [KMGT]i?B)"),
        "weight_bytes",
        amount,
    ),
    (
        re.compile(r"(?:print_info|print_meta): model params\s*=\s*([\d.]+ [KMBT])"),
        "parameters",
        amount,
    ),
    (re.compile(r"offloaded (\d{1,4})/\d{1,4} layers to GPU"), "n_gpu_layers", int),
    (re.compile(r"\bn_threads = (\d{1,4})"), "threads", int),
    (re.compile(r"\bn_ubatch\s*= (\d{1,6})"), "n_ubatch", int),
    (re.compile(r"\bn_batch\s*= (\d{1,6})"), "n_batch", int),
    (re.compile(r"\b(?:tensor_parallel_size|tp_size)=(\d{1,3})\b"), "tp", int),
    (re.compile(r"\b(?:pipeline_parallel_size|pp_size)=(\d{1,3})\b"), "pp", int),
    (
        re.compile(r"\b(?:engine|config|[Aa]rgs)\b.*?\bmodel(?:_path)?='([^']{2,200})'"),
        "model",
        str,
    ),
)
_RUN = re.compile(r"\b(n_kv_max|n_u?batch|n_gpu_layers|n_threads|is_\w+) = (-?\d{1,9})")
_HINTS = ("=", "offloaded", "loaded meta data")


class Surroundings:
    """What the lines so far say of the run below them.

    `run` is the line that llama.cpp's batched and sweep benchmarks print over their tables
    (`main: n_kv_max = …, n_ubatch = …`), which belongs to their rows.
    """

    def __init__(self) -> None:
        """Nothing was said."""
        self._devices: dict[int, str] = {}
        self._found: int | None = None
        self.said: dict[str, Any] = {}
        self.run: dict[str, Any] = {}

    def feed(self, line: str) -> None:
        """Take note of a line."""
        if len(line) > 20_000:
            return
        if "evice" in line or "ggml_" in line or "GPU" in line or "|" in line:
            self._device(line)
        if "n_kv_max = " in line:
            self.run = {name: int(value) for name, value in _RUN.findall(line)}
        elif any(hint in line for hint in _HINTS):
            for pattern, name, kind in _KEYS:
                if result := pattern.search(line):
                    self.said[name] = kind(result.group(1))
        if line.lstrip()[:1] in ("#", "*"):
            self._heading(line)
        if _COMMAND.search(line):
            self._command(line)

    def _device(self, line: str) -> None:
        if result := _FOUND.search(line):
            self._devices, self._found = {}, int(result.group(1))
        elif result := _DEVICE.search(line):
            number, name = (group for group in result.groups() if group is not None)
            if int(number) == 0 and self._devices.get(0) not in (None, name):
                self._devices = {}
            self._devices[int(number)] = name.strip()
        elif result := _ALONE.search(line):
            self._devices = {0: next(group for group in result.groups() if group).strip()}

    def _heading(self, line: str) -> None:
        result = _HEADING.match(line)
        if not result:
            return
        text = result.group(1).strip("*`# ")
        link = re.match(r"^\[([^\]]+)\]\(", text)
        text = link.group(1) if link else text
        if _HUB.match(text) or text.lower().endswith(".gguf") or _SIZED.search(text):
            self.said["model"] = text.split(" (")[0].strip()
            for name in ("type", "weight_bytes", "parameters"):
                self.said.pop(name, None)

    def _command(self, line: str) -> None:
        for match in _OPTION.finditer(line):
            option, model, tp, layers, ubatch = match.groups()
            module = option == "-m" and "python" in line
            if option and not module and not (option == "serve" and "vllm" not in line):
                self.said["model"] = model
            elif tp:
                self.said["tp"] = int(tp)
            elif layers:
                self.said["n_gpu_layers"] = int(layers)
            elif ubatch:
                self.said["n_ubatch"] = int(ubatch)

    def fill(self, reading: Reading) -> Reading:
        """The reading with what it left open."""
        said, new = self.said, dict[str, Any]()
        llama = reading.engine in ("llama.cpp", "ik_llama.cpp", "koboldcpp", "ollama")
        if reading.model is None and "model" in said:
            new["model"] = said["model"]
            if llama:
                text = f"{said.get('type', '')} {said['model']}"
                new["weights"] = reading.weights or quantisation(said.get("type") or text)
                new["weight_bytes"] = reading.weight_bytes or said.get("weight_bytes")
                new["parameters"] = reading.parameters or said.get("parameters")
        if reading.machine is None and (name := self._machine(reading)):
            new["machine"] = name
            new |= self._spread(reading)
        if reading.devices is None and not llama and said.get("tp", 0) * said.get("pp", 1) > 1:
            new["layout"] = Parallel(tp=said["tp"], pp=said.get("pp", 1))
            new["devices"] = new["layout"].devices
        kept = {
            name: said[name]
            for name in ("n_gpu_layers", "n_ubatch", "n_batch", "threads")
            if name in said and llama and not reading.format.startswith("llama-b")
        }
        if kept:
            new["settings"] = kept | dict(reading.settings)
            own = reading.chunk is None or "n_ubatch" in reading.settings
            if reading.kind == "prefill" and "n_ubatch" in kept and not own:
                new["chunk"] = kept["n_ubatch"]
        return replace(reading, **new) if new else reading

    def _machine(self, reading: Reading) -> str | None:
        """The device, where all that are used are alike; none where the GPU is left aside."""
        names = set(self._devices.values())
        if len(names) != 1:
            return None
        layers = reading.settings.get("n_gpu_layers", self.said.get("n_gpu_layers"))
        return None if layers == 0 and reading.kind == "decode" else names.pop()

    def _spread(self, reading: Reading) -> dict[str, Any]:
        """llama.cpp lays a model over all devices it finds, by layers unless told otherwise."""
        count = max(len(self._devices), self._found or 0)
        if reading.devices is not None or reading.engine not in ("llama.cpp", "ik_llama.cpp"):
            return {}
        return laid(count, reading.settings.get("split_mode"))
