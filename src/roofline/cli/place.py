"""``roofline place FILE…``: results of your own benchmark, or one typed in, under the roof."""

from __future__ import annotations

import argparse
import sys
from itertools import islice
from typing import TYPE_CHECKING, Any

from ..bound.case import ALONE
from ..errors import InputError
from ..files.written import json_text
from ..parallel.layout import Parallel
from ..say.screen import columns
from ..units import parse_quantity
from . import layouts, options

if TYPE_CHECKING:
    from ..machine.machine import Machine


def add(p: argparse.ArgumentParser) -> None:
    """The verb's options."""
    p.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        help="results or logs of llama.cpp, vLLM, SGLang, TensorRT-LLM, Ollama, MLPerf and many "
        "more, a table with columns batch and tokens/s, or 'roofline bench'; the format is found "
        "out; - is standard input",
    )
    g = options.add_unsaid(p)
    g.add_argument("--compute", metavar="PRECISION", help="arithmetic of the matrix products")
    g.add_argument("--devices", metavar="N", help="devices that shared the work: short for --tp N")
    g.add_argument("--ceilings", choices=("datasheet", "measured"), help="which ceilings")
    t = p.add_argument_group("a result typed in, without a file")
    t.add_argument("--tokens-per-s", metavar="X", help="of all sequences together")
    t.add_argument("--seconds", metavar="TIME", help="of one step: 45ms")
    t.add_argument("--phase", choices=("decode", "prefill", "encode"), default="decode")
    t.add_argument("--bytes", metavar="BYTES", help="read in a step, counted by yourself: 35.5GB")
    t.add_argument("--flops", metavar="FLOP", help="with --bytes: what a kernel of your own does")
    t.add_argument("--gpu-layers", metavar="N", help="layers on the device, of a run whose others "
                   "stayed on the host")  # fmt: skip
    t.add_argument("--achieved", metavar="BYTES/S", help="a bandwidth that somebody measured")
    t.add_argument("--working-set", metavar="BYTES", help="what that measurement read again")
    t.add_argument("--roof", metavar="X", help="tokens/s that somebody's roof allows")
    options.add_figures(p)
    layouts.add_parallel(p)
    options.add_output(p)


def run(args: argparse.Namespace) -> int:
    """Place points and say what they mean."""
    from ..api.place import TYPED, check

    typed = next((name for name in TYPED if getattr(args, name) is not None), None)
    check(bool(args.files), typed, args.phase)
    return _files(args) if args.files else _one(args)


def _files(args: argparse.Namespace) -> int:
    from .. import results
    from ..api.place import line, placings
    from ..placing.judgement import BLOCK, judgements
    from ..placing.resolve import Resolver

    words = options.words(args)
    over = _layout(args)
    resolver = Resolver(
        model=args.model,
        as_type=args.as_type,
        weights=args.weights,
        kv=args.kv,
        compute=args.compute,
        machine=_machine(args),
        ceilings=args.ceilings,
        layout=over["parallel"],
        link=over["link"],
        latency=over["latency"],
    )
    aside: list[str] = []
    result = placings(results.points(args.files, options.unsaid(args)), resolver, aside)
    if args.json:
        for placed, gap in judgements(result):
            print(json_text(line(placed, gap)))
    else:
        from ..say.summary import text

        kept = list(islice(result, BLOCK))
        print(text(kept, words, columns=columns()))
        if skipped := sum(1 for _ in result):
            print(words("place.skipped", count=skipped))
    if aside:
        print(words("place.aside", count=len(aside), first=aside[0]), file=sys.stderr)
    return 0


def _machine(args: argparse.Namespace) -> str | Machine | None:
    typed = (args.bandwidth, args.peak, args.memory) != (None, None, None)
    return options.machine(args, args.on) if typed else args.on


def _layout(args: argparse.Namespace) -> dict[str, Any]:
    """The layout over devices, ``None`` for one, and what joins them."""
    result = layouts.parallel(args)
    devices = options.count(args, "devices")
    if devices is None:
        return result
    given: Parallel | None = result["parallel"]
    if given is not None and given.devices != devices:
        raise InputError(f"--devices {devices}, but {given.name} is {given.devices} devices")
    if given is None and devices > 1:
        given = Parallel(tp=devices)
    return {**result, "parallel": given}


def _bandwidth(text: str | None) -> float | None:
    from ..bound.counters import counter

    if text is None:
        return None
    if counter(text) is not None:
        raise InputError(
            f"'{text.strip()[:40]}' is no bandwidth, and says how much of the time something ran, "
            "not how much of it was used; 'roofline explain MODEL --on MACHINE --achieved …' says "
            "what a step uses at best, and which counter would tell"
        )
    return parse_quantity(text, "B/s", "--achieved")


def _one(args: argparse.Namespace) -> int:
    from ..api.place import line
    from ..placing import gap, typed

    def quantity(name: str, unit: str) -> float | None:
        text = getattr(args, name)
        return None if text is None else parse_quantity(text, unit, f"--{name.replace('_', '-')}")

    over = _layout(args)
    placed = typed.placed(
        typed.Typed(
            tokens_per_s=quantity("tokens_per_s", "tokens/s"),
            seconds=quantity("seconds", "s"),
            bytes_=quantity("bytes", "B"),
            flops=quantity("flops", "FLOP"),
            gpu_layers=options.count(args, "gpu_layers"),
            achieved=_bandwidth(args.achieved),
            working_set=quantity("working_set", "B"),
            bandwidth=quantity("bandwidth", "B/s"),
            peak=quantity("peak", "FLOP/s"),
            roof=quantity("roof", "tokens/s"),
            phase=args.phase,
            batch=options.count(args, "batch") or 1,
            context=options.count(args, "context"),
            prompt=options.count(args, "prompt"),
            layout=over["parallel"] or ALONE,
            link=over["link"],
            latency=over["latency"],
            model=args.model,
            as_type=args.as_type,
            machine=args.on,
            weights=args.weights,
            kv=args.kv,
            compute=args.compute,
            ceilings=args.ceilings,
        )
    )
    if args.json:
        print(json_text(line(placed, gap.judge(placed))))
        return 0
    from ..say.summary import text

    print(text([placed], options.words(args), columns=columns()))
    return 0
