"""``roofline sweep MODEL… --on MACHINE…``: many steps, side by side."""

from __future__ import annotations

import argparse
import sys
from itertools import product

from ..bound import sweep as sweeping
from ..bound.case import Case
from ..errors import InputError
from ..model.load import load as load_model
from ..units import parse_count
from . import options

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
    options.add_parallel(p, lists=True)
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
    curves = _curves(args)
    if args.format == "csv":
        sweeping.csv(curves, sys.stdout.write)
    elif args.format == "jsonl":
        sweeping.jsonl(curves, sys.stdout.write)
    else:
        from ..say import swept

        for line in swept.text(curves, options.words(args), steps=args.steps):
            print(line)
    return 0


def _curves(args: argparse.Namespace) -> list[sweeping.Curve]:
    batches = sweeping.span(args.batch, "--batch")
    contexts = sweeping.span(args.context or "2048", "--context")
    drafted = parse_count(args.drafted, "--drafted")
    models = [load_model(m, args.as_type) for m in args.models]
    machines = [options.machine(args, name) for name in args.on or [None]]
    weights = args.weights.split(",") if args.weights else [None]
    caches = args.kv.split(",") if args.kv else [None]
    layouts = list(options.layouts(args))
    cases = len(models) * len(machines) * len(weights) * len(caches) * len(layouts)
    size = cases * len(contexts) * len(batches)
    if size > sweeping.MOST_STEPS or len(contexts) > 100_000:
        raise InputError(f"{size:,} steps are too many for one sweep")
    found: list[sweeping.Curve] = []
    refused: list[InputError] = []
    for model, machine, w, kv, layout in product(models, machines, weights, caches, layouts):
        try:
            case = Case(
                model,
                machine,
                weights=w,
                kv=kv,
                compute=args.compute,
                ceilings=args.ceilings,
                usable=options.fraction(args.usable, "--usable"),
                **layout(),
            )
            phase = args.phase or model.phase
            usual = "512" if phase == "encode" else "2048"
            case = case.for_step(sweeping.Curve(case, phase, 1, batches).step(1))
        except InputError as error:  # this model, format or layout cannot be; others may
            refused.append(error)
            continue
        found += [
            sweeping.Curve(case, phase, context, batches, drafted)
            for context in sweeping.span(args.context or usual, "--context").values
        ]
    if not found and refused:
        raise refused[0]
    for reason in refused:
        print(f"roofline: left out: {reason}", file=sys.stderr)
    return found
