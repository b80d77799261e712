"""``roofline sweep MODEL… --on MACHINE…``: many steps, side by side."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from ..bound import sweep as sweeping
from ..model.load import load as load_model
from ..units import parse_count
from . import layouts, options

if TYPE_CHECKING:
    from ..api.sweep import Sweep

FORMATS = ("table", "csv", "jsonl")


def add(p: argparse.ArgumentParser) -> None:
    """The verb's options."""
    p.add_argument("models", nargs="+", metavar="MODEL", help="names or files, as for explain")
    p.add_argument("--on", nargs="+", action="extend", metavar="MACHINE", help="machines")
    options.add_figures(p)
    options.add_as(p)
    p.add_argument(
        "--batch",
        metavar="LIST",
        default="1:1024",
        help="1,8,64; 1:1024 doubles; 1:1024:1 takes every one (default 1:1024)",
    )
    p.add_argument(
        "--context", metavar="LIST", help="1k,8k,32k (default 2048; 512 for encode); a prompt's "
        "length for --phase prefill, a sequence's for --phase encode"
    )  # fmt: skip
    p.add_argument(
        "--phase",
        choices=("decode", "prefill", "verify", "encode"),
        help="default decode; encode for models that only encode",
    )
    p.add_argument("--drafted", metavar="K", default="4", help="verify: drafted tokens")
    p.add_argument("--weights", metavar="LIST", help="formats: bf16,int4")
    p.add_argument("--kv", metavar="LIST", help="formats of the cache: bf16,fp8")
    p.add_argument("--compute", metavar="PRECISION", help="as for explain")
    p.add_argument("--ceilings", choices=("datasheet", "measured"), help="as for explain")
    p.add_argument("--usable", metavar="FRACTION", default="0.9", help="as for explain")
    layouts.add_parallel(p, lists=True)
    p.add_argument(
        "--format",
        choices=FORMATS,
        default="table",
        help="table: a line a curve, where it goes and where it ends; csv, jsonl: a row a step",
    )
    p.add_argument("--steps", action="store_true", help="table: a line a step as well")
    p.add_argument("--lang", metavar="zh|en", help="language (default: the locale's)")


def run(args: argparse.Namespace) -> int:
    """Sweep."""
    result = _asked(args)
    curves = result.curves
    for reason in result.left_out:
        print(f"roofline: left out: {reason}", file=sys.stderr)
    if args.format == "csv":
        sweeping.csv(curves, sys.stdout.write)
    elif args.format == "jsonl":
        sweeping.jsonl(curves, sys.stdout.write)
    else:
        from ..say import swept

        for line in swept.text(curves, options.words(args), steps=args.steps):
            print(line)
    return 0


def _asked(args: argparse.Namespace) -> Sweep:
    from ..api.sweep import swept

    return swept(
        [load_model(m, args.as_type) for m in args.models],
        [options.machine(args, name) for name in args.on or [None]],
        batches=sweeping.span(args.batch, "--batch"),
        contexts=sweeping.span(args.context, "--context") if args.context else None,
        phase=args.phase,
        drafted=parse_count(args.drafted, "--drafted"),
        weights=args.weights.split(",") if args.weights else [None],
        caches=args.kv.split(",") if args.kv else [None],
        layouts=layouts.layouts(args),
        compute=args.compute,
        ceilings=args.ceilings,
        usable=options.fraction(args.usable, "--usable"),
    )
