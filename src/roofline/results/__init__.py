"""Importers of other tools' result files, one module a format, found by looking at the content.

A module for records (objects of JSON, rows of tables) has `NAME`, `matches(record)` and
`readings(record)`, or, where a result is spread over records, a class `Reader` with `feed(record)`
and `end()`; one for text has `NAME` and a class `Log` with `feed(line)` and `end()`. To add a
format, write the module and put it into `RECORDS` or `LOGS`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ..points.point import Point
from . import (
    aiperf,
    aisbench,
    evalscope,
    exllama,
    gpt_fast,
    guidellm,
    inferencex,
    jetstream,
    koboldcpp,
    llama_batched_bench,
    llama_bench,
    llama_benchy,
    llama_log,
    llama_server,
    llama_sweep_bench,
    llmperf,
    lmdeploy,
    mlperf,
    mlx_lm,
    ollama,
    own,
    plain,
    serving_log,
    sglang,
    sglang_text,
    trtllm,
    vllm,
    vllm_server,
    vllm_text,
)
from .file import File
from .reading import Incomplete, Reading

__all__ = ["LOGS", "RECORDS", "Incomplete", "Reading", "points", "read"]

RECORDS = (
    *(llama_benchy, llama_bench, llama_batched_bench, llama_sweep_bench, llama_server, ollama),
    *(sglang, vllm, jetstream, trtllm, guidellm, aiperf, llmperf, lmdeploy, evalscope, aisbench),
    *(koboldcpp, inferencex, plain),
)
"""Asked in this order; the first that knows a record reads it."""

LOGS = (
    *(serving_log, vllm_text, vllm_server, sglang_text, trtllm, aiperf, jetstream, lmdeploy),
    *(evalscope, gpt_fast, mlx_lm, mlperf, llama_log, ollama, koboldcpp, exllama),
)

FORMATS = tuple(sorted({module.NAME for module in (*RECORDS, *LOGS, own)}))


def read(path: str) -> Iterator[Reading | Point]:
    """Everything a result file holds, in order: our own points as points, others as readings.

    Args:
        path: a file, or `-` for standard input.

    Raises:
        InputError: the file cannot be read, is of no known format, or a record makes no sense;
            says which record and field.
    """
    return File(path, RECORDS, LOGS, plain, FORMATS).items()


def points(paths: Iterable[str], answers: Mapping[str, int | None]) -> Iterator[Point]:
    """Every point of some files; `answers` say what a file leaves out of a run's shape.

    Raises:
        InputError: as for `read`; or the shape of a run is not known, the options are named.
    """
    for path in paths:
        for item in read(path):
            yield item if isinstance(item, Point) else item.with_answers(**answers).point()
