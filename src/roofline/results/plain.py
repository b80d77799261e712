"""A table of one's own, a batch and a rate or a time a row: CSV, TSV, Markdown, a list in JSON.

Columns are known by their names, in many spellings: `batch`, `bs`, `concurrency`; `tok/s`,
`tokens_per_s`, `throughput`; `tpot_ms`, `step_ms`, `latency_ms`; `context`, or `prompt` and
`output`. A rate is of all sequences together unless its column says that it is a user's. A time
has its unit in its name. Decimal commas are read where another sign parts the columns.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from ..errors import InputError
from . import fields
from .fields import Record
from .reading import Reading

NAME = "plain table"

_BATCH = (
    r"batch(_?sizes?)?|bs|b|n_?batch|(max_|num_|n_)?concurren(cy|t)(_requests|_users)?|conc|users?"
    r"|clients?|streams?|(num_|n_)?(seqs|sequences|parallel)|parallel(ism)?|running(_reqs|_requests)?"
    r"|并发(数|量)?|批(次)?大小|批量"
)
_WORDS = {
    "batch": _BATCH,
    "context": (
        r"(context|ctx|kv|sequence|seq)(_?len(gth)?|_?size|_?tokens)?|n_ctx|n_kv|past|上下文(长度)?"
    ),
    "prompt": (
        r"(prompt|input|in|prefill)(_?len(gth)?|_?tokens|_?size|_?seq(uence)?_?len(gth)?)?|isl"
        r"|n_prompt|输入(长度)?"
    ),
    "output": (
        r"(output|out|gen|generated|generation|completion|decode|new|max_new)(_?len(gth)?|_?tokens"
        r"|_?size|_?seq(uence)?_?len(gth)?)?|osl|n_gen|max_tokens|输出(长度)?"
    ),
    "model": r"model(_?(name|id))?|模型",
    "machine": r"gpu(_?(name|type))?|hardware|hw|device(_?name)?|machine|accelerator|card|显卡",
    "weights": r"weights?|(weight_?)?dtype|precision|quant(i[sz]ation)?|format|量化",
    "kv": r"kv_?(cache_?)?(dtype|format|type)",
    "engine": r"engine|framework|backend|runtime",
    "devices": r"(num_|n_)?(gpus|devices)|gpu_count|tp(_size)?|tensor_parallel(_size)?",
}
_KNOWN = {name: re.compile(rf"^(?:{pattern})$") for name, pattern in _WORDS.items()}
_RATE = re.compile(
    r"(^|_)(tok(en)?s?|t)_?(per_?|p)?(s(ec(ond)?s?)?)(_|$)|(^|_)tps(_|$)|throughput|^(decode|gen(eration)?)_?(speed|rate)$"
    r"|^speed$|吞吐|速度"
)
_ASIDE = re.compile(
    r"(^|_)(req(uest)?s?|rps|qps|samples?)_?(per_?)?(s(ec(ond)?)?|throughput|rate)?$"
    r"|(^|_)(req(uest)?s?)_(throughput|rate)|_std$|(^|_)(p9\d|p50|std|stddev)(_|$)"
    r"|flops|gb_s|bandwidth"
)
_EACH = re.compile(
    r"user|per_?(req|seq|stream|client)|each|single|intvty|interactiv|每用户|单用户|单请求"
)
_AHEAD = re.compile(r"prefill|prompt|input|(^|_)pp(_|$)|预填充")
_ALL = re.compile(r"total|overall|all|sum")
_TIME = re.compile(
    r"(?P<first>ttft|time_to_first|first_?token|prefill_?(time|latency))"
    r"|(?P<token>tpot|itl|inter_?token|time_?per_?(output_?)?token|(ms|s|us)_?per_?tok|per_?token"
    r"|decode_?(time|latency)|token_?(time|latency))"
    r"|(?P<step>step|iter)|(?P<whole>latency|elapsed|duration|e2e|wall|total_?time|time)"
)
_UNIT = re.compile(
    r"(?:^|_)(ms|us|µs|s|sec|secs|second|seconds)(?:_per_tok\w*)?$|^(ms|us|s)_per_tok"
)
THOUSANDS = re.compile(r"^[+-]?[1-9]\d{0,2}(?:,\d{3})+$")
_SECONDS = {"ms": 1e-3, "us": 1e-6, "µs": 1e-6}
_NUMBER = re.compile(r"^[\s~≈*`]*([+-]?\d[\d.,' \u202f]*(?:[eE][+-]?\d{1,3})?)")


def _name(column: str) -> str:
    """A column's name in one spelling: `Throughput (tok/s)` is `throughput_tok_s`."""
    text = re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", "_", str(column)[:80]).lower()
    return re.sub(r"[^\w%µ]+", "_", text).strip("_")


def columns(names: Iterator[str] | list[str]) -> dict[str, str]:
    """What each column that is known means; one of each kind, the first."""
    found: dict[str, str] = {}
    for column in names:
        if (kind := _kind(_name(column))) and kind not in found:
            found[kind] = column
    return found


def _kind(name: str) -> str | None:
    for kind, pattern in _KNOWN.items():
        if pattern.match(name):
            return kind
    if _RATE.search(name) and not _ASIDE.search(name):
        if _AHEAD.search(name) and not re.search(r"output|decode|gen", name):
            return "prefill rate"
        if _EACH.search(name):
            return "rate of one"
        return "total rate" if _ALL.search(name) and "out" not in name else "rate"
    if found := _TIME.search(name):
        if re.search(r"(^|_)(p9\d|p50|std|stddev|min|max|stamp)(_|$)", name):
            return None
        return f"{found.lastgroup} time"
    return None


_MEASURES = ("rate", "rate of one", "prefill rate", "total rate", "token time", "step time")


