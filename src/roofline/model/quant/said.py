"""What the words of a name mean for how a model is stored: as configs that say the same.

Each is the config that the library of that name writes by default; what the name leaves open and
what had to be assumed is said.
"""

from __future__ import annotations

import re
from typing import Any

from ...record import record
from ...words.note import Note

Words = list[tuple[str, str]]


@record
class Stored:
    """How a name says that a model is stored.

    Attributes:
        says: what the words mean, for a note.
        config: a ``quantization_config``, or MLX's ``quantization``.
        mlx: whether it is the latter.
        format: one format for all, in place of a config.
        unsaid: why it cannot be counted as it is stored, and what would say it.
        own: whether it is what the catalogue's own checkpoint is stored in.
    """

    says: str = ""
    config: dict[str, Any] | None = None
    mlx: bool = False
    format: str = ""
    unsaid: str = ""
    own: bool = False


def stored(words: Words, org: str, entry: dict[str, Any]) -> Stored | None:
    """How the words say that it is stored, ``None`` where they say nothing of it.

    Args:
        words: kinds and texts in the order of the name.
        org: whose repository it is; some mean one thing by what others leave open.
        entry: the catalogue's entry.
    """
    has: dict[str, list[str]] = {}
    for kind, word in words:
        has.setdefault(kind, []).append(word)
    if "gguf" in has:
        return _gguf(has["gguf"][-1])
    libraries = {w.replace("auto-round", "autoround") for w in has.get("library", ())}
    libraries -= {"quantized", "llmcompressor", "vllm", "modelopt"}
    if org in ("mlx-community", "lmstudio-community") and has.keys() & {"int", "float"}:
        libraries |= {"mlx"} if not libraries else set()
    bits, group = _bits(has), _group(has)
    for library, make in _MAKERS.items():
        if library in libraries:
            result: Stored = make(bits, group, has)
            return result
    if libraries:
        name = sorted(libraries)[0]
        return Stored(
            unsaid=f"the name says '{name}', whose layout only its config says: give its "
            f"config.json, or a format such as '--weights int{bits or 4}'"
        )
    if "bpw" in has:
        width = _width(has["bpw"][-1])
        return Stored(Note("stored.bits", bits=width), format=f"{width}bits")
    return _plain(has, bits, group, org, entry)


def _plain(
    has: dict[str, list[str]], bits: int, group: int, org: str, entry: dict[str, Any]
) -> Stored | None:
    if "wa" in has:
        return _weights_and_activations(has["wa"][-1], group)
    if "float" in has:
        return _float(has["float"][-1], has, org, entry)
    if "plain" in has:
        name = {"f16": "fp16", "f32": "fp32"}.get(has["plain"][-1], has["plain"][-1])
        return Stored(name, format=name)
    if "file" in has:
        return Stored(
            unsaid="a GGUF repository holds a file for each type, and the name does not say which: "
            "end it with one, as in ':Q4_K_M', or give '--weights q4_k_m'"
        )
    if "int" in has and bits == 4 and org == "unsloth":
        return _bnb(4, 0, has)
    if "int" in has:
        return _integer(has["int"][-1], bits, group)
    return None


def _integer(word: str, bits: int, group: int) -> Stored:
    if "bit" in word:
        other = {4: "bitsandbytes' nf4 ('-bnb-4bit', '--weights nf4')",
                 8: "bitsandbytes' int8 ('-bnb-8bit', '--weights int8')"}.get(bits)  # fmt: skip
        second = f" or {other}" if other else ""
        return Stored(
            unsaid=f"'{word}' may mean MLX's groups of 64 ('-MLX-{bits}bit', '--weights "
            f"int{bits}:64'){second}: say which"
        )
    if bits == 8:
        return Stored(
            unsaid=f"'{word}' may mean weights alone ('-GPTQ-Int8', '--weights w8a16') or weights "
            "and activations ('-quantized.w8a8', '--weights int8'): say which"
        )
    return Stored(_grouped(f"int{bits}", group or 128), format=f"int{bits}:{group or 128}")


