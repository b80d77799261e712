"""``roofline validate [DATA]``: the evaluation of the prediction, rerun."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from ..errors import InputError
from ..files.whole import writing
from ..files.written import json_text
from . import options

if TYPE_CHECKING:
    from ..evaluate.score import Score
    from ..words import Words


def add(p: argparse.ArgumentParser) -> None:
    """The verb's options."""
    p.add_argument(
        "data",
        metavar="DATA",
        nargs="?",
        help="a folder of measurements: gemm, generation_attention, context_attention, moe, "
        "collectives, llm_inference_bench, served, llamacpp, splitwise, vidur_mlp_ops "
        "(.csv or .csv.gz, those that are there); by default those of the public package "
        "aiconfigurator-core, downloaded with pip once (82 MB; 2 MB are kept) or from its .whl "
        "given here (extra 'validate')",
    )
    p.add_argument(
        "--only",
        metavar="KIND,…",
        help="gemm, attention, context, experts, messages, fixed, served, llamacpp, splitwise, "
        "vidur (default: all)",
    )
    p.add_argument(
        "--as-shipped",
        action="store_true",
        help="only score the package's coefficients on these rows; fit nothing",
    )
    g = p.add_argument_group("answer")
    g.add_argument("--markdown", action="store_true", help="tables as Markdown")
    g.add_argument("--rows", metavar="FILE", help="write measured and predicted of every row (CSV)")
    options.add_output(g)  # type: ignore[arg-type]


def run(args: argparse.Namespace) -> int:
    """Evaluate and print the tables."""
    from ..evaluate.run import KINDS, evaluate, missing, to_json

    words = options.words(args)
    kinds = tuple(args.only.split(",")) if args.only else KINDS
    unknown = [k for k in kinds if k not in KINDS]
    if unknown:
        raise InputError(f"no kind '{unknown[0][:40]}' (known: {', '.join(KINDS)})")

    folder = _folder(args.data, kinds, words)
    seen = sys.stderr.isatty()

    def tell(name: str) -> None:
        if seen:
            print(f"\r\033[K{name} …", end="", file=sys.stderr, flush=True)

    try:
        scores = evaluate(folder, kinds, fit=not args.as_shipped, tell=tell)
    finally:
        if seen:
            print("\r\033[K", end="", file=sys.stderr)
    without = missing(folder, kinds)
    if args.rows:
        _write(args.rows, scores)
    if args.json:
        data = {**to_json(scores), "without_data": without}
        print(json_text(data, 2))
        return 0
    from ..say import evaluated as report

    print(report.markdown(scores, words) if args.markdown else report.text(scores, words))
    if without:
        said = [f"{kind} ({file})" for kind, file in without.items()]
        print(words("validate.without", kinds=words.joined(said)))
    return 0


def _folder(data: str | None, kinds: tuple[str, ...], words: Words) -> str:
    """The folder to read: the one given, or the cache's, filled where it is empty."""
    if data is not None and not data.endswith(".whl"):
        return data
    from ..evaluate import package
    from ..evaluate.run import file_of
    from ..evaluate.unpack import FILES

    if not any(file_of(kind) in FILES for kind in kinds):
        raise InputError(
            f"{', '.join(kinds)}: {package.NAME} has no such measurements; give a folder that has"
        )

    def tell(what: str) -> None:
        said = {"name": f"{package.NAME} {package.VERSION}", "megabytes": package.MEGABYTES}
        print(words(f"validate.{what}", **said), file=sys.stderr)

    return package.fetch(tell, wheel=data)


def _write(path: str, scores: list[Score]) -> None:
    import csv

    from ..evaluate.suite import ATTRIBUTES
    from ..say.evaluated import PREDICTORS

    # A predictor may be called as an attribute is: 'machine left out', 'model left out'.
    names = [f"{p}_left_out" if p in ATTRIBUTES else p for p in PREDICTORS]
    try:
        with writing(path, newline="") as file:
            out = csv.writer(file)
            out.writerow(["suite", *ATTRIBUTES, "scored", "measured_s", *names])
            for s in scores:
                for i, row in enumerate(s.suite.rows):
                    result = [s.predictions[p][i] if p in s.predictions else "" for p in PREDICTORS]
                    name, scored = s.suite.name, bool(s.suite.scored[i])
                    said = [row[a] for a in ATTRIBUTES]
                    out.writerow([name, *said, scored, s.suite.measured[i], *result])
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from None