def matches(record: Record) -> bool:
    """A row with a rate or a time, and a batch, a length or a model to go with it."""
    found = columns([name for name in record if isinstance(name, str)])
    measured = any(kind in found for kind in (*_MEASURES, "whole time"))
    return measured and any(kind in found for kind in ("batch", "context", "prompt", "model"))


def readings(record: Record) -> Iterator[Reading]:
    """The decode of a row, and its prefill where it has one."""
    found = columns([name for name in record if isinstance(name, str)])
    said = {kind: _value(record, column) for kind, column in found.items() if kind not in _TEXTS}
    common: dict[str, Any] = {
        "format": NAME,
        "batch": said.get("batch"),
        "prompt": said.get("prompt"),
        "extra": fields.rest(record, frozenset(found.values())),
        **{name: fields.text(record, found[name]) for name in _TEXTS if name in found},
    }
    for name in ("weights", "kv"):
        if common.get(name) is not None:
            common[name] = _format(common[name])
    if (devices := said.get("devices")) and devices >= 1:
        common["devices"] = round(devices)
    spoke = False
    for reading in (*_decode(said, found, common), *_prefill(said, found, common)):
        spoke = True
        yield reading
    if not spoke:
        names = ", ".join(found[kind] for kind in found if kind in (*_MEASURES, "whole time"))
        raise InputError(f"no positive number in {names}")


_FORMATS = {
    **{"float16": "fp16", "half": "fp16", "f16": "fp16", "bfloat16": "bf16", "float32": "fp32"},
    **{
        "w4a16": "int4",
        "awq": "int4",
        "gptq": "int4",
        "w8a8": "int8",
        "4bit": "int4",
        "8bit": "int8",
    },
}


def _format(said: str) -> str | None:
    """The format of weights or cache by roofline's name; `None` for one it does not know."""
    from ..errors import UnsupportedError
    from ..model.formats import parse

    name = said.lower().replace("-", "_")
    name = _FORMATS.get(name.replace("_", ""), name)
    try:
        parse(name)
    except (UnsupportedError, InputError):
        return None
    return name


_TEXTS = ("model", "machine", "weights", "kv", "engine")


def _decode(
    said: dict[str, float | None], found: dict[str, str], common: dict[str, Any]
) -> Iterator[Reading]:
    batch, prompt, output = said.get("batch"), said.get("prompt"), said.get("output")
    total = said.get("total rate")
    served = prompt is not None and output is not None
    shape = {**common, "output": output, "context": said.get("context")}
    kind = "token" if served else "step"
    if rate := said.get("rate of one"):
        yield Reading(**shape, kind=kind, seconds=1 / rate)
    elif time := said.get("token time"):
        yield Reading(**shape, kind=kind, seconds=time * _unit(found["token time"]))
    elif time := said.get("step time"):
        yield Reading(**shape, kind="step", seconds=time * _unit(found["step time"]))
    elif rate := said.get("rate") or (None if served else total):
        if batch is None:
            raise InputError(
                f"{found.get('rate') or found['total rate']} is of all sequences together, and no "
                "column says how many: add a column batch"
            )
        yield Reading(**shape, kind=kind, seconds=batch / rate)
    elif total and served and prompt is not None and output:
        requests = total / (prompt + output)
        yield Reading(**shape, kind="rate", seconds=1.0, requests=requests)
    elif time := said.get("whole time"):
        seconds = time * _unit(found["whole time"])
        if output is not None and output > 1:
            yield Reading(**shape, kind="run", seconds=seconds, requests=batch)
        else:
            yield Reading(**shape, kind="step", seconds=seconds)


def _prefill(
    said: dict[str, float | None], found: dict[str, str], common: dict[str, Any]
) -> Iterator[Reading]:
    batch, prompt, rate = said.get("batch"), said.get("prompt"), said.get("prefill rate")
    if rate and prompt:
        yield Reading(**common, kind="prefill", seconds=(batch or 1) * prompt / rate)
    elif (time := said.get("first time")) and prompt and batch == 1:
        yield Reading(**common, kind="first", seconds=time * _unit(found["first time"]))


def _unit(column: str) -> float:
    """Seconds of one of a column's units.

    Raises:
        InputError: its name has none.
    """
    name = _name(column)
    found = _UNIT.search(name)
    if not found:
        raise InputError(f"column {column} has no unit: call it {name}_ms or {name}_s")
    return _SECONDS.get(found.group(1) or found.group(2), 1.0)


def _value(record: Record, column: str) -> float | None:
    """The number of a cell; `None` where it is empty or a dash.

    Raises:
        InputError: it is no number, or one that reads two ways.
    """
    value = record[column]
    if value is None or isinstance(value, int | float):
        number = fields.number(record, column)
        return number if number is not None and number > 0 else None
    text = str(value).strip()
    if text.lower() in ("", "-", "–", "—", "n/a", "na", "none", "null", "nan", "oom", "inf", "x"):
        return None
    found = _NUMBER.match(text)
    if not found:
        raise InputError(f"{column} is {text[:40]!r}, not a number")
    number = _digits(found.group(1).strip(), column)
    if not math.isfinite(number):
        raise InputError(f"{column} is {text[:40]!r}, beyond any number that is measured")
    return number if number > 0 else None


def _digits(text: str, column: str) -> float:
    text = re.sub(r"[' \u202f]", "", text)
    if "," in text and "." in text:
        last = max(text.rfind(","), text.rfind("."))
        text = re.sub(r"[.,]", "", text[:last]) + "." + text[last + 1 :]
    elif THOUSANDS.match(text):
        text = text.replace(",", "")
    elif text.count(",") == 1:
        text = text.replace(",", ".")
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{column} is {text[:40]!r}, not a number") from None
