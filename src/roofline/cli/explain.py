"""``roofline explain MODEL --on MACHINE``: the verdict and the picture."""

from __future__ import annotations

import argparse

from ..achieved import achieved
from ..explanation import explain_case
from ..screen import columns
from . import options


def add(p: argparse.ArgumentParser) -> None:
    """The verb's options."""
    options.add_model(p)
    options.add_step(p)
    options.add_formats(p)
    options.add_parallel(p)
    g = p.add_argument_group("answer")
    g.add_argument("--operators", action="store_true", help="the table of operators")
    g.add_argument("--why", action="store_true", help="the formula and source behind each number")
    g.add_argument(
        "--achieved",
        metavar="SPEED",
        help="what you measured, to see its share of the roof: '65 tok/s', '15.4 ms', '700 GB/s'",
    )
    g.add_argument("--no-chart", action="store_true", help="words and numbers only")
    options.add_output(g)  # type: ignore[arg-type]


def run(args: argparse.Namespace) -> int:
    """Explain one step."""
    words = options.words(args)
    case = options.case(args)
    answer = explain_case(case, options.step(args, case.model))
    point = achieved(args.achieved, answer.bound) if args.achieved is not None else None
    if args.json:
        import json

        data = answer.to_json()
        if point is not None:
            data["achieved"] = point.to_json()
        print(json.dumps(data, ensure_ascii=False, indent=2))
        return 0
    from .. import answer as say

    width = columns()
    print(say.text(answer, words, columns=width, chart=not args.no_chart, point=point))
    if args.operators:
        print("\n" + say.operators(answer, words))
    if args.why:
        from .. import why

        print("\n" + why.text(answer, words, columns=width))
    return 0
