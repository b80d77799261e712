"""``roofline sweep MODEL… --on MACHINE…``: many steps, side by side."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from itertools import product

from ..bound import sweep as sweeping
from ..bound.case import Case
from ..errors import InputError
from ..model.load import load as load_model
from ..say import capacity
from ..units import digits, parse_count, percent, seconds, si
from ..words import Words
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
        _tables(curves, args, options.words(args))
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


CURVE = (
    "model", "machine", "weights", "kv_format", "context", "one", "best", "best_batch",
    "best_step", "serial", "talk", "limit", "ridge", "crossing", "fits",
)  # fmt: skip
SEVERAL = ("serial", "talk")
"""Columns for several devices: the serial bound, and its share of communication."""
STEP = (
    "model", "machine", "weights", "context", "batch", "intensity", "bound", "step", "speed",
    "fits",
)  # fmt: skip
MOST_LINES = 20_000
MOST_UNFIT = 12
"""Curves whose smallest batch does not fit that are spoken of one by one."""


def _unfit(curves: list[sweeping.Curve], say: Words) -> Iterator[str]:
    # What does not fit comes first, with what would hold it.
    found = [c for c in curves if c.fit.holds(min(c.batches.values)) is False]
    for c in found[:MOST_UNFIT]:
        batch = min(c.batches.values)
        yield say(
            "sweep.unfit",
            model=c.case.model.name,
            weights=c.case.weights,
            machine=c.machine,
            context=c.context,
            batch=batch,
            held=capacity.held(c.case, c.step(batch), say),
        )
    if len(found) > MOST_UNFIT:
        yield say("sweep.unfit.more", count=len(found) - MOST_UNFIT)
    if found:
        yield say("sweep.unfit.legend") + "\n"


def _tables(curves: list[sweeping.Curve], args: argparse.Namespace, say: Words) -> None:
    from ..say import table

    for line in _unfit(curves, say):
        print(line)
    several = any(not c.case.parallel.single for c in curves)
    names = [n for n in CURVE if several or n not in SEVERAL]
    print(
        table.render(
            [say(f"sweep.{n}") for n in names], [_summary(c, say, names) for c in curves], 4
        )
    )
    legend = [say("sweep.legend")]
    legend += [say("sweep.legend.serial")] if several else []
    legend += [say("sweep.legend.verify")] if args.phase == "verify" else []
    print("\n" + " ".join(legend))
    if args.steps:
        size = sum(len(c.batches) for c in curves)
        if size > MOST_LINES:
            raise InputError(f"{size:,} lines are no table to read: use --format csv or jsonl")
        rows = [row for c in curves for row in _steps(c, say)]
        print("\n" + table.render([say(f"sweep.{n}") for n in STEP], rows, 3))


def _steps(c: sweeping.Curve, say: Words) -> Iterator[tuple[str, ...]]:
    room = c.fit.max_batch
    for batches, b in c.bounds():
        for i, batch in enumerate(batches.tolist()):
            yield (
                c.case.model.name,
                c.machine,
                c.case.weights,
                str(c.context),
                str(batch),
                digits(b.intensity[i]),
                say(f"bound.{b.bound(i)}"),
                seconds(b.overlapped_s[i]),
                _speed(b.tokens_per_s[i], room is None or batch <= room),
                "?" if room is None else say("sweep.yes" if batch <= room else "sweep.no"),
            )


def _speed(value: float, fits: bool) -> str:
    return digits(value) if fits else f"({digits(value)})"


def _summary(c: sweeping.Curve, say: Words, names: list[str]) -> tuple[str, ...]:
    climb, fit = c.climb, c.fit
    smallest = min(c.batches.values)
    best = c.batches.largest(fit.max_batch)
    one, most = c.at(smallest), c.at(best) if best else None
    shown = most or one
    row = {
        "model": c.case.model.name,
        "machine": c.machine,
        "weights": c.case.weights,
        "kv_format": c.case.kv,
        "context": str(c.context),
        "one": _speed(one.tokens_per_s, fit.holds(smallest) is not False),
        "best": digits(most.tokens_per_s) if most else "-",
        "best_batch": str(best) if best else "-",
        "best_step": seconds(most.overlapped_s) if most else "-",
        "serial": _speed(shown.tokens / shown.serial_s, most is not None),
        "talk": percent(shown.shares.get("communication", 0.0)),
        "limit": digits(climb.limit) if climb.limit is not None else "∞",
        "ridge": digits(climb.ridge),
        "crossing": str(climb.crossing) if climb.crossing is not None else say("sweep.never"),
        "fits": "?" if fit.max_batch is None else si(fit.max_batch, ""),
    }
    return tuple(row[name] for name in names)
