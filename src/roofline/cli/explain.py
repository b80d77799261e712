"""``roofline explain MODEL --on MACHINE``: the verdict and the picture."""

from __future__ import annotations

from ..bound.explanation import explain_case
from ..files.written import json_text
from ..say.screen import columns
from . import layouts, options

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    import argparse

    from ..bound.explanation import Explanation
    from ..placing.seen import Seen
    from ..words import Words


def add(p: argparse.ArgumentParser) -> None:
    """The verb's options."""
    options.add_model(p)
    options.add_step(p)
    options.add_formats(p)
    layouts.add_parallel(p)
    g = p.add_argument_group("answer")
    g.add_argument("--operators", action="store_true", help="the table of operators")
    g.add_argument("--why", action="store_true", help="the formula and source behind each number")
    g.add_argument(
        "--achieved",
        metavar="SPEED",
        help="what you measured, to see its share of the roof and why: '65 tok/s', '15.4 ms', "
        "'700 GB/s', of an encode or prefill '200 sequences/s', '98 %% utilisation', 'all-reduce "
        "71 %% of the step'",
    )
    g.add_argument("--no-chart", action="store_true", help="words and numbers only")
    options.add_output(g)  # type: ignore[arg-type]


def run(args: argparse.Namespace) -> int:
    """Explain one step."""
    words = options.words(args)
    case = options.case(args)
    answer = explain_case(case, options.step(args, case.model))
    seen = _seen(args.achieved, answer) if args.achieved is not None else None
    if args.json:
        data = answer.to_json()
        if seen is not None:
            data["achieved"] = seen.to_json()
        print(json_text(data, 2))
        return 0
    from ..say import answer as say

    width = columns()
    rows = _rows(seen, words) if seen is not None else ()
    print(say.text(answer, words, columns=width, chart=not args.no_chart, seen=rows))
    if args.operators:
        from ..say import operators

        print("\n" + operators.text(answer, words))
    if args.why:
        from ..say import why

        print("\n" + why.text(answer, words, columns=width))
    return 0


def _seen(text: str, answer: Explanation) -> Seen:
    from ..placing.seen import seen

    return seen(text, answer)


def _rows(found: Seen, words: Words) -> list[tuple[str, str]]:
    from ..say.seen import rows

    return rows(found, words)
