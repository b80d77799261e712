"""The command line: ``roofline VERB …``. Asks, calls, prints; nothing is computed here.

Exit codes: 0 done; 1 roofline could not do it (an optional library is missing, a measurement
failed); 2 the question was wrong (an unknown name, a bad file, a bad option); 130 interrupted.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from functools import partial
from importlib import import_module

from .. import __version__
from ..say.screen import columns
from . import endings

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from _typeshed import SupportsWrite

VERBS = {
    "explain": "which ceiling a step hits, by how much, and what would change it",
    "sweep": "many steps at once: models, machines, batches, contexts, formats",
    "models": "the models that are known, and what a config or file holds",
    "machines": "the machines that are known, their ceilings and sources",
    "measure": "this machine's own ceilings, kept for '--on here'",
    "bench": "run a real engine at batch 1…N and place it under the roof",
    "place": "place results of your own benchmark under the roof",
    "predict": "how fast it will really be, with an interval",
    "calibrate": "fit the prediction to your own points",
    "validate": "rerun the evaluation of the prediction on public measurements",
    "page": "one self-contained page with a batch slider",
    "plot": "the picture as a file, for papers",
    "completion": "completion for your shell",
}


def present() -> dict[str, str]:
    """The verbs of this installation, each with its line."""
    return {v: line for v, line in VERBS.items() if _there(v)}


def _there(verb: str) -> bool:
    return os.path.isfile(os.path.join(os.path.dirname(__file__), f"{verb}.py"))


class Parser(argparse.ArgumentParser):
    """An argument parser whose help that cannot be written is not passed over."""

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        (file or sys.stderr).write(message)


def parser(only: str | None = None) -> Parser:
    """The whole command line's parser, or one with a single verb filled in (faster)."""
    # Given a width, argparse does not look for one, which would import shutil and more.
    shape = partial(argparse.HelpFormatter, width=columns() - 2)
    top = Parser(
        prog="roofline",
        formatter_class=shape,
        description="Which ceiling an LLM hits, by how much, and what would change it.",
        epilog="Try: roofline explain llama-3.1-8b --on h100-sxm",
    )
    top.add_argument("--version", action="version", version=f"roofline {__version__}")
    verbs = top.add_subparsers(dest="verb", metavar="VERB", title="verbs")
    for verb, line in ({only: VERBS[only]} if only else present()).items():
        about = line[0].upper() + line[1:] + "."
        sub = verbs.add_parser(verb, help=line, description=about, formatter_class=shape)
        import_module(f".{verb}", __name__).add(sub)
    return top


def main(argv: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    alone = argv is None
    if argv is None:
        argv = sys.argv[1:]
        sys.excepthook = endings.fault
        gc.set_threshold(50_000)  # a short process: looking for cycles was a tenth of its time
    verb = argv[0] if argv and argv[0] in VERBS and _there(argv[0]) else None
    try:
        endings.begin()
        code = _run(argv, verb)
        if alone:
            gc.freeze()  # nor are there any to look for at its end
    except SystemExit as done:  # argparse's: help, or what it refused
        raise SystemExit(endings.flushed(int(done.code or 0))) from None
    except (Exception, KeyboardInterrupt) as error:
        code = endings.of(error, verb)
    return endings.flushed(code)


def _run(argv: list[str], verb: str | None) -> int:
    top = parser(verb)
    args = top.parse_args(argv)
    if args.verb is None:
        top.print_help()
        return 0
    if getattr(args, "json", False) or getattr(args, "format", None) == "jsonl":
        endings.narrow_json()
    code: int = import_module(f".{args.verb}", __name__).run(args)
    return code
