"""``roofline plot MODEL --on MACHINE -o FILE``: the picture as a file, for papers."""

from __future__ import annotations

import argparse
import sys

from ..bound.explanation import explain_case
from ..say import capacity
from . import layouts, options


def add(p: argparse.ArgumentParser) -> None:
    """The verb's options."""
    options.add_model(p)
    options.add_step(p)
    options.add_formats(p)
    layouts.add_parallel(p)
    g = p.add_argument_group("figure")
    options.add_out(g, ".svg (default), .png or .pdf", "--output", default="roofline.svg")
    g.add_argument("--no-title", action="store_true", help="leave the line above it out")
    g.add_argument("--lang", metavar="zh|en", help="language (default: the locale's)")


def run(args: argparse.Namespace) -> int:
    """Draw one figure."""
    import datetime

    from ..say import figure

    case = options.case(args)
    answer = explain_case(case, options.step(args, case.model))
    words = options.words(args)
    for label, sentence in capacity.lines(answer.case, answer.step, answer.fit, words):
        print(
            words("joint.colon", head=label, text=sentence) if label else sentence, file=sys.stderr
        )
    sources = figure.sources_of(answer)
    foot = f"{sources}. roofline, {datetime.date.today().isoformat()}"
    ax = figure.plot(answer, language=args.lang, title=not args.no_title, foot=foot)
    figure.save(ax, args.out, sources)
    print(args.out)
    return 0