def _gguf(word: str) -> Stored:
    name = re.sub(r"[-_ ]+", "_", word.removeprefix("ud-"))
    for long, short in (("small", "s"), ("medium", "m"), ("large", "l")):
        name = name.replace(f"_{long}", f"_{short}")
    from ...errors import UnsupportedError
    from .. import formats

    try:
        formats.parse(name)
    except UnsupportedError:
        near = {"q": name[:4], "i": "iq" + name[2] + "_s"}[name[0]]
        return Stored(
            unsaid=f"'{word}' is a mix of types that differs from model to model: give the file, "
            f"or a format near it, such as '--weights {near}'"
        )
    return Stored(Note("stored.gguf", type=name), format=name)


def _grouped(what: str, group: int) -> Note:
    return Note("stored.groups", what=what, group=group)


def _bits(has: dict[str, list[str]]) -> int:
    for kind in ("int", "wa"):
        for word in has.get(kind, ()):
            if digit := re.search(r"[2-8]", word):
                return int(digit[0])
    return 0


def _group(has: dict[str, list[str]]) -> int:
    words = [*has.get("group", ()), *(w.partition("gs")[2] for w in has.get("int", ()))]
    result = [int(digits) for w in words if (digits := re.sub(r"\D", "", w))]
    return result[0] if result else 0


def _width(word: str) -> str:
    return re.sub(r"[-_ ]?bpw", "", word).replace("_", ".")


def _gptq(bits: int, group: int, has: dict[str, list[str]]) -> Stored:
    bits, group = bits or 4, group or 128
    config = {"quant_method": "gptq", "bits": bits, "group_size": group, "sym": True,
              "desc_act": "actorder" in has.get("way", ())}  # fmt: skip
    return Stored(_grouped(f"GPTQ, int{bits}", group), config)


def _awq(bits: int, group: int, has: dict[str, list[str]]) -> Stored:
    bits, group = bits or 4, group or 128
    config = {"quant_method": "awq", "bits": bits, "group_size": group, "zero_point": True}
    return Stored(Note("stored.zeros", what=f"AWQ, int{bits}", group=group), config)


def _autoround(bits: int, group: int, has: dict[str, list[str]]) -> Stored:
    bits, group = bits or 4, group or 128
    config = {"quant_method": "auto-round", "bits": bits, "group_size": group, "sym": True}
    return Stored(_grouped(f"AutoRound, int{bits}", group), config)


def _bnb(bits: int, group: int, has: dict[str, list[str]]) -> Stored:
    if bits == 8:
        return Stored("bitsandbytes, LLM.int8()",
                      {"quant_method": "bitsandbytes", "load_in_8bit": True})  # fmt: skip
    config = {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4",
              "bnb_4bit_use_double_quant": True}  # fmt: skip
    unsloth = "unsloth-bnb" in has.get("library", ())
    return Stored(Note("stored.unsloth" if unsloth else "stored.double"), config)


def _mlx(bits: int, group: int, has: dict[str, list[str]]) -> Stored:
    for word in has.get("float", ()):
        if word.startswith("mxfp"):
            config = {"bits": int(word[4]), "group_size": 32, "mode": word[:5]}
            return Stored(f"MLX, {word}", config, mlx=True)
    plain = has.get("plain")
    if plain:
        return Stored(plain[-1], format={"f16": "fp16", "f32": "fp32"}.get(plain[-1], plain[-1]))
    if not bits:
        return Stored(
            unsaid="the name says MLX and not how many bits: end it with '-4bit', or give "
            "'--weights int4:64'"
        )
    group = group or 64
    return Stored(_grouped(f"MLX, int{bits}", group), {"bits": bits, "group_size": group}, mlx=True)


def _exl(method: str) -> Any:
    def make(bits: int, group: int, has: dict[str, list[str]]) -> Stored:
        if "bpw" not in has and not bits:
            return Stored(
                unsaid=f"the name says {method.upper()} and not how many bits: end it with "
                "'-4.0bpw', or give '--weights 4.0bits'"
            )
        width = float(_width(has["bpw"][-1])) if "bpw" in has else float(bits)
        config = {"quant_method": method, "bits": width, "head_bits": 6}
        return Stored(Note("stored.average", method=method.upper(), bits=f"{width:g}"), config)

    return make


def _hqq(bits: int, group: int, has: dict[str, list[str]]) -> Stored:
    bits, group = bits or 4, group or 64
    inner = {"nbits": bits, "group_size": group}
    config = {"quant_method": "hqq", "quant_config": {"weight_quant_params": inner}}
    return Stored(_grouped(f"HQQ, int{bits}", group), config)


def _eetq(bits: int, group: int, has: dict[str, list[str]]) -> Stored:
    return Stored(Note("stored.channel"), {"quant_method": "eetq", "weights": "int8"})


def _quanto(bits: int, group: int, has: dict[str, list[str]]) -> Stored:
    bits = bits or 8
    return Stored(f"Quanto, int{bits}", {"quant_method": "quanto", "weights": f"int{bits}"})


_MAKERS: dict[str, Any] = {
    "gptq": _gptq, "gptqmodel": _gptq, "awq": _awq, "autoround": _autoround, "bnb": _bnb,
    "unsloth-bnb": _bnb, "bitsandbytes": _bnb, "mlx": _mlx, "exl2": _exl("exl2"),
    "exl3": _exl("exl3"), "hqq": _hqq, "eetq": _eetq, "quanto": _quanto,
}  # fmt: skip


def _groups(weights: dict[str, Any], acts: dict[str, Any] | None) -> dict[str, Any]:
    group = {"targets": ["Linear"], "weights": weights, "input_activations": acts}
    return {"quant_method": "compressed-tensors", "config_groups": {"group_0": group},
            "ignore": ["lm_head"]}  # fmt: skip


_TOKEN = {"num_bits": 8, "strategy": "token", "dynamic": True}
_FP8 = {"type": "float", "num_bits": 8, "symmetric": True}


def _weights_and_activations(word: str, group: int) -> Stored:
    bits, acts = int(word[1]), word[3:].replace("-", "")
    channel = {"type": "int", "num_bits": bits, "symmetric": True, "strategy": "channel"}
    grouped = {**channel, "strategy": "group", "group_size": group or 128}
    if acts == "16":
        weights = grouped if bits < 8 or group else channel
        key = "stored.a16" if weights is grouped else "stored.a16.channels"
        return Stored(Note(key, bits=bits, group=group or 128), _groups(weights, None))
    kind = "float" if "fp8" in acts else "int"
    if bits == 8 and kind == "float":
        scaled = _groups({**_FP8, "strategy": "channel"}, {**_TOKEN, "type": "float"})
        return Stored(Note("stored.fp8"), scaled)
    weights = grouped if bits < 8 else channel
    says = Note("stored.both", bits=bits, acts="fp8" if kind == "float" else "int8")
    return Stored(says, _groups(weights, {**_TOKEN, "type": kind}))


def _float(word: str, has: dict[str, list[str]], org: str, entry: dict[str, Any]) -> Stored:
    ways = has.get("way", [])
    own = entry["config"].get("quantization_config") or {}
    if (word.startswith("mxfp4") and own.get("quant_method") == "mxfp4") or (
        word == "fp8" and own.get("quant_method") == "fp8"
    ):
        return Stored(own=True)
    if word == "fp8":
        config = _fp8(ways, org, entry)
        if "kv" in ways:
            config["kv_cache_scheme"] = {"num_bits": 8, "type": "float"}
        way = "blocks" if config["quant_method"] == "fp8" else (
            "channel" if "dynamic" in ways else "tensor"
        )  # fmt: skip
        return Stored(Note(f"stored.fp8.{way}"), config)
    if word == "nf4":
        return _bnb(4, 0, has)
    if word in ("nvfp4", "fp4", "nvfp4a16"):
        weights = {"type": "float", "num_bits": 4, "strategy": "tensor_group", "group_size": 16}
        acts = None if word == "nvfp4a16" else {**weights, "dynamic": "local"}
        return Stored(Note("stored.but", format="NVFP4"), _groups(weights, acts))
    bits = int(word[4])
    weights = {"type": "float", "num_bits": bits, "strategy": "group", "group_size": 32}
    return Stored(Note("stored.but", format=f"MXFP{bits}"),
                  _groups(weights, {**weights, "dynamic": True}))  # fmt: skip


def _fp8(ways: list[str], org: str, entry: dict[str, Any]) -> dict[str, Any]:
    blocks = "block" in ways or org in ("qwen", "zai-org", "minimaxai", "deepseek-ai")
    if blocks or (not org and entry["org"] == "Qwen" and "dynamic" not in ways):
        return {"quant_method": "fp8", "weight_block_size": [128, 128]}
    if "dynamic" in ways:
        return _groups({**_FP8, "strategy": "channel"}, {**_TOKEN, "type": "float"})
    static = {**_FP8, "strategy": "tensor"}
    return _groups(static, {**static, "dynamic": False})
